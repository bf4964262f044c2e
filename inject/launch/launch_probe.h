/* The probe flamegrid:launch: any tracer may watch a process's launches, and the agent may have their stacks walked by
 * the kernel in place of the guest (docs/stacks.md). Free while nobody watches: one load a launch.
 * Any thread; keeps errno. */
#ifndef LAUNCH_PROBE_H
#define LAUNCH_PROBE_H

#include <stdbool.h>
#include <stdint.h>

extern unsigned short launch_probe_semaphore __attribute__((visibility("hidden")));

static inline bool launch_probe_is_watched(void)
{
	return __atomic_load_n(&launch_probe_semaphore, __ATOMIC_RELAXED) != 0;
}

/* Where the probe is. Its arguments are these, in this order: those of a C function. correlation_id and cbid as in
 * struct launch_record; device_id: RECORD_DEVICE_NONE where it is not known; stream: the handle, 0: not known, or the
 * default one. */
void launch_probe_fire(uint32_t correlation_id, uint32_t cbid, uint32_t device_id,
		       uint32_t context_id, uint64_t stream);

#endif
