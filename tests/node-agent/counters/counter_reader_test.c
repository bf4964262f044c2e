/* The agent's side of the process that samples counters. This program is that process, too: COUNTER_TEST_DOES says what
 * it does. */
#include "node-agent/counters/counter_reader.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "node-agent/counters/counter_word.h"

#define DOES    "COUNTER_TEST_DOES"
#define WAIT_MS 20000u
#define SLOW_MS 500
#define LONG_NS 60000000000ull
#define MS      1000000ull

static const char nonsense[4096] = "libsomething: warning: hello\n";

static const char *program;
static struct counter_reader *reader;
static atomic_bool is_slow, is_reaped, was_killed; /* a call that reaps; what came of it */
static atomic_int foreign_kills;

/* ---- calls */

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

/* The pid of a process that is reaped may be another one's. */
int __wrap_kill(pid_t pid, int number)
{
	siginfo_t end;

	if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT))
		foreign_kills++;
	was_killed = is_reaped;
	return __real_kill(pid, number);
}

/* Comes back when the reader kills the reaped process, or after a while. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	const pid_t reaped = __real_waitpid(pid, status, options);

	if (is_slow && reaped > 0) {
		is_reaped = true;
		for (int i = 0; i < SLOW_MS && !was_killed; i++)
			nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	}
	return reaped;
}

/* ---- the process */

static void say(enum counter_word_kind kind, uint32_t device, uint64_t number)
{
	struct counter_word word = {.magic = COUNTER_WORD_MAGIC, .kind = kind, .device = device};

	word.number = number;
	if (write(COUNTER_WORD_FD, &word, sizeof(word)) != sizeof(word))
		_exit(1);
}

/* In two parts, as a pipe may give it. */
static void sample(uint32_t device, uint64_t begin_ns)
{
	const struct counter_word word = {
		.magic = COUNTER_WORD_MAGIC,
		.kind = COUNTER_WORD_SAMPLE,
		.device = device,
		.invalid = 2,
		.sample = {.known = 1, .begin_ns = begin_ns, .end_ns = begin_ns + MS, .use = {7}}};

	if (write(COUNTER_WORD_FD, &word, 30) != 30 ||
	    write(COUNTER_WORD_FD, (const char *)&word + 30, sizeof(word) - 30) !=
		    (ssize_t)sizeof(word) - 30)
		_exit(1);
}

static void answer(const char *does, const struct counter_order *order)
{
	if (!order->is_used)
		return;
	if (strcmp(does, "refuse") == 0) {
		say(COUNTER_WORD_REFUSAL, order->device, COUNTER_NO_RIGHT);
		return;
	}
	const uint64_t now_ns = clock_realtime_ns();
	say(COUNTER_WORD_REFUSAL, order->device, COUNTER_SAMPLED);
	if (strcmp(does, "print") == 0 && write(STDOUT_FILENO, nonsense, sizeof(nonsense)) < 0)
		_exit(1);
	for (uint64_t i = 0; i < 5; i++)
		sample(order->device, now_ns + i * MS);
	sample(order->device, now_ns + MS);            /* again */
	sample(COUNTER_WORD_DEVICES - 1, now_ns + MS); /* nobody asked for it */
	if (strcmp(does, "nonsense") == 0 && write(COUNTER_WORD_FD, nonsense, sizeof(nonsense)) < 0)
		_exit(1);
	say(COUNTER_WORD_DROPPED, order->device, 3);
	say(COUNTER_WORD_OVERFLOW, order->device, 1);
	say(COUNTER_WORD_ROUND, 0, 4711);
}

static int play(const char *interval)
{
	const char *does = getenv(DOES);
	struct counter_order order;

	if (strcmp(interval, "1000000") != 0 || !does)
		return 1;
	while (read(STDIN_FILENO, &order, sizeof(order)) == sizeof(order)) {
		answer(does, &order);
		if (strcmp(does, "die") == 0)
			return 1;
		if (strcmp(does, "hang") == 0) {
			signal(SIGTERM, SIG_IGN);
			for (;;)
				pause();
		}
	}
	return 0;
}

/* ---- the tests */

static void begin(const char *does, uint64_t hang_ns)
{
	setenv(DOES, does, 1);
	reader = counter_reader_create(&(struct counter_reader_options){
		.program = program, .interval_ns = MS, .hang_ns = hang_ns});
	assert_non_null(reader);
}

static int tear_down(void **state)
{
	(void)state;
	counter_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
	assert_int_equal(foreign_kills, 0);
	return 0;
}

/* Waits until a GPU has these numbers. */
static void await(int device, uint32_t refusal, uint64_t overflows, struct counter_state *state)
{
	const time_t since = time(NULL);

	do {
		assert_true(time(NULL) - since < 60);
		counter_reader_find(reader, device, state);
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	} while (state->refusal != refusal || state->overflows != overflows);
}

static void what_the_process_says_is_kept_by_gpu(void **state)
{
	struct counter_sample samples[8];
	struct counter_state told;
	struct process_cost cost;

	(void)state;
	begin("talk", LONG_NS);
	const int first = counter_reader_use(reader, 0, 10, 0);
	const int second = counter_reader_use(reader, 0, 20, 0);
	assert_int_equal(counter_reader_use(reader, 0, 10, 0), first);
	assert_int_not_equal(first, second);
	await(first, COUNTER_SAMPLED, 1, &told);
	assert_int_equal(told.samples, 5);
	assert_int_equal(told.kept, 5);
	assert_int_equal(told.dropped, 4);
	assert_int_equal(told.invalid, 5);
	assert_int_equal(told.covered_ns, 5 * MS);
	assert_true(told.asked_ns > 0);
	assert_int_equal(told.interval_ns, MS);
	await(second, COUNTER_SAMPLED, 1, &told);
	assert_int_equal(counter_reader_take(reader, second, samples, 3), 3);
	const uint64_t begin_ns = samples[0].begin_ns;
	assert_int_equal(samples[0].use[COUNTER_SM], 7);
	assert_int_equal(counter_reader_take(reader, second, samples, 8), 2);
	assert_int_equal(samples[1].begin_ns, begin_ns + 4 * MS);
	assert_int_equal(counter_reader_take(reader, first, samples, 8), 5);
	assert_int_equal(samples[0].end_ns, samples[0].begin_ns + MS);
	do
		counter_reader_cost(reader, &cost);
	while (cost.cpu_ns != 4711);
	counter_reader_leave(reader, first);
	counter_reader_leave(reader, first);
	counter_reader_leave(reader, second);
	/* Samples are wanted no longer. */
	counter_reader_find(reader, second, &told);
	const uint64_t asked_ns = told.asked_ns;
	counter_reader_find(reader, second, &told);
	assert_int_equal(told.asked_ns, asked_ns);
	/* A GPU that is used again is sampled again. */
	assert_int_equal(counter_reader_use(reader, 0, 20, 0), second);
	await(second, COUNTER_SAMPLED, 2, &told);
	assert_int_equal(told.samples + told.dropped, 10 + 2 * 4);
}

static void a_process_that_is_never_used_ends_with_its_reader(void **state)
{
	struct process_cost cost;

	(void)state;
	begin("talk", LONG_NS);
	counter_reader_cost(reader, &cost);
	assert_int_equal(cost.cpu_ns, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	counter_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void what_a_library_prints_is_no_word(void **state)
{
	struct counter_state told;

	(void)state;
	begin("print", LONG_NS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_SAMPLED, 1, &told);
	assert_int_equal(told.samples, 5);
}

static void a_process_that_says_nonsense_is_ended(void **state)
{
	struct counter_state told;

	(void)state;
	begin("nonsense", LONG_NS);
	const int device = counter_reader_use(reader, 0, 1, 0);
	await(device, COUNTER_FAILED, 0, &told);
	assert_int_equal(told.samples, 5);
	/* What it had said before is there. */
	assert_int_equal(counter_reader_take(reader, device, &(struct counter_sample){0}, 1), 1);
	await(counter_reader_use(reader, 0, 2, 0), COUNTER_FAILED, 0, &told);
}

static void a_refusal_is_told(void **state)
{
	struct counter_state told;

	(void)state;
	begin("refuse", LONG_NS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_NO_RIGHT, 0, &told);
	assert_int_equal(told.samples, 0);
	assert_true(told.last_ns >= told.begin_ns);
}

static void a_process_that_dies_is_told(void **state)
{
	struct counter_state told;

	(void)state;
	begin("die", LONG_NS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_DIED, 1, &told);
	assert_int_equal(told.samples, 5);
	/* A GPU that comes later is not sampled, either. */
	await(counter_reader_use(reader, 0, 2, 0), COUNTER_DIED, 0, &told);
}

static void a_process_that_hangs_is_ended(void **state)
{
	struct counter_state told;

	(void)state;
	begin("hang", 300 * MS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_HANGS, 1, &told);
}

static void a_process_that_hangs_does_not_keep_its_agent(void **state)
{
	struct counter_state told;

	(void)state;
	begin("hang", LONG_NS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_SAMPLED, 1, &told);
	counter_reader_destroy(reader, 200);
	reader = NULL;
}

static void a_process_that_is_reaped_is_not_killed(void **state)
{
	const time_t since = time(NULL);
	struct counter_state told;

	(void)state;
	is_slow = true;
	begin("die", LONG_NS);
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_DIED, 1, &told);
	while (!is_reaped)
		assert_true(time(NULL) - since < 60);
	counter_reader_destroy(reader, 20);
	reader = NULL;
	is_slow = false;
}

static void a_program_that_is_missing_is_told(void **state)
{
	struct counter_state told;

	(void)state;
	reader = counter_reader_create(&(struct counter_reader_options){
		.program = "/nowhere", .interval_ns = MS, .hang_ns = LONG_NS});
	await(counter_reader_use(reader, 0, 1, 0), COUNTER_FAILED, 0, &told);
}

static void only_so_many_gpus_have_room(void **state)
{
	(void)state;
	begin("refuse", LONG_NS);
	for (uint32_t i = 0; i < COUNTER_WORD_DEVICES; i++)
		assert_int_equal(counter_reader_use(reader, 0, i, 0), i);
	assert_int_equal(counter_reader_use(reader, 0, COUNTER_WORD_DEVICES, 0), -1);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(what_the_process_says_is_kept_by_gpu),
		TEST(a_process_that_is_never_used_ends_with_its_reader),
		TEST(what_a_library_prints_is_no_word),
		TEST(a_process_that_says_nonsense_is_ended),
		TEST(a_refusal_is_told),
		TEST(a_process_that_dies_is_told),
		TEST(a_process_that_hangs_is_ended),
		TEST(a_process_that_hangs_does_not_keep_its_agent),
		TEST(a_process_that_is_reaped_is_not_killed),
		TEST(a_program_that_is_missing_is_told),
		TEST(only_so_many_gpus_have_room),
	};

	if (argc == 3 && strcmp(argv[1], COUNTER_WORD_ARGUMENT) == 0)
		return play(argv[2]);
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
