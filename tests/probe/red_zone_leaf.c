/* A function that calls nothing, keeps variables on its stack and holds a probe. Compiled twice, with RED_ZONE_NAME:
 * with a red zone, where they lie below the stack pointer, and without. */
#include <stdint.h>

#include "inject/launch/probe_point.h"
#include "red_zone_leaf.h"

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define JOIN(a, b)    a##b
#define NAMED(a, b)   JOIN(a, b)
#define SEMAPHORE     NAMED(RED_ZONE_NAME, _semaphore)
#define VARIABLES     12

PROBE_POINT_SEMAPHORE unsigned short SEMAPHORE;

__attribute__((noinline, noclone)) uint32_t RED_ZONE_NAME(uint64_t seed)
{
	volatile uint64_t kept[VARIABLES];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < VARIABLES; i++)
		kept[i] = seed + i;
	__asm__ volatile(PROBE_POINT("flamegrid_test", TEXT(RED_ZONE_NAME),
				     TEXT(RED_ZONE_NAME) "_semaphore", "")
			 :
			 :
			 : "memory");
	for (uint32_t i = 0; i < VARIABLES; i++)
		wrong += kept[i] != seed + i;
	return wrong;
}
