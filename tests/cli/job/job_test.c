#include "cli/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#define SECOND_NS   1000000000ull
#define EXITED(n)   W_EXITCODE(n, 0)
#define SIGNALED(n) W_EXITCODE(0, n)

/* A job that got this signal, and ended so much later. */
static int stopped_by(int signal, uint64_t later_ns, int status)
{
	const struct job job = {
		.stop = signal, .stop_ns = 7 * SECOND_NS, .ended_ns = 7 * SECOND_NS + later_ns};

	return job_stopped_by(&job, status);
}

static void a_signal_that_stops_and_an_end_soon_after_are_a_stop(void **state)
{
	(void)state;
	assert_int_equal(stopped_by(SIGINT, SECOND_NS, EXITED(0)), SIGINT);
	assert_int_equal(stopped_by(SIGTERM, 31 * SECOND_NS, EXITED(1)), SIGTERM);
	assert_int_equal(stopped_by(SIGINT, SECOND_NS, EXITED(128 + SIGINT)), SIGINT);
	assert_int_equal(stopped_by(SIGHUP, JOB_STOP_NS, EXITED(3)), SIGHUP);
	assert_int_equal(stopped_by(SIGINT, SECOND_NS, EXITED(255)), SIGINT);
	assert_int_equal(stopped_by(0, 0, EXITED(1)), 0);
}

static void what_ended_it_by_a_signal_is_known(void **state)
{
	(void)state;
	assert_int_equal(stopped_by(0, 0, SIGNALED(SIGTERM)), SIGTERM);
	assert_int_equal(stopped_by(SIGINT, 3600 * SECOND_NS, SIGNALED(SIGHUP)), SIGHUP);
	assert_int_equal(stopped_by(0, 0, EXITED(128 + SIGTERM)), SIGTERM);
	assert_int_equal(stopped_by(SIGINT, 0, SIGNALED(SIGKILL)), 0);
	assert_int_equal(stopped_by(SIGINT, 0, SIGNALED(SIGSEGV)), 0);
	assert_int_equal(stopped_by(SIGINT, 0, EXITED(128 + SIGKILL)), 0);
}

static void a_stop_that_was_survived_explains_no_later_end(void **state)
{
	(void)state;
	assert_int_equal(stopped_by(SIGINT, JOB_STOP_NS + 1, EXITED(0)), 0);
	assert_int_equal(stopped_by(SIGTERM, 3600 * SECOND_NS, EXITED(1)), 0);
}

/* The shell is told of the signal once job_wait() has noted it. */
static void a_job_that_is_killed_after_a_stop_was_killed(void **state)
{
	char shell[] = "/bin/sh", option[] = "-c",
	     script[] = "trap 'kill -KILL $$' INT; kill -INT $PPID; while :; do sleep 0.01; done";
	char *const argv[] = {shell, option, script, NULL};
	struct job job = {0};

	(void)state;
	job_prepare(&job);
	assert_int_equal(job_start(&job, argv, environ), 0);
	int status = job_wait(&job);
	job_restore(&job);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(job.stop, SIGINT);
	assert_true(job.ended_ns >= job.stop_ns);
	assert_int_equal(job_stopped_by(&job, status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_that_stops_and_an_end_soon_after_are_a_stop),
		cmocka_unit_test(what_ended_it_by_a_signal_is_known),
		cmocka_unit_test(a_stop_that_was_survived_explains_no_later_end),
		cmocka_unit_test(a_job_that_is_killed_after_a_stop_was_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
