/* Keeps a profile of one node of a step on the node itself: an aggregator of its own beside the agent, and a link that
 * sends the profile to the job's aggregator (node-agent/link/profile_link.h). So nothing is lost if the job's
 * aggregator falls behind, is cut off or is killed. Used by the node keeper's main thread. */
#ifndef NODE_PROFILE_H
#define NODE_PROFILE_H

#include <stdbool.h>

#include "end_budget.h"

#include "node-agent/agent.h"
#include "node-agent/link/profile_link.h"
#include "timeline/log/event_log.h"

/* the agent's endpoint, in the same context of ZeroMQ */
#define NODE_PROFILE_ENDPOINT "inproc://flamegrid-node"

#define NODE_PROFILE_PREFIX "flamegrid-node-" /* of the directory; six characters follow */

struct message_job;
struct node_profile;

struct node_profile_options { /* strings are borrowed until the end */
	const char *spool;    /* the directory for the profile's own; NULL: $TMPDIR, else /tmp */
	const char *title;
	const char *node_name; /* as in agent_options */
	const struct message_job
		*job;       /* of a site's aggregator; NULL: the aggregator is the job's */
	int32_t nr_nodes;   /* of the step; JOB_STEP_UNKNOWN */
	uint64_t bytes_max; /* aggregator.h, as the next two */
	struct event_log_options timeline;
	bool raw_samples;
};

/* Makes the directory and opens the profile. zmq_context: the agent's, too; borrowed until finish. 0 or -errno after a
 * warning; *profile is then NULL. */
int node_profile_create(const struct node_profile_options *options, void *zmq_context,
			struct node_profile **profile);

/* Starts the threads. The agent, which is borrowed until node_profile_agent_ended(), obeys the commands that come over
 * the link. 0 or -errno. */
int node_profile_start(struct node_profile *profile, struct agent *agent);
void node_profile_agent_ended(struct node_profile *profile); /* accepts NULL */

/* Gives the job's aggregator. Any thread. 0 or -ENOMEM. */
int node_profile_connect(struct node_profile *profile, const char *endpoint,
			 const struct key_set *keys);

/* As profile_link_ranks_ended(). */
void node_profile_ranks_ended(struct node_profile *profile, uint64_t ended_ns);

/* As profile_link_lost_ns(). */
uint64_t node_profile_lost_ns(const struct node_profile *profile);

struct agent_status;

/* If the node's profile could not be written when its aggregator tried last, says why, how many launches and GPU
 * records that the agent has read are not in it, and where it is. Returns whether it said so. */
bool node_profile_say_unstored(const struct node_profile *profile,
			       const struct agent_status *status);

/* As profile_link_place(). */
bool node_profile_place(struct node_profile *profile, char place[static PROFILE_LINK_PLACE_MAX]);

/* Closes the profile, after the agent has ended, and says that it waits on the node for the job's aggregator, of which
 * nothing has been seen: so many seconds, for which no rank waits. */
void node_profile_rest(struct node_profile *profile, uint32_t seconds);

/* Closes the profile, after the agent has ended, and copies its timeline, if it has one, into the directory of the
 * job's (NULL: not known). Call it before the rest is sent: then the job's aggregator finds it when it puts all into
 * one. The directory must be marked as the job's, or have an earlier state of this profile. A warning tells of
 * errors. */
void node_profile_add_timeline(struct node_profile *profile, const char *job_directory,
			       bool is_marked);

/* Closes the profile, after the agent has ended, sends the rest, and frees *profile. If the job's aggregator does not
 * take everything within the budget, the profile is copied into the directory of the job's, as the timeline. What could
 * not be copied stays, and a warning says where it is. Accepts NULL. */
void node_profile_finish(struct node_profile *profile, const char *job_directory, bool is_marked,
			 const struct end_budget *budget);

#endif
