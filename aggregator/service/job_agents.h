/* Counts the hosts and ranks of a job that have come. Pure. */
#ifndef JOB_AGENTS_H
#define JOB_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

struct collection;

/* The number of hosts whose agents have come. An agent that was killed may have come again, in another epoch. */
uint32_t job_agents_nodes(const struct collection *collection);

/* Returns whether processes of all ranks below world_size were described; false also if world_size is 0 or less. */
bool job_agents_have_ranks(const struct collection *collection, int32_t world_size);

#endif
