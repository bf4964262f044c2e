/* Decides whether a job is complete: all its agents have said goodbye, and no other agent is expected. Pure: the time
 * is an argument. */
#ifndef JOB_END_H
#define JOB_END_H

#include <stdbool.h>
#include <stdint.h>

#include "job_dir.h"
#include "profile_agents.h"

struct job_end {
	const struct job_mark *mark; /* borrowed */
	uint64_t since_ns;           /* start of the job here; CLOCK_MONOTONIC, as all times here */
	uint64_t wait_nodes_ns, wait_silent_ns; /* as in job_table.h */
};

/* Counts agents whose goodbye is missing, and which may still come. Those of an earlier aggregator had time since we
 * began. */
uint64_t job_end_count_open(const struct job_end *end, struct profile_agents agents,
			    uint64_t now_ns);

bool job_end_is_complete(const struct job_end *end, struct profile_agents agents, uint64_t now_ns);

/* Writes a line for nodes that have not come, and one for agents without a goodbye. */
void job_end_say_missing(const struct job_end *end, struct profile_agents agents, const char *path);

#endif
