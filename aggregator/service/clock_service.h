/* Answers agents' questions about clocks, and keeps the results (proto/wire.md, CLOCK). Used by the aggregator's
 * thread. */
#ifndef CLOCK_SERVICE_H
#define CLOCK_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "peer_table.h"
#include "receiver.h"

#include "aggregator/profile/collection.h"
#include "proto/batch/message.h"

#define CLOCK_SERVICE_RESULT_NS 1000000000ull /* at most one result of an agent in this time */

struct clock_service {
	struct receiver *receiver;
	struct collection *collection;
	/* owns; names the CLOCK_MONOTONIC of this process: the boot's id, and the time namespace if there is one */
	char *reference;
};

/* Both are borrowed until fini. 0 or -ENOMEM. */
int clock_service_init(struct clock_service *service, struct receiver *receiver,
		       struct collection *collection);
void clock_service_fini(struct clock_service *service); /* zeroed memory is fine */

/* Answers a question (CLOCK_ASK), which no profile may delay. arrived_ns: CLOCK_MONOTONIC after the message came. */
void clock_service_answer(struct receiver *receiver, const struct peer *peer,
			  const struct message_clock *question, uint64_t arrived_ns);

/* Puts a result into the collection and sets *changed. Results that come too often are dropped; impossible ones count
 * as bad messages. 0 or -ENOMEM. */
int clock_service_handle(struct clock_service *service, struct peer *peer,
			 const struct message_clock *clock, uint64_t arrived_ns, bool *changed);

#endif
