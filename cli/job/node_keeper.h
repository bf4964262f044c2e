/* The agent of one step on one node, in a process of its own: the first `flamegrid run` of the step on the node starts
 * it, the others join (node_member.h), and it ends with the last. So each rank's status reaches its launcher at once,
 * whichever rank was first. */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "site_aggregator.h"
#include "step_dir.h"

#include "cli/base/job_step.h"
#include "node-agent/agent.h"

#define NODE_KEEPER_PLACE_MAX 1024u /* with its NUL */
#define NODE_KEEPER_TASK_SIZE (1 + sizeof(int32_t))

/* What is said on the socket STEP_DIR_MEMBERS, a byte each but for the task. The keeper closes the connection of a
 * member that has shut down its end; of the last one when all is done. */
enum node_keeper_word {
	/* the keeper, first: from now on all that the member starts is watched */
	NODE_KEEPER_WELCOME = 'w',
	/* the member: not what I start, but this process, with its pid behind (int32_t) */
	NODE_KEEPER_TASK = 't',
	NODE_KEEPER_WATCHED = 'p', /* the keeper: it is watched, or cannot be */
	/* the member: SIGINT stopped the job of the rank that stands behind (int32_t) */
	NODE_KEEPER_INTERRUPTED = 'i',
	NODE_KEEPER_TERMINATED = 'k', /* the job was stopped by SIGTERM or SIGHUP */
	NODE_KEEPER_DRAIN = 'd',      /* the member: my processes have ended */
	/* the keeper: all that came from them is stored; behind it, where a site's aggregator keeps the profile, if
	 * it said so */
	NODE_KEEPER_STORED = 's',
	NODE_KEEPER_FAILED = 'f', /* the keeper: that will not be, the agent has failed */
	NODE_KEEPER_SAID = 'n',   /* the keeper: likewise, and why is on the error stream */
};

struct node_keeper_options { /* strings are borrowed for the call */
	const struct job_step *step;
	const char *output_path; /* beside it the aggregator will be told (rendezvous_search.h) */
	const struct site_aggregator *site; /* that one in its place; NULL: none */
	pid_t task;                 /* the member's process, in place of what it starts; 0: none */
	struct agent_options agent; /* all but where it listens and connects */
};

/* Starts it in this directory, which the caller has locked. 0: members can join; -errno. Before any thread is
 * started. */
int node_keeper_start(const struct node_keeper_options *options, const struct step_dir *dir,
		      int timeout_ms);

#endif
