#include "launch_delay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DELAY_MAX_NS (1ull << 58) /* equal to the limit of activities (correlator.h) */

void launch_delays_fini(struct launch_delays *delays)
{
	free(delays->at);
	*delays = (struct launch_delays){0};
}

static uint32_t place_of(uint32_t device_id)
{
	return device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1;
}

int launch_delays_get(struct launch_delays *delays, uint32_t device_id, struct launch_delay **delay)
{
	uint32_t place = place_of(device_id);
	int error = array_reserve_zeroed(&delays->at, &delays->nr, place + 1, sizeof(**delay));

	*delay = error ? NULL : &delays->at[place];
	return error;
}

const struct launch_delay *launch_delays_find(const struct launch_delays *delays,
					      uint32_t device_id)
{
	uint32_t place = place_of(device_id);

	return place < delays->nr ? &delays->at[place] : NULL;
}

int launch_delays_add(struct launch_delays *delays, uint32_t device_id, uint64_t launch_ns,
		      uint64_t start_ns)
{
	uint64_t ns = start_ns - launch_ns;
	struct launch_delay *delay;
	int error = launch_delays_get(delays, device_id, &delay);

	if (error)
		return error;
	delay->changed = true;
	if (start_ns < launch_ns || ns > DELAY_MAX_NS) {
		delay->unclear++;
		return 0;
	}
	delay->count++;
	delay->sum_ns = delay->sum_ns > INT64_MAX - ns ? INT64_MAX : delay->sum_ns + ns;
	if (ns > delay->max_ns)
		delay->max_ns = ns;
	return 0;
}

void launch_delays_saved(struct launch_delays *delays)
{
	for (uint32_t i = 0; i < delays->nr; i++)
		delays->at[i].changed = false;
}
