/* What a launch costs inside the guest: each step alone, then the whole callback, ns a call. Prints, asserts nothing. The
 * stacks are this program's own, `depth` frames deep; the ring is emptied as it fills. With --cold: what one capture
 * costs when the caches are cold (cold/cold_stacks.h, cold/cold_paths.h). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/base/stack_table.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/kernel_configs.h"
#include "inject/cupti/name_table.h"
#include "inject/launch/api_statistics.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_thread.h"
#include "inject/module_watch.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "proto/ring/record_ring.h"
#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

#include "cold/cold_paths.h"
#include "cold/cold_stacks.h"

#define ROUNDS 7
#define CALLS  100000u
#define HOT    4000u /* different stacks, in the case of many */

static struct record_ring *guest, *agent;
static struct launch_callback launch;
static struct stack_cache cache;
static uint64_t frames[RECORD_STACK_DEPTH];
static uint32_t depth;

/* Takes what was pushed, outside of the time that is measured. */
static void drain(void)
{
	static struct launch_record records[4096];
	static struct record_ring_snapshot snapshot;
	struct record_ring_position position;

	record_ring_snapshot(agent, &snapshot);
	for (uint32_t lane = 0; lane < snapshot.lanes; lane++)
		while (record_ring_read_launches(agent, &snapshot, lane, records, 4096) > 0)
			;
	if (record_ring_position(agent, &position) == 0) {
		record_ring_release(agent, &position);
		free(position.launch);
	}
}

static void clock_step(uint32_t i)
{
	(void)i;
	__asm__ volatile("" ::"r"(monotonic_ns()));
}

static void bounds_step(uint32_t i)
{
	static struct stack_bounds bounds;

	(void)i;
	__asm__ volatile(
		"" ::"r"(stack_bounds_high(&bounds, (uintptr_t)__builtin_frame_address(0), 1)));
}

static void walk_step(uint32_t i)
{
	static struct stack_bounds bounds;
	static struct unwind_cache rules;
	const struct unwind_start start = UNWIND_START_HERE();
	enum unwind_end end;

	(void)i;
	depth = unwind_walk(launch.capture.tables, &rules, &start,
			    stack_bounds_high(&bounds, start.sp, 1), NULL, frames,
			    RECORD_STACK_DEPTH, &end);
}

static void hash_step(uint32_t i)
{
	(void)i;
	__asm__ volatile("" ::"r"(stack_table_hash(frames, depth)));
}

static void intern(void)
{
	uint64_t hash;

	if (stack_table_find(launch.capture.stacks, &cache, frames, depth, &hash) ==
	    RECORD_STACK_NONE)
		stack_table_add(launch.capture.stacks, &cache, hash, frames, depth);
}

static void intern_step(uint32_t i)
{
	(void)i;
	intern();
}

static void intern_many_step(uint32_t i)
{
	frames[0] = 0x400000 + i % HOT * 16;
	intern();
}

static void push_step(uint32_t i)
{
	const struct launch_record record = {.correlation_id = i};

	record_ring_push_launch(guest, 0, &record);
}

static void callback_step(uint32_t i)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = i + 1, .return_value = &result};

	launch_callback_enter(&launch, 307, &data);
	data.site = CUPTI_ABI_API_EXIT;
	launch_callback_exit(&launch, 307, &data);
}

static void range_step(uint32_t i)
{
	struct nvtx_text text;

	(void)i;
	nvtx_text_ascii(&text, "optimizer step of layer");
	nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
}

static void open_ranges(void)
{
	static const char *const names[] = {"epoch", "step", "forward"};
	struct nvtx_text text;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		nvtx_text_ascii(&text, names[i]);
		nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
	}
}

static int name_of(uint32_t domain, uint32_t cbid, const char **name)
{
	(void)domain;
	*name = "cuLaunchKernel";
	return cbid < 800 ? CUPTI_ABI_SUCCESS : 1;
}

static void api_step(uint32_t i)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = i + 1, .return_value = &result};

	api_statistics_enter(CUPTI_ABI_DOMAIN_DRIVER, 307, &data);
	data.site = CUPTI_ABI_API_EXIT;
	api_statistics_exit(CUPTI_ABI_DOMAIN_DRIVER, 307, &data);
}

static struct kernel_configs *configs;
static uint32_t nr_shapes;

static void config_step(uint32_t i)
{
	const struct kernel_config config = {
		.name_id = 1 + i % nr_shapes % 50, .grid_x = 1 + i % nr_shapes, .block_x = 256};

	kernel_configs_add(configs, &config, i);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static clockid_t clock_used = CLOCK_MONOTONIC;

/* Called at the bottom of a stack of known depth. */
static __attribute__((noinline)) double measure(void (*step)(uint32_t i))
{
	uint64_t before_ns = clock_now_ns(clock_used);

	for (uint32_t i = 0; i < CALLS; i++)
		step(i);
	uint64_t took_ns = clock_now_ns(clock_used) - before_ns;
	drain();
	return (double)took_ns / CALLS;
}

static __attribute__((noinline)) double nest(uint32_t levels, void (*step)(uint32_t i))
{
	double ns = levels ? nest(levels - 1, step) : measure(step);

	__asm__ volatile("" ::: "memory");
	return ns;
}

static void report(const char *what, uint32_t levels, void (*step)(uint32_t i))
{
	double rounds[ROUNDS];

	nest(levels, step); /* warm */
	for (int round = 0; round < ROUNDS; round++)
		rounds[round] = nest(levels, step);
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	printf("%-44s %8.1f ns  (%u frames)\n", what, rounds[ROUNDS / 2], depth);
}

static double scaled(struct ledger_entry entry)
{
	return (double)entry.ns / (double)(entry.count ? entry.count : 1);
}

/* What the meter says of the callbacks since the last call. */
static struct ledger_entry read_meter(enum ledger_reason reason)
{
	static struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	int nr = record_ring_ledger(agent, entries, sizeof(entries) / sizeof(entries[0]));

	for (int i = 0; i < nr; i++)
		if (entries[i].reason == (uint32_t)reason)
			return entries[i];
	return (struct ledger_entry){.reason = reason};
}

/* The meter's own mean beside an outside count of the same calls. The outside count is CPU time, because a metered call
 * that was interrupted counts once only. */
static void report_meter(uint32_t levels)
{
	const struct ledger_entry before = read_meter(LEDGER_METER);
	double outside_ns = 0;

	clock_used = CLOCK_THREAD_CPUTIME_ID;
	for (int round = 0; round < ROUNDS; round++)
		outside_ns += nest(levels, callback_step) / ROUNDS;
	clock_used = CLOCK_MONOTONIC;
	struct ledger_entry meter = read_meter(LEDGER_METER);
	meter.count -= before.count;
	meter.ns -= before.ns;
	printf("%-44s %8.1f ns  (outside %.1f ns, %+.1f %%; %lu interrupted in all)\n",
	       "the meter, enter and exit", scaled(meter), outside_ns,
	       100 * (scaled(meter) / outside_ns - 1),
	       (unsigned long)read_meter(LEDGER_METER_OUTLIER).count);
}

/* Afterwards the meter's own parts, of the launches of the last series. */
static int report_cold(void)
{
	static const struct {
		const char *name;
		enum ledger_reason reason;
	} parts[] = {{"entry", LEDGER_METER_ENTRY},
		     {"native", LEDGER_METER_NATIVE},
		     {"Python", LEDGER_METER_PYTHON},
		     {"interning", LEDGER_METER_INTERN},
		     {"exit", LEDGER_METER_EXIT}};

	if (cold_stacks_report(&launch) < 0)
		return -1;
	printf("the meter, ns a launch:");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		printf(" %s %.0f", parts[i].name,
		       (double)read_meter(parts[i].reason).ns /
			       (double)read_meter(LEDGER_METER).count);
	printf("\n");
	return cold_paths_report(&launch.capture);
}

static void report_names(struct name_table *names)
{
	char name[400];
	uint64_t before_ns;

	for (size_t i = 0; i + 1 < sizeof(name); i++)
		name[i] = (char)('a' + i % 26);
	name[sizeof(name) - 1] = '\0';
	name_table_intern(names, name);
	before_ns = monotonic_ns();
	for (uint32_t i = 0; i < CALLS; i++)
		__asm__ volatile("" ::"r"(name_table_intern(names, name)));
	printf("%-44s %8.1f ns\n", "name of 399 bytes, known",
	       (double)(monotonic_ns() - before_ns) / CALLS);
}

int main(int argc, char **argv)
{
	const bool cold = argc == 2 && strcmp(argv[1], "--cold") == 0;
	int fd;

	if (argc > 1 && !cold) {
		fprintf(stderr, "usage: %s [--cold]\n", argv[0]);
		return 1;
	}
	launch_meter_init(LAUNCH_METER_PERIOD);
	if (record_ring_create(&RECORD_RING_SIZES_DEFAULT, &guest, &fd) < 0 ||
	    record_ring_map(fd, &agent) < 0 || launch_thread_init(LAUNCH_THREADS_KEPT) < 0)
		return 1;
	close(fd);
	launch = (struct launch_callback){
		.ring = guest,
		.capture = {.ring = guest,
			    .stacks = stack_table_create(guest),
			    .tables = unwind_tables_create(UNWIND_BYTES_MAX),
			    .python = python_frames_create(guest),
			    .options = STACK_OPTIONS_DEFAULT},
		.window = 1};
	struct definition_writer writer = DEFINITION_WRITER_INIT(guest);
	struct module_watch *modules = module_watch_create(&writer, launch.capture.tables);
	struct name_table *names = name_table_create(&writer, NAME_TABLE_BYTES);
	if (!launch.capture.stacks || !launch.capture.tables || !launch.capture.python ||
	    !modules || !names || record_ring_claim_lane(guest) != 0)
		return 1;
	module_watch_poll(modules, false);
	unwind_tables_build(launch.capture.tables, UNWIND_BUILD_ALL);
	if (cold)
		return report_cold() < 0;
	report("clock_gettime", 0, clock_step);
	report("stack bounds, known", 0, bounds_step);
	for (uint32_t levels = 8; levels <= 64; levels *= 2) {
		report("walk", levels, walk_step);
		report("hash", levels, hash_step);
		report("hash and intern, one hot stack", levels, intern_step);
		report("hash and intern, 4,000 hot stacks", levels, intern_many_step);
		report("push", levels, push_step);
		report("whole callback: enter and exit", levels, callback_step);
		report_meter(levels);
	}
	report_names(names);
	launch.capture.ranges = nvtx_ranges_on(NVTX_DIGITS_AUTO);
	report("whole callback, NVTX on", 16, callback_step);
	report("NVTX range: push and pop", 0, range_step);
	open_ranges();
	report("whole callback, three NVTX ranges open", 16, callback_step);
	depth = 0;
	api_statistics_init(guest, &(struct cupti_library){.get_callback_name = name_of}, "all", 0,
			    &writer);
	report("a counted API call: enter and exit", 0, api_step);
	configs = kernel_configs_create();
	if (!configs)
		return 1;
	nr_shapes = 1;
	report("launch configuration, the same", 0, config_step);
	nr_shapes = 100;
	report("launch configuration, 100 in turn", 0, config_step);
	nr_shapes = 10000;
	report("launch configuration, 10,000 in turn", 0, config_step);
	return 0;
}
