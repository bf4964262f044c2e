#include "times_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_sample.h"

#include "report/model/report_build.h"
#include "timeline/strips/time_strips.h"

#define FIRST_NS  1000000000000u
#define LATEST    78u /* percent of a step, at which rank 5 has computed */
#define GRAPHS_AT 17u /* the bin in which each device has a graph */

static struct time_strips strips;

static void fill_strip(struct time_strip *strip, uint32_t rank, const char *host)
{
	char name[32];

	snprintf(name, sizeof(name), "node%03u", rank / 8);
	strip->device = (struct strip_device){.gpu = (int32_t)(rank % 8), .rank = (int32_t)rank};
	strip->host = strdup(host ? host : name);
	if (!strip->host || strip_bins_init(&strip->bins, &strips.axis))
		abort();
	for (uint32_t bin = 0; bin < strips.axis.nr_bins; bin++) {
		uint64_t *ns = &strip->bins.ns[(size_t)bin * STRIP_PARTS];
		const uint64_t percent_ns = strips.axis.bin_ns / 100;

		ns[STRIP_COMPUTE] = (bin * 7 + rank * 13) % 60 * percent_ns;
		ns[STRIP_GRAPHS] = bin == GRAPHS_AT ? 5 * percent_ns : 0;
		ns[STRIP_NCCL] = bin / 50 % 4 == 1 ? 20 * percent_ns : 0;
		ns[STRIP_NCCL_MOVES] = bin / 50 % 4 == 3 ? 12 * percent_ns : 0;
		ns[STRIP_NCCL_WAITS] = bin / 50 % 4 == 3 ? 8 * percent_ns : 0;
		ns[STRIP_COPIES] = bin % 10 == 0 ? 4 * percent_ns : 0;
	}
}

static void fill(struct sample *sample, uint32_t nr_ranks, uint32_t nr_bins, uint32_t nr_steps,
		 const char *first_host)
{
	strips.axis = (struct strip_axis){FIRST_NS, TIMES_SAMPLE_BIN_NS, nr_bins};
	strips.origin_ns = strips.first_ns = FIRST_NS;
	/* The last bin is half as long. */
	strips.end_ns =
		FIRST_NS + nr_bins * (uint64_t)TIMES_SAMPLE_BIN_NS - TIMES_SAMPLE_BIN_NS / 2;
	strips.strips = calloc(nr_ranks, sizeof(*strips.strips));
	if (!strips.strips)
		abort();
	strips.nr_strips = nr_ranks;
	for (uint32_t rank = 0; rank < nr_ranks; rank++)
		fill_strip(&strips.strips[rank], rank, rank == 0 ? first_host : NULL);
	/* The first step begins a tenth behind the start; then all take as long. */
	for (uint32_t step = 1; step <= nr_steps; step++) {
		const uint64_t span_ns = (strips.end_ns - FIRST_NS) / 10 * 9;

		step_ticks_add(&strips.ticks, &(struct timeline_launch){
						      .time_ns = strips.end_ns - span_ns +
								 span_ns / nr_steps * (step - 1),
						      .correlation_id = step,
						      .flags = RECORD_LAUNCH_MARK,
						      .mark = RECORD_MARK_STEP,
					      });
	}
	sample->options.strips = &strips;
	sample->options.path = "runs/prof/profile.db";
}

void times_sample_8(struct sample *sample)
{
	job_sample_8(sample);
	fill(sample, 8, 500, 40, "</script><img src=x onerror=alert(1)>\x1b[31m");
	strips.nr_left_out = 3;
	strips.nr_missing = 2;
	strips.counts.log.dropped_events = 12345;
	strips.counts.log.lost_events = 1;
	strips.counts.log.damaged = 2;
	strips.counts.unclocked = 7;
	sample->options.path = "a dir/it's $(x)/profile.db";
}

/* A step begins with a copy, computes, and reduces. Rank 5 computes 15 % longer, and the others wait for it. In each tenth step the loader is late.
 */
static void fill_step(uint64_t *ns, uint32_t rank, uint64_t at_ns, uint64_t step_ns)
{
	const uint64_t percent_ns = strips.axis.bin_ns / 100,
		       late = at_ns / step_ns % 10 == 9 ? 35 : 0;
	const uint64_t at = at_ns % step_ns * 100 / step_ns, compute = rank == 5 ? LATEST : 68;

	memset(ns, 0, STRIP_PARTS * sizeof(*ns));
	if (at < late)
		return;
	ns[STRIP_COPIES] = at < late + 4 ? 60 * percent_ns : 0;
	ns[STRIP_COMPUTE] = at >= late + 4 && at < compute ? (88 + at % 7) * percent_ns : 0;
	ns[STRIP_NCCL_WAITS] = at >= compute && at < LATEST ? 97 * percent_ns : 0;
	ns[STRIP_NCCL_MOVES] = at >= LATEST && at < 96   ? 97 * percent_ns
			       : at > 40 && at < compute ? 4 * percent_ns
							 : 0;
}

void times_sample_training(struct sample *sample)
{
	job_sample_8(sample);
	fill(sample, 8, 1000, 40, NULL);
	for (uint32_t i = 0; i < strips.nr_strips * strips.axis.nr_bins; i++) {
		const uint32_t rank = i / strips.axis.nr_bins, bin = i % strips.axis.nr_bins;
		const uint64_t span_ns = strips.end_ns - FIRST_NS, at_ns = bin * strips.axis.bin_ns;
		uint64_t *ns = &strips.strips[rank].bins.ns[(size_t)bin * STRIP_PARTS];

		memset(ns, 0, STRIP_PARTS * sizeof(*ns));
		if (at_ns >= span_ns / 10)
			fill_step(ns, rank, at_ns - span_ns / 10, span_ns / 10 * 9 / 40);
	}
}

void times_sample_512(struct sample *sample)
{
	job_sample_512(sample);
	fill(sample, 512, 250, 4096, NULL);
}

void times_sample_one_step(struct sample *sample)
{
	job_sample_8(sample);
	fill(sample, 8, 250, 1, NULL);
}

/* Each tenth piece begins a little before the one before it ends. The first one begins before the part, and nobody knows
 * its launch. */
static struct time_box box_of(uint32_t i, uint32_t rank)
{
	const uint64_t ms = 1000000, start_ns = FIRST_NS + i * 100 * ms + rank * 5 * ms;
	struct time_box box = {
		.key = {.stream_id = 7 + (i % 10 == 9), .context_id = 1, .tid = 4242},
		.start_ns = i ? start_ns - (i % 10 == 9 ? 70 * ms : 0) : FIRST_NS - 20 * ms,
		.wait_ns = i % 4 == 3 ? 10 * ms : 0,
		.device = rank,
		.part = i % 4 == 3 ? STRIP_NCCL_MOVES : STRIP_COMPUTE,
	};

	box.end_ns = box.start_ns + 40 * ms;
	box.launch_ns = i ? box.start_ns - i * ms : 0;
	return box;
}

void times_sample_part(struct sample *sample)
{
	static struct report_piece pieces[TIMES_SAMPLE_PIECES];
	static struct time_box boxes[TIMES_SAMPLE_PIECES];

	job_sample_8(sample);
	fill(sample, 2, 500, 0, NULL);
	strips.origin_ns = FIRST_NS - 3000000000u;
	strips.is_part = true;
	for (uint32_t i = 0; i < 4; i++)
		step_ticks_add(&strips.ticks,
			       &(struct timeline_launch){
				       .time_ns = FIRST_NS - 1000000000u + i * 3000000000ull,
				       .correlation_id = 312500 + i,
				       .flags = RECORD_LAUNCH_MARK,
				       .mark = RECORD_MARK_STEP,
			       });
	for (uint32_t i = 0; i < TIMES_SAMPLE_PIECES; i++) {
		const uint32_t rank = i / (TIMES_SAMPLE_PIECES / 2);
		const struct report_leaf *leaf = &sample->leaves[i * 7 % sample->tree.nr_leaves];

		boxes[i] = box_of(i % (TIMES_SAMPLE_PIECES / 2), rank);
		pieces[i] = (struct report_piece){.node = leaf->node, .name = leaf->name};
	}
	strips.boxes = (struct time_boxes){.boxes = boxes, .nr_boxes = TIMES_SAMPLE_PIECES};
	sample->options.pieces = pieces;
}
