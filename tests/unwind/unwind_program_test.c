/* Walks through programs as compilers make them, compared with backtrace(). The programs' paths are
 * the arguments. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "loaded_segments.h"
#include "node-agent/tables/table_memory.h"
#include "tests/unwind/programs/unwind_program.h"
#include "unwind/unwind_table.h"
#include "unwind_check.h"

#define THREADS     4
#define STACK_BYTES (16u << 20)
#define OTHER_BYTES (4u << 20) /* the alternate stack, at the low end of the thread's memory */
#define INTERRUPTED (nr_walks / 40)
#define DEPTH_MAX   14u
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* A thread and program. */
#define WALKS         1000u
#define WALKS_NIGHTLY 12000u

static uint64_t nr_walks = WALKS;

struct program {
	const char *path;
	void *library;
	void (*run)(const struct program_host *host, uint64_t seed, uint32_t depth);
	void (*spin)(const struct program_host *host, uint64_t seed, volatile int *stop);
	void (*init)(void);
	struct unwind_module module;
};

struct worker {
	pthread_t thread;
	struct program *program;
	char *memory;
	uint64_t high;     /* of its own stack */
	stack_t alternate; /* a sanitizer's, which it unmaps in the end: it must be its own */
	struct unwind_check check;
	uint64_t seed;
};

static struct program *programs;
static int nr_programs;
static struct unwind_tables *tables;
static __thread struct worker *self;

static void probe(void)
{
	unwind_check_here(&self->check);
	__asm__ volatile("" ::: "memory");
}

static void on_stack(uintptr_t high)
{
	self->check.high = high ? high : self->high;
}

static void load(struct program *program)
{
	program->library = dlopen(program->path, RTLD_LAZY | RTLD_LOCAL);
	if (!program->library)
		fail_msg("%s", dlerror());
	*(void **)&program->run = dlsym(program->library, "program_run");
	*(void **)&program->spin = dlsym(program->library, "program_spin");
	*(void **)&program->init = dlsym(program->library, "program_init");
	assert_non_null(program->run);
	assert_non_null(program->spin);
	assert_non_null(program->init);
	assert_true(loaded_segment_at(dlsym(program->library, "program_run"), &program->module));
}

static void add_up(struct unwind_check *sum, const struct unwind_check *check)
{
	sum->walks += check->walks;
	sum->frames += check->frames;
	sum->cut += check->cut;
	sum->without_rule += check->without_rule;
	sum->not_ready += check->not_ready;
	sum->disagreements += check->disagreements;
	sum->record.records += check->record.records;
	sum->record.held += check->record.held;
	sum->record.disagreements += check->record.disagreements;
}

static void print(const char *what, const struct unwind_check *sum)
{
	printf("%s: %lu walks, %lu frames; %lu cut short, %lu without rule, %lu not ready, "
	       "%lu disagreements; %lu records, which held %lu times, %lu disagreements\n",
	       what, sum->walks, sum->frames, sum->cut, sum->without_rule, sum->not_ready,
	       sum->disagreements, sum->record.records, sum->record.held,
	       sum->record.disagreements);
}

static void prepare(struct worker *worker)
{
	const stack_t other = {.ss_sp = worker->memory, .ss_size = OTHER_BYTES};

	self = worker;
	worker->high = (uint64_t)(uintptr_t)worker->memory + STACK_BYTES;
	worker->check.high = worker->high;
	worker->check.tables = tables;
	worker->check.seed = worker->seed;
	sigaltstack(&other, &worker->alternate);
}

static void *walk_program(void *user)
{
	static const struct program_host host = {probe, on_stack, SANITIZED};
	struct worker *worker = user;

	prepare(worker);
	for (uint32_t depth = 0; worker->check.walks < nr_walks; depth++)
		worker->program->run(&host, worker->seed * (depth + 1), depth % DEPTH_MAX);
	sigaltstack(&worker->alternate, NULL);
	return NULL;
}

static void start(struct worker *worker, void *(*function)(void *), struct program *program,
		  uint64_t seed)
{
	pthread_attr_t attributes;

	memset(worker, 0, sizeof(*worker));
	worker->program = program;
	worker->seed = seed;
	worker->memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(worker->memory, MAP_FAILED);
	pthread_attr_init(&attributes);
	/* Its own stack and the alternate one are neighbours: walks may cross. */
	pthread_attr_setstack(&attributes, worker->memory + OTHER_BYTES, STACK_BYTES - OTHER_BYTES);
	assert_int_equal(pthread_create(&worker->thread, &attributes, function, worker), 0);
	pthread_attr_destroy(&attributes);
}

static void finish(struct worker *worker, struct unwind_check *sum)
{
	pthread_join(worker->thread, NULL);
	munmap(worker->memory, STACK_BYTES);
	add_up(sum, &worker->check);
}

static void walks_agree_with_backtrace_in_every_program(void **state)
{
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	struct unwind_check sum = {0};

	(void)state;
	for (int i = 0; i < nr_programs; i++) {
		programs[i].init();
		for (int j = 0; j < THREADS; j++)
			start(&workers[j], walk_program, &programs[i],
			      0x9e3779b97f4a7c15u * (uint64_t)(i * THREADS + j + 1));
		for (int j = 0; j < THREADS; j++)
			finish(&workers[j], &sum);
	}
	print("programs", &sum);
	assert_int_equal(sum.disagreements, 0);
	assert_int_equal(sum.record.disagreements, 0);
	assert_int_equal(sum.without_rule, 0);
	assert_int_equal(sum.not_ready, 0);
	assert_true(sum.walks >= nr_walks * THREADS * (uint64_t)nr_programs);
	assert_true(sum.cut > 0);
	free(workers);
}

#if !SANITIZED /* which would run the handler later, elsewhere */

static volatile int stop;
static uint64_t interrupted_pc;
static _Atomic uint32_t nr_signals; /* that were handled */

/* Only in the program's own code: there every instruction is described by its compiler. */
static void interrupt(int number, siginfo_t *info, void *user)
{
	const ucontext_t *context = user;
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)info;
	nr_signals++;
	if (!self || pc < self->program->module.start || pc >= self->program->module.end ||
	    pc == interrupted_pc)
		return; /* not the same again: signals may come in bursts, without an instruction between */
	interrupted_pc = pc;
	unwind_check_interrupted(&self->check);
	if (self->check.walks >= INTERRUPTED)
		stop = 1;
}

static void probe_nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *spin(void *user)
{
	static const struct program_host host = {probe_nothing, on_stack, 0};
	struct worker *worker = user;

	prepare(worker);
	worker->program->spin(&host, worker->seed, &stop);
	self = NULL;
	sigaltstack(&worker->alternate, NULL);
	return NULL;
}

static void walks_agree_wherever_a_signal_comes(void **state)
{
	struct sigaction action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct worker *worker = calloc(1, sizeof(*worker));
	struct unwind_check sum = {0};

	(void)state;
	sigaction(SIGURG, &action, NULL);
	for (int i = 0; i < nr_programs; i++) {
		stop = 0;
		programs[i].init();
		start(worker, spin, &programs[i], 77u + (uint64_t)i);
		/* One at a time: a thread that gets the next at once does nothing but handle them. */
		while (!stop) {
			const uint32_t before = nr_signals;

			pthread_kill(worker->thread, SIGURG);
			while (nr_signals == before && !stop)
				sched_yield();
		}
		finish(worker, &sum);
	}
	print("interrupted", &sum);
	assert_int_equal(sum.disagreements, 0);
	assert_int_equal(sum.record.disagreements, 0);
	assert_true(sum.walks >= (uint64_t)nr_programs * INTERRUPTED);
	/* A few instructions of a prologue that keeps the arguments' place in a register. */
	assert_true(sum.without_rule * 20 < sum.walks);
	free(worker);
}

#endif

static int set_up(void **state)
{
	struct unwind_check *first = calloc(1, sizeof(*first));
	struct unwind_totals totals;

	(void)state;
	for (int i = 0; i < nr_programs; i++)
		load(&programs[i]);
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(tables);
	first->tables = tables;
	unwind_check_here(first); /* which loads what backtrace() needs */
	loaded_segments_enter(tables);
	assert_true(unwind_tables_build(tables, UNWIND_BUILD_ALL) >= (uint32_t)nr_programs);
	unwind_tables_totals(tables, &totals);
	printf("%u tables, %lu rows, %lu bytes, %.1f ms\n", totals.built, totals.rows, totals.bytes,
	       (double)totals.build_ns / 1e6);
	free(first);
	return 0;
}

/* All tables that can be shared come from another process's. */
static int set_up_shared(void **state)
{
	struct unwind_tables *other = unwind_tables_create(UNWIND_BYTES_MAX);
	struct unwind_totals totals;
	int fd = table_memory_create();

	(void)state;
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_int_equal(unwind_tables_share(other, fd), 0);
	assert_int_equal(unwind_tables_share(tables, fd), 0);
	close(fd);
	loaded_segments_enter(other);
	unwind_tables_build(other, UNWIND_BUILD_ALL);
	unwind_tables_destroy(other);
	loaded_segments_enter(tables);
	unwind_tables_build(tables, UNWIND_BUILD_ALL);
	unwind_tables_totals(tables, &totals);
	printf("%u tables, %u of them shared\n", totals.built, totals.shared);
	assert_true(totals.shared > 0 && totals.shared >= totals.built / 2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unwind_tables_destroy(tables);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_agree_with_backtrace_in_every_program),
#if !SANITIZED
		cmocka_unit_test(walks_agree_wherever_a_signal_comes),
#endif
	};

	if (getenv("FLAMEGRID_NIGHTLY"))
		nr_walks = WALKS_NIGHTLY;
	programs = calloc((size_t)argc, sizeof(*programs));
	for (nr_programs = 0; nr_programs < argc - 1; nr_programs++)
		programs[nr_programs].path = argv[nr_programs + 1];
	return cmocka_run_group_tests(tests, set_up, tear_down) +
	       cmocka_run_group_tests(tests, set_up_shared, tear_down);
}
