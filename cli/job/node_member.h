/* A `flamegrid run` as one of those of its step on this node, which share one agent (node_keeper.h).
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

/* Becomes a member, with an agent that listens: the first one starts it. 0 or -errno after a warning. Before any thread
 * is started. */
int node_member_join(struct node_member *member, const struct node_keeper_options *options);

/* Its job, of this rank, was stopped by this signal (job_stopped_by()). Before node_member_drain(). */
void node_member_stopped(const struct node_member *member, int32_t rank, int signal);

struct node_member_answer {
	bool stored, said;                 /* said: why it is not is on the error stream */
	char place[NODE_KEEPER_PLACE_MAX]; /* where a site's aggregator keeps it; "": not told */
};

/* After the job's processes have ended: waits until all that they recorded is stored, at most that long. Neither stored
 * nor said: it is not known. */
void node_member_drain(struct node_member *member, int timeout_ms,
		       struct node_member_answer *answer);

/* Is a member no longer. The last one waits until the agent has said goodbye, at most that long. */
void node_member_leave(struct node_member *member, int timeout_ms);

#endif
