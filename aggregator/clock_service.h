/* Agents' questions about clocks: answers them, and keeps what agents found (proto/wire.md, CLOCK). Used by the aggregator's thread. */
#ifndef CLOCK_SERVICE_H
#define CLOCK_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collection.h"
#include "peer_table.h"
#include "proto/message.h"
#include "receiver.h"

#define CLOCK_SERVICE_RESULT_NS                                                                    \
	1000000000ull /* of one agent no more than one result in this time */

/* *text: whose CLOCK_MONOTONIC this process has: the boot's id, and the time namespace where there are such; owns: free(). 0, -ENOMEM. */
int clock_service_reference(char **text);

/* What an agent asked or told. arrived_ns: CLOCK_MONOTONIC, read after it came. true, and *taken is to be kept by the collection: it told
 * something new. Else it was answered, or is too much, or can't be true (counted as bad). */
bool clock_service_handle(struct receiver *receiver, struct peer *peer,
			  const struct message_clock *clock, uint64_t arrived_ns);

/* Keeps a result of that session's agent. 0 or -ENOMEM. */
int clock_service_keep(struct collection *collection, const struct agent_session *session,
		       const char *reference, const struct message_clock *clock);

#endif
