/* Compares walks with the C library's backtrace(), frame by frame; for tests. Each thread has its
 * own. */
#ifndef UNWIND_CHECK_H
#define UNWIND_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "record_check.h"
#include "unwind/unwind.h"

#define UNWIND_CHECK_DEPTH 256

struct unwind_check {
	struct unwind_tables *tables; /* borrowed */
	uint64_t high;                /* of the stack that the thread is on */
	struct unwind_cache cache;
	uint64_t seed;
	uint64_t walks;  /* that were compared */
	uint64_t frames; /* that agreed */
	uint64_t cut;    /* walks with less of the stack to read: compared as far as they went */
	uint64_t without_rule; /* interrupted where the rules cannot say: likewise */
	uint64_t not_ready;    /* walks that met a table yet to be built: likewise */
	uint64_t disagreements;
	struct record_check record;
	bool quiet; /* else the first disagreement is printed */
};

/* Looks at the caller's stack. One in 16 walks may read only part of it. */
void unwind_check_here(struct unwind_check *check);

/* The same in a signal's handler, where the interrupted code may be anywhere in a function. */
void unwind_check_interrupted(struct unwind_check *check);

#endif
