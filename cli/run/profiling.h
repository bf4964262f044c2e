/* The agent and the aggregator inside `flamegrid run`: two loops on two threads, joined by inproc://, or nothing at all
 * when a running agent is used. The main thread calls everything here. */
#ifndef PROFILING_H
#define PROFILING_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/service/aggregator.h"
#include "node-agent/agent.h"

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
	enum stack_source stack_source;
	bool attached; /* agent.h, as the next */
	uid_t guest_uid;
	struct bpf_options bpf;
	bool raw_samples; /* aggregator.h */
};

/* Starts both. 0 or -errno with *error one line, owns: free(). On error *profiling is NULL. */
int profiling_start(const struct profiling_options *options, struct profiling **profiling,
		    char **error);

/* Commands all guests; how the agent stands. */
void profiling_command(struct profiling *profiling, const struct record_ring_command *command);
void profiling_agent_status(struct profiling *profiling, struct agent_status *status);

/* The job was stopped by this signal (agent.h). */
void profiling_stopped(struct profiling *profiling, int signal);

/* Drains the rings, waits until the store has everything, ends both threads and frees *profiling.
 * 0, or the first error of a loop; status is filled in either way. */
struct profiling_status {
	struct agent_status agent;
	struct aggregator_status aggregator;
};
int profiling_finish(struct profiling *profiling, struct profiling_status *status);

#endif
