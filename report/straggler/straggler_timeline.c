#include "straggler_timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_piece.h"

#include "aggregator/core/kept_window.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "report/profile/profile.h"

#define NAMES       256u
#define WINDOWS_MAX (1ull << 26) /* 77 days: no job is longer */

/* A name of kernels of NCCL. */
struct name {
	uint32_t id;
	uint64_t moves_ns; /* of one kernel, on average */
};

struct span {
	uint64_t start_ns, end_ns;
};

struct reading {
	const struct straggler_timeline_input *input;
	uint32_t process;
	struct straggler_timeline *timeline;
	struct host_sample *pieces; /* owns; by start */
	uint32_t nr_pieces;
	struct name names[NAMES];    /* the last one of each place: id % NAMES */
	struct span *compute, *nccl; /* own; they follow one another, and do not touch */
	uint32_t nr_compute, nr_nccl;
};

/* ---- names */

static uint64_t find_moves(const struct reading *reading, uint32_t name)
{
	const struct collective_splits *splits = &reading->input->folds->splits;
	uint64_t kernels = 0, moves_ns = 0;

	for (uint32_t i = 0; i < splits->count; i++) {
		const struct collective_split *split = &splits->splits[i];

		if (split->key.process != reading->process || split->key.name != name)
			continue;
		kernels += split->kernels;
		moves_ns += split->moves_ns;
	}
	return kernels ? moves_ns / kernels : 0;
}

/* Returns what a kernel of NCCL moves, on average, by its name. */
static uint64_t moves_of(struct reading *reading, uint32_t id)
{
	struct name *name = &reading->names[id % NAMES];

	if (name->id != id || !id)
		*name = (struct name){.id = id, .moves_ns = find_moves(reading, id)};
	return name->moves_ns;
}

static bool is_nccl(const struct reading *reading, const struct host_sample *piece)
{
	return straggler_piece_is_nccl(reading->input->profile->collection->catalog, piece);
}

/* ---- spans */

static void add_span(struct span *spans, uint32_t *count, struct span span)
{
	struct span *last = *count ? &spans[*count - 1] : NULL;

	if (span.start_ns >= span.end_ns)
		return;
	if (last && span.start_ns <= last->end_ns)
		last->end_ns = span.end_ns > last->end_ns ? span.end_ns : last->end_ns;
	else
		spans[(*count)++] = span;
}

static int list_spans(struct reading *reading)
{
	struct straggler_timeline *timeline = reading->timeline;

	reading->compute = calloc(reading->nr_pieces + 1ul, sizeof(*reading->compute));
	reading->nccl = calloc(reading->nr_pieces + 1ul, sizeof(*reading->nccl));
	if (!reading->compute || !reading->nccl)
		return -ENOMEM;
	for (uint32_t i = 0; i < reading->nr_pieces; i++) {
		const struct host_sample *piece = &reading->pieces[i];
		const struct span span = {straggler_piece_start(piece), piece->time_ns};

		if (is_nccl(reading, piece))
			add_span(reading->nccl, &reading->nr_nccl, span);
		else
			add_span(reading->compute, &reading->nr_compute, span);
	}
	if (reading->nr_nccl) {
		timeline->start_ns = reading->nccl[0].start_ns;
		timeline->end_ns = reading->nccl[reading->nr_nccl - 1].end_ns;
	}
	const uint64_t window_ns = reading->input->window_ns;
	if (window_ns && timeline->end_ns - timeline->start_ns > window_ns)
		timeline->start_ns = timeline->end_ns - window_ns;
	return 0;
}

/* ---- stretches */

/* The end of a stretch, and the begin of the next one. */
static uint64_t end_of(const struct reading *reading, uint32_t stretch)
{
	const struct straggler_timeline *timeline = reading->timeline;
	const uint64_t steps = (stretch + 1ull) << reading->input->shift;
	const double length = (double)(timeline->end_ns - timeline->start_ns);

	if (steps >= reading->input->steps)
		return timeline->end_ns;
	return timeline->start_ns +
	       (uint64_t)(length * (double)steps / (double)reading->input->steps);
}

enum sort { COMPUTE, NCCL, KNOWN };

static void add_part(struct straggler_stretch *stretch, enum sort sort, uint64_t ns)
{
	switch (sort) {
	case COMPUTE:
		stretch->times.compute_ns += ns;
		break;
	case NCCL:
		stretch->times.waits_ns += ns;
		break;
	case KNOWN:
		stretch->known_ns += ns;
		break;
	}
}

/* Adds a span to the stretches in which it lies. *at is the stretch of the span before. */
static void add_times(const struct reading *reading, enum sort sort, struct span span, uint32_t *at)
{
	const struct straggler_timeline *timeline = reading->timeline;

	if (span.start_ns < timeline->start_ns)
		span.start_ns = timeline->start_ns;
	if (span.end_ns > timeline->end_ns)
		span.end_ns = timeline->end_ns;
	while (span.start_ns < span.end_ns) {
		while (*at + 1 < reading->input->nr_stretches &&
		       end_of(reading, *at) <= span.start_ns)
			++*at;
		uint64_t end_ns = end_of(reading, *at);

		if (end_ns > span.end_ns || end_ns <= span.start_ns)
			end_ns = span.end_ns;
		add_part(&timeline->stretches[*at], sort, end_ns - span.start_ns);
		span.start_ns = end_ns;
	}
}

/* What of NCCL's kernels is not beside computation. */
static void add_exposed(const struct reading *reading)
{
	uint32_t at = 0, next = 0;

	for (uint32_t i = 0; i < reading->nr_nccl; i++) {
		struct span span = reading->nccl[i];

		while (next < reading->nr_compute && reading->compute[next].end_ns <= span.start_ns)
			next++;
		for (uint32_t j = next; j < reading->nr_compute && span.start_ns < span.end_ns &&
					reading->compute[j].start_ns < span.end_ns;
		     j++) {
			const struct span *compute = &reading->compute[j];

			if (compute->start_ns > span.start_ns)
				add_times(reading, NCCL,
					  (struct span){span.start_ns, compute->start_ns}, &at);
			span.start_ns = compute->end_ns;
		}
		add_times(reading, NCCL, span, &at);
	}
}

/* What is kept is known. */
static void add_known(const struct reading *reading)
{
	const struct straggler_timeline *timeline = reading->timeline;
	uint32_t at = 0;

	if (!reading->input->level) {
		add_times(reading, KNOWN, (struct span){timeline->start_ns, timeline->end_ns}, &at);
		return;
	}
	const uint64_t first = timeline->start_ns / KEPT_LOG_GPU_NS;
	const uint64_t last = timeline->end_ns / KEPT_LOG_GPU_NS;
	for (uint64_t i = first; i <= last && i - first < WINDOWS_MAX; i++)
		if (kept_window_level(i) >= reading->input->level)
			add_times(reading, KNOWN,
				  (struct span){i * KEPT_LOG_GPU_NS, (i + 1) * KEPT_LOG_GPU_NS},
				  &at);
}

/* Moves what NCCL's kernels move from their waits. */
static void add_moves(struct reading *reading)
{
	struct straggler_stretch *stretches = reading->timeline->stretches;
	uint32_t at = 0;

	for (uint32_t i = 0; i < reading->nr_pieces; i++) {
		const struct host_sample *piece = &reading->pieces[i];

		if (piece->time_ns <= reading->timeline->start_ns || !is_nccl(reading, piece))
			continue;
		while (at + 1 < reading->input->nr_stretches &&
		       end_of(reading, at) <= straggler_piece_start(piece))
			at++;
		stretches[at].times.moves_ns += moves_of(reading, piece->name_id);
	}
	for (uint32_t i = 0; i < reading->input->nr_stretches; i++) {
		struct straggler_times *times = &stretches[i].times;

		if (times->moves_ns > times->waits_ns)
			times->moves_ns = times->waits_ns;
		times->waits_ns -= times->moves_ns;
	}
}

static void scale(struct straggler_times *times, double by)
{
	times->compute_ns = (uint64_t)((double)times->compute_ns * by);
	times->waits_ns = (uint64_t)((double)times->waits_ns * by);
	times->moves_ns = (uint64_t)((double)times->moves_ns * by);
}

/* What is known of a stretch stands for the whole of it; what is left of it is idle time. */
static void complete(const struct reading *reading)
{
	uint64_t start_ns = reading->timeline->start_ns;

	for (uint32_t i = 0; i < reading->input->nr_stretches; i++) {
		struct straggler_stretch *stretch = &reading->timeline->stretches[i];
		struct straggler_times *times = &stretch->times;
		const uint64_t end_ns = end_of(reading, i), ns = end_ns - start_ns;

		if (stretch->known_ns && stretch->known_ns != ns)
			scale(times, (double)ns / (double)stretch->known_ns);
		uint64_t used_ns = times->compute_ns + times->waits_ns + times->moves_ns;
		times->idle_ns = stretch->known_ns && ns > used_ns ? ns - used_ns : 0;
		start_ns = end_ns;
	}
}

/* Leaves out what other ranks have not kept. */
static void leave_out(struct reading *reading)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < reading->nr_pieces; i++)
		if (kept_window_level(straggler_piece_start(&reading->pieces[i]) /
				      KEPT_LOG_GPU_NS) >= reading->input->level)
			reading->pieces[kept++] = reading->pieces[i];
	reading->nr_pieces = kept;
}

static int divide(struct reading *reading)
{
	int error = list_spans(reading);
	uint32_t at = 0;

	if (error || !reading->nr_nccl)
		return error;
	for (uint32_t i = 0; i < reading->nr_compute; i++)
		add_times(reading, COMPUTE, reading->compute[i], &at);
	add_exposed(reading);
	add_moves(reading);
	add_known(reading);
	complete(reading);
	return 0;
}

static int read_pieces(struct reading *reading)
{
	const struct straggler_timeline_input *input = reading->input;

	if (input->window_ns)
		return store_kept_read_newest(input->database, input->sort, reading->process,
					      input->window_ns, &reading->pieces,
					      &reading->nr_pieces);
	return store_kept_read(input->database, input->sort, reading->process, &reading->pieces,
			       &reading->nr_pieces);
}

int straggler_timeline_read(const struct straggler_timeline_input *input, uint32_t process,
			    struct straggler_timeline *timeline)
{
	struct reading reading = {.input = input, .process = process, .timeline = timeline};

	*timeline = (struct straggler_timeline){
		.stretches = calloc(input->nr_stretches + 1ul, sizeof(*timeline->stretches))};
	if (!timeline->stretches)
		return -ENOMEM;
	int error = read_pieces(&reading);
	if (!error && reading.nr_pieces) {
		if (input->level)
			leave_out(&reading);
		straggler_piece_sort(reading.pieces, reading.nr_pieces);
		error = divide(&reading);
	}
	free(reading.pieces);
	free(reading.compute);
	free(reading.nccl);
	return error;
}

void straggler_timeline_fini(struct straggler_timeline *timeline)
{
	free(timeline->stretches);
	*timeline = (struct straggler_timeline){0};
}
