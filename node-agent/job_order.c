#include "job_order.h"

#define TIME_MAX   ((uint64_t)INT64_MAX / 2) /* 146 years */
#define OFFSET_MAX (INT64_MAX / 4)           /* 73 years: three of them can be added */

/* The aggregator's CLOCK_REALTIME in ours. 0, for at once or without end, and what no clock shows stays as it is;
 * nothing becomes 0. */
static uint64_t translate(uint64_t time_ns, int64_t shift_ns)
{
	int64_t ours_ns = (int64_t)time_ns + shift_ns;

	if (time_ns == 0 || time_ns > TIME_MAX)
		return time_ns;
	return ours_ns > 0 ? (uint64_t)ours_ns : 1;
}

static bool is_within(int64_t number)
{
	return number > -OFFSET_MAX && number < OFFSET_MAX;
}

void job_order_take(const struct message_control *order,
		    const struct clock_exchange_estimate *estimate, int64_t realtime_offset_ns,
		    uint64_t now_ns, struct record_ring_command *command,
		    struct message_control *taken)
{
	int64_t shift_ns = 0;

	*taken = (struct message_control){.kind = CONTROL_TAKEN, .token = order->token};
	if (estimate && is_within(estimate->offset_ns) && is_within(estimate->realtime_offset_ns) &&
	    is_within(realtime_offset_ns)) {
		shift_ns = realtime_offset_ns + estimate->offset_ns - estimate->realtime_offset_ns;
		taken->bound_ns = is_within(shift_ns) ? estimate->bound_ns : 0;
		shift_ns = is_within(shift_ns) ? shift_ns : 0;
	}
	*command = (struct record_ring_command){
		.action = order->action,
		.from_ns = translate(order->from_ns, shift_ns),
		.until_ns = translate(order->until_ns, shift_ns),
	};
	taken->state = command->from_ns && command->from_ns <= now_ns + (uint64_t)realtime_offset_ns
			       ? CONTROL_LATE
			       : CONTROL_IN_TIME;
}
