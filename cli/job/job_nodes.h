/* The nodes that a step's aggregator expects: whether all have come and gone, and who is missing. Used by the
 * aggregator's process. */
#ifndef JOB_NODES_H
#define JOB_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/job_step.h"

struct aggregator;

struct job_nodes { /* all is borrowed; zeroed but for what is given */
	const struct job_step *step;
	uint32_t fan_in; /* nodes of a block (node_block.h) */
	const char *output_path;
	bool folds_on_nodes; /* each node keeps a profile of its own */
	struct aggregator *aggregator;
	const char *first;   /* as in rendezvous.h */
	bool has_taken_over; /* the aggregator is not the step's first, or another block's */
	/* of other blocks, as of the last look at their files, and the time of the next one */
	bool awaits_blocks;
	uint64_t look_ms;
};

/* Returns whether all expected nodes have said goodbye, since_ms after the end of rank 0, or of the aggregator's own
 * node. Nodes that have not come are awaited for some seconds. The job's aggregator awaits those of other blocks, too,
 * which write parts of its profile. */
bool job_nodes_are_complete(struct job_nodes *nodes, uint64_t since_ms);

/* Warns of nodes that did not come, or said no goodbye. */
void job_nodes_say_missing(const struct job_nodes *nodes);

#endif
