/* When the activities of a total began: the first, the last, and how many there were, with their durations, in up to 8
 * slices of the time between. A slice begins at a multiple of its width, a power of 2 from 2^30 ns on, and is as narrow
 * as 8 slices allow. So what is said depends on the activities alone, and sums are exact in any order of adding. Pure;
 * used by one thread. */
#ifndef FOLD_TIMES_H
#define FOLD_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_SLICES      8u
#define FOLD_SLICE_SHIFT 30u        /* the narrowest slices: 1.07 s */
#define FOLD_TIME_NONE   UINT64_MAX /* a time that is not known; so are all above INT64_MAX */

struct fold_slice {
	uint64_t count, ns;
};

/* Those of the slice of last_ns that are not in kept are what kept leaves of the total's count and ns. Zeroed memory is
 * empty. */
struct fold_times {
	uint64_t first_ns, last_ns; /* of CLOCK_MONOTONIC; first_ns FOLD_TIME_NONE: as follows */
	struct fold_slices *kept;   /* owns; NULL: all are of the slice of last_ns */
};

/* fold_times.last_ns where first_ns is FOLD_TIME_NONE. */
#define FOLD_TIMES_NONE    (1ull << 63)       /* not known */
#define FOLD_TIMES_DAMAGED ((1ull << 63) + 1) /* were damaged, or are a sum with some that were */

void fold_times_fini(struct fold_times *times);

static inline bool fold_times_known(const struct fold_times *times)
{
	return times->first_ns <= times->last_ns;
}

/* Forgets all times; instead: FOLD_TIMES_NONE or _DAMAGED. Damaged ones stay damaged. */
void fold_times_forget(struct fold_times *times, uint64_t instead);

/* As fold_times_add(), of any activity. */
int fold_times_add_far(struct fold_times *times, uint64_t start_ns, uint64_t ns, uint64_t count,
		       uint64_t sum_ns);

/* Adds an activity that begins at start_ns and takes ns. count, sum_ns: the total's before. 0; -ENOMEM: unchanged. */
static inline int fold_times_add(struct fold_times *times, uint64_t start_ns, uint64_t ns,
				 uint64_t count, uint64_t sum_ns)
{
	if (count == 0 || (start_ns ^ times->last_ns) >> FOLD_SLICE_SHIFT)
		return fold_times_add_far(times, start_ns, ns, count, sum_ns);
	if (start_ns > times->last_ns)
		times->last_ns = start_ns;
	else if (start_ns < times->first_ns)
		times->first_ns = start_ns;
	return 0;
}

/* Adds the times of another total. Both counts and sums are those before; what the sum does not know is not known.
 * 0; -ENOMEM: they are not exact any more. */
int fold_times_join(struct fold_times *times, struct fold_slice total,
		    const struct fold_times *other, struct fold_slice other_total);

/* Fills slices, which are of a total, from that of the first to that of the last, and returns their number, which is 0
 * if they are not known or total.count is 0. */
uint32_t fold_times_list(const struct fold_times *times, struct fold_slice total,
			 struct fold_slice slices[static FOLD_SLICES]);

/* The number of slices between two known times. */
uint32_t fold_times_slices(uint64_t first_ns, uint64_t last_ns);

/* Gives a total these times. slices: all but the last one. They are damaged if they are not the total's. 0; -ENOMEM:
 * they are not known. */
int fold_times_set(struct fold_times *times, uint64_t first_ns, uint64_t last_ns,
		   struct fold_slice total, const struct fold_slice *slices);

/* Bytes for a row of the store: varints (proto/batch/column.h) of first_ns and of the time from it to last_ns, and of
 * each slice but the last one its count and, if that is not 0, its ns. No bytes: damaged. */
#define FOLD_TIMES_BYTES_MAX (2 * FOLD_SLICES * 10u)
size_t fold_times_encode(const struct fold_times *times, struct fold_slice total, uint8_t *bytes);
/* 0 or -ENOMEM. Bytes that are none, or not of this total, are damaged times. */
int fold_times_decode(struct fold_times *times, struct fold_slice total, const uint8_t *bytes,
		      size_t size);

#endif
