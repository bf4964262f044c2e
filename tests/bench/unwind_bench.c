/* What walks and their tables cost: ns a frame, warm, through programs with and without frame
 * pointers; then milliseconds and bytes of the tables of large files. Prints, asserts nothing.
 * usage: unwind_bench PROGRAM.so... -- LIBRARY.so... */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"
#include "tests/unwind/loaded_segments.h"
#include "tests/unwind/programs/unwind_program.h"

#define ROUNDS 9
#define WALKS  2000u
#define DEPTH  64u

static struct unwind_tables *tables;
static struct unwind_cache cache;
static struct stack_bounds bounds;
static double walk_ns, cold_ns, backtrace_ns;
static uint32_t depth;
static uint64_t other_high; /* of a stack that is not the thread's */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double best(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

/* Called at the end of the program's chain of calls. */
static void measure(void)
{
	const struct unwind_start start = UNWIND_START_HERE();
	uint64_t high = other_high ? other_high : stack_bounds_high(&bounds, start.sp, 1);
	uint64_t frames[DEPTH];
	void *others[DEPTH + 1];
	enum unwind_end end;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = now_ns();
		for (uint32_t i = 0; i < WALKS; i++)
			depth = unwind_walk(tables, &cache, &start, high, NULL, frames, DEPTH,
					    &end);
		walk_ns = best(walk_ns, (double)(now_ns() - begin) / WALKS / depth);

		begin = now_ns();
		for (uint32_t i = 0; i < 20; i++) {
			memset(cache.sets, 0, sizeof(cache.sets));
			unwind_walk(tables, &cache, &start, high, NULL, frames, DEPTH, &end);
		}
		uint64_t all = now_ns() - begin;
		begin = now_ns();
		for (uint32_t i = 0; i < 20; i++) {
			memset(cache.sets, 0, sizeof(cache.sets));
			__asm__ volatile("" ::: "memory");
		}
		cold_ns = best(cold_ns, (double)(all - (now_ns() - begin)) / 20 / depth);

		begin = now_ns();
		for (uint32_t i = 0; i < 20; i++)
			backtrace(others, (int)DEPTH + 1);
		backtrace_ns = best(backtrace_ns, (double)(now_ns() - begin) / 20 / depth);
	}
}

static void on_stack(uintptr_t high)
{
	other_high = high;
}

static void measure_program(const char *path)
{
	static const struct program_host host = {measure, on_stack, 0};
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(const struct program_host *, uint64_t, uint32_t);
	void (*init)(void);

	if (!library) {
		printf("%s\n", dlerror());
		return;
	}
	*(void **)&run = dlsym(library, "program_run");
	*(void **)&init = dlsym(library, "program_init");
	if (!run || !init)
		return;
	init();
	loaded_segments_enter(tables);
	unwind_tables_build(tables, UNWIND_BUILD_ALL);
	walk_ns = cold_ns = backtrace_ns = 0;
	run(&host, 20240607, 12);
	printf("%-36s %3u frames  %5.1f ns a frame warm, %5.1f without cache, %5.0f backtrace()\n",
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path, depth, walk_ns, cold_ns,
	       backtrace_ns);
}

static void measure_library(const char *path)
{
	struct unwind_tables *own = unwind_tables_create(UNWIND_BYTES_MAX);
	struct unwind_totals before, after;

	loaded_segments_enter(own);
	unwind_tables_build(own, UNWIND_BUILD_ALL);
	unwind_tables_totals(own, &before);
	if (!dlopen(path, RTLD_LAZY)) {
		printf("%s\n", dlerror());
	} else {
		loaded_segments_enter(own);
		unwind_tables_build(own, UNWIND_BUILD_ALL);
		unwind_tables_totals(own, &after);
		printf("%-36s %2u tables %8lu rows %7.2f MB %7.1f ms\n",
		       strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
		       after.built - before.built, after.rows - before.rows,
		       (double)(after.bytes - before.bytes) / 1e6,
		       (double)(after.build_ns - before.build_ns) / 1e6);
	}
	unwind_tables_destroy(own);
}

int main(int argc, char **argv)
{
	int i = 1;

	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	if (!tables)
		return 1;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		measure_program(argv[i]);
	for (i++; i < argc; i++)
		measure_library(argv[i]);
	unwind_tables_destroy(tables);
	return 0;
}
