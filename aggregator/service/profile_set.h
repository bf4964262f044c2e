/* The profiles that an aggregator writes: its own, and one for each job (job_table.h). It gives them to workers, which
 * apply frames and commit, and deals with what came of that: it answers agents, and gives up profiles whose store was
 * deleted. Used by the aggregator's thread. */
#ifndef PROFILE_SET_H
#define PROFILE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "open_profile.h"

struct job_table;
struct peer;
struct receiver;
struct worker_pool;

struct profile_set {               /* zeroed: empty */
	struct open_profile own;   /* of agents that name no job */
	struct job_table *jobs;    /* owns; NULL: all agents are of the own profile */
	struct receiver *receiver; /* borrowed while a profile is open, as the next one */
	struct worker_pool *workers;
	struct frame_budget budget; /* of frames that wait */
	uint32_t commit_interval_ms;
	uint64_t commits, launches, records, refused_messages;
	int commit_error; /* of the last commit, -errno; 0: it succeeded */
	/* of launches and records, as of the last commit that succeeded: those of one profile are stored */
	uint64_t stored_launches, stored_records;
	/* time of the last profile_set_look(), and of the last line about dropped frames; CLOCK_MONOTONIC, as all times
	 * here */
	uint64_t looked_ns, dropped_said_ns;
	bool own_is_gone;
	int error; /* -ENOMEM: a profile is no longer exact */
};

/* Closes all profiles, and drops changes that are not committed. */
void profile_set_fini(struct profile_set *set);

/* The profile of the peer's session; the aggregator's own one for a peer without a session. */
struct open_profile *profile_set_of(struct profile_set *set, const struct peer *peer);

/* All profiles, in no order; borrowed until the next step. i: below the count. */
uint32_t profile_set_count(const struct profile_set *set);
struct open_profile *profile_set_at(struct profile_set *set, uint32_t i);

/* Takes the frame of the message that the receiver returned last: for an inline pool data is applied at once, else the
 * frame waits in the profile's queue. Without room it is dropped, and its sender told to send it again. 0 or -ENOMEM.
 * */
int profile_set_take(struct profile_set *set, struct open_profile *profile, struct peer *peer);

/* Deals with turns that have ended. */
void profile_set_step(struct profile_set *set);

/* Gives a worker the frames of data at the head of the queue, if the profile is here. */
void profile_set_give_frames(struct profile_set *set, struct open_profile *profile);

/* Commits the profile, which is here, before the frame is handled: puts it at the queue's head. */
void profile_set_commit_first(struct profile_set *set, struct open_profile *profile,
			      struct held_frame *frame);

/* Gives workers the profiles for which something else is due: a commit, or the file of their nodes' profiles. */
void profile_set_give_due(struct profile_set *set, uint64_t now_ns);

/* Opens profiles of new jobs, as far as stores may be open. */
void profile_set_open_jobs(struct profile_set *set);

/* The time until which to wait for messages, or until_ns if that is earlier. */
uint64_t profile_set_until(struct profile_set *set, uint64_t until_ns);

/* Publishes metrics on the own profile's board, if it has one, and that is due. Agents count as they were last seen
 * (profile_seen). */
void profile_set_publish(struct profile_set *set, uint64_t now_ns);

/* Commits all that has changed, wholly, and saves the nodes' profiles; with `keeps` false (a profile is not exact) only
 * the latter. Waits for it. 0 or the last error. */
int profile_set_end(struct profile_set *set, bool keeps);

/* Checks that the own store is still in its place, because it may be deleted while no message comes. At most once a
 * second, unless at_once. 0; -ESTALE: the store is gone. */
int profile_set_look(struct profile_set *set, uint64_t now_ns, bool at_once);

#endif
