/* What is asked of a late rank: with which others it is compared, and when. Part of straggler_causes. */
#ifndef STRAGGLER_QUESTION_H
#define STRAGGLER_QUESTION_H

#include <stdint.h>

#define STRAGGLER_OTHERS_MAX 64u /* others that the median is of */

struct straggler_window;

/* One of the ranks that are compared; the first is the late one. */
struct straggler_party {
	uint32_t process; /* the roster's: it, and all others of its job's rank */
	const struct straggler_window *windows; /* in order, none overlaps another */
	uint32_t nr_windows;
};

struct straggler_question {
	const struct straggler_party *parties; /* 2 to 1 + STRAGGLER_OTHERS_MAX */
	uint32_t nr_parties;
	uint64_t collectives;    /* by which whole runs are divided */
	uint64_t window_count;   /* and windows */
	uint64_t late_ns;        /* behind the median of the others, each time: of all */
	uint64_t window_late_ns; /* and in the windows */
};

#endif
