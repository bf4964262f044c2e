/* What timing a call from the kernel's side costs its thread (host_call.bpf.c): ns a call of a function that does
 * nothing, by the clock, without probes and with them, with copies of the stack and with Python frames. Needs root.
 * Prints; asserts nothing about time. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/kernel/bpf_ring.h"
#include "node-agent/calls/call_links.h"
#include "node-agent/calls/call_sites.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/kernel/python_file.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/guests/ring_source.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

#define CALLS       2000u
#define BATCHES     51u
#define FRAMES      17u
#define FRAMES_ELSE 4u /* of main, of what it calls, and of libc */
#define RING_BYTES  (128u << 20)
#define NOINLINE    __attribute__((noinline, noclone))

static uint64_t nr_events, nr_bytes, nr_user, nr_python;

static void (*target)(void);
static void (*outer)(uint32_t count);
static char library[512];
static struct call_sites sites;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The slowest of the fastest eighth: others use the machine, too. */
static double undisturbed(double *values)
{
	qsort(values, BATCHES, sizeof(*values), compare);
	return values[BATCHES / 8];
}

static int on_event(void *context, const struct sample_event *event)
{
	(void)context;
	nr_events++;
	nr_bytes +=
		SAMPLE_EVENT_HEAD_SIZE + event->user_size + event->stack_size + event->python_size;
	nr_user += event->user_size / sizeof(uint64_t);
	nr_python += event->python_size / sizeof(struct sample_python_frame);
	return 0;
}

/* ---- what is probed ----------------------------------------------------------------------------- */

static uint64_t offset_of(const void *function)
{
	uint64_t address = (uint64_t)(uintptr_t)function;
	struct link_map *map;
	Dl_info info;

	if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP))
		abort();
	const ElfW(Ehdr) *header = info.dli_fbase;
	const ElfW(Phdr) *segments = (const void *)((const char *)info.dli_fbase + header->e_phoff);
	snprintf(library, sizeof(library), "%s", info.dli_fname);
	for (int i = 0; i < header->e_phnum; i++) {
		uint64_t begin = map->l_addr + segments[i].p_vaddr;

		if (segments[i].p_type == PT_LOAD && address - begin < segments[i].p_memsz)
			return address - begin + segments[i].p_offset;
	}
	abort();
}

struct probes {
	struct bpf_ring *ring;
	struct call_program *program;
	struct call_links *links;
};

#ifdef BEFORE /* for comparisons with versions that take no options */
struct call_program_options {
	enum call_links_way way;
	bool wants_python;
	uint32_t stack_pages;
};
#define call_program_create(ring, options, program, what)                                          \
	call_program_create(ring, (options)->way, program, what)
#endif

static void start(struct probes *probes, const struct call_program_options *options)
{
	const char *what;
	uint32_t nr_failed;
	int r = bpf_ring_create(RING_BYTES, on_event, NULL, &probes->ring, &what);
	int fd = open(library, O_RDONLY | O_CLOEXEC);

	if (r == 0)
		r = call_program_create(probes->ring, CALL_PROGRAM_CUDA, options, &probes->program,
					&what);
	if (r == 0)
		r = call_links_create(probes->program, fd, &sites, &nr_failed, &probes->links);
	close(fd);
	if (r) {
		fprintf(stderr, "call_bench: %s\n", strerror(-r));
		exit(1);
	}
}

static void drain(struct probes *probes)
{
	while (bpf_ring_drain(probes->ring) == BPF_RING_ENOUGH)
		;
}

static void stop(struct probes *probes)
{
	call_links_destroy(probes->links);
	call_program_destroy(probes->program);
	bpf_ring_destroy(probes->ring);
}

/* ---- calls of C --------------------------------------------------------------------------------- */

static NOINLINE double deep(uint32_t frames, uint32_t inner)
{
	double ns = 0;

	if (frames > 1) {
		ns = deep(frames - 1, inner);
	} else if (inner) {
		uint64_t begin = now_ns();

		for (uint32_t i = 0; i < CALLS / 20; i++)
			outer(inner);
		ns = (double)(now_ns() - begin) / (CALLS / 20);
	} else {
		uint64_t begin = now_ns();

		for (uint32_t i = 0; i < CALLS; i++)
			target();
		ns = (double)(now_ns() - begin) / CALLS;
	}
	__asm__ volatile("");
	return ns;
}

static double measure(struct probes *probes, uint32_t inner)
{
	double values[BATCHES];

	for (uint32_t i = 0; i < BATCHES; i++) {
		values[i] = deep(FRAMES - FRAMES_ELSE, inner);
		if (probes)
			drain(probes);
	}
	return undisturbed(values);
}

static void measure_native(uint32_t stack_pages)
{
	const struct call_program_options options = {.stack_pages = stack_pages};
	struct probes probes;

	start(&probes, &options);
	double plain = measure(&probes, 0);
	bpf_ring_watch(probes.ring, getpid(), 0, 0);
	nr_events = nr_bytes = nr_user = 0;
	double watched = measure(&probes, 0);
	printf("%2u KiB copied   %6.0f ns a call, %6.0f where not watched; %5.0f bytes, %.1f "
	       "frames an event",
	       4 * stack_pages, watched, plain, (double)nr_bytes / (double)(nr_events + 1),
	       (double)nr_user / (double)(nr_events + 1));
	printf("; a call within a call %5.0f\n", (measure(&probes, 20) - watched) / 20);
	stop(&probes);
}

/* ---- calls of Python ---------------------------------------------------------------------------- */

static const char *interpreter = "/usr/bin/python3";

struct child {
	pid_t pid;
	FILE *orders, *answers;
};

/* Its answers are ns a call, of ctypes and the function. */
static struct child begin(unsigned depth)
{
	static const char script[] =
		"import ctypes, sys, time\n"
		"call = ctypes.CDLL(sys.argv[1]).call_target\n"
		"def f(n):\n"
		"  if n > 1: return f(n - 1)\n"
		"  begin = time.monotonic_ns()\n"
		"  for i in range(2000): call()\n"
		"  return (time.monotonic_ns() - begin) / 2000\n"
		"for line in sys.stdin: print(f(int(sys.argv[2])), flush=True)\n";
	int orders[2], answers[2];
	struct child child;
	char number[16];

	snprintf(number, sizeof(number), "%u", depth > 1 ? depth - 1 : 1);
	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		abort();
	child.pid = fork();
	if (child.pid == 0) {
		dup2(orders[0], STDIN_FILENO);
		dup2(answers[1], STDOUT_FILENO);
		execl(interpreter, "python3", "-c", script, library, number, NULL);
		_exit(1);
	}
	close(orders[0]);
	close(answers[1]);
	child.orders = fdopen(orders[1], "w");
	child.answers = fdopen(answers[0], "r");
	return child;
}

static double ask(struct probes *probes, struct child *child)
{
	double values[BATCHES];

	for (uint32_t i = 0; i < BATCHES; i++) {
		fputs("\n", child->orders);
		fflush(child->orders);
		if (fscanf(child->answers, "%lf", &values[i]) != 1)
			abort();
		drain(probes);
	}
	return undisturbed(values);
}

#ifndef BEFORE
static void measure_python(unsigned depth, uint32_t stack_pages)
{
	const struct call_program_options options = {.wants_python = true,
						     .stack_pages = stack_pages};
	struct ring_outputs outputs = {.strings = string_dictionary_create(),
				       .stacks = stack_dictionary_create()};
	const struct python_scope scope = {.files = python_files_create()};
	struct sample_python where;
	struct probes probes;

	start(&probes, &options);
	struct child child = begin(depth);
	double plain = ask(&probes, &child);
	bpf_ring_watch(probes.ring, child.pid, 0, 0);
	double without = ask(&probes, &child);
	struct module_table *modules =
		module_table_create(ring_outputs_modules(&outputs), child.pid, getuid(), true);
	struct python_process *python = python_process_create(&scope, &outputs, child.pid);
	module_table_reread(modules);
	if (python_process_find(python, modules, &where)) {
		where.start = 0; /* whichever program */
		bpf_ring_set_python(probes.ring, child.pid, &where);
	}
	nr_events = nr_bytes = nr_python = 0;
	double with = ask(&probes, &child);
	printf("%3u deep, %2u KiB copied   %6.0f ns a call of ctypes where not watched, %6.0f "
	       "without, %6.0f with %.1f Python frames, %5.0f bytes an event\n",
	       depth, 4 * stack_pages, plain, without, with,
	       (double)nr_python / (double)(nr_events + 1),
	       (double)nr_bytes / (double)(nr_events + 1));
	fclose(child.orders);
	fclose(child.answers);
	waitpid(child.pid, NULL, 0);
	stop(&probes);
	python_process_destroy(python);
	module_table_destroy(modules);
	python_files_destroy(scope.files);
	stack_dictionary_destroy(outputs.stacks);
	string_dictionary_destroy(outputs.strings);
}
#endif

/* arguments: the library of call_target.c; a python3, else the system's */
int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (argc > 2)
		interpreter = argv[2];
	if (!handle) {
		fprintf(stderr, "usage: call_bench LIBRARY [PYTHON]\n");
		return 1;
	}
	*(void **)&target = dlsym(handle, "call_target");
	*(void **)&outer = dlsym(handle, "call_target_outer");
	sites.count = 2;
	sites.offsets[0] = offset_of(*(void **)&target);
	sites.offsets[1] = offset_of(*(void **)&outer);
	sites.functions[0] = 1;
	sites.functions[1] = 2;
	printf("without probes   %6.0f ns a call\n", measure(NULL, 0));
#ifdef BEFORE
	(void)begin;
	(void)ask;
	measure_native(0);
	measure_native(0);
#else
	for (uint32_t pages = 0; pages <= SAMPLE_CALL_PAGES_MAX; pages++)
		measure_native(pages);
	for (uint32_t pages = 0; pages <= SAMPLE_CALL_PAGES_MAX; pages += SAMPLE_CALL_PAGES_MAX)
		for (unsigned depth = 2; depth <= 100; depth = depth == 2 ? 10 : depth + 30)
			measure_python(depth, pages);
#endif
	return 0;
}
