#include "step_before.h"

struct step_before {                 /* the last step that has begun */
	struct timeline_launch mark; /* its first begin */
	uint64_t to_ns;
	bool is_found;
};

static void see_mark(struct step_before *before, const struct timeline_launch *launch)
{
	const struct timeline_launch *mark = &before->mark;

	if (!(launch->flags & RECORD_LAUNCH_MARK) || launch->mark != RECORD_MARK_STEP ||
	    launch->time_ns > before->to_ns)
		return;
	if (before->is_found &&
	    (launch->correlation_id < mark->correlation_id ||
	     (launch->correlation_id == mark->correlation_id && launch->time_ns >= mark->time_ns)))
		return;
	before->mark = *launch;
	before->is_found = true;
}

static int take_mark(void *context, const struct timeline_launch *launch)
{
	see_mark(context, launch);
	return 0;
}

static int leave_work(void *context, const struct timeline_work *work)
{
	(void)context;
	(void)work;
	return 0;
}

int step_before_add(struct timeline_source *source, const struct timeline_events *events,
		    uint64_t origin_ns, uint64_t from_ns, struct step_ticks *ticks)
{
	struct step_before before = {.to_ns = from_ns};
	const struct timeline_sink sink = {take_mark, leave_work, &before};
	const struct timeline_request request = {
		.from_ns =
			from_ns > TIMELINE_EVENTS_MARKS_NS ? from_ns - TIMELINE_EVENTS_MARKS_NS : 0,
		.to_ns = from_ns + 1,
		.marks_alone = true,
	};
	struct timeline_counts counts;
	bool is_before = false;
	int error = 0;

	for (uint32_t i = 0; i < events->nr_marks; i++) {
		see_mark(&before, &events->marks[i]);
		is_before |= before.is_found && before.mark.time_ns < from_ns;
	}
	if (!is_before && from_ns > origin_ns)
		error = timeline_source_read(source, &request, &sink, &counts);
	if (before.is_found)
		step_ticks_add(ticks, &before.mark);
	return error;
}
