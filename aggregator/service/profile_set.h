/* The profiles that an aggregator writes: its own, and one for each job (job_table.h). It commits them, and gives up
 * those whose store was deleted. Used by the aggregator's thread. */
#ifndef PROFILE_SET_H
#define PROFILE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "open_profile.h"

struct job_table;
struct peer;
struct receiver;

struct profile_set {               /* zeroed: empty */
	struct open_profile own;   /* of agents that name no job */
	struct job_table *jobs;    /* owns; NULL: all agents are of the own profile */
	struct receiver *receiver; /* borrowed while a profile is open */
	uint64_t commits;
	uint64_t
		looked_ns; /* time of the last profile_set_look(); CLOCK_MONOTONIC, as all times here */
	bool own_is_gone;
};

/* Closes all profiles, and drops changes that are not committed. */
void profile_set_fini(struct profile_set *set);

/* The profile of the peer's session; the aggregator's own one for a peer without a session. */
struct open_profile *profile_set_of(struct profile_set *set, const struct peer *peer);

/* All profiles, in no order; borrowed until the next commit. i: below the count. */
uint32_t profile_set_count(const struct profile_set *set);
struct open_profile *profile_set_at(struct profile_set *set, uint32_t i);

/* Commits one profile and acknowledges its messages. 0; else -errno, after a line on stderr and a refusal to its
 * agents: -ENOMEM: the profile is no longer exact; -ESTALE: its store was deleted or moved, and a job's profile is
 * closed now; other errors: the commit is due again later. */
int profile_set_commit(struct profile_set *set, struct open_profile *profile, uint64_t now_ns);

/* Commit the profiles that are due, or all that have changed, and these wholly. 0; -ENOMEM; else the last error. A job
 * whose store is gone is no error. */
int profile_set_commit_due(struct profile_set *set, uint64_t now_ns);
int profile_set_commit_all(struct profile_set *set, uint64_t now_ns);

/* Save the profiles of nodes, where that is due, or all of them at the end (open_profile_save_nodes()). The second
 * returns 0 or the last error. */
void profile_set_save_nodes_due(struct profile_set *set, uint64_t now_ns);
int profile_set_save_nodes(struct profile_set *set);

/* Checks that the own store is still in its place, because it may be deleted while no message comes. At most once a
 * second, unless at_once. 0; -ESTALE: the store is gone. */
int profile_set_look(struct profile_set *set, uint64_t now_ns, bool at_once);

#endif
