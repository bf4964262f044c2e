/* The nodes that a step's aggregator expects: whether all have come and gone, and who is missing. Used by the
 * aggregator's process. */
#ifndef JOB_NODES_H
#define JOB_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "keeper_word.h"

#include "cli/base/job_step.h"

struct aggregator;

struct job_nodes { /* all is borrowed */
	const struct job_step *step;
	uint32_t fan_in; /* nodes of a block (node_block.h) */
	const char *output_path;
	bool folds_on_nodes; /* each node keeps a profile of its own */
	struct aggregator *aggregator;
	const char *first;   /* as in rendezvous.h */
	bool has_taken_over; /* the aggregator is not the step's first, or another block's */
	uint32_t *seen;      /* the most aggregators of other blocks that were seen at once */
};

/* Looks for the aggregators of other blocks. */
void job_nodes_look(const struct job_nodes *nodes);

/* Returns whether all expected nodes have said goodbye, since_ms after the end of rank 0, or of the aggregator's own
 * node. Nodes that have not come are awaited for some seconds. So are the aggregators of other blocks: of a short step,
 * these may start too late, and then their nodes come to the job's. Where nodes send their events, silent ones are
 * awaited for 20 seconds, so that they may take over. */
bool job_nodes_are_complete(const struct job_nodes *nodes, uint64_t since_ms);

/* Returns whether some of the step's nodes are in other blocks. */
bool job_nodes_have_blocks(const struct job_nodes *nodes);

/* Waits, a minute at most, until the aggregators of other blocks have written their parts of the profile. The job's
 * aggregator needs this alone. */
void job_nodes_await_blocks(const struct job_nodes *nodes);

/* Counts who has not ended. In a step of several blocks nobody counts as absent. */
void job_nodes_count(const struct job_nodes *nodes, struct keeper_lives *lives);

#endif
