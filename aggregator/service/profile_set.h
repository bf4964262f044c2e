/* The profiles that an aggregator writes: its own, and one for each job (job_table.h). Commits them, and gives up those
 * whose store was deleted. Used by the aggregator's thread. */
#ifndef PROFILE_SET_H
#define PROFILE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "open_profile.h"

struct job_table;
struct peer;
struct receiver;

struct profile_set {             /* zeroed: empty */
	struct open_profile own; /* of agents that name no job */
	struct job_table *jobs;  /* owns; NULL: all agents are of the own profile */
	struct receiver *receiver; /* borrowed while a profile is open */
	uint64_t commits;
	uint64_t looked_ns; /* at where the own store is, CLOCK_MONOTONIC, as all times here */
	bool own_is_gone;
};

/* Closes all; what is not committed is dropped. */
void profile_set_fini(struct profile_set *set);

/* The profile that the peer's session is of; the own one of a peer without a session. */
struct open_profile *profile_set_of(struct profile_set *set, const struct peer *peer);

/* All profiles, in no order; borrowed until the next commit. i: below the count. */
uint32_t profile_set_count(const struct profile_set *set);
struct open_profile *profile_set_at(struct profile_set *set, uint32_t i);

/* Commits one and acknowledges what is stored. 0 or -errno, after a line on stderr and a refusal to its agents:
 * -ENOMEM: it is no longer exact; -ESTALE: its store was deleted or moved, and a job's profile is closed; else it is
 * due again later. */
int profile_set_commit(struct profile_set *set, struct open_profile *profile, uint64_t now_ns);

/* Commits those that are due, or all that have changed. 0; -ENOMEM; else the last error but those of jobs whose store
 * is gone. */
int profile_set_commit_due(struct profile_set *set, uint64_t now_ns);
int profile_set_commit_all(struct profile_set *set, uint64_t now_ns);

/* Looks whether the own store is still in its place, since it may go while nothing comes for it; not more often than
 * each second unless at_once. 0; -ESTALE: it is gone. */
int profile_set_look(struct profile_set *set, uint64_t now_ns, bool at_once);

#endif
