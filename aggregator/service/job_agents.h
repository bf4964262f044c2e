/* Who of a job has come. Pure. */
#ifndef JOB_AGENTS_H
#define JOB_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

struct collection;

/* Hosts whose agents have come: one that was killed may have come again, in another epoch. */
uint32_t job_agents_nodes(const struct collection *collection);

/* Processes of all ranks below world_size were described; 0 or less: never. */
bool job_agents_have_ranks(const struct collection *collection, int32_t world_size);

#endif
