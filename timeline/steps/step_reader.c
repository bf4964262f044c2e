#include "step_reader.h"

#include <errno.h>

#include "step_ranges.h"
#include "step_sweep.h"

#include "timeline/trace/timeline_stretches.h"

/* ---- steps */

struct taker {
	struct timeline_steps steps;
	struct step_ranges *ranges; /* owns; NULL: steps are marked as such */
};

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct taker *taker = context;

	return taker->ranges ? step_ranges_add(taker->ranges, launch, &taker->steps)
			     : timeline_steps_add(&taker->steps, launch);
}

static int ignore_work(void *context, const struct timeline_work *work)
{
	(void)context;
	(void)work;
	return 0;
}

static int read_steps(struct timeline_source *source, const struct timeline_request *request,
		      const char *range, struct step_rows *rows, struct timeline_counts *counts)
{
	struct taker taker = {0};
	const struct timeline_sink sink = {take_launch, ignore_work, &taker};
	struct timeline_request marks = *request;
	struct capture_pauses pauses;

	marks.from_ns = 0;
	marks.to_ns = UINT64_MAX;
	marks.marks_alone = true;
	if (range && !(taker.ranges = step_ranges_create(timeline_source_profile(source), range)))
		return -ENOMEM;
	int error = capture_pauses_read(&pauses, source, request);
	if (!error)
		error = timeline_source_read(source, &marks, &sink, counts);
	if (!error)
		error = timeline_steps_finish(&taker.steps, &pauses);
	if (!error)
		error = step_rows_init(rows, &taker.steps, request->from_ns, request->to_ns);
	/* Ranges are numbered from the first one that was kept. */
	for (uint32_t i = 0; range && counts->log.dropped_events && i < rows->nr_rows; i++)
		rows->rows[i].is_first = false;
	capture_pauses_fini(&pauses);
	timeline_steps_fini(&taker.steps);
	step_ranges_destroy(taker.ranges);
	return error;
}

/* ---- stretches */

struct stretch {
	struct timeline_source *source;
	const struct timeline_request *request;
	struct step_sweep *sweep;
	struct timeline_counts *counts;
};

static int add_stretch(void *context, uint64_t from_ns, uint64_t to_ns)
{
	const struct stretch *stretch = context;
	struct timeline_request request = *stretch->request;
	struct timeline_events events;

	request.from_ns = from_ns;
	request.to_ns = to_ns;
	if (!request.events_max)
		request.events_max = TIMELINE_STRETCHES_EVENTS;
	int error = timeline_events_read(stretch->source, &request, false, &events);
	if (!error) {
		timeline_stretches_count(stretch->counts, &events.counts);
		error = step_sweep_add(stretch->sweep, &events, from_ns, to_ns);
	}
	timeline_events_fini(&events);
	return error;
}

int step_reader_read(struct timeline_source *source, const struct timeline_request *request,
		     const char *range, const struct nccl_waits *nccl, struct step_rows *rows,
		     struct timeline_counts *counts)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;

	*rows = (struct step_rows){0};
	int error = read_steps(source, request, range, rows, counts);
	if (error || !rows->nr_rows)
		return error;
	for (uint32_t i = 0; i < rows->nr_rows; i++) {
		const struct step_row *row = &rows->rows[i];

		begin_ns = row->begin_ns < begin_ns ? row->begin_ns : begin_ns;
		end_ns = row->end_ns > end_ns ? row->end_ns : end_ns;
	}
	struct step_sweep *sweep = step_sweep_create(rows, timeline_source_profile(source), nccl);
	if (!sweep)
		return -ENOMEM;
	struct stretch stretch = {source, request, sweep, counts};
	/* The work that ends the last step's gaps is behind it, and launches of the first one's work are before it. */
	error = timeline_stretches_walk(
		begin_ns > TIMELINE_EVENTS_REACH_NS ? begin_ns - TIMELINE_EVENTS_REACH_NS : 0,
		end_ns < UINT64_MAX - TIMELINE_EVENTS_REACH_NS ? end_ns + TIMELINE_EVENTS_REACH_NS
							       : UINT64_MAX,
		add_stretch, &stretch);
	if (!error)
		step_sweep_end(sweep);
	step_sweep_destroy(sweep);
	return error;
}
