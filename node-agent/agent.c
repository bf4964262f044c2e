#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_exchange.h"
#include "agent_hello.h"
#include "batch_builder.h"
#include "bpf_source.h"
#include "capability_set.h"
#include "device_topology.h"
#include "event_loop.h"
#include "frame_names.h"
#include "guest_control.h"
#include "guest_listener.h"
#include "guest_process.h"
#include "predecessor.h"
#include "probe_guests.h"
#include "probe_source.h"
#include "process_table.h"
#include "proto/record_ring.h"
#include "publisher.h"
#include "symbolizer.h"

#define NS_PER_MS          1000000ull
#define WINDOW_BYTES       (64ull << 20)
#define DRAIN_INTERVAL_MS  10u
#define GIVE_UP_MS         10000u
#define IDLE_INTERVALS     5u /* passes over idle rings come this much later, at most */
#define SYMBOLIZER_WAIT_MS 2000u
#define STACK_RETRY_NS     100000ull
#define BEAT_NS            250000000ull /* guests give up after seconds */

enum phase {
	PHASE_RUNNING,
	PHASE_DRAINING, /* agent_stop(): last passes over all rings */
	PHASE_NAMING,   /* everything is read; names are still looked up */
	PHASE_LEAVING,  /* BYE is sent */
	PHASE_DONE,
};

struct agent {
	struct event_loop *loop; /* owns, and all below */
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct device_list devices;
	struct publisher *publisher;
	struct batch_builder *builder;
	struct symbolizer *symbolizer;
	struct frame_names names;
	struct process_table *processes;
	struct guest_listener *listener;
	struct guest_control *control;
	struct bpf_source *bpf;     /* NULL: nothing of host threads */
	struct probe_source *probe; /* NULL: guests walk their stacks themselves */
	struct guest_process_scope scope;
	struct event_source publisher_ready, symbolizer_ready;
	char *endpoint;
	bool quiet;
	uint8_t epoch[WIRE_EPOCH_SIZE];
	struct predecessor_table *predecessors;
	uint64_t drain_interval_ns, give_up_ns;
	enum phase phase;
	uint32_t nr_guests;    /* ever taken in */
	uint32_t nr_processes; /* the newest process id */
	uint64_t interval_ns, next_pass_ns, next_step_ns, next_beat_ns, stop_ns;
	bool waits_for_stack; /* the kernel is writing one that belongs to a launch at hand */
	uint64_t nr_passes, nr_watches;
	bool refusal_said;
	bool waits_for_room, leaves_guests, has_all_samples;
	uint64_t refused_guests;
	struct agent_exchange exchange; /* with other threads */
};

/* ---- guests
 * ------------------------------------------------------------------------------------------------
 */

static enum handshake_status take_in(struct agent *agent, const struct guest_arrival *arrival,
				     uint32_t *window)
{
	struct guest_process *process;
	uint32_t process_id;

	*window = 1;
	if (process_table_has(agent->processes, arrival)) {
		record_ring_unmap(arrival->ring);
		return HANDSHAKE_OK; /* it had not heard of us for a while */
	}
	if (agent->nr_processes == WIRE_ID_MAX ||
	    process_table_count(agent->processes) == PROCESS_TABLE_MAX ||
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
	/* Without memory for it, the guest's own data still is. */
	bpf_source_attach(agent->bpf, arrival->pid, process);
	guest_process_set_probe(process, NULL); /* whatever an agent before us had */
	agent->nr_guests++;
	agent->next_pass_ns = 0;
	guest_process_beat(process, event_loop_now_ns());
	guest_control_arrived(agent->control, process);
	return HANDSHAKE_OK;
}

static enum handshake_status on_arrival(void *context, const struct guest_arrival *arrival,
					uint32_t *window)
{
	struct agent *agent = context;
	enum handshake_status status = take_in(agent, arrival, window);

	if (status != HANDSHAKE_OK)
		bpf_source_refuse(agent->bpf, arrival->pid);
	return status;
}

static const void *on_control(void *context, uid_t uid, const struct control_request *request,
			      size_t *size)
{
	struct agent *agent = context;

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
	struct agent *agent = context;

	if (!agent->quiet)
		fprintf(stderr, "flamegrid-agent: %s\n", text);
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

/* ---- passes
 * ------------------------------------------------------------------------------------------------
 */

static uint64_t count_read(const struct agent *agent)
{
	uint64_t launches, records;

	process_table_counts(agent->processes, &launches, &records);
	return launches + records + bpf_source_samples(agent->bpf);
}

static void remove_process(struct agent *agent, uint32_t index)
{
	const struct guest_process *process = process_table_at(agent->processes, index);
	struct probe_stacks *probe = guest_process_probe(process);

	if (agent->predecessors && guest_process_is_left(process))
		agent->leaves_guests = true;
	bpf_source_detach(agent->bpf, process);
	process_table_remove(agent->processes, index);
	probe_source_detach(agent->probe, probe);
}

static int pass_guests(struct agent *agent, uint64_t now_ns)
{
	uint32_t i = 0;
	int stacks = probe_guests_pass(agent->probe, agent->processes, now_ns);

	if (stacks < 0)
		return stacks;
	agent->waits_for_stack = stacks == 1;
	while (i < process_table_count(agent->processes)) {
		struct guest_process *process = process_table_at(agent->processes, i);

		if (stacks == 1 && guest_process_probe(process)) {
			i++;
			continue;
		}
		if (guest_process_is_ending(process))
			bpf_source_account(agent->bpf, process);
		int r = guest_process_pass(process, now_ns);
		if (r < 0)
			return r;
		if (r == 1)
			agent->waits_for_room = true;
		bpf_source_set_blocked(agent->bpf, process, guest_process_is_blocked(process));
		if (guest_process_is_over(process))
			remove_process(agent, i);
		else
			i++;
	}
	return 0;
}

/* One pass over all rings, or the rest of one that had no room. The kernel's goes first: what a process's threads did is sent before its
 * end. */
static int pass(struct agent *agent, uint64_t now_ns)
{
	uint64_t before = count_read(agent);
	int r = bpf_source_pass(agent->bpf, now_ns);

	agent->waits_for_room = r == 1;
	agent->has_all_samples = r == 0;
	if (r == 0)
		r = pass_guests(agent, now_ns);
	if (r >= 0)
		r = frame_names_request(&agent->names);
	if (r == 0 && publisher_has_room(agent->publisher))
		r = batch_builder_flush_dictionaries(agent->builder);
	agent->nr_passes += r == 0 && !agent->waits_for_room && !agent->waits_for_stack;

	agent->interval_ns += agent->drain_interval_ns;
	if (count_read(agent) != before)
		agent->interval_ns = agent->drain_interval_ns;
	else if (agent->interval_ns > IDLE_INTERVALS * agent->drain_interval_ns)
		agent->interval_ns = IDLE_INTERVALS * agent->drain_interval_ns;
	agent->next_pass_ns =
		now_ns + (agent->waits_for_stack ? STACK_RETRY_NS : agent->interval_ns);
	return r;
}

/* ---- stopping
 * ---------------------------------------------------------------------------------------------- */

static int take_endpoint(struct agent *agent)
{
	struct key_set keys;
	bool has_keys;
	char *endpoint = agent_exchange_take_endpoint(&agent->exchange, &keys, &has_keys);

	if (!endpoint)
		return 0;
	free(agent->endpoint);
	agent->endpoint = endpoint;
	return publisher_connect(agent->publisher, endpoint, has_keys ? &keys : NULL);
}

static void take_watches(struct agent *agent)
{
	enum bpf_source_watch what;
	pid_t pid;

	while ((pid = agent_exchange_take_watch(&agent->exchange, &what)) != 0) {
		int r = bpf_source_watch(agent->bpf, pid, what);

		if (r)
			fprintf(stderr, "flamegrid-agent: bpf: process %d cannot be watched: %s\n",
				(int)pid, strerror(-r));
		agent->nr_watches++;
	}
}

/* What other threads want. */
static bool take_wishes(struct agent *agent)
{
	struct record_ring_command command;
	bool stop;

	if (agent_exchange_take(&agent->exchange, &command, &stop))
		guest_control_command(agent->control, &command);
	return stop;
}

static int begin_stop(struct agent *agent, uint64_t now_ns)
{
	agent->phase = PHASE_DRAINING;
	agent->stop_ns = now_ns + agent->give_up_ns;
	agent->next_pass_ns = 0;
	guest_listener_destroy(agent->listener);
	agent->listener = NULL;
	process_table_end_all(agent->processes);
	return bpf_source_stop(agent->bpf, now_ns);
}

/* No goodbye while processes run that the next agent will read on: the aggregator would close their accounts. */
static int send_bye(struct agent *agent)
{
	struct message message = {.type = MESSAGE_BYE};
	int r = batch_builder_flush_dictionaries(agent->builder);

	return r || agent->leaves_guests ? r : publisher_send(agent->publisher, &message);
}

/* Goes from one phase of the end to the next, as far as it can. */
static int advance(struct agent *agent, uint64_t now_ns)
{
	int r = 0;

	if (agent->phase == PHASE_DRAINING && agent->has_all_samples &&
	    process_table_count(agent->processes) == 0)
		agent->phase = PHASE_NAMING;
	/* Names may take half of the time: data without names is worth more than no data. */
	if (agent->phase == PHASE_NAMING && (symbolizer_idle(agent->symbolizer) ||
					     now_ns >= agent->stop_ns - agent->give_up_ns / 2)) {
		r = send_bye(agent);
		agent->phase = PHASE_LEAVING;
	}
	if (r == 0)
		r = publisher_step(agent->publisher, now_ns);
	if (r)
		return r;
	if (agent->phase == PHASE_LEAVING &&
	    publisher_acked_seq(agent->publisher) == publisher_last_seq(agent->publisher))
		agent->phase = PHASE_DONE;
	else if (agent->phase != PHASE_RUNNING && now_ns >= agent->stop_ns)
		return -ETIMEDOUT;
	return 0;
}

/* ---- the loop
 * ---------------------------------------------------------------------------------------------- */

static void publish_status(struct agent *agent)
{
	struct agent_status status = {
		.processes = agent->nr_guests,
		.processes_running = process_table_count(agent->processes),
		.passes = agent->nr_passes,
		.watches = agent->nr_watches,
		.sent_seq = publisher_last_seq(agent->publisher),
		.acked_seq = publisher_acked_seq(agent->publisher),
		.connected = publisher_connected(agent->publisher),
		.capturing = guest_control_capturing(agent->control),
		.asked_to_leave = agent->control->asked_to_leave,
	};

	process_table_counts(agent->processes, &status.launches, &status.records);
	status.samples = bpf_source_samples(agent->bpf);
	status.refused_guests =
		agent->listener ? guest_listener_refused(agent->listener) : agent->refused_guests;
	agent->refused_guests = status.refused_guests;
	agent_exchange_publish(&agent->exchange, &status);
}

static bool pass_is_due(const struct agent *agent, uint64_t now_ns)
{
	if (agent->phase > PHASE_DRAINING)
		return false;
	if (agent->waits_for_room)
		return publisher_has_room(agent->publisher);
	return now_ns >= agent->next_pass_ns || agent->phase == PHASE_DRAINING ||
	       bpf_source_is_urgent(agent->bpf);
}

static int step(struct agent *agent, uint64_t now_ns)
{
	uint64_t listener_ns = UINT64_MAX;

	int r = 0;

	if (take_wishes(agent) && agent->phase == PHASE_RUNNING)
		r = begin_stop(agent, now_ns);
	if (r == 0)
		r = take_endpoint(agent);
	take_watches(agent);
	if (r == 0)
		r = publisher_step(agent->publisher, now_ns);
	if (r)
		return r;
	process_table_release(agent->processes, publisher_acked_seq(agent->publisher));
	if (now_ns >= agent->next_beat_ns) {
		process_table_beat(agent->processes, now_ns);
		agent->next_beat_ns = now_ns + BEAT_NS;
	}
	if (agent->listener)
		listener_ns = guest_listener_step(agent->listener, now_ns);
	agent->next_step_ns = process_table_step(agent->processes, now_ns);
	if (listener_ns < agent->next_step_ns)
		agent->next_step_ns = listener_ns;
	if (process_table_count(agent->processes) && agent->next_beat_ns < agent->next_step_ns)
		agent->next_step_ns = agent->next_beat_ns;
	if (agent->phase == PHASE_RUNNING && probe_guests_watch_one(agent->probe, agent->processes))
		agent->next_step_ns = now_ns;
	r = frame_names_collect(&agent->names);
	if (r == 0 && pass_is_due(agent, now_ns))
		r = pass(agent, now_ns);
	if (r == 0)
		r = advance(agent, now_ns);
	publish_status(agent);
	return r;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t deadline_ns(const struct agent *agent)
{
	uint64_t deadline = earlier(publisher_deadline_ns(agent->publisher), agent->next_step_ns);

	if (agent->phase != PHASE_RUNNING)
		deadline = earlier(deadline, agent->stop_ns);
	if (agent->phase == PHASE_NAMING)
		deadline = earlier(deadline, agent->stop_ns - agent->give_up_ns / 2);
	if (agent->phase <= PHASE_DRAINING && !agent->waits_for_room)
		deadline = earlier(deadline, agent->next_pass_ns);
	return deadline;
}

static void report_failure(const struct agent *agent, int r)
{
	if (r == -ETIMEDOUT)
		fprintf(stderr,
			"flamegrid-agent: connect: %s: %llu of %llu frames were not acknowledged "
			"in %llu ms\n",
			agent->endpoint,
			(unsigned long long)(publisher_last_seq(agent->publisher) -
					     publisher_acked_seq(agent->publisher)),
			(unsigned long long)publisher_last_seq(agent->publisher),
			(unsigned long long)(agent->give_up_ns / NS_PER_MS));
	else if (*publisher_error(agent->publisher))
		fprintf(stderr, "flamegrid-agent: connect: %s: %s\n", agent->endpoint,
			publisher_error(agent->publisher));
	else
		fprintf(stderr, "flamegrid-agent: loop: %s\n", strerror(-r));
}

/* Once: it is tried again every few seconds, and the job may well go on for days. */
static void say_refusal(struct agent *agent)
{
	if (agent->refusal_said || !publisher_refusals(agent->publisher))
		return;
	agent->refusal_said = true;
	fprintf(stderr,
		"flamegrid-agent: connect: %s: the keys do not fit: who listens there does not "
		"take ours, "
		"or does not have those that we expect\n",
		agent->endpoint);
}

int agent_run(struct agent *agent)
{
	int r = 0;

	while (r == 0 && agent->phase != PHASE_DONE) {
		r = step(agent, event_loop_now_ns());
		say_refusal(agent);
		if (r == 0 && agent->phase != PHASE_DONE)
			r = event_loop_wait(agent->loop, deadline_ns(agent));
	}
	if (r)
		report_failure(agent, r);
	return r;
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

void agent_status(struct agent *agent, struct agent_status *status)
{
	agent_exchange_status(&agent->exchange, status);
}

/* ---- start and end
 * ----------------------------------------------------------------------------------------- */

/* step() does what there is to do; the descriptors only end the wait. */
static void nothing(void *context)
{
	(void)context;
}

static int start_publisher(struct agent *agent, const struct agent_options *options, char **error)
{
	struct publisher_options publisher = {
		.endpoint = options->endpoint,
		.zmq_context = options->zmq_context,
		.keys = options->keys,
		.window_bytes = options->window_bytes ? options->window_bytes : WINDOW_BYTES,
	};
	struct agent_hello hello;
	int r = agent_hello_init(&hello, options->node_name);

	if (r)
		return r;
	publisher.hello = hello.hello;
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

static int start(struct agent *agent, const struct agent_options *options, char **error)
{
	int r = event_loop_create(&agent->loop);

	if (r)
		return r;
	agent->endpoint = strdup(options->endpoint ? options->endpoint : "(not known yet)");
	agent->strings = string_dictionary_create();
	agent->stacks = stack_dictionary_create();
	agent->processes = process_table_create(agent->loop);
	agent->control = calloc(1, sizeof(*agent->control));
	if (!agent->endpoint || !agent->strings || !agent->stacks || !agent->processes ||
	    !agent->control)
		return -ENOMEM;
	agent->control->processes = agent->processes;
	agent->control->may_leave = options->attached;
	agent->builder = batch_builder_create(agent->strings, agent->stacks, send_message, agent);
	if (!agent->builder)
		return -ENOMEM;
	r = options->devices_path ? device_list_read(options->devices_path, &agent->devices, error)
				  : device_topology_read(&agent->devices);
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
		.builder = agent->builder,
		.publisher = agent->publisher,
		.devices = &agent->devices,
		.nr_processes = &agent->nr_processes,
		.module = on_module,
		.notice = on_notice,
		.context = agent,
		.epoch = options->may_restart || options->attached ? agent->epoch : NULL,
		.predecessors = agent->predecessors,
	};
	r = guest_listener_create(agent->loop, options->socket_path, options->any_user, on_arrival,
				  agent, &agent->listener, error);
	if (r)
		return r;
	guest_listener_on_control(agent->listener, on_control);
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
		new_agent->quiet = options->quiet;
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
	if (!problem && error && asprintf(&problem, "start: %s", strerror(-r)) < 0)
		problem = NULL;
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
	guest_listener_destroy(agent->listener);
	bpf_source_destroy(agent->bpf);
	process_table_destroy(agent->processes);
	probe_source_destroy(agent->probe);
	symbolizer_stop(agent->symbolizer, SYMBOLIZER_WAIT_MS);
	batch_builder_destroy(agent->builder);
	predecessor_table_destroy(agent->predecessors);
	publisher_destroy(agent->publisher);
	stack_dictionary_destroy(agent->stacks);
	string_dictionary_destroy(agent->strings);
	device_list_fini(&agent->devices);
	event_loop_destroy(agent->loop);
	agent_exchange_fini(&agent->exchange);
	free(agent->endpoint);
	free(agent->control);
	free(agent);
}
