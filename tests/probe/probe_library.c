/* The guest's probe alone, in a library that the agent takes for a guest's: see probe_victim.c. */
#include "probe_library.h"

#include "inject/launch/launch_probe.h"

uint32_t probe_library_watchers(void)
{
	return *(const volatile unsigned short *)&launch_probe_semaphore;
}

__attribute__((noinline)) void probe_library_fire(uint32_t correlation_id)
{
	launch_probe_fire(correlation_id, 307, 0, 1, 0);
	__asm__ volatile("");
}
