/* Walks the calling thread's native stack by the tables of unwind_table.h, without frame pointers. On aarch64 it walks
 * the chain of frame pointers, which that machine's ABI keeps.
 * Launches call it: it takes no lock, allocates nothing and installs no signal handler. It makes one system call when
 * it first sees an address that lies in no file, and no other. It reads nothing outside of the stack bounds that it is
 * given, whatever the stack holds. */
#ifndef UNWIND_H
#define UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#define UNWIND_CACHE_SETS 1024u /* a power of two */
#define UNWIND_CACHE_WAYS 4u
#define UNWIND_STOPS_MAX  4u
#define UNWIND_TRAIL_MAX  256u

struct unwind_tables;

/* The registers of one frame of a walk, and how it was left. */
struct unwind_step {
	uint64_t pc, sp, fp; /* sp with its lowest bit set: a frame that is not to be recognised */
	uint64_t rbp_at;     /* where the caller's rbp was saved; or UNWIND_STEP_* */
};

#define UNWIND_STEP_KEPT 0u /* nowhere: it is the present one */
#define UNWIND_STEP_ONCE 1u /* left in a way that depends on more than these words */

/* The frames of the last walk, root first. Most walks end in the same frames as the walk before. A walk that meets one
 * of them, with the same registers, only checks that the words which led on from there are unchanged. */
struct unwind_trail {
	uint32_t nr; /* 0: none; and none for other tables or stops than these */
	uint32_t epoch;
	uint32_t end;     /* enum unwind_end of the walk */
	uint64_t zero_at; /* where it read the 0 that ended it; 0: it ended otherwise */
	uint32_t nr_fresh;
	const struct unwind_stops *stops;
	struct unwind_step steps[UNWIND_TRAIL_MAX];
	struct unwind_step fresh[UNWIND_TRAIL_MAX]; /* of the walk at hand, leaf first */
};

/* Rules of addresses that share a place in the cache: one cache line. */
struct unwind_rule_set {
	uint64_t addresses[UNWIND_CACHE_WAYS]; /* 0: free */
	uint32_t rules[UNWIND_CACHE_WAYS];
	uint32_t epoch; /* of the tables; rules of another epoch do not count */
	uint32_t turn;  /* the way that the next rule replaces */
	uint64_t unused;
};

/* One thread's rules, by the address that they were looked up for, and its last walk. Zeroed: empty. */
struct unwind_cache {
	struct unwind_rule_set sets[UNWIND_CACHE_SETS]; /* fastest if it starts on a cache line */
	struct unwind_trail trail;
};

/* Code that ends the walk, such as the interpreter's evaluation loop. Its frame is still stored. Starts and ends are
 * addresses, end exclusive. nr is at most UNWIND_STOPS_MAX. */
struct unwind_stops {
	uint32_t nr;
	struct {
		uint64_t start, end;
	} ranges[UNWIND_STOPS_MAX];
};

enum unwind_end {
	UNWIND_ROOT,      /* no caller: the rules say so (_start, clone, a fiber), or it is 0 */
	UNWIND_STOP,      /* a frame in one of the stops */
	UNWIND_FULL,      /* max frames, and there are more */
	UNWIND_NOT_READY, /* a file's table is yet to be built; it is wanted now */
	UNWIND_NO_RULE,   /* code without usable rules, or a frame outside of the bounds */
};

struct unwind_start {
	uint64_t pc, sp, fp; /* of the first frame: its return address, CFA and frame pointer */
};

/* Stores return addresses, leaf first; the first is start->pc. Reads only inside [start->sp, high). Where a signal
 * interrupted the code, the address is that of the interrupted instruction. `stops` may be NULL, and must not change
 * between walks with one cache. aarch64 does not use tables and cache. *end says why the walk ended.
 * Returns the number of addresses, at most max. */
uint32_t unwind_walk(struct unwind_tables *tables, struct unwind_cache *cache,
		     const struct unwind_start *start, uint64_t high,
		     const struct unwind_stops *stops, uint64_t *frames, uint32_t max,
		     enum unwind_end *end);

/* Finds the rule of the code whose call returns to pc, as a walk with tables of this epoch does. false: there is none
 * yet. For walk_record.h; x86_64 alone. */
bool unwind_rule_before(struct unwind_tables *tables, struct unwind_cache *cache, uint32_t epoch,
			uint64_t pc, uint32_t *rule);

/* Starts a walk at the caller of the function that uses it. That function must have a frame pointer. */
#define UNWIND_START_HERE() unwind_start_from((const uint64_t *)__builtin_frame_address(0))

static inline struct unwind_start unwind_start_from(const uint64_t *frame)
{
	return (struct unwind_start){
		.pc = frame[1], .sp = (uint64_t)(uintptr_t)(frame + 2), .fp = frame[0]};
}

#endif
