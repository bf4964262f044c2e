/* Lets launches take less of their stacks while the guest costs the launching threads more than a limit
 * (proto/options/cost_option.h), by what its meter says. Pure but for the word. The helper thread judges; any thread
 * reads the word. */
#ifndef COST_LIMIT_H
#define COST_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring/record_ring.h"

#define COST_LIMIT_METERED 64u /* metered calls that one judgement takes */

/* What launches take of their stacks. Each level costs less than the one before. */
enum cost_level {
	COST_LEVEL_WHOLE,  /* what was asked for */
	COST_LEVEL_PYTHON, /* Python frames alone; in a thread without them the native stack */
	COST_LEVEL_LEAF,   /* the innermost of these frames alone */
	COST_LEVEL_NONE,   /* nothing */
	COST_LEVELS,
};

/* The level, which each launch reads. */
extern atomic_uint cost_limit_word __attribute__((visibility("hidden")));

struct cost_limit {       /* zeroed but for allowed: nothing was judged */
	uint32_t allowed; /* share of the threads' time, in thousandths of a percent; 0: no limit */
	uint32_t share;   /* at the last judgement */
	enum cost_level level;
	uint64_t seen[RECORD_METER_WORDS];
	uint64_t
		each_ns[COST_LEVELS]; /* what a launch cost at each level when it was last judged */
};

/* Judges what the guest cost since the last judgement. sums: of all lanes' meters. Goes a level down if that is more
 * than allowed. Goes a level up if a launch there, as far as is known, would take three quarters of that or less. What
 * is known is forgotten by a sixteenth with each judgement, so that a level that was once too dear is tried again.
 * Returns whether the level changed. */
bool cost_limit_judge(struct cost_limit *limit, const uint64_t sums[RECORD_METER_WORDS]);

/* Returns what launches have at this level, for people. */
const char *cost_limit_text(enum cost_level level);

#endif
