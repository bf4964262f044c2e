#include "kernel_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "timeline/steps/step_pending.h"
#include "timeline/trace/timeline_events.h"
#include "timeline/trace/timeline_stretches.h"

struct reader {
	struct timeline_source *source;
	struct timeline_request request;
	uint64_t from_ns;
	kernel_stacks_take *take;
	void *context;
	struct timeline_counts *counts;
	struct step_pending pending;
};

static int take_work(struct reader *reader, const struct timeline_events *events, uint64_t *ends_ns)
{
	int error = 0;

	for (uint32_t i = 0; i < events->nr_work && !error; i++) {
		const struct timeline_work *work = &events->work[i];
		const struct timeline_launch *launch = NULL;

		if (work->launch != TIMELINE_SOURCE_NONE) {
			launch = &events->launches[work->launch];
			if (work->end_ns > ends_ns[work->launch])
				ends_ns[work->launch] = work->end_ns;
		} else {
			const struct step_pending_launch *found =
				step_pending_find(&reader->pending, work);

			launch = found ? &found->launch : NULL;
		}
		/* Work of the stretch before may end in this one. */
		if (work->start_ns >= events->from_ns && work->start_ns < events->to_ns &&
		    work->start_ns >= reader->from_ns)
			error = reader->take(reader->context, work, launch);
	}
	return error;
}

/* Keeps the launches of the stretch whose work may come later. 0 or -ENOMEM. */
static int keep_launches(struct reader *reader, const struct timeline_events *events,
			 const uint64_t *ends_ns)
{
	int error = 0;

	step_pending_next(&reader->pending, events->to_ns);
	for (uint32_t i = 0; i < events->nr_launches && !error; i++) {
		const struct step_pending_launch kept = {.launch = events->launches[i],
							 .end_ns = ends_ns[i]};

		if (!(kept.launch.flags & RECORD_LAUNCH_HOST) &&
		    kept.launch.time_ns >= events->from_ns && kept.launch.time_ns < events->to_ns &&
		    !step_pending_is_old(&kept, events->to_ns))
			error = step_pending_add(&reader->pending, &kept);
	}
	step_pending_sort(&reader->pending);
	return error;
}

static int add_stretch(void *context, uint64_t from_ns, uint64_t to_ns)
{
	struct reader *reader = context;
	struct timeline_events events;
	uint64_t *ends_ns = NULL;

	reader->request.from_ns = from_ns;
	reader->request.to_ns = to_ns;
	int error = timeline_events_read(reader->source, &reader->request, false, &events);
	if (!error) {
		timeline_stretches_count(reader->counts, &events.counts);
		ends_ns = calloc(events.nr_launches + 1ull, sizeof(*ends_ns));
		error = ends_ns ? take_work(reader, &events, ends_ns) : -ENOMEM;
	}
	if (!error)
		error = keep_launches(reader, &events, ends_ns);
	free(ends_ns);
	timeline_events_fini(&events);
	return error;
}

int kernel_stacks_read(struct timeline_source *source, const struct timeline_request *request,
		       uint64_t from_ns, uint64_t to_ns, kernel_stacks_take *take, void *context,
		       struct timeline_counts *counts)
{
	struct reader reader = {.source = source,
				.request = *request,
				.from_ns = from_ns,
				.take = take,
				.context = context,
				.counts = counts};

	*counts = (struct timeline_counts){0};
	if (!reader.request.events_max)
		reader.request.events_max = TIMELINE_STRETCHES_EVENTS;
	int error = timeline_stretches_walk(
		from_ns > TIMELINE_EVENTS_REACH_NS ? from_ns - TIMELINE_EVENTS_REACH_NS : 0, to_ns,
		add_stretch, &reader);
	step_pending_fini(&reader.pending);
	return error;
}
