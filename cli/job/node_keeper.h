/* Runs the agent of one step on one node, in a process of its own. The first `flamegrid run` of the step on the node
 * starts it, and the others join (node_member.h). It ends with the last of them. So each rank's status reaches its
 * launcher at once, whichever rank was first. */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "job_keeper.h"
#include "node_profile.h"
#include "site_aggregator.h"
#include "step_dir.h"

#include "cli/base/job_step.h"
#include "node-agent/agent.h"

#define NODE_KEEPER_PLACE_MAX 1024u /* with its NUL */
#define NODE_KEEPER_TASK_SIZE (1 + sizeof(int32_t))
#define NODE_KEEPER_TIME_SIZE (1 + sizeof(uint64_t))

/* Messages on the socket STEP_DIR_MEMBERS, one byte each, some with data behind it. When a member has shut down its
 * end, the keeper closes the connection. The connection of the last member is closed when all work is done. */
enum node_keeper_word {
	/* the keeper, first: it watches all processes that the member starts from now on */
	NODE_KEEPER_WELCOME = 'w',
	/* the member: it should watch this process instead, whose pid follows (int32_t) */
	NODE_KEEPER_TASK = 't',
	NODE_KEEPER_WATCHED = 'p', /* the keeper: that process is watched, or cannot be */
	/* the member: SIGINT stopped the job of the rank that follows (int32_t) */
	NODE_KEEPER_INTERRUPTED = 'i',
	NODE_KEEPER_TERMINATED = 'k', /* the same for SIGTERM or SIGHUP */
	/* the member: its processes have ended at the time that follows (uint64_t, clock_now_ns()) */
	NODE_KEEPER_DRAIN = 'd',
	/* the keeper: everything from these processes is stored; the place of the profile at a site's aggregator
	 * follows, if the aggregator told it */
	NODE_KEEPER_STORED = 's',
	NODE_KEEPER_KEPT = 'o', /* the keeper: the same, in a profile of the node's own */
	/* the keeper: the data will not be stored, because the agent has failed */
	NODE_KEEPER_FAILED = 'f',
	NODE_KEEPER_SAID = 'n', /* the keeper: the same, and the error stream says why */
	/* the keeper, to those that leave last, whenever it changes: this node's own profile is done, and it writes
	 * the job's or a block's, so their time begins when these nodes' ranks have ended, as far as is known
	 * (uint64_t, as above) */
	NODE_KEEPER_WRITES = 'a',
};

struct node_keeper_options { /* strings are borrowed for the call */
	const struct job_step *step;
	const char *output_path; /* the aggregator's file lies beside it (rendezvous_search.h) */
	/* the site's aggregator, which is used instead; NULL: none */
	const struct site_aggregator *site;
	/* the process to watch for the member, instead of its own children; 0: none */
	pid_t task;
	const struct node_profile_options *profile; /* of this node; NULL: it keeps none */
	bool asks; /* the aggregator's WELCOME says whether the node keeps one (node_way.h) */
	/* the step's aggregator, for the case that it is lost and this node starts another */
	const struct job_keeper_options *job;
	struct agent_options agent; /* everything but the agent's socket and its aggregator */
};

/* Starts the agent in this directory, which the caller has locked, before any thread is started. 0: members can join;
 * -errno. */
int node_keeper_start(const struct node_keeper_options *options, const struct step_dir *dir,
		      int timeout_ms);

#endif
