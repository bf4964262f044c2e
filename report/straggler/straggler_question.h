/* A question about a late rank: with which other ranks it is compared, and in which times. Part of straggler_causes. */
#ifndef STRAGGLER_QUESTION_H
#define STRAGGLER_QUESTION_H

#include <stdint.h>

#define STRAGGLER_OTHERS_MAX 64u /* other ranks that the median is of */

struct straggler_window;

/* A rank that is compared; the first one is the late one. */
struct straggler_party {
	/* a process of the roster; it stands for all processes of its job's rank */
	uint32_t process;
	const struct straggler_window *windows; /* in order; they do not overlap */
	uint32_t nr_windows;
};

struct straggler_question {
	const struct straggler_party *parties; /* 2 to 1 + STRAGGLER_OTHERS_MAX */
	uint32_t nr_parties;
	uint64_t collectives;    /* the sums of whole runs are divided by it */
	uint64_t window_count;   /* the sums of windows are divided by it */
	uint64_t late_ns;        /* mean time behind the median of the others in all collectives */
	uint64_t window_late_ns; /* the same in the windows */
};

#endif
