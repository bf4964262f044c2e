#include "profiling.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "base/log.h"
#include "node-agent/agent_rights.h"
#include "node-agent/symbols/symbol_cache.h"

#define ENDPOINT "inproc://flamegrid"

struct profiling {
	void *zmq_context;
	struct agent *agent;
	struct aggregator *aggregator;
	struct capability_set rights; /* rights of the agent's threads */
	pthread_t agent_thread, aggregator_thread;
	bool agent_runs, aggregator_runs;
	int agent_result, aggregator_result;
};

static void *run_agent(void *argument)
{
	struct profiling *profiling = argument;
	int result = capability_set_keep(&profiling->rights);

	pthread_setname_np(pthread_self(), "agent");
	if (result < 0)
		log_warning("the agent keeps its capabilities: %s", strerror(-result));
	profiling->agent_result = agent_run(profiling->agent);
	return NULL;
}

static void *run_aggregator(void *argument)
{
	struct profiling *profiling = argument;

	pthread_setname_np(pthread_self(), "aggregator");
	profiling->aggregator_result = aggregator_run(profiling->aggregator);
	return NULL;
}

static int open_first_socket(void *context)
{
	void *socket = zmq_socket(context, ZMQ_PAIR);

	return socket && zmq_close(socket) == 0 ? 0 : -errno;
}

/* ZeroMQ starts a context's threads with its first socket. */
int profiling_start_zmq(void *context, const struct capability_set *rights)
{
	return capability_set_call(rights, open_first_socket, context);
}

static int create_parts(struct profiling *profiling, const struct profiling_options *options,
			char **error)
{
	static const char *const endpoint = ENDPOINT;
	const struct aggregator_options aggregator = {
		.endpoints = &endpoint,
		.nr_endpoints = 1,
		.zmq_context = profiling->zmq_context,
		.store_path = options->store_path,
		.title = options->title,
		.raw_samples = options->raw_samples,
		.bytes_max = options->bytes_max,
		.timeline = options->timeline,
	};
	char *symbol_cache = symbol_cache_directory(options->symbol_cache);
	struct agent_options agent = {
		.socket_path = options->socket_path,
		.endpoint = ENDPOINT,
		.zmq_context = profiling->zmq_context,
		.node_name = options->node_name,
		.devices_path = options->devices_path,
		.symbol_cache = symbol_cache,
		.inlines = options->inlines,
		.probe = {.source = options->stack_source},
		.attached = options->attached,
		.guest_uid = options->guest_uid,
		.bpf = options->bpf,
		.counters = options->counters,
	};

	agent_rights_choose(&agent, true, &profiling->rights);
	agent.rights = &profiling->rights;
	int result = profiling_start_zmq(profiling->zmq_context, &profiling->rights);
	if (result == 0)
		result = aggregator_create(&aggregator, &profiling->aggregator, error);
	if (result == 0)
		result = agent_create(&agent, &profiling->agent, error);
	free(symbol_cache);
	return result;
}

static int start_threads(struct profiling *profiling, char **error)
{
	int result = pthread_create(&profiling->aggregator_thread, NULL, run_aggregator, profiling);

	profiling->aggregator_runs = result == 0;
	if (result == 0) {
		result = pthread_create(&profiling->agent_thread, NULL, run_agent, profiling);
		profiling->agent_runs = result == 0;
	}
	if (result)
		*error = strdup("cannot start a thread");
	return -result;
}

int profiling_start(const struct profiling_options *options, struct profiling **profiling,
		    char **error)
{
	struct profiling *self = calloc(1, sizeof(*self));
	int result = -ENOMEM;

	*profiling = NULL;
	*error = NULL;
	if (self && (self->zmq_context = zmq_ctx_new()) != NULL)
		result = create_parts(self, options, error);
	if (result == 0)
		result = start_threads(self, error);
	if (result < 0) {
		struct profiling_status status;

		profiling_finish(self, &status);
		return result;
	}
	*profiling = self;
	return 0;
}

void profiling_command(struct profiling *profiling, const struct record_ring_command *command)
{
	agent_command(profiling->agent, command);
}

void profiling_stopped(struct profiling *profiling, int signal)
{
	agent_stopped(profiling->agent, AGENT_STOP_ALL, signal);
}

void profiling_agent_status(struct profiling *profiling, struct agent_status *status)
{
	agent_status(profiling->agent, status);
}

/* The agent ends first, because the aggregator must receive its last messages. */
int profiling_finish(struct profiling *profiling, struct profiling_status *status)
{
	int result = 0;

	memset(status, 0, sizeof(*status));
	if (!profiling)
		return 0;
	if (profiling->agent_runs) {
		agent_stop(profiling->agent);
		pthread_join(profiling->agent_thread, NULL);
		agent_status(profiling->agent, &status->agent);
		result = profiling->agent_result;
	}
	agent_destroy(profiling->agent);
	if (profiling->aggregator_runs) {
		aggregator_stop(profiling->aggregator);
		pthread_join(profiling->aggregator_thread, NULL);
		aggregator_status(profiling->aggregator, &status->aggregator);
		if (result == 0)
			result = profiling->aggregator_result;
	}
	aggregator_destroy(profiling->aggregator);
	if (profiling->zmq_context)
		zmq_ctx_term(profiling->zmq_context);
	free(profiling);
	return result;
}
