/* Tells agents which of their messages are stored, and how much more they may send. An ACK that cannot be sent is due
 * again. Messages are stored by commits (commit_schedule.h). Used by the aggregator's thread. */
#ifndef ACK_SENDER_H
#define ACK_SENDER_H

#include "receiver.h"

struct agent_session;
struct open_profile;

/* The most that an agent may send without an acknowledgement. */
#define ACK_SENDER_FRAMES 1024u
#define ACK_SENDER_BYTES  (64u << 20)

/* Returns how many bytes a peer, which has a session, may send without an acknowledgement. Those of a link are its
 * share (node_profiles.h), because a round of it is to be no larger. */
uint64_t ack_sender_window_bytes(const struct peer *peer);

/* Sends an ACK to a peer, which has a session. */
void ack_sender_one(struct receiver *receiver, struct peer *peer);

/* Answers a PING. Its sender may have missed messages, so they are sent again. */
void ack_sender_pong(struct receiver *receiver, struct peer *peer, const struct message_ping *ping);

/* Sends an ACK to all peers whose profile is here (open_profile.h), and for which there is news, or which may have
 * missed it. Tells their sessions when they were heard. */
void ack_sender_all(struct receiver *receiver);

/* Refuses the peers of a profile whose frames are not stored. */
void ack_sender_refuse(struct receiver *receiver, const struct open_profile *profile,
		       enum refuse_code code, const char *reason);

/* Tells a peer that its session's epoch is over, because another agent or link has come in its place. */
void ack_sender_supersede(struct receiver *receiver, const struct peer *peer,
			  const struct agent_session *session);

/* The same to all peers of the session, which then have none. */
void ack_sender_end_epoch(struct receiver *receiver, const struct agent_session *session);

#endif
