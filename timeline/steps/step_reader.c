#include "step_reader.h"

#include <errno.h>

#include "step_ranges.h"
#include "step_sweep.h"

/* So far behind the last step the work is looked for that ends its gaps, and so far before the first one its launches
 * are. */
#define REACH_NS      TIMELINE_EVENTS_REACH_NS
#define STRETCH_NS    60000000000u /* the first one */
#define STRETCH_LEAST 1000u

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

	marks.from_ns = 0;
	marks.to_ns = UINT64_MAX;
	marks.marks_alone = true;
	if (range && !(taker.ranges = step_ranges_create(timeline_source_profile(source), range)))
		return -ENOMEM;
	int error = timeline_source_read(source, &marks, &sink, counts);
	if (!error)
		error = timeline_steps_finish(&taker.steps);
	if (!error)
		error = step_rows_init(rows, &taker.steps, request->from_ns, request->to_ns);
	timeline_steps_fini(&taker.steps);
	step_ranges_destroy(taker.ranges);
	return error;
}

/* ---- stretches */

static void keep_most(uint64_t *most, uint64_t count)
{
	*most = count > *most ? count : *most;
}

static void add_counts(struct timeline_counts *sum, const struct timeline_counts *counts)
{
	const struct event_sums *log = &counts->log;

	keep_most(&sum->unknown, counts->unknown);
	keep_most(&sum->unclocked, counts->unclocked);
	keep_most(&sum->others, counts->others);
	keep_most(&sum->log.damaged, log->damaged);
	keep_most(&sum->log.compressed, log->compressed);
	keep_most(&sum->log.lost_events, log->lost_events);
	keep_most(&sum->log.foreign, log->foreign);
	keep_most(&sum->log.nameless, log->nameless);
	keep_most(&sum->log.dropped_events, log->dropped_events);
}

static int add_stretch(struct timeline_source *source, const struct timeline_request *request,
		       struct step_sweep *sweep, uint64_t from_ns, uint64_t to_ns,
		       struct timeline_counts *counts)
{
	struct timeline_request stretch = *request;
	struct timeline_events events;

	stretch.from_ns = from_ns;
	stretch.to_ns = to_ns;
	if (!stretch.events_max)
		stretch.events_max = STEP_READER_EVENTS;
	int error = timeline_events_read(source, &stretch, false, &events);
	if (!error) {
		add_counts(counts, &events.counts);
		error = step_sweep_add(sweep, &events, from_ns, to_ns);
	}
	timeline_events_fini(&events);
	return error;
}

/* Stretches become shorter where there are too many events, and longer again behind. */
static int add_stretches(struct timeline_source *source, const struct timeline_request *request,
			 struct step_sweep *sweep, uint64_t from_ns, uint64_t end_ns,
			 struct timeline_counts *counts)
{
	uint64_t length_ns = STRETCH_NS;
	int error = 0;

	while (from_ns < end_ns && !error) {
		const uint64_t to_ns = end_ns - from_ns > length_ns ? from_ns + length_ns : end_ns;

		error = add_stretch(source, request, sweep, from_ns, to_ns, counts);
		if (error == -EFBIG && to_ns - from_ns > STRETCH_LEAST) {
			length_ns = (to_ns - from_ns) / 2;
			error = 0;
			continue;
		}
		from_ns = to_ns;
		length_ns += length_ns / 4;
	}
	return error;
}

int step_reader_read(struct timeline_source *source, const struct timeline_request *request,
		     const char *range, const struct step_nccl *nccl, struct step_rows *rows,
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
	error = add_stretches(source, request, sweep, begin_ns > REACH_NS ? begin_ns - REACH_NS : 0,
			      end_ns < UINT64_MAX - REACH_NS ? end_ns + REACH_NS : UINT64_MAX,
			      counts);
	if (!error)
		step_sweep_end(sweep);
	step_sweep_destroy(sweep);
	return error;
}
