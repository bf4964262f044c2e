/* Lets launches take less of their stacks while the guest costs a launching thread more of its time than a limit
 * (proto/options/cost_option.h), by what its meter says. Each lane of the ring is judged by its own cost and time, so a
 * thread that hardly launches neither hides what another one pays, nor is charged with it. A lane's balance decides: it
 * grows by what the thread's time allows, and shrinks by the cost. So a burst changes nothing while the rest of the run
 * pays for it. The level is that of all launches. The helper thread judges and sets it; any thread reads it.
 * cost_limit_take(), cost_limit_judge() and cost_limit_text() are pure. */
#ifndef COST_LIMIT_H
#define COST_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring/record_ring.h"

/* A burst is what is allowed in so much of a thread's time, and a fixed time. The cost of a long run exceeds the limit
 * in a thread by a burst or little more, unless even COST_LEVEL_NONE costs more than is allowed. */
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

struct cost_limit_sums {
	uint64_t cost_ns, thread_ns;
};

/* A lane, or the threads that had it one after the other. Zeroed: nothing was taken. */
struct cost_limit_lane {
	struct cost_limit_sums seen;    /* up to the newest block of calls (launch_meter.h) */
	struct cost_limit_sums changed; /* `seen` when the level changed last */
	struct cost_limit_sums began;   /* `seen` when excess_ns began to grow */
	uint64_t seen_ns;               /* CLOCK_MONOTONIC, when that block was taken */
	int64_t balance_ns;             /* from two bursts of debt to one of credit */
	int64_t excess_ns;              /* what the present level cost too much since `began` */
};

struct cost_limit {       /* zeroed but for allowed: nothing was judged */
	uint32_t allowed; /* share of a thread's time, in thousandths of a percent; above 0 */
	bool has_python;  /* COST_LEVEL_PYTHON takes less: set it before each judgement */
	bool exceeded;    /* COST_VERDICT_EXCEEDED was said */
	enum cost_level level;
	/* What launches cost before the last verdict, in the thread that paid most. If the verdict is that they cost
	 * too much, it is the share since they began to, and above `allowed`. Else it is the share of that level. */
	uint32_t share;
	uint32_t nr_lanes; /* up to here, lanes were taken */
	struct cost_limit_lane lanes[RECORD_RING_LANES_MAX];
};

/* Takes what a lane's meter says at now_ns, if it has a new block. lane: below RECORD_RING_LANES_MAX. Of new stacks,
 * which are often preempted, it takes LAUNCH_METER_OUTLIER_NS each at most. */
void cost_limit_take(struct cost_limit *limit, uint32_t lane,
		     const uint64_t words[RECORD_METER_WORDS], uint64_t now_ns);

/* Judges what was taken. Goes a level down when a lane owes a burst, and again when the new level has cost that lane a
 * quarter of a burst too much. Goes a level up when no lane has less than a burst saved; a thread that makes no calls
 * saves all that its time allows. */
enum cost_verdict cost_limit_judge(struct cost_limit *limit, uint64_t now_ns);

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
