/* The aggregator: takes batches from any number of agents, correlates launches and GPU records, and keeps exact totals
 * in one store. aggregator_run() is the loop and blocks; workers apply and commit what comes for jobs (profile_turn.h);
 * it may run in a thread of its own. aggregator_stop() and aggregator_status() may be called from any thread, the
 * others only while the loop does not run. */
#ifndef AGGREGATOR_H
#define AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "job_retention.h"

#include "timeline/log/event_log.h"

struct aggregator;
struct key_set;

/* Strings are borrowed for aggregator_create() only. */
struct aggregator_options {
	const char *const *endpoints; /* ZeroMQ endpoints to bind */
	uint32_t nr_endpoints;
	void *zmq_context;           /* NULL: one of its own; needed for inproc:// */
	const char *store_path;      /* created if it is missing, continued if it is a store */
	const char *title;           /* for reports: the job or its command; may be NULL */
	int32_t nr_nodes;            /* of the job; 0: not known; below 0: as of store_life.h */
	uint32_t commit_interval_ms; /* 0: as commit_schedule.h says */
	/* an aggregator's keys: only agents with its keys may connect, except by inproc://; NULL: every agent may */
	const struct key_set *keys;
	const char *
		user_keys_path; /* of users who may send for themselves (user_keys.h); needs keys and jobs */
	bool users_by_munge; /* in place of user_keys_path: munge says who users are */
	/* without keys: allows endpoints other than loopback, ipc and inproc, although nothing is authenticated */
	bool insecure;
	/* the file of the profiles that nodes fold (node_profiles.h), continued if it is there; copied; NULL, or with
	 * jobs_path: links are refused */
	const char *pages_path;
	bool raw_samples;      /* samples of host threads are also kept one by one (store.md) */
	bool totals_as_blocks; /* store.h */
	uint64_t bytes_max;    /* of the store, or of each job's (store.h); 0: no limit */
	struct event_log_options timeline; /* beside the store; jobs have none */
	/* the directory in which each job that agents name has a profile (job_table.h); NULL: all agents share one
	 * profile */
	const char *jobs_path;
	const char *reports_program; /* as in job_table.h, as the next three */
	uint32_t wait_nodes_ms;      /* 0: 10,000 */
	uint32_t wait_silent_ms;     /* 0: 300,000 */
	struct job_retention_limits keep_jobs;
	struct metrics_board *board; /* gets the metrics; borrowed until destroy; NULL: none */
	struct exporter *
		exporter; /* exports while aggregator_run() runs; borrowed until destroy; NULL: none */
	uint32_t nr_workers; /* with jobs_path; 0: worker_pool_threads() */
	uint64_t
		frames_max; /* bytes of messages that wait for their profiles; 0: frame_budget_share() */
};

/* Opens the store and binds. 0 or -errno; *error (if error is not NULL) is then one line with the cause and the place,
 * which the caller owns (free()). -EACCES: an endpoint needs keys, or `insecure`. -ENOPKG: there is no
 * libmunge. -EPROTO: the file is no store, is
 * damaged, or has a newer schema, or the file of the nodes' profiles is none. On error *aggregator is NULL. */
int aggregator_create(const struct aggregator_options *options, struct aggregator **aggregator,
		      char **error);
void aggregator_destroy(struct aggregator *aggregator); /* accepts NULL */

/* The bound endpoint, with a port of * or 0 resolved. Borrowed until destroy. */
const char *aggregator_endpoint(const struct aggregator *aggregator, uint32_t index);

/* Runs until aggregator_stop(), then commits everything. 0 or -errno; -ESTALE, after a line on stderr: the store was
 * deleted or moved. */
int aggregator_run(struct aggregator *aggregator);
void aggregator_stop(struct aggregator *aggregator);

struct aggregator_status {
	/* Links of nodes count as agents in these three. */
	uint64_t agents; /* epochs ever welcomed; of the links of a node's profile the last one */
	/* Agents without a BYE that sent something within 5 s, links within 1.5 s, or either since the start. Both
	 * send twice a second. */
	uint64_t agents_connected;
	uint64_t agents_silent; /* the other agents without a BYE */
	/* CLOCK_MONOTONIC of the last word from a node whose ranks ran then, or when the last rank ended, as nodes
	 * say; 0: no word */
	uint64_t ranks_ns;
	uint64_t launches, records; /* committed, or received and not yet committed */
	uint64_t stored_launches, stored_records; /* of these, when the last commit succeeded */
	uint64_t commits;
	int commit_error; /* of the last commit, -errno; 0: it succeeded */
	uint64_t bad_frames, refused;
	uint64_t strangers; /* connections refused because of their key */
	uint64_t dropped;   /* messages for which there was no room while their profile was away */
};
void aggregator_status(struct aggregator *aggregator, struct aggregator_status *status);

#endif
