#include "agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent_absence.h"
#include "agent_cost.h"
#include "agent_endpoint.h"
#include "agent_exchange.h"
#include "agent_hello.h"
#include "agent_pass.h"
#include "agent_socket.h"
#include "agent_state.h"
#include "agent_unrecorded.h"
#include "frame_names.h"
#include "run_table.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "node-agent/base/capability_set.h"
#include "node-agent/base/device_topology.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/base/link_reader.h"
#include "node-agent/base/telemetry_reader.h"
#include "node-agent/counters/counter_reader.h"
#include "node-agent/cubin/cubin_cache.h"
#include "node-agent/dictionary/user_shares.h"
#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_process.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/predecessor.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/probe/probe_source.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/symbols/symbolizer.h"
#include "node-agent/tables/table_keeper.h"
#include "node-agent/watch/bpf_source.h"

#define NS_PER_MS          1000000ull
#define WINDOW_BYTES       (64ull << 20)
#define GIVE_UP_MS         10000u
#define SYMBOLIZER_WAIT_MS 2000u
#define TABLES_WAIT_MS     2000u
#define LINKS_WAIT_MS      2000u
#define TELEMETRY_WAIT_MS  2000u
#define COUNTERS_WAIT_MS   2000u
#define NS_PER_S           1000000000u
#define CLOCK_MS           30000u
#define PING_MS            500u /* by them rank 0 knows that ranks run (job_keeper.h) */

static int on_module(void *context, const struct symbolizer_module *module)
{
	struct agent *agent = context;

	return symbolizer_add_module(agent->symbolizer, module);
}

static void on_notice(void *context, const char *text)
{
	(void)context;
	log_warning("%s", text);
}

static int send_message(void *context, struct message *message)
{
	struct agent *agent = context;

	return publisher_send(agent->publisher, message);
}

static bool has_room(void *context)
{
	struct agent *agent = context;

	return publisher_has_room(agent->publisher);
}

/* ---- requests -------------------------------------------------------------------------------- */

void agent_stop(struct agent *agent)
{
	agent_exchange_stop(&agent->exchange);
	event_loop_wake(agent->loop);
}

void agent_command(struct agent *agent, const struct record_ring_command *command)
{
	agent_exchange_command(&agent->exchange, command);
	event_loop_wake(agent->loop);
}

int agent_connect(struct agent *agent, const char *endpoint, const struct key_set *keys)
{
	char *copy = strdup(endpoint);

	if (!copy)
		return -ENOMEM;
	agent_exchange_connect(&agent->exchange, copy, keys);
	event_loop_wake(agent->loop);
	return 0;
}

void agent_fold(struct agent *agent)
{
	agent_exchange_fold(&agent->exchange);
	event_loop_wake(agent->loop);
}

int agent_watch(struct agent *agent, pid_t pid, enum bpf_source_watch what)
{
	int r = agent_exchange_watch(&agent->exchange, pid, what);

	event_loop_wake(agent->loop);
	return r;
}

int agent_stopped(struct agent *agent, int32_t rank, int signal)
{
	int r = agent_exchange_stopped(&agent->exchange, rank, signal);

	event_loop_wake(agent->loop);
	return r;
}

void agent_ranks_ended(struct agent *agent, uint64_t ended_ns)
{
	agent_exchange_ranks_ended(&agent->exchange, ended_ns);
	event_loop_wake(agent->loop);
}

void agent_link_behind(struct agent *agent, uint64_t count, uint64_t most_ns)
{
	agent_exchange_link_behind(&agent->exchange, count, most_ns);
	event_loop_wake(agent->loop);
}

void agent_status(struct agent *agent, struct agent_status *status)
{
	agent_exchange_status(&agent->exchange, status);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* The descriptors only end the loop's wait: each step does the work that is due. */
static void nothing(void *context)
{
	(void)context;
}

/* The map is of no use on a machine with a single NUMA node, or none. */
static int map_nodes(struct agent *agent)
{
	agent->numa = malloc(sizeof(*agent->numa));
	if (!agent->numa)
		return -ENOMEM;
	if (device_topology_map(agent->numa) < 0 || agent->numa->nr_nodes < 2) {
		free(agent->numa);
		agent->numa = NULL;
	}
	return 0;
}

static int start_publisher(struct agent *agent, const struct agent_options *options, char **error)
{
	struct publisher_options publisher = {
		.endpoint = options->endpoint,
		.zmq_context = options->zmq_context,
		.keys = options->keys,
		.window_bytes = options->window_bytes ? options->window_bytes : WINDOW_BYTES,
		.clock_ms = CLOCK_MS,
		.ping_ms = PING_MS,
	};
	struct agent_hello hello;
	int r = agent_hello_init(&hello, options->node_name);

	if (r)
		return r;
	publisher.hello = hello.hello;
	publisher.hello.offers = options->offers;
	if (options->job)
		publisher.hello.job = *options->job;
	memcpy(agent->epoch, publisher.hello.epoch, sizeof(agent->epoch));
	r = publisher_create(&publisher, &agent->publisher, error);
	if (r)
		return r;
	if (options->may_restart && options->endpoint) {
		agent->predecessors = predecessor_table_create(&publisher);
		if (!agent->predecessors)
			return -ENOMEM;
	}
	agent->publisher_ready =
		(struct event_source){publisher_fd(agent->publisher), nothing, NULL};
	return event_loop_add(agent->loop, &agent->publisher_ready);
}

static int start_symbolizer(struct agent *agent, const struct agent_options *options)
{
	const struct symbolizer_options symbolizer = {
		.inlines = options->inlines,
		.cache_directory = options->symbol_cache,
	};
	int r = symbolizer_start(&symbolizer, &agent->symbolizer);

	if (r)
		return r;
	agent->names = (struct frame_names){
		.stacks = agent->stacks,
		.strings = agent->strings,
		.symbolizer = agent->symbolizer,
		.builder = agent->builder,
	};
	agent->symbolizer_ready =
		(struct event_source){symbolizer_fd(agent->symbolizer), nothing, NULL};
	return event_loop_add(agent->loop, &agent->symbolizer_ready);
}

static int give_task(void *context, uid_t user, struct agent_task *task)
{
	struct agent *agent = context;

	return symbolizer_give(agent->symbolizer, user, task);
}

struct start {
	struct agent *agent;
	const struct agent_options *options;
	char **error;
};

/* Starts the parts that have threads: ZeroMQ, the symbolizer and the keeper of unwind tables. */
static int start_threads(void *context)
{
	const struct start *start = context;
	int r = start_publisher(start->agent, start->options, start->error);

	if (r == 0)
		r = start_symbolizer(start->agent, start->options);
	if (r)
		return r;
	start->agent->tables = table_keeper_start(start->options->symbol_cache);
	return start->agent->tables ? 0 : -ENOMEM;
}

static int start_bpf(struct agent *agent, const struct agent_options *options)
{
	const struct bpf_source_scope scope = {
		.strings = agent->strings,
		.stacks = agent->stacks,
		.builder = agent->builder,
		.devices = &agent->devices,
		.loop = agent->loop,
		.nr_processes = &agent->nr_processes,
		.send = send_message,
		.has_room = has_room,
		.now_ns = clock_now_ns,
		.module = on_module,
		.notice = on_notice,
		.context = agent,
	};

	struct probe_source_options probe = options->probe;
	int r = bpf_source_create(&options->bpf, &scope, &agent->bpf);

	if (probe.ring_bytes == 0)
		probe.ring_bytes = options->bpf.ring_bytes;
	return r ? r : probe_source_create(&probe, on_notice, agent, &agent->probe);
}

static int sample_counters(struct agent *agent, const struct counter_option *option)
{
	if (!option->per_second || !option->program)
		return 0;
	agent->counters = counter_reader_create(&(struct counter_reader_options){
		.program = option->program,
		.interval_ns = NS_PER_S / option->per_second,
		.hang_ns = COUNTER_READER_HANG_NS,
	});
	if (!agent->counters)
		return -ENOMEM;
	telemetry_reader_ask(agent->telemetry, counter_reader_fill, agent->counters);
	return 0;
}

static int start(struct agent *agent, const struct agent_options *options, char **error)
{
	int r = event_loop_create(&agent->loop);

	if (r)
		return r;
	r = agent_endpoint_init(&agent->endpoint, options->endpoint, options->leaves_words);
	if (r)
		return r;
	agent->strings = string_dictionary_create();
	agent->stacks = stack_dictionary_create();
	agent->shares = user_shares_create(agent->strings, agent->stacks);
	agent->processes = process_table_create(agent->loop);
	agent->control = calloc(1, sizeof(*agent->control));
	agent->runs = run_table_create();
	agent->links = link_reader_create();
	agent->telemetry = telemetry_reader_create(TELEMETRY_READER_INTERVAL_MS);
	if (!agent->links || !agent->telemetry || !agent->strings || !agent->stacks ||
	    !agent->shares || !agent->processes || !agent->control || !agent->runs ||
	    agent_absence_init(&agent->absence))
		return -ENOMEM;
	agent->control->processes = agent->processes;
	agent->control->may_leave = options->attached;
	r = sample_counters(agent, &options->counters);
	if (r)
		return r;
	agent->builder = batch_builder_create(agent->strings, agent->stacks, send_message, agent);
	if (!agent->builder)
		return -ENOMEM;
	r = options->devices_path ? device_list_read(options->devices_path, &agent->devices, error)
				  : device_topology_read(&agent->devices);
	if (r == 0)
		r = map_nodes(agent);
	agent->cubins = cubin_cache_create(&(struct cubin_worker){give_task, agent});
	if (!agent->cubins)
		return -ENOMEM;
	struct start threads = {agent, options, error};
	if (r == 0)
		r = options->rights ? capability_set_call(options->rights, start_threads, &threads)
				    : start_threads(&threads);
	if (r == 0)
		r = start_bpf(agent, options);
	if (r)
		return r;
	agent->scope = (struct guest_process_scope){
		.strings = agent->strings,
		.stacks = agent->stacks,
		.cubins = agent->cubins,
		.shares = agent->shares,
		.builder = agent->builder,
		.publisher = agent->publisher,
		.devices = &agent->devices,
		.numa = agent->numa,
		.links = agent->links,
		.telemetry = agent->telemetry,
		.counters = agent->counters,
		.nr_processes = &agent->nr_processes,
		.process_ids = &agent->process_ids,
		.module = on_module,
		.notice = on_notice,
		.context = agent,
		.epoch = agent->epoch,
		.predecessors = agent->predecessors,
		.begins_anew = options->attached,
	};
	r = agent_socket_open(agent, options->socket_path, options->any_user, error);
	if (r)
		return r;
	if (options->may_restart || options->attached)
		guest_listener_keep_rings(agent->socket.listener);
	return options->guest_uid ? guest_listener_allow(agent->socket.listener, options->guest_uid)
				  : 0;
}

int agent_create(const struct agent_options *options, struct agent **agent, char **error)
{
	struct agent *new_agent = calloc(1, sizeof(*new_agent));
	char *problem = NULL;
	int r = -ENOMEM;

	*agent = NULL;
	if (new_agent) {
		agent_exchange_init(&new_agent->exchange);
		agent_cost_begin(new_agent, clock_now_ns());
		agent_pass_init(&new_agent->pass, options->drain_interval_ms);
		new_agent->end.give_up_ns =
			(options->give_up_ms ? options->give_up_ms : GIVE_UP_MS) * NS_PER_MS;
		r = start(new_agent, options, &problem);
	}
	if (r == 0) {
		*agent = new_agent;
		return 0;
	}
	agent_destroy(new_agent);
	error_text_set(&problem, r, "start: %s", strerror(-r));
	if (error)
		*error = problem;
	else
		free(problem);
	return r;
}

void agent_destroy(struct agent *agent)
{
	if (!agent)
		return;
	agent_absence_fini(&agent->absence);
	agent_socket_close(&agent->socket);
	bpf_source_destroy(agent->bpf);
	process_table_destroy(agent->processes);
	guest_register_close(agent->scope.reg);
	agent_unrecorded_fini(&agent->unrecorded);
	fair_shares_forget(&agent->process_ids);
	probe_source_destroy(agent->probe);
	symbolizer_stop(agent->symbolizer, SYMBOLIZER_WAIT_MS);
	table_keeper_stop(agent->tables, TABLES_WAIT_MS);
	cubin_cache_destroy(agent->cubins);
	link_reader_destroy(agent->links, LINKS_WAIT_MS);
	telemetry_reader_destroy(agent->telemetry, TELEMETRY_WAIT_MS);
	counter_reader_destroy(agent->counters, COUNTERS_WAIT_MS);
	batch_builder_destroy(agent->builder);
	predecessor_table_destroy(agent->predecessors);
	publisher_destroy(agent->publisher);
	user_shares_destroy(agent->shares);
	stack_dictionary_destroy(agent->stacks);
	string_dictionary_destroy(agent->strings);
	device_list_fini(&agent->devices);
	event_loop_destroy(agent->loop);
	agent_exchange_fini(&agent->exchange);
	agent_endpoint_fini(&agent->endpoint);
	free(agent->control);
	run_table_destroy(agent->runs);
	free(agent->numa);
	free(agent);
}
