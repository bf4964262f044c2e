/* Lets launches take less of their stacks while the guest costs the launching threads more than a limit
 * (proto/options/cost_option.h), by what its meter says. A balance decides: it grows by what the threads' time allows,
 * and shrinks by the cost. So a burst changes nothing while the rest of the run pays for it. The helper thread judges
 * and sets the level; any thread reads it. cost_limit_judge() and cost_limit_text() are pure. */
#ifndef COST_LIMIT_H
#define COST_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring/record_ring.h"

/* A burst is what is allowed in so much of the threads' time, and a fixed time. The cost of a whole run exceeds the
 * limit by a burst or little more, unless even COST_LEVEL_NONE costs more than is allowed. */
#define COST_LIMIT_THREAD_NS 2000000000u
#define COST_LIMIT_FIXED_NS  5000000u

/* What launches take of their stacks. Each level costs less than the one before. */
enum cost_level {
	COST_LEVEL_WHOLE,  /* what was asked for */
	COST_LEVEL_PYTHON, /* Python frames alone; in a thread without them as COST_LEVEL_WHOLE */
	COST_LEVEL_LEAF,   /* the innermost of these frames alone */
	COST_LEVEL_NONE,   /* nothing */
	COST_LEVELS,
};

enum cost_verdict {
	COST_VERDICT_SAME,
	COST_VERDICT_CHANGED,  /* there is another level */
	COST_VERDICT_EXCEEDED, /* even COST_LEVEL_NONE costs too much; said once at that level */
};

struct cost_limit {       /* zeroed but for allowed: nothing was judged */
	uint32_t allowed; /* share of the threads' time, in thousandths of a percent, above 0 */
	bool has_python;  /* COST_LEVEL_PYTHON takes less: set it before each judgement */
	bool exceeded;    /* COST_VERDICT_EXCEEDED was said */
	enum cost_level level;
	uint32_t share;     /* what launches cost at the level that the last verdict was about */
	int64_t balance_ns; /* from two bursts of debt to one of credit */
	int64_t excess_ns;  /* what the present level cost too much since it last began to */
	struct cost_limit_sums {
		uint64_t cost_ns, thread_ns;
	} seen, changed; /* when it judged last, and when the level changed last */
};

/* Judges what the guest cost since the last judgement. sums: of all lanes' meters. Of new stacks, which are often
 * preempted, it takes LAUNCH_METER_OUTLIER_NS each at most. Goes a level down when a burst is owed, and again when the
 * new level has cost a quarter of a burst too much. Goes a level up when a burst is saved. */
enum cost_verdict cost_limit_judge(struct cost_limit *limit,
				   const uint64_t sums[RECORD_METER_WORDS]);

/* Returns what launches have at this level, for people. */
const char *cost_limit_text(enum cost_level level);

extern atomic_uint cost_limit_word __attribute__((visibility("hidden")));

/* The level of all launches. */
void cost_limit_set(enum cost_level level);

static inline enum cost_level cost_limit_level(void)
{
	return atomic_load_explicit(&cost_limit_word, memory_order_relaxed);
}

#endif
