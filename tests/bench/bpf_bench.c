/* What the BPF programs cost: ns an event by the kernel's own clock of programs, with threads that work, threads that
 * hand a byte to and fro, and processes that come and go; and what the agent's side takes to read an event. Needs root.
 * Prints; asserts nothing about time. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "node-agent/kernel/bpf_programs.h"
#include "node-agent/kernel/bpf_ring.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/kernel/python_file.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/guests/ring_source.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

#define SWITCHES   200000u
#define FORKS      1000u
#define HZ         5000u
#define WORK_NS    2000000000ull
#define RING_BYTES (256u << 20)

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;
static uint64_t nr_events, nr_bytes, nr_python;
static struct sample_event last; /* but for its addresses */

static int on_event(void *context, const struct sample_event *event)
{
	(void)context;
	nr_events++;
	nr_bytes += SAMPLE_EVENT_HEAD_SIZE + event->user_size + event->kernel_size +
		    event->stack_size + event->python_size;
	nr_python += event->python_size / sizeof(struct sample_python_frame);
	last = *event;
	return 0;
}

static void work(void)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + WORK_NS;

	while (now_ns(CLOCK_MONOTONIC) < end)
		for (uint64_t i = 0; i < 100000; i++)
			sink += i;
}

struct hand {
	int in, out;
};

static void *hand_over(void *argument)
{
	const struct hand *hand = argument;
	char byte;

	for (uint32_t i = 0; i < SWITCHES / 2; i++)
		if (read(hand->in, &byte, 1) != 1 || write(hand->out, &byte, 1) != 1)
			abort();
	return NULL;
}

static double switch_ns(void)
{
	int there[2], back[2];
	pthread_t thread;
	char byte = 0;

	if (pipe(there) || pipe(back))
		abort();
	struct hand hand = {there[0], back[1]};
	uint64_t begin = now_ns(CLOCK_MONOTONIC);
	pthread_create(&thread, NULL, hand_over, &hand);
	for (uint32_t i = 0; i < SWITCHES / 2; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	pthread_join(thread, NULL);
	return (double)(now_ns(CLOCK_MONOTONIC) - begin) / SWITCHES;
}

static double fork_ns(void)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	for (uint32_t i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return (double)(now_ns(CLOCK_MONOTONIC) - begin) / FORKS;
}

/* Of all programs of this name, since they were loaded. */
static void print_program(const char *name)
{
	uint32_t id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strcmp(info.name, name) == 0 && info.run_cnt)
			printf("%-10s %10llu runs  %7.0f ns each\n", name,
			       (unsigned long long)info.run_cnt,
			       (double)info.run_time_ns / (double)info.run_cnt);
		if (fd >= 0)
			close(fd);
	}
}

static void drain(struct bpf_ring *ring, const char *what)
{
	uint64_t before = nr_events, bytes = nr_bytes, begin = now_ns(CLOCK_MONOTONIC);

	while (bpf_ring_drain(ring) == BPF_RING_ENOUGH)
		;
	uint64_t ns = now_ns(CLOCK_MONOTONIC) - begin;
	if (nr_events > before)
		printf("%-24s %8llu events read, %5.0f bytes and %4.0f ns each\n", what,
		       (unsigned long long)(nr_events - before),
		       (double)(nr_bytes - bytes) / (double)(nr_events - before),
		       (double)ns / (double)(nr_events - before));
}

/* ring_bytes: of what is mapped twice, and copied by each fork of this process. */
static int start(struct bpf_ring **ring, struct bpf_programs **programs, uint64_t min_ns,
		 uint32_t stack_pages, uint32_t ring_bytes)
{
	const char *what;
	int r = bpf_ring_create(ring_bytes, on_event, NULL, ring, &what);

	if (r == 0) {
		*programs = bpf_programs_create(*ring);
		bpf_ring_watch(*ring, getpid(), 0, 0);
		r = min_ns ? bpf_programs_start_off_cpu(*programs, min_ns, stack_pages, &what)
			   : bpf_programs_start_cpu(*programs, HZ, stack_pages, &what);
	}
	if (r)
		fprintf(stderr, "bpf_bench: %s: %s\n", what, strerror(-r));
	return r;
}

static void stop(struct bpf_ring *ring, struct bpf_programs *programs)
{
	bpf_programs_destroy(programs);
	bpf_ring_destroy(ring);
}

/* ---- Python frames ------------------------------------------------------------------------------- */

static struct bpf_prog_info program_info(const char *name)
{
	struct bpf_prog_info info = {0}, found = {0};
	uint32_t id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		memset(&info, 0, sizeof(info));
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strcmp(info.name, name) == 0)
			found = info;
		if (fd >= 0)
			close(fd);
	}
	return found;
}

static const char *interpreter = "/usr/bin/python3";

static pid_t start_python(unsigned depth)
{
	char script[256];

	snprintf(script, sizeof(script),
		 "def f(n):\n  if n > 1: f(n - 1)\n  while n == 1: pass\nf(%u)", depth);
	pid_t pid = fork();
	if (pid == 0) {
		execl(interpreter, "python3", "-c", script, NULL);
		_exit(1);
	}
	return pid;
}

/* ns a sample of what has run since. */
static double measure(struct bpf_ring *ring)
{
	struct bpf_prog_info before = program_info("on_tick");

	nr_events = nr_python = 0;
	work();
	while (bpf_ring_drain(ring) == BPF_RING_ENOUGH)
		;
	struct bpf_prog_info after = program_info("on_tick");
	return (double)(after.run_time_ns - before.run_time_ns) / (double)(nr_events + 1);
}

static void measure_python(unsigned depth)
{
	struct ring_outputs outputs = {.strings = string_dictionary_create(),
				       .stacks = stack_dictionary_create()};
	const struct python_scope scope = {.files = python_files_create()};
	struct sample_python where;
	struct bpf_programs *programs;
	struct bpf_ring *ring;

	if (start(&ring, &programs, 0, 4, RING_BYTES))
		return;
	pid_t pid = start_python(depth);
	bpf_ring_unwatch(ring, getpid());
	bpf_ring_watch(ring, pid, 0, 0);
	double without = measure(ring);
	struct module_table *modules =
		module_table_create(ring_outputs_modules(&outputs), pid, getuid(), true);
	struct python_process *python = python_process_create(&scope, &outputs, pid);
	module_table_reread(modules);
	if (python_process_find(python, modules, &where)) {
		where.start = last.process_start;
		where.exec_id = last.exec_id;
		bpf_ring_set_python(ring, pid, &where);
	}
	double with = measure(ring);
	printf("%3u deep  %7.0f ns a sample without, %7.0f with %.1f Python frames\n", depth,
	       without, with, (double)nr_python / (double)(nr_events + 1));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	stop(ring, programs);
	python_process_destroy(python);
	module_table_destroy(modules);
	python_files_destroy(scope.files);
	stack_dictionary_destroy(outputs.stacks);
	string_dictionary_destroy(outputs.strings);
}

/* argument: a python3, else the system's */
int main(int argc, char **argv)
{
	if (argc > 1)
		interpreter = argv[1];

	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	double plain_switch = switch_ns(), plain_fork = fork_ns();
	struct bpf_programs *programs;
	struct bpf_ring *ring;

	for (uint32_t pages = 0; pages <= SAMPLE_STACK_PAGES_MAX; pages += 2) {
		printf("CPU samples, %u Hz, %u KiB of the stack\n", HZ, pages * 4);
		if (start(&ring, &programs, 0, pages, RING_BYTES))
			return 1;
		work();
		print_program("on_tick");
		drain(ring, "CPU samples");
		stop(ring, programs);
	}
	printf("CPU samples of python3, %u Hz, 16 KiB of the stack (all threads' ticks are in the "
	       "figures)\n",
	       HZ);
	static const unsigned depths[] = {1, 10, 40, 100, 200, 300};
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		measure_python(depths[i]);
	if (start(&ring, &programs, 0, 0, 4096))
		return 1;
	printf("forks      %7.0f ns without, %7.0f with\n", plain_fork, fork_ns());
	print_program("on_fork");
	stop(ring, programs);

	for (int i = 0; i < 3; i++) {
		static const char *const titles[] = {"all sent", "all too short, counted",
						     "the same, 8 KiB of the stack"};

		printf("waits, %s\n", titles[i]);
		if (start(&ring, &programs, i ? 1000000000000ull : 1, i == 2 ? 2 : 0, RING_BYTES))
			return 1;
		printf("switches   %7.0f ns without, %7.0f with\n", plain_switch, switch_ns());
		print_program("on_switch");
		drain(ring, "waits");
		stop(ring, programs);
	}
	if (stats >= 0)
		close(stats);
	return 0;
}
