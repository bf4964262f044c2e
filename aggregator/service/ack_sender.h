/* Tells agents how much of theirs is stored, and how much more they may send. What cannot be sent is due again. Used by
 * the aggregator's thread. */
#ifndef ACK_SENDER_H
#define ACK_SENDER_H

#include "receiver.h"

/* Unacknowledged, at most. */
#define ACK_SENDER_FRAMES 1024u
#define ACK_SENDER_BYTES  (64u << 20)

/* The peer has a session. */
void ack_sender_one(struct receiver *receiver, struct peer *peer);

/* Tells all peers that have something new to hear, or may have missed it. */
void ack_sender_all(struct receiver *receiver);

/* Refuses the peers of a profile whose frames are not stored. */
void ack_sender_refuse(struct receiver *receiver, const struct open_profile *profile,
		       enum refuse_code code, const char *reason);

#endif
