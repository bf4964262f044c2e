/* The aggregator that a node of a step takes: that of its block (node_block.h), or the job's. It is found by the file
 * of rendezvous.h. If it is lost, the node takes its successor, or starts one (job_standby.h). Used by the node
 * keeper's main thread. */
#ifndef NODE_AGGREGATOR_H
#define NODE_AGGREGATOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "end_budget.h"
#include "job_standby.h"
#include "node_way.h"
#include "rendezvous_search.h"

/* Without an aggregator of its block for so long, a node takes the job's. */
#define NODE_AGGREGATOR_BLOCK_NS 10000000000u

/* How long a node whose ranks have ended waits for the job's first aggregator, in a process for which no rank waits. */
#define NODE_AGGREGATOR_LATE_MS 10000u

/* How long such a node's agent waits for a successor of the job's lost aggregator, if there is none at the end. */
#define NODE_AGGREGATOR_NEXT_MS 60000u

struct node_aggregator {
	const char *output_path;        /* borrowed */
	struct rendezvous_search job;   /* the job's aggregator */
	struct rendezvous_search block; /* the block's; path "": this node's block is block 0 */
	/* The step, with the number of the block. It becomes 0 when the node takes the job's aggregator. */
	struct job_step step;
	/* since when the block's first aggregator is looked for; 0: it was found, or the job's was not yet */
	uint64_t block_since_ns;
	uint64_t
		look_ns; /* time of the next look for another aggregator, while this node's is lost */
	struct job_standby standby;
	struct node_way *way; /* borrowed; gets the aggregator */
	/* The agent follows a successor, which goes on with the store of the lost aggregator. */
	bool agent_follows;
	uint64_t agent_lost_ns; /* since when it has no connection; 0: it has one */
};

/* Chooses the block. options are borrowed until finish. has_profile: this node keeps one. 0 or -ENAMETOOLONG after a
 * warning. */
int node_aggregator_init(struct node_aggregator *aggregator,
			 const struct job_keeper_options *options, bool has_profile);

/* Starts the process that can start an aggregator, before any thread is started. A step without a key has none: it
 * shares its rendezvous with others, so nobody could tell whose aggregator is lost. */
void node_aggregator_stand_by(struct node_aggregator *aggregator,
			      const struct job_keeper_options *options);

/* Gives what is to get the aggregator; borrowed until follow. */
void node_aggregator_begin(struct node_aggregator *aggregator, struct node_way *way);

/* Looks for the aggregator if it is time to, and for another one if it is lost. Call it after wait_ms. */
void node_aggregator_look(struct node_aggregator *aggregator);
int node_aggregator_wait_ms(const struct node_aggregator *aggregator); /* -1: for ever */

/* The profile's end, since since_ns: takes the aggregator of now, also where the loss of ours has not been noticed, or
 * another or the first one is just being started. Returns how long the job's end may be held up for the profile. */
uint32_t node_aggregator_follow(struct node_aggregator *aggregator, uint64_t since_ns);

/* Copies the timeline of the node's profile beside the job's, after follow. If that takes longer than ranks wait, the
 * aggregator of then is taken, and *budget begins anew. Does nothing without a profile. */
void node_aggregator_add_timeline(struct node_aggregator *aggregator, struct end_budget *budget);

/* Returns whether the job's first aggregator may still come: none has been seen, and it could be found. */
bool node_aggregator_may_come(const struct node_aggregator *aggregator);

/* Waits for it. Returns whether it has come within NODE_AGGREGATOR_LATE_MS. */
bool node_aggregator_await_first(struct node_aggregator *aggregator);

/* The end of a node whose agent follows. Gives it a successor of the job's aggregator, if there is one, and the agent
 * has what no aggregator has stored, or could not say goodbye. Returns whether it did. */
bool node_aggregator_take_successor(struct node_aggregator *aggregator);

/* Returns whether the job's aggregator is lost, as far as can be seen, so that the agent could not say goodbye. */
bool node_aggregator_is_lost(const struct node_aggregator *aggregator);

/* Waits until the agent has a successor that has stored all, NODE_AGGREGATOR_NEXT_MS at most. */
void node_aggregator_await_next(struct node_aggregator *aggregator);

/* Writes the directory of the job's profile. NULL: it is not known. *is_marked: it is marked as the aggregator's. */
const char *node_aggregator_directory(const struct node_aggregator *aggregator,
				      char path[static PATH_MAX], bool *is_marked);

#endif
