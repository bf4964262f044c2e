/* Functions that do nothing, whose calls call_bench.c has timed from the kernel's side. They begin with a push, as
 * those of libcudart do. */
#include <stdint.h>

__attribute__((visibility("default"))) void call_target(void);
__attribute__((visibility("default"))) void call_target_outer(uint32_t count);

static volatile uint32_t nothing;

void call_target(void)
{
	uint32_t here[4]; /* so that it has a frame */

	here[0] = nothing;
	__asm__ volatile("" : : "r"(here) : "memory");
}

/* So many calls within a call. */
void call_target_outer(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		call_target();
	__asm__ volatile("");
}
