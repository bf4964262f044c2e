/* The whole guest beside a profiler that uses CUPTI's activity API without subscribing, and whose calls the guest does
 * not see, on fake CUDA. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "test_agent.h"

#define ARGV(...)        ((const char *const[]){FAKE_PROFILER, __VA_ARGS__ __VA_OPT__(, ) NULL})
#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The program synchronizes after each 100 launches, and the guest looks but now and then: on a slow machine several
 * such rounds later. */
#define IN_FLIGHT_MAX 500u

static struct test_agent agent;
static uint32_t wanted_records;

static int set_up(void **state)
{
	(void)state;
	test_agent_open(&agent);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_agent_close(&agent);
	return 0;
}

static bool has_wanted_records(struct test_agent *self)
{
	return self->nr_records >= wanted_records;
}

static void await_records(uint32_t more)
{
	wanted_records = agent.nr_records + more;
	test_agent_serve(&agent, has_wanted_records);
}

static bool has_notice(struct test_agent *self)
{
	return test_agent_has_notice(self, NOTICE_ACTIVITY_TAKEN);
}

static void start(const char *const *argv, const char *patience)
{
	test_agent_start(&agent, &(struct test_program){
					 .argv = argv,
					 .environment = ENVIRONMENT(patience, "FLAMEGRID_SHARE=off",
								    "FAKE_CUDA_LAUNCH_NS=100000")});
}

/* Every launch has a record, or is counted as one without. */
static void finish_and_compare(void)
{
	unsigned long long launched, inside, recorded;

	kill(agent.pid, SIGTERM);
	test_agent_finish(&agent);
	assert_true(WIFEXITED(agent.status));
	assert_int_equal(WEXITSTATUS(agent.status), 0);
	assert_int_equal(sscanf(strstr(agent.output, "launched"), "launched %llu session %llu %llu",
				&launched, &inside, &recorded),
			 3);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches, launched);
	/* The other's session is whole. */
	assert_int_equal(recorded, inside);
	assert_true(inside > 0);
	/* What was in flight at the last flush before it counts as recorded. */
	uint64_t missing = test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_ACTIVITY_TAKEN);
	assert_true(missing + IN_FLIGHT_MAX >= inside);
	assert_true(agent.nr_records + missing + IN_FLIGHT_MAX >= launched);
}

static void session_of_another_profiler_is_whole_and_its_time_is_counted(void **state)
{
	(void)state;
	start(ARGV(), "FLAMEGRID_PROFILER_PATIENCE=6");
	await_records(1000);
	kill(agent.pid, SIGUSR1);
	test_agent_serve(&agent, has_notice);
	kill(agent.pid, SIGUSR2);
	await_records(1000);
	finish_and_compare();
}

static void session_before_the_guest_ends_its_records_too(void **state)
{
	(void)state;
	/* The guest registers when CUDA starts, so the session's callbacks are the ones replaced. */
	start(ARGV("--session-first"), "FLAMEGRID_PROFILER_PATIENCE=6");
	await_records(1000);
	kill(agent.pid, SIGUSR2);
	await_records(1000);
	kill(agent.pid, SIGTERM);
	test_agent_finish(&agent);
	assert_true(agent.finished);
	assert_true(agent.nr_records > 2000);
}

static void session_that_never_ends_is_left_alone_without_patience(void **state)
{
	(void)state;
	start(ARGV(), "FLAMEGRID_PROFILER_PATIENCE=0");
	await_records(1000);
	kill(agent.pid, SIGUSR1);
	test_agent_serve(&agent, has_notice);
	kill(agent.pid, SIGUSR2);
	finish_and_compare();
}

static void profiler_that_finalizes_cupti_does_the_job_no_harm(void **state)
{
	(void)state;
	start(ARGV("--finalize"), "FLAMEGRID_PROFILER_PATIENCE=2");
	await_records(1000);
	kill(agent.pid, SIGUSR1);
	test_agent_serve(&agent, has_notice);
	kill(agent.pid, SIGUSR2);
	kill(agent.pid, SIGTERM);
	test_agent_finish(&agent);
	assert_true(WIFEXITED(agent.status));
	assert_int_equal(WEXITSTATUS(agent.status), 0);
	assert_true(agent.finished);
	assert_true(test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_ACTIVITY_TAKEN) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(session_of_another_profiler_is_whole_and_its_time_is_counted),
		TEST(session_before_the_guest_ends_its_records_too),
		TEST(session_that_never_ends_is_left_alone_without_patience),
		TEST(profiler_that_finalizes_cupti_does_the_job_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
