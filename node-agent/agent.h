/* The node agent. It accepts guests over a Unix socket, reads their rings and publishes batches to one aggregator.
 * agent_run() is the one loop and blocks; it may run in a thread of its own. Any thread may call functions that say so
 * below; the others may be called only while the loop does not run. */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_status.h"

#include "node-agent/counters/counter_option.h"
#include "node-agent/probe/probe_source.h"
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
	/* the aggregator's ZeroMQ endpoint; NULL: agent_connect() gives it later, and the agent keeps its data until
	 * then */
	const char *endpoint;
	/* an agent's keys for that aggregator; NULL: the connection is not protected */
	const struct key_set *keys;
	void *zmq_context;        /* NULL: one of its own; needed for inproc:// */
	const char *node_name;    /* NULL: SLURMD_NODENAME, else the hostname */
	const char *devices_path; /* NULL: hwloc */
	/* the directory of symbol tables and unwind tables (symbol_cache.h, table_cache.h); NULL: none */
	const char *symbol_cache;
	uint64_t window_bytes;      /* of unacknowledged frames kept in memory; 0: 64 MiB */
	uint32_t drain_interval_ms; /* between passes over busy rings; 0: 10 */
	uint32_t
		give_up_ms; /* after agent_stop(), waits so long for the last acknowledgement; 0: 10,000 */
	bool inlines;  /* names hold source lines and inlined functions (symbolizer.h) */
	bool any_user; /* take guests of other users than our own and root (a site's agent) */
	/* no line on stderr when the aggregator cannot be reached or refuses our keys: the caller reads that from the
	 * status and says it */
	bool leaves_words;
	bool offers; /* message_hello.offers; agent_status() tells what became of it, and agent_fold() ends it */
	bool may_restart; /* with an endpoint: guests keep their rings for the next agent */
	/* The agent of `flamegrid attach`: guests ran before it and will run after it. The profile lacks what they
	 * counted before. */
	bool attached;
	struct bpf_options bpf;         /* samples of host threads; zeros: none */
	struct counter_option counters; /* samples of GPUs' counters; zeros: none */
	/* the part that walks launch stacks; zeros: guests. Without a size of its own its buffer is as large as bpf's.
	 */
	struct probe_source_options probe;
	/* the capabilities that the agent's threads keep (agent_rights.h); NULL: the caller's. The thread that calls
	 * agent_run() gives up its own capabilities itself, after agent_create(). */
	const struct capability_set *rights;
	uid_t guest_uid; /* guests of this user are accepted, too; 0: of no other user */
	/* the job of this agent, for an aggregator of many jobs; NULL: HELLO names no job */
	const struct message_job *job;
};

/* Binds the socket and prepares the loop. 0 or -errno. On error *agent is NULL, and *error (if error is not NULL) is
 * one line that says what failed and where; the caller owns it (free()). */
int agent_create(const struct agent_options *options, struct agent **agent, char **error);
void agent_destroy(struct agent *agent); /* accepts NULL */

/* Runs until agent_stop(). Then it waits, at most three seconds, until the capture windows of processes that still run
 * have ended. It does not wait if a later agent will read on. It drains every ring, and leaves processes that still
 * run. It sends the rest and BYE, and waits for the acknowledgement. 0; -ETIMEDOUT: the aggregator did not acknowledge
 * everything in give_up_ms (agent_status() says how much); -EPROTO: the aggregator refused us; other -errno. */
int agent_run(struct agent *agent);
void agent_stop(struct agent *agent);

/* Gives the aggregator's endpoint and keys (NULL: none) to an agent that was created without an endpoint. Any thread,
 * also while the loop runs. 0 or -ENOMEM. */
int agent_connect(struct agent *agent, const char *endpoint, const struct key_set *keys);

/* As publisher_fold(): agent_status() then tells another way than EVENT_WAY_ASKS. Any thread, also while the loop runs.
 */
void agent_fold(struct agent *agent);

struct record_ring_command;

/* Commands all guests, including later ones. Any thread, also while the loop runs. */
void agent_command(struct agent *agent, const struct record_ring_command *command);

/* Sets what BPF programs watch of this process, if any are loaded (options.bpf). Any thread, also while the loop runs.
 * It is done once agent_status() counts it. 0; -EAGAIN: too many at once. */
int agent_watch(struct agent *agent, pid_t pid, enum bpf_source_watch what);

/* The user or a scheduler has stopped this agent's job, or one rank of it (AGENT_STOP_ALL: all), by this signal.
 * Processes of it that end without a goodbye count as stopped by the signal. SIGKILL: the program that ran the job is
 * gone; processes that run on after agent_stop() count as LEDGER_CUT_OFF. Any thread, also while the loop runs. 0;
 * -EAGAIN: too many at once. */
int agent_stopped(struct agent *agent, int32_t rank, int signal);

/* As publisher_ranks_ended(); any thread, also while the loop runs. */
void agent_ranks_ended(struct agent *agent, uint64_t ended_ns);

/* The link of the node's own profile found the job's aggregator behind so many times so far, and by so much at most.
 * The agent's ledger tells it to reports. Any thread, also while the loop runs. */
void agent_link_behind(struct agent *agent, uint64_t count, uint64_t most_ns);

/* A consistent copy; any thread. */
void agent_status(struct agent *agent, struct agent_status *status);

#endif
