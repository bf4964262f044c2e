#include "control_service.h"

#include <stdlib.h>

#include "node_profiles.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/clock.h"

#define TIME_MAX ((uint64_t)INT64_MAX / 2) /* 146 years */

void control_service_init(struct control_service *service, struct receiver *receiver,
			  struct collection *collection)
{
	service->receiver = receiver;
	service->collection = collection;
}

void control_service_fini(struct control_service *service)
{
	free(service->agents);
}

/* Agents of other profiles get no commands, and their sessions may be another thread's. */
static bool has_to_hear(const struct control_service *service, const struct peer *peer)
{
	return peer->session && peer->profile == service->profile && !peer->session->ended &&
	       peer->session->control.token != service->order.token;
}

static void send_order(struct control_service *service, const struct peer *peer)
{
	const struct message message = {.type = MESSAGE_CONTROL, .control = service->order};

	receiver_send(service->receiver, peer, &message);
}

static void send_orders(struct control_service *service)
{
	uint32_t nr_peers;
	const struct peer *peers = peer_table_peers(receiver_peers(service->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (has_to_hear(service, &peers[i]))
			send_order(service, &peers[i]);
}

void control_service_greet(struct control_service *service, const struct peer *peer)
{
	const struct message_control *order = &service->order;

	if (order->token && has_to_hear(service, peer) &&
	    !(order->until_ns && order->until_ns <= clock_realtime_ns()))
		send_order(service, peer);
}

static void describe(const struct control_service *service, const struct agent_session *session,
		     struct message_control_agent *agent)
{
	const struct collection *collection = service->collection;
	const struct roster_host *host = roster_host(collection->roster, session->host);
	bool taken = session->control.token == service->order.token;

	*agent = (struct message_control_agent){0};
	agent->node.data =
		catalog_string(collection->catalog, host ? host->node : 0, &agent->node.size);
	if (!taken)
		return;
	agent->state = session->control.state;
	agent->nr_processes = session->control.nr_processes;
	agent->bound_ns = session->control.bound_ns;
}

static bool is_open(const struct agent_session *session)
{
	return session && !session->ended && session->host;
}

/* Describes the agents and links that are open, as many as there is room for. Returns their number. */
static uint32_t describe_all(const struct control_service *service)
{
	const struct collection *collection = service->collection;
	uint32_t nr_links = service->nodes ? node_profiles_count(service->nodes) : 0, count = 0;

	for (uint32_t i = 0; i < collection->nr_sessions && count < WIRE_CONTROL_AGENTS_MAX; i++)
		if (is_open(collection->sessions[i]))
			describe(service, collection->sessions[i], &service->agents[count++]);
	for (uint32_t i = 0; i < nr_links && count < WIRE_CONTROL_AGENTS_MAX; i++) {
		const struct agent_session *session = node_profiles_at(service->nodes, i);

		if (is_open(session))
			describe(service, session, &service->agents[count++]);
	}
	return count;
}

/* Without memory there is no answer, and the client asks again. */
static void send_answer(struct control_service *service, const struct peer *peer)
{
	struct message message = {.type = MESSAGE_CONTROL, .control = service->order};

	if (!service->agents)
		service->agents = calloc(WIRE_CONTROL_AGENTS_MAX, sizeof(*service->agents));
	if (!service->agents)
		return;
	message.control.kind = CONTROL_ANSWER;
	message.control.nr_agents = describe_all(service);
	message.control.agents = service->agents;
	receiver_send(service->receiver, peer, &message);
}

static bool is_possible(const struct message_control *command)
{
	return command->from_ns <= TIME_MAX && command->until_ns <= TIME_MAX &&
	       (command->until_ns == 0 || command->until_ns > command->from_ns);
}

static void take_command(struct control_service *service, const struct message_control *command)
{
	uint64_t now_ns = command->relative ? clock_realtime_ns() : 0;

	service->order = (struct message_control){
		.kind = CONTROL_ORDER,
		.token = command->token,
		.action = command->action,
		.from_ns = command->from_ns ? command->from_ns + now_ns : 0,
		.until_ns = command->until_ns ? command->until_ns + now_ns : 0,
	};
}

static void take_answer(struct agent_session *session, const struct message_control *taken)
{
	session->control = (struct session_control){
		.token = taken->token,
		.state = taken->state,
		.nr_processes = taken->nr_processes,
		.bound_ns = taken->bound_ns,
	};
}

void control_service_handle(struct control_service *service, struct peer *peer,
			    const struct message_control *control)
{
	if (control->kind == CONTROL_TAKEN && peer->session) {
		take_answer(peer->session, control);
	} else if (control->kind == CONTROL_ASK && is_possible(control)) {
		if (control->token != service->order.token)
			take_command(service, control);
		send_orders(service);
		send_answer(service, peer);
	} else {
		receiver_count_bad(service->receiver, peer, "CONTROL has impossible values");
	}
}
