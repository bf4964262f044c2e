/* A question about a late rank: the ranks to compare it with, and the times to compare. Part of straggler_causes. */
#ifndef STRAGGLER_QUESTION_H
#define STRAGGLER_QUESTION_H

#include <stdint.h>

#include "straggler_window.h"

#define STRAGGLER_OTHERS_MAX 64u /* other ranks in the median */

/* An excess counts from so many spreads of the others on, and a launch is a longer one from this factor on. */
#define STRAGGLER_EXCESS_SPREADS 3.0
#define STRAGGLER_LONGER_LAUNCH  1.02

/* The times that are compared. */
enum straggler_extent {
	STRAGGLER_RUN,         /* whole runs */
	STRAGGLER_COLLECTIVES, /* from the first collective to the last one */
	STRAGGLER_LATE,        /* before the collectives in which the rank was last */
};

/* A rank of the comparison; the first one is the late one. */
struct straggler_party {
	/* a process of the roster, which stands for all processes of its rank */
	uint32_t process;
	struct straggler_windows windows; /* none where the extent is STRAGGLER_RUN */
};

struct straggler_question {
	const struct straggler_party *parties; /* 2 to 1 + STRAGGLER_OTHERS_MAX */
	uint32_t nr_parties;
	enum straggler_extent extent; /* of the windows */
	uint64_t collectives;         /* divisor for sums of whole runs */
	uint64_t late_ns;        /* mean time behind the median of the others in all collectives */
	uint64_t window_late_ns; /* the same in the collectives of the windows */
};

#endif
