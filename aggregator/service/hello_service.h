/* Answers HELLO (proto/wire.md): welcomes agents and links, or refuses them, and tells successors how far an epoch
 * came. Used by the aggregator's thread. */
#ifndef HELLO_SERVICE_H
#define HELLO_SERVICE_H

#include "connection_notices.h"
#include "profile_set.h"

#include "proto/batch/message.h"

struct agent_session;

struct hello_service {
	struct profile_set *profiles; /* borrowed */
	struct connection_notices notices;
	uint64_t agents; /* epochs of agents ever welcomed */
};

/* 0 or -ENOMEM. */
int hello_service_handle(struct hello_service *service, struct peer *peer,
			 const struct message_hello *hello);

/* Tells the sender of a finished epoch that the epoch is over, in case it still runs. */
void hello_service_end_epoch(struct receiver *receiver, const struct agent_session *session);

#endif
