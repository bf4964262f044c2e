/* Shows the walk by frame pointers where this machine has none of its own:
 *   aarch64-linux-gnu-gcc -std=gnu11 -O2 -fno-omit-frame-pointer -mbranch-protection=standard -static -I. \
 *     tests/unwind/programs/unwind_aarch64_program.c unwind/unwind.c -o unwind_aarch64 && qemu-aarch64-static unwind_aarch64
 * Exits 0 if each of the calls is in the stack, in order. */
#include <stdio.h>

#include "unwind/unwind.h"

#define NOINLINE __attribute__((noinline))
#define KEEP()   __asm__ volatile("" ::: "memory")
#define LEVELS   10
#define MAX      64

static uint64_t frames[MAX], high;
static const struct unwind_stops *stops;
static enum unwind_end end;

static NOINLINE uint32_t look(uint32_t max)
{
	const struct unwind_start start = UNWIND_START_HERE();
	uint32_t nr = unwind_walk(NULL, NULL, &start, high, stops, frames, max, &end);

	KEEP();
	return nr;
}

static NOINLINE uint32_t nest(int levels, uint32_t max)
{
	uint32_t nr = levels ? nest(levels - 1, max) : look(max);

	KEEP();
	return nr;
}

static int check(int right, const char *what)
{
	printf("%s: %s\n", right ? "ok" : "WRONG", what);
	return right ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct unwind_stops in_nest = {.nr = 1};
	int wrong = 0, same = 1;
	uint32_t nr;

	(void)argc;
	high = (uint64_t)(uintptr_t)argv;
	nr = nest(LEVELS, MAX);
	for (int i = 1; i < LEVELS - 1; i++)
		same = same && frames[i] == frames[i + 1];
	wrong += check(nr > LEVELS + 1, "a frame for each call");
	wrong += check(same, "the same address at each level");
	wrong += check(frames[0] >> 48 == 0, "addresses without signatures");
	wrong += check(end == UNWIND_ROOT, "the root");
	wrong += check(nest(LEVELS, 5) == 5 && end == UNWIND_FULL, "no more than asked for");
	in_nest.ranges[0].start = (uint64_t)(uintptr_t)nest;
	in_nest.ranges[0].end = in_nest.ranges[0].start + 64;
	stops = &in_nest;
	wrong += check(nest(LEVELS, MAX) == 1 && end == UNWIND_STOP, "the stop");
	stops = NULL;
	high = 0;
	wrong += check(nest(LEVELS, MAX) == 1 && end == UNWIND_NO_RULE, "the bounds");
	return wrong;
}
