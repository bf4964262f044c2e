/* The blocks of a step's nodes. A large step has an aggregator for each block of nodes, which run next to each other in
 * the launcher's order. The one of block 0 is the job's own, beside rank 0. Another block's runs on one of its nodes,
 * found as the job's own is (rendezvous_search.h), and writes a part of the job's profile (profile_parts.h). So no
 * aggregator has more nodes than a block. What comes to two of them counts once, because a node's pages have one
 * writer, and the newest copy counts. Any thread. */
#ifndef NODE_BLOCK_H
#define NODE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/job_step.h"
#include "proto/trust/rendezvous.h"

#define NODE_BLOCK_NODES 128u /* of a block, by default */

/* Returns the block of this node of the step. 0 also if it is not known which node it is. fan_in: nodes of a block,
 * above 0. */
uint32_t node_block_of(const struct job_step *step, uint32_t fan_in);

/* Returns how many nodes the step's block (step->block) has, or JOB_STEP_UNKNOWN. */
int32_t node_block_size(const struct job_step *step, uint32_t fan_in);

/* Returns whether nodes of this step may be in other blocks. */
bool node_block_is_one_of_several(const struct job_step *step, uint32_t fan_in);

/* Calls visit with the rendezvous of each aggregator of another block than 0 that agents of this step could find now:
 * output_path as the user named it, step and first as in rendezvous.h. Returns the first result that is not 0. */
int node_block_visit(const char *output_path, const char *step_key, const char *first,
		     int (*visit)(void *context, const char *path,
				  const struct rendezvous *rendezvous),
		     void *context);

#endif
