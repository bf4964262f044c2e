#include "order_inbox.h"

#include <stddef.h>

void order_inbox_receive(struct order_inbox *inbox, const struct message_control *order)
{
	if (order->kind != CONTROL_ORDER)
		return;
	if (order->token == inbox->taken.token) {
		inbox->tells_taken = true;
		return;
	}
	inbox->order = *order;
	inbox->order.nr_agents = 0;
	inbox->order.agents = NULL;
	inbox->has_order = true;
}

bool order_inbox_take(struct order_inbox *inbox, struct message_control *order)
{
	bool has_order = inbox->has_order;

	*order = inbox->order;
	inbox->has_order = false;
	return has_order;
}

void order_inbox_answer(struct order_inbox *inbox, const struct message_control *taken)
{
	inbox->taken = *taken;
	inbox->tells_taken = true;
}

bool order_inbox_tell(struct order_inbox *inbox, struct message_control *taken)
{
	bool tells_taken = inbox->tells_taken;

	*taken = inbox->taken;
	inbox->tells_taken = false;
	return tells_taken;
}
