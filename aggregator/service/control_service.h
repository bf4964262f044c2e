/* Passes a command of `flamegrid control` to all agents, and answers how far it came (proto/wire.md, CONTROL).
 * peer_rights.h decides before whether the peer may command. Used by the aggregator's thread. */
#ifndef CONTROL_SERVICE_H
#define CONTROL_SERVICE_H

#include "peer_table.h"
#include "receiver.h"

#include "aggregator/profile/collection.h"
#include "proto/batch/message.h"

struct node_profiles;
struct open_profile;

struct control_service {
	struct receiver *receiver;
	struct collection *collection;
	const struct open_profile *profile;   /* of the collection */
	struct message_control order;         /* the newest; token 0: none */
	struct message_control_agent *agents; /* owns; part of the answer */
	const struct node_profiles *nodes; /* whose links get commands, too; borrowed; NULL: none */
};

/* Both are borrowed until fini; zeroed otherwise. */
void control_service_init(struct control_service *service, struct receiver *receiver,
			  struct collection *collection);
void control_service_fini(struct control_service *service); /* zeroed memory is fine */

/* Handles a command, or an agent's answer to one. Impossible messages count as bad. */
void control_service_handle(struct control_service *service, struct peer *peer,
			    const struct message_control *control);

/* Sends the current order to an agent that was welcomed, unless the order's end has passed. */
void control_service_greet(struct control_service *service, const struct peer *peer);

#endif
