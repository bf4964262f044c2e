/* How long kernels, copies and other GPU work took over the time of an event log, by name, or by name and launch stack,
 * over all ranks: as histograms, and in equal slices of the time, so that a change over the run shows. A log of any
 * length passes through bounded memory. Used by one thread. */
#ifndef KERNEL_TIMES_H
#define KERNEL_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/duration_bins.h"
#include "timeline/trace/timeline_source.h"

#define KERNEL_TIMES_SLICES 32u
#define KERNEL_TIMES_MOST   65536u /* rows; work of further ones is counted */

struct kernel_slice {
	uint64_t count, ns;
};

struct kernel_time {             /* of a kind and name, and of stacks if these are wanted */
	uint8_t kind, copy_kind; /* enum record_gpu_kind; as in struct gpu_record */
	uint32_t name_id;        /* of a kernel, in the catalog; 0: not known */
	/* of the launch, and of a graph's node (struct gpu_record), in the catalog; 0: not known, or not wanted */
	uint32_t stack_id, capture_stack_id;
	uint64_t count, ns;
	struct duration_bins bins;  /* owns; of all its durations */
	uint64_t first_ns, last_ns; /* the first begin and the last end, on the source's clock */
	struct kernel_slice slices[KERNEL_TIMES_SLICES];
	bool drifts; /* the means of slices rise or fall beyond chance (drift.h) */
	double drift_begin_ns, drift_end_ns;
};

struct kernel_times {
	bool by_stack;
	struct kernel_time *times; /* owns; those with most time first */
	uint32_t nr_times, room_times;
	uint64_t from_ns, to_ns; /* the time that the slices divide */
	uint64_t nr_left_out;    /* pieces of work */
	struct timeline_counts counts;
};

/* Takes the work of the request's ranks that begins within its time. by_stack: a row for each launch stack of a name.
 * 0; -ENOENT: there is no log; or as timeline_source_read(), by_stack as kernel_stacks_read(). Call kernel_times_fini()
 * in any case. */
int kernel_times_read(struct timeline_source *source, const struct timeline_request *request,
		      bool by_stack, struct kernel_times *times);
void kernel_times_fini(struct kernel_times *times);

/* Adds another time's work to this one's; the other is empty then. 0; -ENOMEM: both may only be freed. */
int kernel_time_add(struct kernel_time *time, struct kernel_time *other);

/* The sums of the first or the second half of the slices. */
struct kernel_slice kernel_times_half(const struct kernel_time *time, uint32_t half);

#endif
