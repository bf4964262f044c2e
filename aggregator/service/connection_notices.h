/* Lines on stderr about connections that the aggregator refused. Each kind comes once or rarely, so that a peer that
 * tries again and again cannot fill a log. Used by the aggregator's thread. */
#ifndef CONNECTION_NOTICES_H
#define CONNECTION_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

struct message_hello;
struct peer;
struct receiver;
struct receiver_counts;

struct connection_notices { /* zeroed: nothing was said */
	bool stranger_said, version_said;
	uint64_t crowded_said, crowded_said_ns;
};

void connection_notices_step(struct connection_notices *notices,
			     const struct receiver_counts *counts, uint64_t now_ns);

/* Refuses an agent whose versions of the protocol are not ours. The line and the refusal name both. */
void connection_notices_version(struct connection_notices *notices, struct receiver *receiver,
				const struct peer *peer, const struct message_hello *hello);

#endif
