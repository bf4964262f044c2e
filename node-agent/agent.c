#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_absence.h"
#include "agent_exchange.h"
#include "agent_hello.h"
#include "agent_loop.h"
#include "agent_state.h"
#include "frame_names.h"
#include "run_table.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "node-agent/base/capability_set.h"
#include "node-agent/base/device_topology.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/calls/probe_source.h"
#include "node-agent/dictionary/user_shares.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_process.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/predecessor.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/guests/refused_guests.h"
#include "node-agent/guests/ring_ownership.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/symbols/symbolizer.h"
#include "node-agent/watch/bpf_source.h"
#include "proto/ring/record_ring.h"

#define NS_PER_MS          1000000ull
#define WINDOW_BYTES       (64ull << 20)
#define DRAIN_INTERVAL_MS  10u
#define GIVE_UP_MS         10000u
#define SYMBOLIZER_WAIT_MS 2000u
#define CLOCK_MS           30000u
#define FULL_INTERVAL_NS   10000000000ull

/* ---- guests ---------------------------------------------------------------------------------- */

/* Whether its pid is another process's by now, of which the system would tell in its place. Start times can be compared
 * where both count from the same moment. */
static bool is_gone(const struct guest_arrival *arrival)
{
	const struct guest_hello *hello = arrival->hello;
	uint64_t start_ticks = proc_file_start_ticks(arrival->pid);

	return start_ticks && hello->start_ticks && start_ticks != hello->start_ticks &&
	       hello->pid_namespace == proc_file_pid_namespace(getpid()) &&
	       proc_file_time_namespace(arrival->pid) == proc_file_time_namespace(getpid());
}

/* As often as it helps whoever reads it. */
static void say_full(struct agent *agent, uid_t uid, uint32_t held)
{
	uint64_t now_ns = clock_now_ns();

	agent->nr_full++;
	if (now_ns < agent->next_full_ns)
		return;
	agent->next_full_ns = now_ns + FULL_INTERVAL_NS;
	log_warning("no place for a process of user %u, who has %u of %u (%u in use): it is not "
		    "profiled, and %llu before it were not",
		    (unsigned)uid, held, PROCESS_TABLE_MAX, process_table_count(agent->processes),
		    (unsigned long long)agent->nr_full - 1);
}

static enum handshake_status take_in(struct agent *agent, const struct guest_arrival *arrival,
				     bool gone, uint32_t *window)
{
	struct guest_process *process;
	uint8_t before[RECORD_RING_EPOCH];
	uint32_t process_id, held;

	*window = 1;
	/* It had not heard of us for a while, or not of our answer. */
	if (process_table_has(agent->processes, arrival) ||
	    ring_ownership_claim(arrival->ring, agent->epoch, before) == RING_CLAIM_DROP) {
		record_ring_unmap(arrival->ring);
		return HANDSHAKE_OK;
	}
	if (!process_table_has_place(agent->processes, arrival->uid, &held)) {
		say_full(agent, arrival->uid, held);
		record_ring_unmap(arrival->ring);
		return HANDSHAKE_REFUSED_FULL;
	}
	if (!fair_shares_may_take(&agent->process_ids, arrival->uid,
				  WIRE_ID_MAX - agent->nr_processes) ||
	    bpf_source_claim(agent->bpf, arrival->pid, &process_id)) {
		record_ring_unmap(arrival->ring);
		return HANDSHAKE_REFUSED_FULL;
	}
	if (guest_process_create(process_id, arrival, &agent->scope, &process))
		return HANDSHAKE_REFUSED_FULL;
	if (process_table_add(agent->processes, process, arrival->pid)) {
		guest_process_destroy(process);
		return HANDSHAKE_REFUSED_FULL;
	}
	if (gone)
		guest_process_end(process, true);
	/* Without memory for it, the guest's own data still is. */
	bpf_source_attach(agent->bpf, arrival->pid, process);
	guest_process_set_probe(process, NULL); /* whatever an agent before us had */
	guest_process_register(process, arrival->hello);
	agent->nr_guests++;
	agent->next_pass_ns = 0;
	guest_process_beat(process, clock_now_ns());
	guest_control_arrived(agent->control, process);
	run_table_begin(agent->runs, arrival->hello->run, arrival->uid);
	return HANDSHAKE_OK;
}

static enum handshake_status on_arrival(void *context, const struct guest_arrival *arrival,
					uint32_t *window)
{
	struct agent *agent = context;
	struct guest_arrival named = *arrival;
	bool gone = is_gone(arrival);

	if (gone)
		named.pid = 0;
	enum handshake_status status = take_in(agent, &named, gone, window);
	log_debug("process %d of user %u is %s", (int)arrival->pid, (unsigned)arrival->uid,
		  status == HANDSHAKE_OK ? "taken in" : "refused");
	if (status != HANDSHAKE_OK)
		bpf_source_refuse(agent->bpf, named.pid);
	agent_absence_answered(agent, &named, status);
	return status;
}

static const void *answer_result(struct agent *agent, uid_t uid, uint32_t run, size_t *size)
{
	struct control_result *result = &agent->result.result;
	const char *place = "";

	agent->result.head =
		(struct control_reply){.magic = CONTROL_MAGIC, .version = CONTROL_VERSION};
	memset(result, 0, sizeof(*result));
	publisher_welcomed(agent->publisher, &place);
	snprintf(result->place, sizeof(result->place), "%s", place ? place : "");
	run_table_result(agent->runs, run, uid, publisher_acked_seq(agent->publisher), result);
	*size = sizeof(agent->result);
	return &agent->result;
}

static const void *on_control(void *context, uid_t uid, const struct control_request *request,
			      size_t *size)
{
	struct agent *agent = context;

	if (request->version == CONTROL_VERSION && request->wish == CONTROL_RESULT)
		return answer_result(agent, uid, request->run, size);
	*size = guest_control_answer(agent->control, uid, request);
	return &agent->control->reply;
}

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

/* ---- others' wishes -------------------------------------------------------------------------- */

int agent_run(struct agent *agent)
{
	return agent_loop_run(agent);
}

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

void agent_status(struct agent *agent, struct agent_status *status)
{
	agent_exchange_status(&agent->exchange, status);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* step() does what there is to do; the descriptors only end the wait. */
static void nothing(void *context)
{
	(void)context;
}

/* Where there is one node, or none is told of, it is of no interest who runs where. */
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
	};
	struct agent_hello hello;
	int r = agent_hello_init(&hello, options->node_name);

	if (r)
		return r;
	publisher.hello = hello.hello;
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

struct start {
	struct agent *agent;
	const struct agent_options *options;
	char **error;
};

/* What has threads: ZeroMQ, and names. */
static int start_threads(void *context)
{
	const struct start *start = context;
	int r = start_publisher(start->agent, start->options, start->error);

	return r ? r : start_symbolizer(start->agent, start->options);
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

/* Without them, the profile does not say who came and went while agents were killed. */
static void open_register(struct agent *agent, const struct agent_options *options)
{
	const char *path = options->socket_path;
	int r = guest_register_open(path, &agent->scope.reg);

	if (r)
		log_warning("%s.guests: %s", path, strerror(-r));
	r = guest_offers_open(path, options->any_user, &agent->offers);
	if (r)
		log_warning("%s" HANDSHAKE_OFFERS ": %s", path, strerror(-r));
	guest_listener_on_settled(agent->listener, agent_absence_settled);
}

static int start(struct agent *agent, const struct agent_options *options, char **error)
{
	int r = event_loop_create(&agent->loop);

	if (r)
		return r;
	agent->has_endpoint = options->endpoint != NULL;
	agent->endpoint = strdup(options->endpoint ? options->endpoint : "(not known yet)");
	agent->strings = string_dictionary_create();
	agent->stacks = stack_dictionary_create();
	agent->shares = user_shares_create(agent->strings, agent->stacks);
	agent->processes = process_table_create(agent->loop);
	agent->control = calloc(1, sizeof(*agent->control));
	agent->runs = run_table_create();
	agent->refused = refused_guests_create();
	if (!agent->endpoint || !agent->strings || !agent->stacks || !agent->shares ||
	    !agent->processes || !agent->control || !agent->runs || !agent->refused)
		return -ENOMEM;
	agent->control->processes = agent->processes;
	agent->control->may_leave = options->attached;
	agent->builder = batch_builder_create(agent->strings, agent->stacks, send_message, agent);
	if (!agent->builder)
		return -ENOMEM;
	r = options->devices_path ? device_list_read(options->devices_path, &agent->devices, error)
				  : device_topology_read(&agent->devices);
	if (r == 0)
		r = map_nodes(agent);
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
		.shares = agent->shares,
		.builder = agent->builder,
		.publisher = agent->publisher,
		.devices = &agent->devices,
		.numa = agent->numa,
		.nr_processes = &agent->nr_processes,
		.process_ids = &agent->process_ids,
		.module = on_module,
		.notice = on_notice,
		.context = agent,
		.epoch = agent->epoch,
		.predecessors = agent->predecessors,
		.begins_anew = options->attached,
	};
	r = guest_listener_create(agent->loop, options->socket_path, options->any_user, on_arrival,
				  agent, &agent->listener, error);
	if (r)
		return r;
	if (agent->predecessors)
		open_register(agent, options);
	guest_listener_on_control(agent->listener, on_control);
	guest_listener_on_absence(agent->listener, agent_absence_heard);
	if (options->may_restart || options->attached)
		guest_listener_keep_rings(agent->listener);
	return options->guest_uid ? guest_listener_allow(agent->listener, options->guest_uid) : 0;
}

int agent_create(const struct agent_options *options, struct agent **agent, char **error)
{
	struct agent *new_agent = calloc(1, sizeof(*new_agent));
	char *problem = NULL;
	int r = -ENOMEM;

	*agent = NULL;
	if (new_agent) {
		agent_exchange_init(&new_agent->exchange);
		new_agent->leaves_words = options->leaves_words;
		new_agent->drain_interval_ns =
			(options->drain_interval_ms ? options->drain_interval_ms
						    : DRAIN_INTERVAL_MS) *
			NS_PER_MS;
		new_agent->give_up_ns =
			(options->give_up_ms ? options->give_up_ms : GIVE_UP_MS) * NS_PER_MS;
		new_agent->interval_ns = new_agent->drain_interval_ns;
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
	guest_offers_close(agent->offers);
	guest_listener_destroy(agent->listener);
	bpf_source_destroy(agent->bpf);
	process_table_destroy(agent->processes);
	refused_guests_destroy(agent->refused);
	guest_register_close(agent->scope.reg);
	agent_absence_fini(agent);
	fair_shares_forget(&agent->process_ids);
	probe_source_destroy(agent->probe);
	symbolizer_stop(agent->symbolizer, SYMBOLIZER_WAIT_MS);
	batch_builder_destroy(agent->builder);
	predecessor_table_destroy(agent->predecessors);
	publisher_destroy(agent->publisher);
	user_shares_destroy(agent->shares);
	stack_dictionary_destroy(agent->stacks);
	string_dictionary_destroy(agent->strings);
	device_list_fini(&agent->devices);
	event_loop_destroy(agent->loop);
	agent_exchange_fini(&agent->exchange);
	free(agent->endpoint);
	free(agent->control);
	run_table_destroy(agent->runs);
	free(agent->numa);
	free(agent);
}
