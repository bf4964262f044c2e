/* Fires the probe flamegrid:launch. With it any tracer may watch a process's launches, and the agent may have the
 * kernel walk their stacks in place of the guest (docs/stacks.md). While nobody watches, it costs one load per launch.
 * Any thread may call; keeps errno. */
#ifndef LAUNCH_PROBE_H
#define LAUNCH_PROBE_H

#include <stdbool.h>
#include <stdint.h>

extern unsigned short launch_probe_semaphore __attribute__((visibility("hidden")));

static inline bool launch_probe_is_watched(void)
{
	return __atomic_load_n(&launch_probe_semaphore, __ATOMIC_RELAXED) != 0;
}

/* Holds the probe. The probe's arguments are this function's, in this order, as a C function receives them.
 * correlation_id and cbid are as in struct launch_record. device_id: RECORD_DEVICE_NONE: not known. stream is the
 * handle; 0: not known, or the default stream. */
void launch_probe_fire(uint32_t correlation_id, uint32_t cbid, uint32_t device_id,
		       uint32_t context_id, uint64_t stream);

#endif
