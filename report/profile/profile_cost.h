/* What profiling cost, by the ledgers of a profile's processes and agents (LEDGER_COST). Pure. */
#ifndef PROFILE_COST_H
#define PROFILE_COST_H

#include <stdint.h>

struct profile;

enum profile_cost_part {
	PROFILE_COST_ENTRY,
	PROFILE_COST_NATIVE,
	PROFILE_COST_PYTHON,
	PROFILE_COST_INTERN,
	PROFILE_COST_EXIT,
	PROFILE_COST_PARTS,
};

struct profile_cost_count {
	uint64_t count, ns;
};

/* All sums saturate. */
struct profile_cost {
	struct profile_cost_count
		calls;    /* that the metered ones stand for, with the guests' time in them */
	uint64_t metered; /* calls metered */
	uint64_t part_ns[PROFILE_COST_PARTS]; /* together calls.ns */
	struct profile_cost_count outliers; /* metered calls that were interrupted: not in calls */
	struct profile_cost_count stacks;   /* new stacks: not in calls */
	struct profile_cost_count threads;  /* launching threads, with their time */
	/* The thread in which the guest took most, of all processes: the calls that its metered ones stand for, the
	 * guest's time in them and in new stacks, and the thread's time. Threads that had its lane one after the other
	 * are one. All 0: not known. */
	struct profile_cost_count busiest;
	uint64_t busiest_thread_ns;
	struct profile_cost_count processes; /* that launched, with their time since then */
	uint64_t table_bytes, table_ns;      /* unwind tables */
	struct profile_cost_count flushes, buffers, windows;
	uint64_t nr_agents, agent_cpu_ns, agent_run_ns;
	uint64_t agent_peak_bytes; /* of the largest */
};

void profile_cost_sum(const struct profile *profile, struct profile_cost *cost);

/* The guests' time on launching threads: calls and new stacks. Outliers are left out, since most of their time is that
 * of the interruption. */
uint64_t profile_cost_guest_ns(const struct profile_cost *cost);

/* Thousandths of a percent, rounded down; 0 where `of` is 0. */
uint64_t profile_cost_share(uint64_t ns, uint64_t of_ns);

#endif
