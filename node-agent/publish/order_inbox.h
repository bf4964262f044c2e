/* The commands that the aggregator sends to all agents, and the answers to them. A command comes again until its answer
 * has arrived. Pure. Used by one thread. */
#ifndef ORDER_INBOX_H
#define ORDER_INBOX_H

#include <stdbool.h>

#include "proto/batch/message.h"

struct order_inbox {                         /* zeroed: no command has come */
	struct message_control order, taken; /* token 0: nothing to tell about taken */
	bool has_order, tells_taken;
};

/* Takes a CONTROL message. If its command was answered already, the answer was lost and is due again. */
void order_inbox_receive(struct order_inbox *inbox, const struct message_control *order);

/* Returns true once per command. */
bool order_inbox_take(struct order_inbox *inbox, struct message_control *order);

/* Gives the answer, which is due now. */
void order_inbox_answer(struct order_inbox *inbox, const struct message_control *taken);

/* Returns whether an answer is due, once; *taken is then the answer. */
bool order_inbox_tell(struct order_inbox *inbox, struct message_control *taken);

#endif
