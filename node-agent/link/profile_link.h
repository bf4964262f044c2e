/* Sends a node's profile to the job's aggregator, while another thread's aggregator writes it, and a last time when it
 * is closed. It sends in rounds the pages that have changed (aggregator/pages/profile_page.h). Only the newest round
 * counts, so a round waits until the one before is acknowledged, and nothing comes again but what the other side lacks.
 * profile_link_run() is the one loop and blocks; any thread may call the others but create and destroy. */
#ifndef PROFILE_LINK_H
#define PROFILE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define PROFILE_LINK_PLACE_MAX 512u

struct clock_exchange_estimate;
struct key_set;
struct profile_link;

struct profile_link_options {
	const char *store_path; /* borrowed until destroy; need not exist yet */
	/* texts borrowed until destroy; the link sets the epoch, `folds` and the versions */
	struct message_hello hello;
	/* Obeys a command of `flamegrid control` and writes the answer, in the loop's thread. estimate is NULL if the
	 * clocks were not compared. */
	void (*obey)(void *context, const struct message_control *order,
		     const struct clock_exchange_estimate *estimate, struct message_control *taken);
	/* Takes how often the aggregator was behind so far, and by how much at most, in the loop's thread. NULL: nobody
	 * counts that. */
	void (*behind)(void *context, uint64_t count, uint64_t most_ns);
	void *context; /* of both */
};

/* 0 or -errno. On error *link is NULL. */
int profile_link_create(const struct profile_link_options *options, struct profile_link **link);
void profile_link_destroy(struct profile_link *link); /* accepts NULL */

/* Gives the aggregator's endpoint and keys (NULL: none), which are copied. 0 or -ENOMEM. */
int profile_link_connect(struct profile_link *link, const char *endpoint,
			 const struct key_set *keys);

/* As publisher_ranks_ended(). */
void profile_link_ranks_ended(struct profile_link *link, uint64_t ended_ns);

/* Returns whether an aggregator has welcomed the link. place is then the place of the job's profile as the aggregator
 * told it, or "". */
bool profile_link_place(struct profile_link *link, char place[static PROFILE_LINK_PLACE_MAX]);

/* Since when the aggregator is not connected, by CLOCK_MONOTONIC: since its endpoint was given, or since 5 s after its
 * last word. 0: it is connected, or no endpoint is known. */
uint64_t profile_link_lost_ns(const struct profile_link *link);

/* Runs until profile_link_finish(), then sends the last round and BYE. 0: the aggregator has all of the profile;
 * -ETIMEDOUT: not within give_up_ms; -ENOTCONN: no aggregator was known; -EACCES: it does not take our keys, or is not
 * the one that they name; other -errno. */
int profile_link_run(struct profile_link *link);

/* The profile does not change any more. is_complete: it is closed; else BYE, which would say so, is not sent.
 * give_up_ms: limit for the last round. */
void profile_link_finish(struct profile_link *link, bool is_complete, uint32_t give_up_ms);

#endif
