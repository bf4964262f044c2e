/* Decides whether an aggregator takes the events of one more node, or that node folds them itself (proto/wire.md,
 * WELCOME). Pure: times are arguments. Single-threaded. */
#ifndef RAW_BUDGET_H
#define RAW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define RAW_BUDGET_AGENTS 32 /* of one profile, that send their events and have not said goodbye */
/* The receiving thread is busy if it needed more than half of its CPU in the last whole one of these. */
#define RAW_BUDGET_WINDOW_NS 5000000000ull

struct raw_budget {                /* zeroed: not busy */
	uint64_t since_ns, cpu_ns; /* the begin of the window; the thread's CPU time then */
	bool is_busy;
};

/* Takes the receiving thread's CPU time so far. Call it often: a window lasts until the first call after its end. */
void raw_budget_look(struct raw_budget *budget, uint64_t now_ns, uint64_t cpu_ns);

/* nr_agents: that send their events now, without the one that asks. is_behind: commits are slow, or fail. */
bool raw_budget_has_room(const struct raw_budget *budget, uint64_t nr_agents, bool is_behind);

#endif
