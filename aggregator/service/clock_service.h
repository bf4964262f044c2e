/* Agents' questions about clocks: answers them, and keeps what agents found (proto/wire.md, CLOCK). Used by the
 * aggregator's thread. */
#ifndef CLOCK_SERVICE_H
#define CLOCK_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "peer_table.h"
#include "receiver.h"

#include "aggregator/profile/collection.h"
#include "proto/batch/message.h"

#define CLOCK_SERVICE_RESULT_NS                                                                    \
	1000000000ull /* of one agent no more than one result in this time */

struct clock_service {
	struct receiver *receiver;
	struct collection *collection;
	/* owns: whose CLOCK_MONOTONIC this process has: the boot's id, and the time namespace where there are such */
	char *reference;
};

/* Both are borrowed until fini. 0 or -ENOMEM. */
int clock_service_init(struct clock_service *service, struct receiver *receiver,
		       struct collection *collection);
void clock_service_fini(struct clock_service *service); /* zeroed memory is fine */

/* What an agent asked is answered, what it found goes into the collection: *changed is then set. What is too much is
 * dropped, what can't be true counted as bad. arrived_ns: CLOCK_MONOTONIC, read after it came. 0 or -ENOMEM. */
int clock_service_handle(struct clock_service *service, struct peer *peer,
			 const struct message_clock *clock, uint64_t arrived_ns, bool *changed);

#endif
