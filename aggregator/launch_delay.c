#include "launch_delay.h"

#define DELAY_MAX_NS (1ull << 58) /* as of activities (correlator.h) */

struct launch_delay *launch_delays_of(struct launch_delays *delays, uint32_t device_id)
{
	return &delays->at[device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1];
}

void launch_delays_add(struct launch_delays *delays, uint32_t device_id, uint64_t launch_ns,
		       uint64_t start_ns)
{
	struct launch_delay *delay = launch_delays_of(delays, device_id);
	uint64_t ns = start_ns - launch_ns;

	delay->changed = true;
	if (start_ns < launch_ns || ns > DELAY_MAX_NS) {
		delay->unclear++;
		return;
	}
	delay->count++;
	delay->sum_ns = delay->sum_ns > INT64_MAX - ns ? INT64_MAX : delay->sum_ns + ns;
	if (ns > delay->max_ns)
		delay->max_ns = ns;
}

void launch_delays_saved(struct launch_delays *delays)
{
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		delays->at[i].changed = false;
}
