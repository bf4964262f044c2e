/* The node agent: takes in guests over a Unix socket, reads their rings, and publishes batches to
 * one aggregator. agent_run() is the one loop and blocks; it may run in a thread of its own.
 * agent_stop() and agent_status() may be called from any thread, the others only while the loop
 * does not run. */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_status.h"

#include "node-agent/calls/probe_source.h"
#include "node-agent/watch/bpf_options.h"
#include "node-agent/watch/bpf_source.h"

struct agent;
struct capability_set;
struct key_set;
struct message_job;

/* Strings are borrowed for agent_create() only. */
struct agent_options {
	/* where guests connect; created 0600, removed by agent_destroy() */
	const char *socket_path;
	/* the aggregator's ZeroMQ endpoint; NULL: agent_connect() will say, and what is recorded until then is kept */
	const char *endpoint;
	/* an agent's, for that aggregator; NULL: nothing protects the connection */
	const struct key_set *keys;
	void *zmq_context;        /* NULL: one of its own; needed for inproc:// */
	const char *node_name;    /* NULL: SLURMD_NODENAME, else the hostname */
	const char *devices_path; /* NULL: hwloc */
	const char *symbol_cache; /* the directory of symbol tables (symbol_cache.h); NULL: none */
	uint64_t window_bytes;    /* of unacknowledged frames kept in memory; 0: 64 MiB */
	uint32_t drain_interval_ms; /* between passes over busy rings; 0: 10 */
	uint32_t give_up_ms; /* how long agent_stop() waits for the aggregator to acknowledge; 0:
				10,000 */
	bool inlines;        /* names hold source lines and inlined functions (symbolizer.h) */
	bool any_user;       /* take guests of other users than our own and root (a site's agent) */
	/* that the aggregator cannot be reached, or does not take our keys: whoever asks for the status says it */
	bool leaves_words;
	bool may_restart; /* with an endpoint: guests keep their memory for the agent that comes after this one */
	bool attached; /* to guests that were there before and stay after, for a profile of their own: what they
				counted before is not in it */
	struct bpf_options bpf; /* samples of host threads; zeros: none */
	/* who walks launch stacks; zeros: guests; its ring is as bpf's if it says nothing */
	struct probe_source_options probe;
	/* threads that are started keep no others (agent_rights.h); NULL: what the caller has. Whoever runs
	 * agent_run() gives up its own by itself, after agent_create() */
	const struct capability_set *rights;
	uid_t guest_uid; /* guests of this user are taken, too; 0: of no other */
	/* what all of this agent belongs to, for an aggregator of many jobs; NULL: nothing is said */
	const struct message_job *job;
};

/* Binds the socket and prepares the loop. 0 or -errno; *error (if error is not NULL) is then one
 * line that names what and where, owns: free(). On error *agent is NULL. */
int agent_create(const struct agent_options *options, struct agent **agent, char **error);
void agent_destroy(struct agent *agent); /* accepts NULL */

/* Runs until agent_stop(). Then it waits until the capture windows of processes that still run have ended, three
 * seconds at most, and not at all if a later agent will read on. It drains every ring; processes that still run are
 * left. It sends the rest and BYE, and waits for the acknowledgement. 0; -ETIMEDOUT: the aggregator did not acknowledge
 * everything in give_up_ms (agent_status() says how much); -EPROTO: the aggregator refused us; other -errno. */
int agent_run(struct agent *agent);
void agent_stop(struct agent *agent);

/* Where the aggregator is, for an agent that was created without an endpoint; and its keys (NULL: none). Any thread,
 * also while the loop runs. 0 or -ENOMEM. */
int agent_connect(struct agent *agent, const char *endpoint, const struct key_set *keys);

struct record_ring_command;

/* Commands all guests, those that are still to come included. Any thread, also while the loop runs. */
void agent_command(struct agent *agent, const struct record_ring_command *command);

/* What of this process is watched by the kernel, if anything is (bpf). Any thread, also while the loop
 * runs; done once agent_status() counts it. 0; -EAGAIN: too many at once. */
int agent_watch(struct agent *agent, pid_t pid, enum bpf_source_watch what);

/* A job that this agent profiles, or its rank (AGENT_STOP_ALL: all of it), was stopped by a signal that the user or
 * a scheduler sent: its processes that end without a goodbye count as that. SIGKILL: whoever ran it is gone, and its
 * processes that run on after agent_stop() count as LEDGER_CUT_OFF. Any thread, also while the loop runs. 0; -EAGAIN:
 * too many at once. */
int agent_stopped(struct agent *agent, int32_t rank, int signal);

/* A consistent copy; any thread. */
void agent_status(struct agent *agent, struct agent_status *status);

#endif
