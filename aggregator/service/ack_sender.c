#include "ack_sender.h"

#include "node_profiles.h"
#include "open_profile.h"

#include "aggregator/profile/agent_session.h"

#define NS_PER_MS 1000000u

static uint32_t round_ms_of(const struct peer *peer)
{
	return peer->session->folds && peer->profile ? node_profiles_round_ms(peer->profile->nodes)
						     : 0;
}

uint64_t ack_sender_window_bytes(const struct peer *peer)
{
	if (!peer->session->folds || !peer->profile)
		return ACK_SENDER_BYTES;
	const uint64_t share = node_profiles_round_bytes(node_profiles_links(peer->profile->nodes));
	return share < ACK_SENDER_BYTES ? share : ACK_SENDER_BYTES;
}

void ack_sender_one(struct receiver *receiver, struct peer *peer)
{
	const struct message message = {
		.type = MESSAGE_ACK,
		.ack = {.seq = peer->session->durable_seq,
			.window_frames = ACK_SENDER_FRAMES,
			.window_bytes = ack_sender_window_bytes(peer),
			.round_ms = round_ms_of(peer)},
	};

	if (receiver_send(receiver, peer, &message) == 0) {
		peer->acked_seq = peer->session->durable_seq;
		peer->round_ms = message.ack.round_ms;
		peer->ack_due = false;
	}
}

void ack_sender_pong(struct receiver *receiver, struct peer *peer, const struct message_ping *ping)
{
	const struct message pong = {.type = MESSAGE_PONG, .ping.token = ping->token};
	const uint64_t ended_ms = ping->ended_ms;
	const bool has_ended = ended_ms && ended_ms < peer->heard_ns / NS_PER_MS;

	peer->ranks_ended_ns = has_ended ? peer->heard_ns - ended_ms * NS_PER_MS : 0;
	peer->has_said_ranks = true;
	receiver_send(receiver, peer, &pong);
	peer->gap_reported = false;
	peer->ack_due = peer->session != NULL;
}

static void hear(const struct peer *peer)
{
	struct agent_session *session = peer->session;

	if (peer->heard_ns < session->heard_ns)
		return; /* another connection of this agent is newer */
	if (peer->has_said_ranks)
		session->ranks_ended_ns = peer->ranks_ended_ns;
	if (!session->ended)
		session->heard_ns = peer->heard_ns;
}

void ack_sender_all(struct receiver *receiver)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++) {
		struct peer *peer = &peers[i];

		if (!peer->session || (peer->profile && peer->profile->away))
			continue;
		hear(peer);
		if (peer->ack_due || peer->acked_seq != peer->session->durable_seq ||
		    peer->round_ms != round_ms_of(peer))
			ack_sender_one(receiver, peer);
	}
}

void ack_sender_refuse(struct receiver *receiver, const struct open_profile *profile,
		       enum refuse_code code, const char *reason)
{
	uint32_t nr_peers;
	const struct peer *peers = peer_table_peers(receiver_peers(receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session && peers[i].profile == profile &&
		    peers[i].session->received_seq != peers[i].session->durable_seq)
			receiver_refuse(receiver, &peers[i], code, reason);
}

void ack_sender_supersede(struct receiver *receiver, const struct peer *peer,
			  const struct agent_session *session)
{
	receiver_refuse(receiver, peer, REFUSE_SUPERSEDED,
			session->folds
				? "another link sends this node's profile"
				: "another agent of this node has taken over what this one read");
}

void ack_sender_end_epoch(struct receiver *receiver, const struct agent_session *session)
{
	uint32_t nr_peers;
	const struct peer *peers = peer_table_peers(receiver_peers(receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session == session)
			ack_sender_supersede(receiver, &peers[i], session);
	peer_table_detach(receiver_peers(receiver), session);
}
