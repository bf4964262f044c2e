/* Makes a `flamegrid run` a member of its step on this node: the members share one agent (node_keeper.h).
 * Single-threaded. */
#ifndef NODE_MEMBER_H
#define NODE_MEMBER_H

#include <stdbool.h>

#include "node_keeper.h"
#include "step_dir.h"

struct node_member {
	struct step_dir dir;
	int fd; /* -1: not a member */
};

/* Becomes a member, with an agent that listens; the first member starts the agent. Call it before any thread is
 * started. 0 or -errno after a warning. */
int node_member_join(struct node_member *member, const struct node_keeper_options *options);

/* Tells the agent that the member's job, of this rank, was stopped by this signal (job_stopped_by()). Call it before
 * node_member_drain(). */
void node_member_stopped(const struct node_member *member, int32_t rank, int signal);

struct node_member_answer {
	bool keeps;        /* with stored: in a profile of the node's own */
	bool stored, said; /* said: the error stream says why it is not stored */
	bool is_gone;      /* the keeper, and its agent with it, was ended by somebody */
	/* the place of the profile at a site's aggregator; "": not told */
	char place[NODE_KEEPER_PLACE_MAX];
};

/* Waits, after the job's processes have ended at ended_ns, until everything that they recorded is stored,
 * END_BUDGET_STORE_MS from then at most. If none of the three is set, the outcome is not known. */
void node_member_drain(struct node_member *member, uint64_t ended_ns,
		       struct node_member_answer *answer);

/* How a membership ends. Unless all is done, the keeper goes on alone (background_leave()). */
enum node_member_end {
	NODE_MEMBER_DONE,
	NODE_MEMBER_SENDS,  /* the node's profile is on its way */
	NODE_MEMBER_WRITES, /* that is done, but the node's own aggregator is at work on others' */
};

/* Ends the membership. The last member waits until all work of the node is done, END_BUDGET_MS from ended_ns at most.
 * If the node has an aggregator, of its block or in place of a lost one, it waits as rank 0 does (job_keeper_await()).
 */
enum node_member_end node_member_leave(struct node_member *member, uint64_t ended_ns);

#endif
