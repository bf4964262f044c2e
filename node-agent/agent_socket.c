#include "agent_socket.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_absence.h"
#include "agent_state.h"
#include "run_table.h"

#include "base/clock.h"
#include "base/log.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_control.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_table.h"
#include "node-agent/guests/ring_ownership.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/tables/table_keeper.h"
#include "node-agent/watch/bpf_source.h"

#define FULL_INTERVAL_NS 10000000000ull

/* Returns whether the guest's pid is another process's by now: /proc would describe that process instead. Start times
 * can be compared where both count from the same moment. */
static bool is_gone(const struct guest_arrival *arrival)
{
	const struct guest_hello *hello = arrival->hello;
	uint64_t start_ticks = proc_file_start_ticks(arrival->pid);

	return start_ticks && hello->start_ticks && start_ticks != hello->start_ticks &&
	       hello->pid_namespace == proc_file_pid_namespace(getpid()) &&
	       proc_file_time_namespace(arrival->pid) == proc_file_time_namespace(getpid());
}

/* One line stands for all guests of FULL_INTERVAL_NS. */
static void say_full(struct agent *agent, uid_t uid, uint32_t held)
{
	struct agent_socket *socket = &agent->socket;
	uint64_t now_ns = clock_now_ns();

	socket->nr_full++;
	if (now_ns < socket->next_full_ns)
		return;
	socket->next_full_ns = now_ns + FULL_INTERVAL_NS;
	log_warning("no place for a process of user %u, who has %u of %u (%u in use): it is not "
		    "profiled, and %llu before it were not",
		    (unsigned)uid, held, PROCESS_TABLE_MAX, process_table_count(agent->processes),
		    (unsigned long long)socket->nr_full - 1);
}

/* The same, where the limit on descriptors is the reason, or memory. */
static void say_lack(struct agent *agent)
{
	struct agent_socket *socket = &agent->socket;
	uint64_t now_ns = clock_now_ns();

	if (now_ns < socket->next_full_ns)
		return;
	socket->next_full_ns = now_ns + FULL_INTERVAL_NS;
	log_warning(
		"no descriptor (ulimit -n) or no memory for a process, which asks again: %u are "
		"read",
		process_table_count(agent->processes));
}

static enum handshake_status take_in(struct agent *agent, const struct guest_arrival *arrival,
				     bool gone, uint32_t *window)
{
	struct guest_process *process;
	uint8_t before[RECORD_RING_EPOCH];
	uint32_t process_id, held;

	*window = 1;
	if (!arrival->ring) {
		say_lack(agent);
		return HANDSHAKE_REFUSED_FULL;
	}
	/* The guest asks again if it has not heard of us for a while, or missed our answer. */
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
	/* Without memory for this, the guest's own data is still recorded. */
	bpf_source_attach(agent->bpf, arrival->pid, process);
	guest_process_set_probe(process, NULL); /* an agent before us may have set one */
	guest_process_register(process, arrival->hello);
	agent->socket.nr_guests++;
	agent->pass.next_ns = 0;
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
	struct agent_socket *socket = &agent->socket;
	struct control_result *result = &socket->result.result;
	const char *place = "";

	socket->result.head =
		(struct control_reply){.magic = CONTROL_MAGIC, .version = CONTROL_VERSION};
	memset(result, 0, sizeof(*result));
	publisher_welcomed(agent->publisher, &place);
	snprintf(result->place, sizeof(result->place), "%s", place ? place : "");
	run_table_result(agent->runs, run, uid, publisher_acked_seq(agent->publisher), result);
	*size = sizeof(socket->result);
	return &socket->result;
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

static int on_tables(void *context, uid_t uid)
{
	const struct agent *agent = context;

	return table_keeper_memory(agent->tables, uid);
}

/* Without register and offers, the profile lacks processes that came and went while agents were killed. */
static void open_register(struct agent *agent, const char *path, bool any_user)
{
	int r = guest_register_open(path, &agent->scope.reg);

	if (r)
		log_warning("%s.guests: %s", path, strerror(-r));
	r = guest_offers_open(path, any_user, &agent->absence.offers);
	if (r)
		log_warning("%s" HANDSHAKE_OFFERS ": %s", path, strerror(-r));
	guest_listener_on_settled(agent->socket.listener, agent_absence_settled);
}

int agent_socket_open(struct agent *agent, const char *path, bool any_user, char **error)
{
	int r = guest_listener_create(agent->loop, path, any_user, on_arrival, agent,
				      &agent->socket.listener, error);
	if (r)
		return r;
	if (agent->predecessors)
		open_register(agent, path, any_user);
	guest_listener_on_control(agent->socket.listener, on_control);
	guest_listener_on_tables(agent->socket.listener, on_tables);
	guest_listener_on_absence(agent->socket.listener, agent_absence_heard);
	return 0;
}

void agent_socket_close(struct agent_socket *socket)
{
	socket->nr_refused = agent_socket_refused(socket);
	guest_listener_destroy(socket->listener);
	socket->listener = NULL;
}

uint64_t agent_socket_step(struct agent_socket *socket, uint64_t now_ns)
{
	return socket->listener ? guest_listener_step(socket->listener, now_ns) : UINT64_MAX;
}

uint64_t agent_socket_refused(const struct agent_socket *socket)
{
	return socket->listener ? guest_listener_refused(socket->listener) : socket->nr_refused;
}
