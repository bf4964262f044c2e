/* Runs the agent and the aggregator inside `flamegrid run`: two loops on two threads, joined by inproc://. It is not
 * used with a running agent. Only the main thread calls these functions. */
#ifndef PROFILING_H
#define PROFILING_H

#include <stdbool.h>

#include "aggregator/service/aggregator.h"
#include "node-agent/agent.h"
#include "timeline/log/event_log.h"

struct profiling;

/* Strings are borrowed for profiling_start() only. */
struct profiling_options {
	const char *store_path;
	const char *socket_path;
	const char *node_name;    /* NULL: the agent's default */
	const char *devices_path; /* NULL: hwloc */
	const char *title;
	const char *symbol_cache; /* --symbol-cache; NULL: the default */
	bool inlines;
	struct counter_option counters;
	enum stack_source stack_source;
	bool attached; /* as in agent.h, with the next member */
	uid_t guest_uid;
	struct bpf_options bpf;
	uint64_t bytes_max; /* aggregator.h, as the next one */
	bool raw_samples;
	struct event_log_options timeline;
};

/* Starts both. 0 or -errno. On error *profiling is NULL, and *error is one line, which the caller owns (free()). */
int profiling_start(const struct profiling_options *options, struct profiling **profiling,
		    char **error);

/* profiling_command() commands all guests. profiling_agent_status() reads the agent's status. */
void profiling_command(struct profiling *profiling, const struct record_ring_command *command);
void profiling_agent_status(struct profiling *profiling, struct agent_status *status);

/* Says that the job was stopped by this signal (agent.h). */
void profiling_stopped(struct profiling *profiling, int signal);

/* Starts the threads of a new ZeroMQ context with these rights alone. 0 or -errno. */
int profiling_start_zmq(void *context, const struct capability_set *rights);

/* Drains the rings, waits until the store has everything, ends both threads and frees *profiling. 0, or the first error
 * of a loop; status is filled in either way. */
struct profiling_status {
	struct agent_status agent;
	struct aggregator_status aggregator;
};
int profiling_finish(struct profiling *profiling, struct profiling_status *status);

#endif
