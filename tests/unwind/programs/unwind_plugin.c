/* Two libraries of one shape and different frames (PLUGIN_WORDS), for a test that loads the one
 * where the other was. */
#include <stddef.h>

#define NOINLINE __attribute__((noinline))

void plugin_call(void (*function)(void *), void *user, int levels);

static NOINLINE void nested(void (*function)(void *), void *user, int levels)
{
	volatile long room[PLUGIN_WORDS];

	room[0] = levels;
	if (levels > 0)
		nested(function, user, levels - 1);
	else
		function(user);
	__asm__ volatile("" ::"r"(room) : "memory");
}

void plugin_call(void (*function)(void *), void *user, int levels)
{
	nested(function, user, levels);
	__asm__ volatile("" ::: "memory");
}
