/* Answers HELLO (proto/wire.md): welcomes agents and links, or refuses them, and tells successors how far an epoch
 * came. Used by the aggregator's thread. */
#ifndef HELLO_SERVICE_H
#define HELLO_SERVICE_H

#include "connection_notices.h"
#include "profile_set.h"

#include "aggregator/core/raw_budget.h"
#include "proto/batch/message.h"

struct hello_service {
	struct profile_set *profiles; /* borrowed */
	struct connection_notices notices;
	uint64_t agents;          /* epochs of agents ever welcomed */
	struct raw_budget budget; /* of the aggregator's thread */
};

/* Finds the profile of the job that the agent names, and makes it if it is new. The peer's frames go there from now on.
 * 0 or -ENOMEM. *profile is NULL if the agent was answered, or refused. */
int hello_service_find(struct hello_service *service, struct peer *peer,
		       const struct message_hello *hello, struct open_profile **profile);

#define HELLO_SERVICE_COMMIT 1

/* Answers the agent. The profile is here (open_profile.h), and earlier frames were handled. 0; -ENOMEM;
 * HELLO_SERVICE_COMMIT: the answer needs a commit: call it again after one was tried. */
int hello_service_answer(struct hello_service *service, struct peer *peer,
			 struct open_profile *profile, const struct message_hello *hello,
			 bool was_tried);

#endif
