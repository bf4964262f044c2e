/* What a launch costs inside the guest, by who walks its stack: the guest, the kernel in a watched probe, both. Prints,
 * asserts nothing; takes root, and BPF. The probe is in this program, and watched by it as the agent would. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "inject/base/definition_writer.h"
#include "inject/base/stack_table.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_probe.h"
#include "inject/launch/launch_thread.h"
#include "inject/module_watch.h"
#include "launch_stack.skel.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/probe/probe_event.h"
#include "node-agent/probe/probe_note.h"
#include "node-agent/probe/probe_ring.h"
#include "proto/ring/record_ring.h"
#include "unwind/unwind_table.h"

#define SELF       "/proc/self/exe"
#define ROUNDS     7
#define CALLS      50000u
#define RING_BYTES (64u << 20) /* room for CALLS stacks */

static struct record_ring *guest, *agent;
static struct launch_callback launch;
static struct launch_stack_bpf *program;
static struct probe_ring *events;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int on_event(void *context, const void *data, size_t size)
{
	(void)data;
	(void)size;
	++*(uint32_t *)context;
	return 0;
}

/* Outside of the time that is measured. Returns the number of stacks that the kernel walked. */
static uint32_t drain(void)
{
	static struct launch_record records[4096];
	static struct record_ring_snapshot snapshot;
	struct record_ring_position position;
	uint32_t nr_events = 0;

	record_ring_snapshot(agent, &snapshot);
	for (uint32_t lane = 0; lane < snapshot.lanes; lane++)
		while (record_ring_read_launches(agent, &snapshot, lane, records, 4096) > 0)
			;
	if (record_ring_position(agent, &position) == 0) {
		record_ring_release(agent, &position);
		free(position.launch);
	}
	if (events)
		probe_ring_read(events, probe_ring_end(events), on_event, &nr_events);
	return nr_events;
}

static void callback(uint32_t i)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = i + 1, .return_value = &result};

	launch_callback_enter(&launch, 307, &data);
	data.site = CUPTI_ABI_API_EXIT;
	launch_callback_exit(&launch, 307, &data);
}

static void fire(uint32_t i)
{
	launch_probe_fire(i, 307, 0, 1, 0);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* At the bottom of a stack of known depth. */
static __attribute__((noinline)) double measure(void (*step)(uint32_t i))
{
	uint64_t before_ns = now_ns();

	for (uint32_t i = 0; i < CALLS; i++)
		step(i);
	return (double)(now_ns() - before_ns) / CALLS;
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
	uint32_t nr_events = 0;

	nest(levels, step); /* warm */
	drain();
	for (int round = 0; round < ROUNDS; round++) {
		rounds[round] = nest(levels, step);
		nr_events = drain();
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	printf("%-52s %3u levels %8.1f ns  (%u of %u stacks by the kernel)\n", what, levels,
	       rounds[ROUNDS / 2], nr_events, CALLS);
}

static int watch(int *fd)
{
	struct elf_file *file;
	struct probe_note note;

	program = launch_stack_bpf__open();
	if (!program || bpf_map__set_max_entries(program->maps.events, RING_BYTES) ||
	    launch_stack_bpf__load(program) ||
	    probe_ring_open(bpf_map__fd(program->maps.events), RING_BYTES, &events) ||
	    elf_file_open(SELF, &file))
		return -1;
	int r = probe_note_find(file, "flamegrid", "launch", &note);
	elf_file_close(file);
	return r ? r
		 : probe_event_open(SELF, &note, getpid(),
				    bpf_program__fd(program->progs.on_launch), fd);
}

int main(void)
{
	int fd;

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
	if (!launch.capture.stacks || !launch.capture.tables || !launch.capture.python || !modules)
		return 1;
	module_watch_poll(modules, false);
	unwind_tables_build(launch.capture.tables, UNWIND_BUILD_ALL);

	report("probe alone, nobody watches", 16, fire);
	for (uint32_t levels = 8; levels <= 32; levels *= 2)
		report("whole callback, nobody watches: the guest's walk", levels, callback);
	if (watch(&fd)) {
		fputs("probe_bench: BPF cannot be used here\n", stderr);
		return 1;
	}
	report("probe alone, watched", 16, fire);
	record_ring_probe(agent, true);
	for (uint32_t levels = 8; levels <= 32; levels *= 2)
		report("whole callback, watched: the kernel's walk", levels, callback);
	record_ring_probe(agent, false);
	report("whole callback, watched by somebody else: both", 16, callback);
	close(fd);
	report("whole callback, nobody watches any more", 16, callback);
	return 0;
}
