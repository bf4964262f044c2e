#include "timeline_show_kernels.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "event_losses.h"
#include "timeline_output.h"

#include "base/log.h"
#include "cli/base/verbs.h"

struct shown {
	struct kernels_view view;
	enum steps_format format;
};

static int write_shown(const void *context, const struct text_form *form, FILE *out)
{
	const struct shown *shown = context;

	return kernels_writer_write(out, &shown->view, shown->format, form);
}

/* Returns the exit status. */
static int find_and_write(const struct timeline_show_kernels *show, struct kernel_times *times,
			  struct shown *shown)
{
	const enum kernel_rows_stack stack = !show->by_stack ? KERNEL_ROWS_NO_STACK
					     : show->format == STEPS_TABLE
						     ? KERNEL_ROWS_LINE
						     : KERNEL_ROWS_WHOLE_STACK;
	struct kernel_places places = {0};
	int status = EXIT_FAILED, error = shown->view.names ? 0 : -ENOMEM;

	if (!error && show->by_stack)
		error = kernel_places_init(&places, times, shown->view.profile, shown->view.names);
	if (!error)
		error = kernel_rows_sum(times, &places, shown->view.names, stack);
	shown->view.places = &places;
	if (error)
		log_error("%s: %s", show->name, strerror(-error));
	else
		status = timeline_output_write(show->output_path, show->format == STEPS_TABLE,
					       write_shown, shown);
	kernel_places_fini(&places);
	return status;
}

/* Returns the exit status. */
static int save(const struct timeline_show_kernels *show, struct timeline_source *source,
		struct kernel_times *times)
{
	const struct profile *profile = timeline_source_profile(source);
	/* As in `report`: whole C++ names fit no terminal. */
	const enum demangle_mode demangle =
		show->format == STEPS_TABLE ? DEMANGLE_SIMPLE : DEMANGLE_FULL;
	struct shown shown = {
		.view = {.profile = profile,
			 .names = report_names_create(profile, demangle, REPORT_LINES_ON),
			 .times = times,
			 .first_ns = show->first_ns,
			 .lacks = show->lacks},
		.format = show->format};
	const int status = find_and_write(show, times, &shown);

	report_names_destroy(shown.view.names);
	if (status != EXIT_OK)
		return status;
	if (times->nr_left_out)
		log_warning("%" PRIu64
			    " piece%s of GPU work %s left out: there are too many names or stacks",
			    times->nr_left_out, times->nr_left_out == 1 ? "" : "s",
			    times->nr_left_out == 1 ? "is" : "are");
	return event_losses_say(&times->counts, 0,
				timeline_source_silent(source, &show->request, &times->counts))
		       ? EXIT_LOSS
		       : EXIT_OK;
}

int timeline_show_kernels(const struct timeline_show_kernels *show, struct timeline_source *source)
{
	struct kernel_times times = {0};
	int status = EXIT_FAILED;
	int error = kernel_times_read(source, &show->request, show->by_stack, &times);

	if (error == -EFBIG) {
		log_error("%s: a microsecond has more events than there is room for", show->name);
	} else if (error) {
		log_error("%s: %s", show->name, strerror(-error));
	} else if (!times.nr_times) {
		event_losses_say(&times.counts, 0,
				 timeline_source_silent(source, &show->request, &times.counts));
		log_error("%s: no GPU work of these ranks is in this time", show->name);
		status = EXIT_NOTHING;
	} else {
		status = save(show, source, &times);
	}
	kernel_times_fini(&times);
	return status;
}
