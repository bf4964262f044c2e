/* Divides the time of a device into bins, and tells how long it did what in each. Where several things run at once, the
 * first part of enum strip_part counts. So the parts of a bin never exceed it, and their sum is the union of all
 * intervals. Pure; used by one thread. */
#ifndef STRIP_BINS_H
#define STRIP_BINS_H

#include <stdint.h>

enum strip_part {
	STRIP_COMPUTE, /* kernels that are not NCCL's */
	STRIP_GRAPHS,  /* graphs that were recorded as a whole */
	STRIP_NCCL_MOVES,
	STRIP_NCCL,       /* NCCL's kernels of which nothing more is known */
	STRIP_NCCL_WAITS, /* for kernels of other ranks (nccl_waits.h) */
	STRIP_COPIES,     /* copies and memsets */
	STRIP_PAUSES,     /* a process was not captured (capture_pauses.h) */
	STRIP_PARTS,
};

struct strip_axis { /* which all devices share */
	uint64_t first_ns, bin_ns;
	uint32_t nr_bins;
};

struct strip_bins {
	uint64_t *ns;                  /* owns; [bin * STRIP_PARTS + part] */
	uint64_t at_ns;                /* what is before is in the bins */
	uint64_t ends_ns[STRIP_PARTS]; /* of what has begun */
};

/* Makes an axis of at most nr_most (1 or more) bins for [first_ns, end_ns). The last bin may be longer than the rest of
 * the time. Without time there are no bins. */
struct strip_axis strip_axis_of(uint64_t first_ns, uint64_t end_ns, uint32_t nr_most);

/* Room for the bins of the axis. 0 or -ENOMEM. strip_bins_fini() accepts zeroed bins. */
int strip_bins_init(struct strip_bins *bins, const struct strip_axis *axis);
void strip_bins_fini(struct strip_bins *bins);

/* Adds an interval that begins no earlier than those before. What lies outside of the axis is left out. */
void strip_bins_add(struct strip_bins *bins, const struct strip_axis *axis, enum strip_part part,
		    uint64_t start_ns, uint64_t end_ns);

/* Puts what has begun into the bins, after the last interval. */
void strip_bins_end(struct strip_bins *bins, const struct strip_axis *axis);

/* Makes one bin of so many (1 or more), for strip_axis_join()'s axis. */
void strip_bins_join(struct strip_bins *bins, const struct strip_axis *axis, uint32_t count);
struct strip_axis strip_axis_join(const struct strip_axis *axis, uint32_t count);

#endif
