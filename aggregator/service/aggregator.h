/* The aggregator: takes batches from any number of agents, correlates launches and GPU records, and keeps exact totals
 * in one store. aggregator_run() is the one loop and blocks; it may run in a thread of its own. aggregator_stop() and
 * aggregator_status() may be called from any thread, the others only while the loop does not run. */
#ifndef AGGREGATOR_H
#define AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

struct aggregator;
struct key_set;

/* Strings are borrowed for aggregator_create() only. */
struct aggregator_options {
	const char *const *endpoints; /* ZeroMQ endpoints to bind */
	uint32_t nr_endpoints;
	void *zmq_context;           /* NULL: one of its own; needed for inproc:// */
	const char *store_path;      /* created if missing, continued if it is one of ours */
	const char *title;           /* for reports: the job or its command; may be NULL */
	int32_t nr_nodes;            /* that will take part; 0 or less: not known */
	uint32_t commit_interval_ms; /* 0: 100 */
	/* an aggregator's: only agents that have its keys may connect, but by inproc://; NULL: everybody may */
	const struct key_set *keys;
	/* without keys: allow endpoints other than loopback, ipc and inproc although nothing is authenticated */
	bool insecure;
	bool raw_samples; /* samples of host threads are kept one by one, too (store.md) */
	bool quiet;       /* errors only on stderr */
	/* agents that say of which job they are have a profile each in this directory (job_table.h); NULL: all are
	 * of the one profile */
	const char *jobs_path;
	const char *reports_program; /* as in job_table.h, as the next two */
	uint32_t wait_nodes_ms;      /* 0: 10,000 */
	uint32_t wait_silent_ms;     /* 0: 300,000 */
};

/* Opens the store and binds. 0 or -errno; *error (if error is not NULL) is then one line that names what and where,
 * owns: free(). -EACCES: an endpoint that needs keys, or `insecure`. -EPROTO: the store is not one of ours, damaged, or
 * of a newer schema. On error *aggregator is NULL. */
int aggregator_create(const struct aggregator_options *options, struct aggregator **aggregator,
		      char **error);
void aggregator_destroy(struct aggregator *aggregator); /* accepts NULL */

/* The endpoint actually bound (a port of * or 0 resolved). Borrowed until destroy. */
const char *aggregator_endpoint(const struct aggregator *aggregator, uint32_t index);

/* Runs until aggregator_stop(), then commits what it has. 0 or -errno; -ESTALE, after a line on stderr: the store
 * was deleted or moved. */
int aggregator_run(struct aggregator *aggregator);
void aggregator_stop(struct aggregator *aggregator);

struct aggregator_status {
	uint64_t agents; /* epochs ever welcomed */
	/* Said hello, not yet BYE, and something within 5 s (or since the start): they say something each second. */
	uint64_t agents_connected;
	uint64_t agents_silent;     /* said hello, not yet BYE, and nothing within 5 s */
	uint64_t launches, records; /* committed or in hand */
	uint64_t commits;
	uint64_t bad_frames, refused;
	uint64_t strangers; /* connections turned away for their key */
};
void aggregator_status(struct aggregator *aggregator, struct aggregator_status *status);

#endif
