#include "agent_loop.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_absence.h"
#include "agent_state.h"
#include "job_order.h"
#include "probe_guests.h"
#include "run_table.h"

#include "base/clock.h"
#include "base/log.h"
#include "node-agent/calls/probe_source.h"
#include "node-agent/files/foreign_call.h"
#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/symbols/symbolizer.h"
#include "node-agent/watch/bpf_source.h"

#define NS_PER_MS      1000000ull
#define IDLE_INTERVALS 5u /* passes over idle rings come this much later, at most */
#define STACK_RETRY_NS 100000ull
#define CODE_PASS_NS   1000000ull   /* imports free what they have run within milliseconds */
#define BEAT_NS        250000000ull /* guests give up after seconds */
#define CLOSE_NS       3000000000ull /* a window takes a second to end */
#define SUMS_NS        200000000ull  /* a guest's last sums follow within half of that */

#define DICTIONARY_BYTES_MAX (32ull << 20)

/* ---- passes ---------------------------------------------------------------------------------- */

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
	struct run_table_sums sums = {
		.lost = guest_process_lost(process),
		.unclean = guest_process_is_unclean(process),
		.taken_over = guest_process_is_taken_over(process),
		.seq = publisher_last_seq(agent->publisher),
	};

	guest_process_passed_on(process, &sums.launches, &sums.records);
	sums.launches += guest_process_launches(process);
	sums.records += guest_process_records(process);
	run_table_end(agent->runs, guest_process_run(process), guest_process_uid(process), &sums);
	bpf_source_detach(agent->bpf, process);
	process_table_remove(agent->processes, index);
	agent->has_ended = true;
	probe_source_detach(agent->probe, probe);
}

/* Makes the pass over one process, which is removed if it is over. */
static int pass_guest(struct agent *agent, uint32_t index, uint64_t now_ns, bool *removed)
{
	struct guest_process *process = process_table_at(agent->processes, index);

	*removed = false;
	if (agent->waits_for_stack && guest_process_probe(process))
		return 0;
	if (guest_process_is_ending(process)) {
		if (!bpf_source_is_read(agent->bpf, process))
			return 0;
		bpf_source_account(agent->bpf, process);
	}
	int r = guest_process_pass(process, now_ns);
	if (r < 0)
		return r;
	if (r == 1)
		agent->waits_for_room = true;
	if (r == 2)
		agent->has_more = true;
	if (r == 3)
		agent->waits_for_names = true;
	bpf_source_set_blocked(agent->bpf, process, guest_process_is_blocked(process));
	*removed = guest_process_is_over(process);
	if (*removed)
		remove_process(agent, index);
	return 0;
}

/* Makes the pass over those from first on, up to the one before end. */
static int pass_range(struct agent *agent, uint32_t first, uint32_t end, uint64_t now_ns)
{
	int r = 0;

	while (r == 0 && first < end && first < process_table_count(agent->processes)) {
		bool removed;

		r = pass_guest(agent, first, now_ns, &removed);
		first += !removed;
	}
	return r;
}

static int pass_guests(struct agent *agent, uint64_t now_ns)
{
	uint32_t count = process_table_count(agent->processes);
	uint32_t start = count ? agent->turn++ % count : 0;
	int stacks = probe_guests_pass(agent->probe, agent->processes, now_ns);

	agent->has_more = agent->waits_for_names = false;
	if (stacks < 0)
		return stacks;
	agent->waits_for_stack = stacks == 1;
	int r = pass_range(agent, start, count, now_ns);
	return r ? r : pass_range(agent, 0, start, now_ns);
}

/* What was sent is known by its key alone from now on. */
static void give_dictionaries_back(struct agent *agent)
{
	if (!batch_builder_is_flushed(agent->builder) ||
	    agent->names.asked != stack_dictionary_nr_frames(agent->stacks))
		return;
	string_dictionary_sent(agent->strings);
	stack_dictionary_sent(agent->stacks);
	/* Equal names get one id while they are remembered; that is worth this much memory. */
	if (string_dictionary_bytes(agent->strings) + stack_dictionary_bytes(agent->stacks) >
	    DICTIONARY_BYTES_MAX) {
		string_dictionary_forget(agent->strings);
		stack_dictionary_forget(agent->stacks);
	}
}

/* What a process that has ended made us take: room that it filled, and what lies in holes of the heap, below what still
 * lives. The heap keeps these by itself. */
static void give_memory_back(struct agent *agent)
{
	if (!agent->has_ended)
		return;
	agent->has_ended = false;
	batch_builder_give_back(agent->builder);
	publisher_give_back(agent->publisher);
	malloc_trim(0);
}

/* Until the next pass. */
static uint64_t interval(const struct agent *agent, uint64_t now_ns)
{
	if (agent->waits_for_stack)
		return STACK_RETRY_NS;
	return bpf_source_misses_code(agent->bpf, now_ns) ? CODE_PASS_NS : agent->interval_ns;
}

/* One pass over all rings, or the rest of one that had no room. The kernel's goes first, for 25 ms at
 * most (BPF_SOURCE_PASS_NS): guests' rings fill meanwhile. */
static int pass(struct agent *agent, uint64_t now_ns)
{
	uint64_t before = count_read(agent);
	int progress = bpf_source_pass(agent->bpf, now_ns), r = progress < 0 ? progress : 0;

	agent->waits_for_room = progress == BPF_SOURCE_NO_ROOM;
	agent->has_all_samples = progress == BPF_SOURCE_ALL;
	if (r == 0 && !agent->waits_for_room)
		r = pass_guests(agent, now_ns);
	if (r >= 0)
		r = frame_names_request(&agent->names);
	if (r == 0 && publisher_has_room(agent->publisher))
		r = batch_builder_flush_dictionaries(agent->builder);
	give_dictionaries_back(agent);
	give_memory_back(agent);
	agent->nr_passes += r == 0 && agent->has_all_samples && !agent->waits_for_room &&
			    !agent->waits_for_stack && !agent->waits_for_names && !agent->has_more;

	agent->interval_ns += agent->drain_interval_ns;
	if (count_read(agent) != before || agent->waits_for_names)
		agent->interval_ns = agent->drain_interval_ns;
	else if (agent->interval_ns > IDLE_INTERVALS * agent->drain_interval_ns)
		agent->interval_ns = IDLE_INTERVALS * agent->drain_interval_ns;
	agent->next_pass_ns = now_ns + interval(agent, now_ns);
	if (progress == BPF_SOURCE_MORE || agent->has_more)
		agent->next_pass_ns = now_ns;
	return r;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static int take_endpoint(struct agent *agent)
{
	struct key_set keys;
	bool has_keys;
	char *endpoint = agent_exchange_take_endpoint(&agent->exchange, &keys, &has_keys);

	if (!endpoint)
		return 0;
	free(agent->endpoint);
	agent->endpoint = endpoint;
	agent->has_endpoint = true;
	return publisher_connect(agent->publisher, endpoint, has_keys ? &keys : NULL);
}

static void take_watches(struct agent *agent)
{
	enum bpf_source_watch what;
	pid_t pid;

	while ((pid = agent_exchange_take_watch(&agent->exchange, &what)) != 0) {
		int r = bpf_source_watch(agent->bpf, pid, what);

		if (r)
			log_warning("bpf: process %d cannot be watched: %s", (int)pid,
				    strerror(-r));
		agent->nr_watches++;
	}
}

/* Tells processes that live, and those whose end was not told yet, by which signal they were stopped. */
static void take_stops(struct agent *agent)
{
	int32_t rank;
	int signal;

	while (agent_exchange_take_stop(&agent->exchange, &rank, &signal)) {
		for (uint32_t i = 0; i < process_table_count(agent->processes); i++) {
			struct guest_process *process = process_table_at(agent->processes, i);

			if (rank != AGENT_STOP_ALL && guest_process_rank(process) != rank)
				continue;
			if (signal == SIGKILL)
				guest_process_cut_off(process);
			else
				guest_process_stop(process, signal == SIGINT
								    ? LEDGER_INTERRUPTED_END
								    : LEDGER_TERMINATED_END);
		}
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

/* What was commanded of all agents of the job; the answer goes out at once. */
static int take_order(struct agent *agent, uint64_t now_ns)
{
	struct message_control order, taken;
	struct clock_exchange_estimate estimate;
	struct record_ring_command command;

	if (!publisher_take_order(agent->publisher, &order))
		return 0;
	bool known = publisher_clock(agent->publisher, now_ns, &estimate);
	job_order_take(&order, known ? &estimate : NULL, clock_realtime_offset_ns(), now_ns,
		       &command, &taken);
	taken.nr_processes = process_table_count(agent->processes);
	guest_control_command(agent->control, &command);
	publisher_answer_order(agent->publisher, &taken);
	return publisher_step(agent->publisher, now_ns);
}

/* A guest delivers what CUPTI still has when its window ends. For an agent that goes on in our place it need not. */
static void begin_close(struct agent *agent, uint64_t now_ns)
{
	agent->phase = PHASE_CLOSING;
	agent->close_ns = now_ns;
	agent->next_pass_ns = 0;
	if (agent->predecessors || guest_control_capturing(agent->control) == 0)
		return;
	agent->close_ns = now_ns + CLOSE_NS;
	guest_control_command(agent->control,
			      &(struct record_ring_command){.action = RECORD_RING_COMMAND_STOP});
}

static bool is_closed(struct agent *agent, uint64_t now_ns)
{
	if (guest_control_capturing(agent->control) == 0)
		agent->close_ns = earlier(agent->close_ns, now_ns + SUMS_NS);
	return now_ns >= agent->close_ns || process_table_count(agent->processes) == 0;
}

/* What CUPTI has not delivered by now will be in no profile. */
static void cut_off_capturing(struct agent *agent)
{
	for (uint32_t i = 0; i < process_table_count(agent->processes); i++) {
		struct guest_process *process = process_table_at(agent->processes, i);

		if (guest_process_is_capturing(process))
			guest_process_cut_off(process);
	}
}

static int begin_stop(struct agent *agent, uint64_t now_ns)
{
	agent->phase = PHASE_DRAINING;
	agent->stop_ns = now_ns + agent->give_up_ns;
	agent->next_pass_ns = 0;
	guest_listener_take_all(agent->listener);
	agent_absence_end(agent);
	/* While the path is ours: the next agent's files may lie there as soon as it is free. */
	guest_offers_close(agent->offers);
	agent->offers = NULL;
	guest_listener_destroy(agent->listener);
	agent->listener = NULL;
	cut_off_capturing(agent);
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
	else if (agent->phase >= PHASE_DRAINING && now_ns >= agent->stop_ns)
		return -ETIMEDOUT;
	return 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void publish_status(struct agent *agent)
{
	struct agent_status status = {
		.processes = agent->nr_guests,
		.processes_running = process_table_count(agent->processes),
		.passes = agent->nr_passes,
		.watches = agent->nr_watches,
		.sent_seq = publisher_last_seq(agent->publisher),
		.acked_seq = publisher_acked_seq(agent->publisher),
		.reached = publisher_has_reached(agent->publisher),
		.connected = publisher_connected(agent->publisher),
		.key_refusals = publisher_refusals(agent->publisher),
		.capturing = guest_control_capturing(agent->control),
		.asked_to_leave = agent->control->asked_to_leave,
	};

	status.welcomed = publisher_welcomed(agent->publisher, &status.profile);
	process_table_counts(agent->processes, &status.launches, &status.records);
	status.samples = bpf_source_samples(agent->bpf);
	status.refused_guests =
		agent->listener ? guest_listener_refused(agent->listener) : agent->refused_guests;
	agent->refused_guests = status.refused_guests;
	agent_exchange_publish(&agent->exchange, &status);
}

static void say_what_hangs(void)
{
	char line[FOREIGN_CALL_LINE_MAX];

	while (foreign_calls_take_line(line))
		log_warning("%s", line);
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

	take_stops(agent);
	if (take_wishes(agent) && agent->phase == PHASE_RUNNING)
		begin_close(agent, now_ns);
	if (agent->phase == PHASE_CLOSING && is_closed(agent, now_ns))
		r = begin_stop(agent, now_ns);
	if (r == 0)
		r = take_endpoint(agent);
	take_watches(agent);
	if (r == 0)
		r = publisher_step(agent->publisher, now_ns);
	if (r == 0)
		r = take_order(agent, now_ns);
	if (r)
		return r;
	process_table_release(agent->processes, publisher_acked_seq(agent->publisher));
	guest_register_stored(agent->scope.reg, publisher_acked_seq(agent->publisher));
	if (now_ns >= agent->next_beat_ns) {
		process_table_beat(agent->processes, now_ns);
		agent->next_beat_ns = now_ns + BEAT_NS;
	}
	if (agent->listener)
		listener_ns = guest_listener_step(agent->listener, now_ns);
	agent->next_step_ns = earlier(process_table_step(agent->processes, now_ns), listener_ns);
	agent->next_step_ns = earlier(agent->next_step_ns, agent_absence_step(agent, now_ns));
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
	say_what_hangs();
	return r;
}

static uint64_t deadline_ns(const struct agent *agent)
{
	uint64_t deadline = earlier(publisher_deadline_ns(agent->publisher), agent->next_step_ns);

	if (agent->phase == PHASE_CLOSING)
		deadline = earlier(deadline, agent->close_ns);
	if (agent->phase >= PHASE_DRAINING)
		deadline = earlier(deadline, agent->stop_ns);
	if (agent->phase == PHASE_NAMING)
		deadline = earlier(deadline, agent->stop_ns - agent->give_up_ns / 2);
	if (agent->phase <= PHASE_DRAINING && !agent->waits_for_room)
		deadline = earlier(deadline, agent->next_pass_ns);
	return deadline;
}

static void report_failure(const struct agent *agent, int r)
{
	if (r == -ETIMEDOUT && agent->leaves_words)
		return;
	if (r == -ETIMEDOUT && !agent->has_endpoint)
		log_error(
			"no aggregator was found: what was recorded on this node is in no profile");
	else if (r == -ETIMEDOUT)
		log_error("connect: %s: %llu of %llu frames were not acknowledged in %llu ms",
			  agent->endpoint,
			  (unsigned long long)(publisher_last_seq(agent->publisher) -
					       publisher_acked_seq(agent->publisher)),
			  (unsigned long long)publisher_last_seq(agent->publisher),
			  (unsigned long long)(agent->give_up_ns / NS_PER_MS));
	else if (*publisher_error(agent->publisher))
		log_error("connect: %s: %s", agent->endpoint, publisher_error(agent->publisher));
	else
		log_error("loop: %s", strerror(-r));
}

/* Once each: it is tried again every few seconds, and the job may well go on for days. */
static void say_refusal(struct agent *agent)
{
	const char *why = publisher_error(agent->publisher);

	if (*why && !agent->turned_down_said) {
		agent->turned_down_said = true;
		log_warning("connect: %s: %s; we keep trying", agent->endpoint, why);
	}
	if (agent->refusal_said || agent->leaves_words || !publisher_refusals(agent->publisher))
		return;
	agent->refusal_said = true;
	log_warning("connect: %s: the keys do not fit: who listens there does not take ours, or "
		    "does not have those that we expect; or it has as many connections as it may",
		    agent->endpoint);
}

int agent_loop_run(struct agent *agent)
{
	int r = 0;

	/* Not before: what it reads may leave a thread, which keeps the rights of whoever started it. */
	agent_absence_inherit(agent);
	while (r == 0 && agent->phase != PHASE_DONE) {
		r = step(agent, clock_now_ns());
		if (r == 0)
			say_refusal(agent);
		if (r == 0 && agent->phase != PHASE_DONE)
			r = event_loop_wait(agent->loop, deadline_ns(agent));
	}
	/* The last step may have heard of more than it looked at: the next agent would tell of these guests again. */
	guest_register_stored(agent->scope.reg, publisher_acked_seq(agent->publisher));
	if (r)
		report_failure(agent, r);
	return r;
}
