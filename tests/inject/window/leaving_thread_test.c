#include "inject/window/leaving_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/monotonic.h"

/* A thread that begins on a word, says that it has left CUPTI, tells so, and runs or sleeps until its end. */
static struct {
	pthread_t thread;
	atomic_bool sleep, end;
	int begin[2], noted[2], wake[2]; /* pipes */
} leaver;

static void tell(const int word[2])
{
	assert_int_equal(write(word[1], "", 1), 1);
}

static void await(const int word[2])
{
	char byte;

	assert_int_equal(read(word[0], &byte, 1), 1);
}

static void *leave(void *argument)
{
	(void)argument;
	await(leaver.begin);
	leaving_thread_note();
	tell(leaver.noted);
	if (atomic_load(&leaver.sleep))
		await(leaver.wake);
	while (!atomic_load(&leaver.end))
		;
	return NULL;
}

static void start(bool sleep)
{
	atomic_store(&leaver.sleep, sleep);
	atomic_store(&leaver.end, false);
	assert_int_equal(pipe(leaver.begin), 0);
	assert_int_equal(pipe(leaver.noted), 0);
	assert_int_equal(pipe(leaver.wake), 0);
	assert_int_equal(pthread_create(&leaver.thread, NULL, leave, NULL), 0);
}

static void end(void)
{
	atomic_store(&leaver.end, true);
	tell(leaver.wake);
	pthread_join(leaver.thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(leaver.begin[i]);
		close(leaver.noted[i]);
		close(leaver.wake[i]);
	}
}

static uint64_t processor_ns(void)
{
	struct timespec time;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(leaver.thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void await_out(void)
{
	while (!leaving_thread_is_out())
		sched_yield();
}

static void nobody_left(void **state)
{
	(void)state;
	assert_true(leaving_thread_is_out());
}

static void a_thread_that_runs_is_out_after_some_processor_time(void **state)
{
	(void)state;
	start(false);
	tell(leaver.begin);
	await(leaver.noted);
	await_out();
	assert_true(processor_ns() >= LEAVING_THREAD_NS);
	assert_true(leaving_thread_is_out());
	end();
}

static void a_thread_that_sleeps_is_out(void **state)
{
	uint64_t began_ns = monotonic_ns();

	(void)state;
	start(true);
	tell(leaver.begin);
	await(leaver.noted);
	await_out();
	assert_true(monotonic_ns() - began_ns >= LEAVING_THREAD_NS);
	end();
}

static void a_thread_that_has_ended_is_out(void **state)
{
	(void)state;
	start(false);
	atomic_store(&leaver.end, true);
	tell(leaver.begin);
	await(leaver.noted);
	end();
	await_out();
}

static void the_thread_itself_is_out_when_it_asks(void **state)
{
	(void)state;
	leaving_thread_note();
	assert_true(leaving_thread_is_out());
}

/* This thread takes the only processor that both may use, as soon as the other has told. That one is ready to run from
 * then on, and does not. */
static void a_thread_without_a_processor_is_not_out(void **state)
{
	const struct sched_param first = {.sched_priority = 1}, normal = {0};
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	start(false);
	if (sched_setscheduler(0, SCHED_FIFO, &first)) {
		tell(leaver.begin);
		end();
		assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
		skip(); /* only root may */
	}
	tell(leaver.begin);
	await(leaver.noted);
	/* Not for long, because the kernel gives others a part of each second. */
	uint64_t before_ns = processor_ns(), until_ns = monotonic_ns() + 10000000;
	bool out = false;
	while (monotonic_ns() < until_ns && processor_ns() == before_ns)
		out |= leaving_thread_is_out();
	uint64_t waited_ns = monotonic_ns();
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &normal), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(waited_ns >= until_ns);
	assert_false(out);
	await_out();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_left),
		cmocka_unit_test(a_thread_that_runs_is_out_after_some_processor_time),
		cmocka_unit_test(a_thread_that_sleeps_is_out),
		cmocka_unit_test(a_thread_that_has_ended_is_out),
		cmocka_unit_test(the_thread_itself_is_out_when_it_asks),
		cmocka_unit_test(a_thread_without_a_processor_is_not_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
