/* The way of a node's events into the job's profile: its agent sends them to the job's aggregator, or the node folds
 * them into a profile of its own (node_profile.h). The options say which, or the aggregator's WELCOME does. Then the
 * agent sends nothing before, and keeps what it reads. A way that is decided stays. Used by the node keeper's main
 * thread, but for node_way_connect(). */
#ifndef NODE_WAY_H
#define NODE_WAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "node_profile.h"

#include "node-agent/agent.h"
#include "proto/trust/key_set.h"

/* Without a WELCOME for so long, or for so long after a rank's end, the node folds: no aggregator may come. With a
 * site's aggregator it waits: the profile of a site that is away would stay on the node. */
#define NODE_WAY_OPEN_NS 5000000000u
#define NODE_WAY_END_MS  800u

struct node_way {
	const struct node_profile_options *options; /* borrowed; NULL: the node never folds */
	void *zmq_context;                          /* owns; NULL: the node never folds */
	struct agent *agent;                        /* borrowed until node_way_agent_ended() */
	struct node_profile *profile;               /* owns; NULL: the agent sends its events */
	bool is_open;                               /* WELCOME is to say */
	bool is_sites;                              /* a site's WELCOME */
	uint64_t begin_ns;
	pthread_mutex_t lock; /* guards the rest, and changes of profile */
	char *endpoint;       /* of the job's aggregator; owns; NULL: not known yet */
	struct key_set keys;
	bool has_keys;
	bool is_deciding; /* node_way_fold() has no answer yet */
	bool is_owed;     /* the endpoint was given to nobody, for that reason */
};

/* Begins before the agent is made, and sets its endpoint, context and offer. options: of the node's profile; NULL: it
 * keeps none. asks: WELCOME says whether it keeps one. is_sites: that of a site's aggregator. rights: those of ZeroMQ's
 * threads. Never fails: a node without a place for its profile sends, after a warning. */
void node_way_init(struct node_way *way, const struct node_profile_options *options, bool asks,
		   bool is_sites, const struct capability_set *rights, struct agent_options *agent);

/* 0 or -errno. */
int node_way_begin(struct node_way *way, struct agent *agent);

/* Gives the job's aggregator to the agent or to the profile, whichever is to have it, also if that changes later. Any
 * thread. 0 or -ENOMEM. */
int node_way_connect(struct node_way *way, const char *endpoint, const struct key_set *keys);

/* The time until the next look; -1: the way is decided. */
int node_way_wait_ms(const struct node_way *way);

/* A rank has ended, and has waited for NODE_WAY_END_MS: folds if the way is open. The profile is there after a later
 * look. */
void node_way_fold(struct node_way *way);

/* Looks whether an open way is decided, and begins the profile if the node is to fold. */
void node_way_look(struct node_way *way);

/* Decides an open way before the agent is stopped. since_ns: the end of the last rank. */
void node_way_settle(struct node_way *way, uint64_t since_ns);

/* The agent is stopped, and is destroyed after this. */
void node_way_agent_ended(struct node_way *way);

/* As node_profile_finish(), and ends the way. */
void node_way_finish(struct node_way *way, const char *job_directory, bool is_marked,
		     const struct end_budget *budget);

#endif
