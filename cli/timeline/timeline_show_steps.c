#include "timeline_show_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "event_losses.h"
#include "timeline_output.h"

#include "base/log.h"
#include "cli/base/verbs.h"
#include "timeline/steps/step_reader.h"
#include "timeline/trace/timeline_choice.h"

struct shown {
	struct steps_view view;
	enum steps_format format;
};

static int write_shown(const void *context, const struct text_form *form, FILE *out)
{
	const struct shown *shown = context;

	return steps_writer_write(out, &shown->view, shown->format, form);
}

/* Waits that cannot be read are not told from moves, which is said. 0 or -ENOMEM. */
static int read_nccl(const char *store_path, struct nccl_waits *nccl)
{
	char *why = NULL;
	int error = nccl_waits_load(nccl, store_path, &why);

	if (error && error != -ENOMEM)
		log_warning("waits of NCCL are not known: %s", why ? why : strerror(-error));
	free(why);
	return error == -ENOMEM ? error : 0;
}

static int explain(const struct timeline_show_steps *show, int error)
{
	if (error == -EFBIG)
		log_error("%s: a microsecond has more events than there is room for", show->name);
	else
		log_error("%s: %s", show->name, strerror(-error));
	return EXIT_FAILED;
}

/* Returns the exit status. */
static int write_rows(const struct timeline_show_steps *show, struct timeline_source *source,
		      const struct step_rows *rows, const struct timeline_counts *counts)
{
	const struct profile *profile = timeline_source_profile(source);
	struct step_sums sums = {0};
	struct step_findings findings = {0};
	struct step_places places = {0};
	struct shown shown = {.format = show->format};
	int status = EXIT_OK;
	int error = step_sums_init(&sums, rows, profile);

	shown.view = (struct steps_view){
		.profile = profile,
		.names = report_names_create(profile, DEMANGLE_FULL, REPORT_LINES_ON),
		.rows = rows,
		.sums = &sums,
		.findings = &findings,
		.places = &places,
		.has_ranges = show->range != NULL,
		.first_ns = show->first_ns,
		.lacks = show->lacks,
	};
	if (!error)
		error = step_findings_init(&findings, rows, &sums);
	if (!error)
		error = shown.view.names ? step_places_init(&places, rows, &findings, source,
							    show->store_path, shown.view.names)
					 : -ENOMEM;
	if (error)
		status = explain(show, error);
	else
		status = timeline_output_write(show->output_path, show->format == STEPS_TABLE,
					       write_shown, &shown);
	report_names_destroy(shown.view.names);
	step_places_fini(&places);
	step_findings_fini(&findings);
	step_sums_fini(&sums);
	if (status != EXIT_OK)
		return status;
	if (rows->nr_open)
		log_notice("%" PRIu32 " step%s left out: %s end was not kept", rows->nr_open,
			   rows->nr_open == 1 ? " is" : "s are",
			   rows->nr_open == 1 ? "its" : "their");
	return event_losses_say(counts, 0, timeline_source_silent(source, &show->request, counts))
		       ? EXIT_LOSS
		       : EXIT_OK;
}

static void say_none(const struct timeline_show_steps *show, const struct step_rows *rows)
{
	if (rows->nr_open || rows->nr_outside)
		log_error("%s: no step has both its begin and its end in this time%s", show->name,
			  rows->nr_cut && !rows->nr_outside ? TIMELINE_CHOICE_CUT : "");
	else if (show->range)
		log_error("%s: no range \"%s\" was kept: flamegrid run --nvtx --timeline all keeps "
			  "ranges",
			  show->name, show->range);
	else
		log_error("%s: " TIMELINE_CHOICE_NO_STEPS
			  "; --step-range takes ranges as steps, if run --nvtx recorded them",
			  show->name);
}

int timeline_show_steps(const struct timeline_show_steps *show, struct timeline_source *source)
{
	struct nccl_waits nccl = {0};
	struct step_rows rows = {0};
	struct timeline_counts counts = {0};
	int status = EXIT_FAILED;
	int error = read_nccl(show->store_path, &nccl);

	if (!error)
		error = step_reader_read(source, &show->request, show->range, &nccl, &rows,
					 &counts);
	if (error) {
		explain(show, error);
	} else if (!rows.nr_rows) {
		event_losses_say(&counts, 0,
				 timeline_source_silent(source, &show->request, &counts));
		say_none(show, &rows);
		status = EXIT_NOTHING;
	} else {
		status = write_rows(show, source, &rows, &counts);
	}
	step_rows_fini(&rows);
	nccl_waits_fini(&nccl);
	return status;
}
