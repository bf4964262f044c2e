/* What one capture of a whole stack costs, native frames, Python frames and interning, called from a Python program: a
 * library for capture_bench.py. Prints, asserts nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "inject/launch/stack_capture.h"
#include "inject/module_watch.h"
#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"
#include "unwind/unwind_table.h"

#define ROUNDS 9
#define CALLS  20000u

static struct record_ring *guest, *agent;
static struct stack_capture capture;
static struct stack_scratch scratch;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int set_up(void)
{
	int fd;

	if (guest)
		return 0;
	if (record_ring_create(&RECORD_RING_SIZES_DEFAULT, &guest, &fd) < 0 ||
	    record_ring_map(fd, &agent) < 0)
		return -1;
	close(fd);
	capture = (struct stack_capture){
		.ring = guest,
		.stacks = stack_table_create(guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(guest),
	};
	static struct definition_writer writer;
	writer = DEFINITION_WRITER_INIT(guest);
	struct module_watch *modules = module_watch_create(&writer, capture.tables);
	if (!capture.stacks || !capture.tables || !capture.python || !modules)
		return -1;
	module_watch_poll(modules, false);
	unwind_tables_build(capture.tables, UNWIND_BUILD_ALL);
	return python_frames_find(capture.python) == PYTHON_READY ? 0 : -1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_ns(void)
{
	double rounds[ROUNDS];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t before_ns = now_ns();

		for (uint32_t i = 0; i < CALLS; i++)
			stack_capture_take(&capture, &scratch, 1);
		rounds[round] = (double)(now_ns() - before_ns) / CALLS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	return rounds[ROUNDS / 2];
}

static void report(const char *mode)
{
	uint64_t words[RECORD_STACK_DEPTH];
	uint32_t native = 0, python = 0, marks = 0;

	stack_options_parse(mode, &capture.options);
	double ns = median_ns();
	int depth = record_ring_read_stack(agent, stack_capture_take(&capture, &scratch, 1), words);
	for (int i = 0; i < depth; i++) {
		native += stack_word_is_native(words[i]);
		python += stack_word_is_python(words[i]);
		marks += stack_word_is_mark(words[i]);
	}
	printf("%-8s %3u native, %3u Python frames, %u marks: %6.0f ns\n", mode, native, python,
	       marks, ns);
}

/* What it costs to know the numbers of PyTorch's operations: with and without, in turn. */
static void report_autograd(void)
{
	struct autograd_origin *autograd = autograd_origin_create(guest);
	enum { TURNS = 4 };

	if (!autograd || autograd_origin_find(autograd) != AUTOGRAD_READY)
		return;
	stack_options_parse("leaf", &capture.options);
	for (int i = 0; i < TURNS; i++) {
		capture.autograd = NULL;
		double without_ns = median_ns();
		capture.autograd = autograd;
		double with_ns = median_ns();
		printf("leaf: %.1f ns, with operations %.1f ns: %+.1f ns\n", without_ns, with_ns,
		       with_ns - without_ns);
	}
	capture.autograd = NULL;
}

/* Called by capture_bench.py: measures below so many C frames of its own. Returns 0, or -1: no Python
 * frames here. */
int capture_bench(uint32_t levels);

__attribute__((noinline)) int capture_bench(uint32_t levels)
{
	static const char *const modes[] = {"leaf", "full", "native", "python"};
	int result = 0;

	if (levels)
		result = capture_bench(levels - 1);
	else
		result = set_up();
	if (levels == 0 && result == 0)
		for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
			report(modes[i]);
	if (levels == 0 && result == 0)
		report_autograd();
	__asm__ volatile("" ::: "memory");
	return result;
}
