/* What the unwind tables of a node's processes cost: CPU, memory and the time to the first whole stack. Three rounds:
 * each process on its own; shared, with nothing on disk; shared, from disk. Prints, asserts nothing.
 * usage: tables_bench DIRECTORY PROCESSES LIBRARY.so...	(the directory is empty, and stays) */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/tables/table_keeper.h"
#include "tests/unwind/loaded_segments.h"
#include "unwind/stack_bounds.h"
#include "unwind/table_arena.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

#define PROCESSES_MAX  64
#define FIRST_BUILD_NS 120000000u /* as the guest's (injection.c) */
#define DEPTH          64u
#define NEVER_MS       20000.0

struct result {
	double cpu_ms, first_ms, pss_mb;
	struct unwind_totals totals;
};

struct meeting {
	pthread_barrier_t all;
	struct result results[PROCESSES_MAX];
};

static struct meeting *meeting;
static struct unwind_cache cache;

static double now_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double pss_mb(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	unsigned long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pss: %lu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return (double)kib / 1e3;
}

static bool is_whole(struct unwind_tables *tables)
{
	const struct unwind_start start = UNWIND_START_HERE();
	struct stack_bounds bounds = {0};
	uint64_t frames[DEPTH];
	enum unwind_end end;

	unwind_walk(tables, &cache, &start, stack_bounds_high(&bounds, start.sp, 1), NULL, frames,
		    DEPTH, &end);
	return end == UNWIND_ROOT;
}

/* What a guest does: a first part at once, the rest on its own thread, which looks again for tables of others. */
static void be_guest(int fd, struct result *result)
{
	struct unwind_tables *tables = unwind_tables_create(UNWIND_BYTES_MAX);
	double pss_before, begin_ms, cpu_ms;

	pthread_barrier_wait(&meeting->all);
	pss_before = pss_mb();
	pthread_barrier_wait(&meeting->all);
	begin_ms = now_ms(CLOCK_MONOTONIC);
	cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	if (fd >= 0)
		unwind_tables_share(tables, fd);
	loaded_segments_enter(tables);
	unwind_tables_build(tables, FIRST_BUILD_NS);
	while (!is_whole(tables) && now_ms(CLOCK_MONOTONIC) - begin_ms < NEVER_MS)
		unwind_tables_build(tables, UNWIND_BUILD_WANTED);
	result->first_ms = now_ms(CLOCK_MONOTONIC) - begin_ms;
	unwind_tables_build(tables, UNWIND_BUILD_ALL);
	result->cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_ms;
	pthread_barrier_wait(&meeting->all);
	unwind_tables_build(tables, UNWIND_BUILD_ALL); /* what others were building */
	unwind_tables_totals(tables, &result->totals);
	pthread_barrier_wait(&meeting->all);
	result->pss_mb = pss_mb() - pss_before;
	pthread_barrier_wait(&meeting->all);
}

static void run_round(const char *what, int fd, uint32_t processes, char **libraries)
{
	struct result sum = {0};

	for (uint32_t i = 0; i < processes; i++) {
		if (fork())
			continue;
		for (char **library = libraries; *library; library++)
			if (!dlopen(*library, RTLD_LAZY))
				fprintf(stderr, "%s\n", dlerror());
		be_guest(fd, &meeting->results[i]);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	for (uint32_t i = 0; i < processes; i++) {
		const struct result *result = &meeting->results[i];

		sum.cpu_ms += result->cpu_ms;
		sum.pss_mb += result->pss_mb;
		sum.first_ms = result->first_ms > sum.first_ms ? result->first_ms : sum.first_ms;
	}
	printf("%-24s %u processes: CPU %7.1f ms, Pss %7.1f MB in all; first whole stack after "
	       "%6.1f ms at most; "
	       "%u tables, %u shared, %lu rows\n",
	       what, processes, sum.cpu_ms, sum.pss_mb, sum.first_ms,
	       meeting->results[0].totals.built, meeting->results[0].totals.shared,
	       meeting->results[0].totals.rows);
	fflush(stdout);
}

/* Waits until the keeper has read all that is on disk: no table is claimed. */
static int memory_of(struct table_keeper *keeper)
{
	int fd = table_keeper_memory(keeper, geteuid());
	struct table_arena arena;
	uint32_t nr_before = 1, nr = 0;

	if (table_arena_map(fd, &arena))
		return -1;
	while (nr != nr_before) {
		usleep(200000);
		nr_before = nr;
		nr = (uint32_t)atomic_load(&arena.index->nr_pages);
	}
	table_arena_unmap(&arena);
	return fd;
}

int main(int argc, char **argv)
{
	uint32_t processes = argc > 3 ? (uint32_t)atoi(argv[2]) : 0;
	pthread_barrierattr_t attributes;
	struct table_keeper *keeper;

	if (processes == 0 || processes > PROCESSES_MAX) {
		fprintf(stderr, "usage: tables_bench DIRECTORY PROCESSES LIBRARY.so...\n");
		return 2;
	}
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (meeting == MAP_FAILED)
		return 1;
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->all, &attributes, processes);
	run_round("each on its own", -1, processes, argv + 3);
	for (int i = 0; i < 2; i++) {
		keeper = table_keeper_start(argv[1]);
		run_round(i ? "shared, from disk" : "shared, nothing on disk", memory_of(keeper),
			  processes, argv + 3);
		table_keeper_stop(keeper, 60000);
	}
	return 0;
}
