#include "timeline_make_page.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_losses.h"

#include "base/array.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "report/profile/merged_dir.h"
#include "report/view/report_subject.h"
#include "timeline/slice/crew_fold.h"
#include "timeline/strips/time_strips.h"
#include "timeline/trace/nccl_waits.h"

/* Makes the time axis while the events are there. */
struct axis_maker {
	const struct profile_slice *slice;
	struct time_strips strips;
	struct report_piece *pieces; /* owns; of the strips' boxes */
	int error;                   /* there is no axis */
};

static int make_pieces(struct axis_maker *maker)
{
	const struct time_boxes *boxes = &maker->strips.boxes;

	maker->pieces = calloc(boxes->nr_boxes + 1ull, sizeof(*maker->pieces));
	if (!maker->pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < boxes->nr_boxes; i++)
		maker->pieces[i].key = boxes->boxes[i].key;
	return 0;
}

static struct time_strips_part part_of(const struct profile_slice *slice,
				       const struct timeline_events *events)
{
	const struct timeline_request *request = slice->request;

	return (struct time_strips_part){
		.events = events,
		.request = request,
		.origin_ns = slice->first_ns,
		.from_ns = request->from_ns > slice->first_ns ? request->from_ns : slice->first_ns,
		.to_ns = request->to_ns < slice->last_ns ? request->to_ns : slice->last_ns,
		.by_launch = slice->nr_steps > 0,
	};
}

/* Both ways to make it end here. -ENOMEM, or 0: the page may have no axis. */
static int end_axis(struct axis_maker *maker)
{
	if (!maker->error)
		maker->error = make_pieces(maker);
	if (maker->error)
		time_strips_fini(&maker->strips);
	return maker->error == -ENOMEM ? maker->error : 0;
}

static int make_axis(void *context, const struct timeline_events *events)
{
	struct axis_maker *maker = context;
	const struct profile_slice *slice = maker->slice;
	const struct time_strips_part part = part_of(slice, events);
	struct nccl_waits nccl = {0};

	maker->error = nccl_waits_load(&nccl, slice->store_path, NULL);
	if (maker->error != -ENOMEM) /* waits that cannot be read are not told from moves */
		maker->error = time_strips_make(slice->source, &nccl, &part, &maker->strips);
	nccl_waits_fini(&nccl);
	return end_axis(maker);
}

struct used_devices {
	struct time_strips_used *list; /* owns */
	uint32_t nr, room;
	int error;
};

static void take_device(void *context, uint32_t process_id, uint32_t device_id)
{
	struct used_devices *used = context;

	if (!used->error)
		used->error = array_reserve(&used->list, &used->room, used->nr + 1ull,
					    sizeof(*used->list));
	if (!used->error)
		used->list[used->nr++] = (struct time_strips_used){process_id, device_id};
}

/* Of a part that is too long for a list of its events. */
static int make_long_axis(void *context, const struct crew_fold *fold)
{
	struct axis_maker *maker = context;
	const struct profile_slice *slice = maker->slice;
	const struct time_strips_part part = part_of(slice, NULL);
	struct nccl_waits nccl = {0};
	struct used_devices used = {0};

	if (fold->nr_work <= TIME_BOXES_MOST) /* each can be seen */
		return -EAGAIN;
	crew_fold_devices(fold, take_device, &used);
	const struct time_strips_long more = {.counts = &fold->counts,
					      .used = used.list,
					      .nr_used = used.nr,
					      .cells = &fold->cells};
	maker->error = used.error ? used.error : nccl_waits_load(&nccl, slice->store_path, NULL);
	if (maker->error != -ENOMEM)
		maker->error =
			time_strips_read_long(slice->source, &nccl, &part, &more, &maker->strips);
	nccl_waits_fini(&nccl);
	free(used.list);
	return end_axis(maker);
}

/* name: of the whole profile. 0 or -errno with *error. */
static int write_page(const char *store_path, const struct axis_maker *maker, const char *name,
		      const char *output_path, char **error)
{
	const struct report_axis axis = {
		.strips = maker->strips.nr_strips ? &maker->strips : NULL,
		.pieces = maker->pieces,
		.path = name,
	};
	const struct report_request request = {.format = REPORT_HTML, .axis = &axis};
	struct report_options options = {.pieces = maker->pieces,
					 .nr_pieces = maker->strips.boxes.nr_boxes};
	struct report_view view;

	report_subject_bound(&request, &options);
	int result = report_view_open(&view, store_path, &options, error);
	if (result == 0)
		result = report_view_find(&view, error);
	if (result == 0)
		result = report_subject_read(&view, report_subject_needs(&request), error);
	if (result == 0)
		result = report_subject_save(&view, output_path, &request, error);
	report_view_close(&view);
	return result;
}

int timeline_make_page(const struct profile_slice *slice, const char *name, const char *output_path)
{
	struct axis_maker maker = {.slice = slice};
	struct profile_slice seen = *slice;
	struct profile_slice_counts counts = {0};
	struct merged_dir dir;
	char store[PATH_MAX], *error = NULL;
	int result = merged_dir_create(&dir, &error);

	seen.see = make_axis;
	seen.see_fold = make_long_axis;
	seen.context = &maker;
	if (result == 0 &&
	    snprintf(store, sizeof(store), "%s/" MERGED_DIR_FILE, dir.path) >= (int)sizeof(store))
		result = -ENAMETOOLONG;
	if (result == 0)
		result = profile_slice_write(&seen, store, &counts, &error);
	if (result == 0 && maker.error)
		log_warning("%s: the page has no time axis: %s", name, strerror(-maker.error));
	if (result == 0)
		result = write_page(store, &maker, name, output_path, &error);
	time_strips_fini(&maker.strips);
	free(maker.pieces);
	merged_dir_remove(&dir);
	if (result < 0)
		log_error("%s%s%s", error ? "" : name, error ? "" : ": ",
			  error ? error : strerror(-result));
	free(error);
	if (result < 0)
		return EXIT_FAILED;
	log_notice("the page of %" PRIu64 " piece%s of GPU work", counts.nr_work,
		   counts.nr_work == 1 ? "" : "s");
	return event_losses_say(&counts.read, counts.nr_launchless, counts.nr_silent) ? EXIT_LOSS
										      : EXIT_OK;
}
