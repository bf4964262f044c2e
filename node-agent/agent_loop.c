/* agent_run() (agent.h). */
#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent_absence.h"
#include "agent_cost.h"
#include "agent_end.h"
#include "agent_endpoint.h"
#include "agent_pass.h"
#include "agent_socket.h"
#include "agent_state.h"
#include "job_order.h"

#include "base/clock.h"
#include "base/log.h"
#include "node-agent/files/foreign_call.h"
#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/probe/probe_guests.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/watch/bpf_source.h"

#define BEAT_NS 250000000ull /* guests give up after seconds */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- requests -------------------------------------------------------------------------------- */

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

/* Takes the newest command of other threads. Returns whether the loop has to stop. */
static bool take_wishes(struct agent *agent)
{
	struct record_ring_command command;
	uint64_t ended_ns;
	bool stop;

	if (agent_exchange_take(&agent->exchange, &command, &stop, &ended_ns))
		guest_control_command(agent->control, &command);
	publisher_ranks_ended(agent->publisher, ended_ns);
	if (agent_exchange_folds(&agent->exchange))
		publisher_fold(agent->publisher);
	return stop;
}

/* Takes a command that the aggregator sent to all agents of the job, and answers at once. */
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

/* ---- the loop -------------------------------------------------------------------------------- */

static void sum_lost(const struct agent *agent, uint64_t lost[static LEDGER_REASONS])
{
	memcpy(lost, agent->pass.lost, sizeof(agent->pass.lost));
	for (uint32_t i = 0; i < process_table_count(agent->processes); i++)
		guest_process_add_lost(process_table_at(agent->processes, i), lost);
}

static uint64_t count_lost(const struct agent *agent)
{
	uint64_t lost[LEDGER_REASONS], sum = 0;

	sum_lost(agent, lost);
	for (uint32_t i = 0; i < LEDGER_REASONS; i++)
		sum = ledger_add_saturating(sum, lost[i]);
	return sum;
}

static void publish_status(struct agent *agent, uint64_t now_ns)
{
	struct agent_status status = {
		.processes = agent->socket.nr_guests,
		.processes_running = process_table_count(agent->processes),
		.passes = agent->pass.count,
		.watches = agent->nr_watches,
		.sent_seq = publisher_last_seq(agent->publisher),
		.acked_seq = publisher_acked_seq(agent->publisher),
		.oldest_ns = publisher_oldest_ns(agent->publisher),
		.reached = publisher_has_reached(agent->publisher),
		.connected = publisher_connected(agent->publisher),
		.key_refusals = publisher_refusals(agent->publisher),
		.has_problem = *publisher_error(agent->publisher) != '\0',
		.refused_guests = agent_socket_refused(&agent->socket),
		.capturing = guest_control_capturing(agent->control),
		.asked_to_leave = agent->control->asked_to_leave,
	};

	/* Without processes nothing would wake the loop for the next sum. */
	if (now_ns >= agent->next_lost_ns || !process_table_count(agent->processes)) {
		sum_lost(agent, agent->lost);
		agent->next_lost_ns = now_ns + BEAT_NS;
	}
	memcpy(status.lost, agent->lost, sizeof(status.lost));
	status.welcomed = publisher_welcomed(agent->publisher, &status.profile);
	process_table_counts(agent->processes, &status.launches, &status.records);
	status.way = publisher_way(agent->publisher);
	status.samples = bpf_source_samples(agent->bpf);
	agent_exchange_publish(&agent->exchange, &status);
}

static int watch_lag(struct agent *agent, uint64_t now_ns)
{
	enum slow_spell_news news = publisher_lag_look(&agent->lag, agent->publisher, now_ns);

	if (news != SLOW_SPELL_SAME)
		publisher_lag_say(&agent->lag, agent->publisher, news, agent->endpoint.text,
				  count_lost(agent));
	return agent_cost_tell(agent, now_ns, false);
}

static void say_what_hangs(void)
{
	char line[FOREIGN_CALL_LINE_MAX];

	while (foreign_calls_take_line(line))
		log_warning("%s", line);
}

static int step(struct agent *agent, uint64_t now_ns)
{
	take_stops(agent);
	if (take_wishes(agent))
		agent_end_begin(agent, now_ns);
	int r = agent_end_drain(agent, now_ns);
	if (r == 0)
		r = agent_endpoint_take(agent);
	take_watches(agent);
	if (r == 0)
		r = publisher_step(agent->publisher, now_ns);
	if (r == 0)
		r = take_order(agent, now_ns);
	if (r == 0)
		r = watch_lag(agent, now_ns);
	if (r)
		return r;
	process_table_release(agent->processes, publisher_acked_seq(agent->publisher));
	guest_register_stored(agent->scope.reg, publisher_acked_seq(agent->publisher));
	if (now_ns >= agent->next_beat_ns) {
		process_table_beat(agent->processes, now_ns);
		agent->next_beat_ns = now_ns + BEAT_NS;
	}
	uint64_t socket_ns = agent_socket_step(&agent->socket, now_ns);
	agent->next_step_ns = earlier(process_table_step(agent->processes, now_ns), socket_ns);
	agent->next_step_ns = earlier(agent->next_step_ns, agent_absence_step(agent, now_ns));
	if (process_table_count(agent->processes) && agent->next_beat_ns < agent->next_step_ns)
		agent->next_step_ns = agent->next_beat_ns;
	if (agent->end.phase == PHASE_RUNNING &&
	    probe_guests_watch_one(agent->probe, agent->processes))
		agent->next_step_ns = now_ns;
	r = frame_names_collect(&agent->names);
	if (r == 0 && agent_pass_is_due(agent, now_ns))
		r = agent_pass_run(agent, now_ns);
	if (r == 0)
		r = agent_end_advance(agent, now_ns);
	publish_status(agent, now_ns);
	say_what_hangs();
	return r;
}

static uint64_t deadline_ns(const struct agent *agent)
{
	uint64_t deadline = earlier(publisher_deadline_ns(agent->publisher), agent->next_step_ns);

	deadline = earlier(deadline, publisher_lag_deadline_ns(&agent->lag, agent->publisher));
	deadline = earlier(deadline, agent_end_deadline_ns(agent));
	return earlier(deadline, agent_pass_deadline_ns(agent));
}

int agent_run(struct agent *agent)
{
	int r = 0;

	/* Not earlier: reading the register may start a thread, which keeps the rights of its starter. */
	agent_absence_inherit(agent);
	while (r == 0 && agent->end.phase != PHASE_DONE) {
		r = step(agent, clock_now_ns());
		if (r == 0)
			agent_endpoint_say_refusal(agent);
		if (r == 0 && agent->end.phase != PHASE_DONE)
			r = event_loop_wait(agent->loop, deadline_ns(agent));
	}
	/* Acknowledgements may have come since the last step: the next agent would report these guests again. */
	guest_register_stored(agent->scope.reg, publisher_acked_seq(agent->publisher));
	if (r)
		agent_endpoint_say_failure(agent, r);
	return r;
}
