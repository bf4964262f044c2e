#include "cold_paths.h"

#include <stdio.h>
#include <stdlib.h>

#include "cold_clock.h"
#include "cold_frames.h"

#define DEPTH    30u
#define CAPTURES 20000u
#define LEARNING 40000u /* captures before */
/* Another program had the processor meanwhile. Such captures are left out. */
#define INTERRUPTED 60000u
#define WORK_CALLS  50u
#define WORK_LINES  (32u << 10 >> 6)

struct paths {
	const struct stack_capture *capture;
	uint64_t random, sink;
	uint32_t nr, cycles[CAPTURES];
	char work[COLD_WORK_BYTES];
	_Alignas(64) struct stack_scratch scratch;
};

static uint32_t below(struct paths *paths, uint32_t limit)
{
	paths->random ^= paths->random << 13;
	paths->random ^= paths->random >> 7;
	paths->random ^= paths->random << 17;
	return (uint32_t)(paths->random >> 32) % limit;
}

static __attribute__((noinline)) void work(struct paths *paths)
{
	uint64_t seed = paths->sink + below(paths, UINT32_MAX);

	for (uint32_t i = 0; i < WORK_CALLS; i++)
		seed = cold_works[(seed >> 20) % COLD_WORKS](seed + i);
	for (uint32_t i = 0; i < WORK_LINES; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		paths->work[(seed >> 20) % (COLD_WORK_BYTES / 64) * 64]++;
	}
	paths->sink = seed;
}

/* The outermost frames choose the place that they call from. */
static __attribute__((noinline)) void descend(struct paths *paths, uint32_t path, uint32_t depth)
{
	if (depth == 0) {
		work(paths);
		uint64_t before = cold_clock_now();
		paths->sink += stack_capture_take(paths->capture, &paths->scratch, 1);
		uint64_t took = cold_clock_now() - before;
		if (took < INTERRUPTED && paths->nr < CAPTURES)
			paths->cycles[paths->nr++] = (uint32_t)took;
	} else if (path & 1) {
		descend(paths, path >> 1, depth - 1);
		__asm__ volatile("nop" ::: "memory"); /* or both would be one place */
	} else {
		descend(paths, path >> 1, depth - 1);
		__asm__ volatile("" ::: "memory");
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void measure(struct paths *paths, uint32_t stacks)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LEARNING + CAPTURES; i++) {
		if (i == LEARNING)
			paths->nr = 0;
		descend(paths, below(paths, stacks), DEPTH);
	}
	for (uint32_t i = 0; i < paths->nr; i++)
		sum += paths->cycles[i];
	qsort(paths->cycles, paths->nr, sizeof(paths->cycles[0]), compare);
	printf("%5u stacks at one stack pointer, %-10s: mean %6.0f  median %6u  p99 %6u\n", stacks,
	       paths->capture->walks_always ? "walks" : "recognises", (double)sum / paths->nr,
	       paths->cycles[paths->nr / 2], paths->cycles[paths->nr - 1 - paths->nr / 100]);
}

int cold_paths_report(const struct stack_capture *capture)
{
	static const uint32_t stacks[] = {16, 64, 256, 1000, 2000};
	struct stack_capture walks = *capture;

	walks.walks_always = true;
	for (uint32_t i = 0; i < 2 * sizeof(stacks) / sizeof(stacks[0]); i++) {
		struct paths *paths = aligned_alloc(64, sizeof(*paths));

		if (!paths)
			return -1;
		__builtin_memset(paths, 0, sizeof(*paths));
		paths->random = 88172645463325252u;
		paths->capture = i % 2 ? capture : &walks;
		measure(paths, stacks[i / 2]);
		known_stacks_fini(&paths->scratch.known);
		free(paths);
	}
	return 0;
}
