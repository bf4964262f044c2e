#include "agent_end.h"

#include <errno.h>

#include "agent_absence.h"
#include "agent_cost.h"
#include "agent_socket.h"
#include "agent_state.h"

#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/symbols/symbolizer.h"
#include "node-agent/watch/bpf_source.h"

#define CLOSE_NS 3000000000ull /* a window takes a second to end */
#define SUMS_NS  200000000ull  /* a guest's last sums follow within half of that */

/* A guest delivers what CUPTI still has when its window ends. It need not if another agent goes on in our place. */
void agent_end_begin(struct agent *agent, uint64_t now_ns)
{
	struct agent_end *end = &agent->end;

	if (end->phase != PHASE_RUNNING)
		return;
	end->phase = PHASE_CLOSING;
	end->close_ns = agent->predecessors ? now_ns : now_ns + CLOSE_NS;
	end->sums_ns = UINT64_MAX;
	agent->pass.next_ns = 0;
	if (agent->predecessors || guest_control_capturing(agent->control) == 0)
		return;
	guest_control_command(agent->control,
			      &(struct record_ring_command){.action = RECORD_RING_COMMAND_STOP});
}

/* A window that ended by itself may be known only by the next pass, so that nobody captures must hold for a while. */
static bool is_closed(struct agent *agent, uint64_t now_ns)
{
	struct agent_end *end = &agent->end;

	if (guest_control_capturing(agent->control))
		end->sums_ns = UINT64_MAX;
	else if (end->sums_ns == UINT64_MAX)
		end->sums_ns = now_ns + SUMS_NS;
	return now_ns >= end->close_ns || now_ns >= end->sums_ns ||
	       process_table_count(agent->processes) == 0;
}

/* Records that CUPTI has not delivered by now will be in no profile. */
static void cut_off_capturing(struct agent *agent)
{
	for (uint32_t i = 0; i < process_table_count(agent->processes); i++) {
		struct guest_process *process = process_table_at(agent->processes, i);

		if (guest_process_is_capturing(process))
			guest_process_cut_off(process);
	}
}

int agent_end_drain(struct agent *agent, uint64_t now_ns)
{
	struct agent_end *end = &agent->end;

	if (end->phase != PHASE_CLOSING || !is_closed(agent, now_ns))
		return 0;
	end->phase = PHASE_DRAINING;
	end->stop_ns = now_ns + end->give_up_ns;
	agent->pass.next_ns = 0;
	guest_listener_take_all(agent->socket.listener);
	agent_absence_end(agent);
	/* While the path is ours: the next agent's files may lie there as soon as it is free. */
	guest_offers_close(agent->absence.offers);
	agent->absence.offers = NULL;
	agent_socket_close(&agent->socket);
	cut_off_capturing(agent);
	process_table_end_all(agent->processes);
	return bpf_source_stop(agent->bpf, now_ns);
}

/* No goodbye while processes run that the next agent will read on: the aggregator would close their accounts. */
static int send_bye(struct agent *agent, uint64_t now_ns)
{
	struct message message = {.type = MESSAGE_BYE};
	int r = batch_builder_flush_dictionaries(agent->builder);

	if (r == 0)
		r = agent_cost_tell(agent, now_ns, true);

	return r || agent->end.leaves_guests ? r : publisher_send(agent->publisher, &message);
}

/* Names may take half of the time: data without names is worth more than no data. */
static uint64_t names_end_ns(const struct agent_end *end)
{
	return end->stop_ns - end->give_up_ns / 2;
}

int agent_end_advance(struct agent *agent, uint64_t now_ns)
{
	struct agent_end *end = &agent->end;
	int r = 0;

	if (end->phase == PHASE_DRAINING && agent->pass.has_all_samples &&
	    process_table_count(agent->processes) == 0)
		end->phase = PHASE_NAMING;
	if (end->phase == PHASE_NAMING &&
	    (symbolizer_idle(agent->symbolizer) || now_ns >= names_end_ns(end))) {
		r = send_bye(agent, now_ns);
		end->phase = PHASE_LEAVING;
	}
	if (r == 0)
		r = publisher_step(agent->publisher, now_ns);
	if (r)
		return r;
	if (end->phase == PHASE_LEAVING &&
	    publisher_acked_seq(agent->publisher) == publisher_last_seq(agent->publisher))
		end->phase = PHASE_DONE;
	else if (end->phase >= PHASE_DRAINING && now_ns >= end->stop_ns)
		return -ETIMEDOUT;
	return 0;
}

uint64_t agent_end_deadline_ns(const struct agent *agent)
{
	const struct agent_end *end = &agent->end;

	if (end->phase == PHASE_RUNNING)
		return UINT64_MAX;
	if (end->phase == PHASE_CLOSING)
		return end->sums_ns < end->close_ns ? end->sums_ns : end->close_ns;
	return end->phase == PHASE_NAMING ? names_end_ns(end) : end->stop_ns;
}
