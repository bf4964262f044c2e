/* The whole guest beside a profiler that subscribes as PyTorch's does, on fake CUDA: both have what is theirs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "inject/base/monotonic.h"
#include "test_agent.h"

#define ARGV(...)        ((const char *const[]){__VA_ARGS__, NULL})
#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* The program synchronizes after each 100 launches. */
#define IN_FLIGHT_MAX 100u

#define RECORDS_MIN 4000u

#define KERNEL_NS      7000
#define TEXT_OF_(text) #text
#define TEXT_OF(text)  TEXT_OF_(text)

static struct test_agent agent;
static uint32_t wanted_records;
static enum definition_notice_code wanted_notice;

struct outcome {
	int subscribe, created, destroyed;
	unsigned int contexts;
	unsigned long long launched, inside, recorded;
};

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

static bool has_wanted_notice(struct test_agent *self)
{
	return test_agent_has_notice(self, wanted_notice);
}

static void await_records(uint32_t more)
{
	wanted_records = agent.nr_records + more;
	test_agent_serve(&agent, has_wanted_records);
}

static void await_notice(enum definition_notice_code code)
{
	wanted_notice = code;
	test_agent_serve(&agent, has_wanted_notice);
}

/* Of which most have no record. */
static bool has_more_launches(struct test_agent *self)
{
	static uint32_t before;

	if (before == 0 || before > self->nr_launches)
		before = self->nr_launches;
	if (self->nr_launches < before + 2000)
		return false;
	before = 0;
	return true;
}

static void start(const char *const *argv, const char *const *environment)
{
	test_agent_start(&agent, &(struct test_program){.argv = argv, .environment = environment});
}

static struct outcome finish(void)
{
	struct outcome outcome;

	test_agent_finish(&agent);
	assert_true(WIFEXITED(agent.status));
	assert_int_equal(WEXITSTATUS(agent.status), 0);
	assert_true(agent.finished);
	assert_int_equal(sscanf(strstr(agent.output, "subscribed"),
				"subscribed %d %d %d contexts %u", &outcome.subscribe,
				&outcome.created, &outcome.destroyed, &outcome.contexts),
			 4);
	assert_int_equal(sscanf(strstr(agent.output, "launched"), "launched %llu session %llu %llu",
				&outcome.launched, &outcome.inside, &outcome.recorded),
			 3);
	return outcome;
}

static uint64_t nr_missing(void)
{
	return test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_ACTIVITY_TAKEN);
}

static void compare_whole(const struct outcome *outcome)
{
	assert_int_equal(outcome->subscribe, 0);
	assert_int_equal(outcome->created, 0);
	assert_int_equal(outcome->destroyed, 0);
	assert_int_equal(outcome->contexts, 1);
	assert_true(outcome->inside > 0);
	assert_int_equal(outcome->recorded, outcome->inside);
}

/* Each launch has a record, or is counted as one without, but for those of the moment when the records are taken back:
 * when that is, after the session, is for the scheduler to say. */
static void compare_counts(const struct outcome *outcome)
{
	assert_int_equal(agent.nr_launches, outcome->launched);
	assert_true(nr_missing() >= outcome->inside);
	assert_in_range(agent.nr_records + nr_missing() +
				test_agent_ledger_sum(&agent, LEDGER_INVALID_TIME),
			outcome->launched - IN_FLIGHT_MAX, outcome->launched + IN_FLIGHT_MAX);
}

/* The profiler counts cycles. Work that ran while it came has no time, and is counted. */
static void compare_times(uint64_t begin_ns)
{
	uint64_t end_ns = realtime_ns();

	assert_true(agent.nr_records >= RECORDS_MIN);
	for (uint32_t i = 0; i < agent.nr_records; i++) {
		const struct gpu_record *record = &agent.records[i];

		assert_in_range(record->start_ns, begin_ns, end_ns);
		assert_in_range(record->end_ns - record->start_ns, KERNEL_NS - KERNEL_NS / 20,
				KERNEL_NS + KERNEL_NS / 20);
	}
}

static void session_is_whole_and_counted(const char *library)
{
	struct outcome outcome;
	uint64_t begin_ns = realtime_ns();

	start(ARGV(FAKE_KINETO, library, "2000", "3000", "-"),
	      ENVIRONMENT("FAKE_CUDA_KERNEL_NS=outside=" TEXT_OF(KERNEL_NS),
			  "FAKE_CUDA_LAUNCH_NS=100000"));
	await_records(RECORDS_MIN); /* of before the session and after it */
	kill(agent.pid, SIGTERM);
	outcome = finish();
	compare_whole(&outcome);
	compare_counts(&outcome);
	compare_times(begin_ns);
	assert_true(test_agent_has_notice(&agent, NOTICE_SUBSCRIPTION_SHARED));
}

static void session_of_a_library_that_is_bound_at_once_is_whole(void **state)
{
	(void)state;
	session_is_whole_and_counted(KINETO_NOW);
}

static void session_of_a_library_that_is_bound_call_by_call_is_whole(void **state)
{
	(void)state;
	session_is_whole_and_counted(KINETO_LAZY);
}

static void library_that_comes_later_shares_and_records_come_again_at_once(void **state)
{
	struct outcome outcome;

	(void)state;
	start(ARGV(FAKE_KINETO, KINETO_NOW, "-", "-", "-", "--late"),
	      ENVIRONMENT("FAKE_CUDA_LAUNCH_NS=100000", "FLAMEGRID_PROFILER_PATIENCE=0"));
	await_records(1000);
	kill(agent.pid, SIGHUP);
	/* Two flushes: the guest has looked since. */
	await_records(10000);
	kill(agent.pid, SIGUSR1);
	await_notice(NOTICE_SUBSCRIPTION_SHARED);
	await_notice(NOTICE_ACTIVITY_TAKEN);
	kill(agent.pid, SIGUSR2);
	await_records(1000);
	kill(agent.pid, SIGTERM);
	outcome = finish();
	compare_whole(&outcome);
	compare_counts(&outcome);
}

/* Two flushes since all was launched. */
static bool has_rested(struct test_agent *self)
{
	static uint32_t before;

	if (self->nr_launches < 5000 || before == 0)
		before = self->nr_clocks;
	if (self->nr_clocks < before + 3)
		return false;
	before = 0;
	return true;
}

static void session_that_rests_before_its_end_is_whole(void **state)
{
	struct outcome outcome;

	(void)state;
	start(ARGV(FAKE_KINETO, KINETO_NOW, "2000", "3000", "2000", "--rest"), ENVIRONMENT());
	test_agent_serve(&agent, has_rested);
	kill(agent.pid, SIGUSR2);
	outcome = finish();
	compare_whole(&outcome);
	compare_counts(&outcome);
}

static bool has_two_windows(struct test_agent *self)
{
	return self->nr_windows >= 3; /* begun, ended, begun */
}

static void profiler_that_ends_cupti_does_not_end_the_capture(void **state)
{
	struct outcome outcome;
	int results[4];

	(void)state;
	start(ARGV(FAKE_KINETO, KINETO_NOW, "2000", "3000", "-", "--tear-down"),
	      ENVIRONMENT("FAKE_CUDA_LAUNCH_NS=100000"));
	test_agent_serve(&agent, has_two_windows);
	await_records(1000);
	kill(agent.pid, SIGTERM);
	outcome = finish();
	assert_int_equal(outcome.recorded, 3000);
	assert_int_equal(sscanf(strstr(agent.output, "torn down"), "torn down %d %d %d %d",
				&results[0], &results[1], &results[2], &results[3]),
			 4);
	assert_int_equal(results[0] | results[2] | results[3], 0);
	assert_int_equal(results[1], 27); /* calls of the runtime are not shared */
	/* What was launched while CUPTI was out of the process was not seen. */
	assert_true(agent.nr_launches < outcome.launched);
	assert_true(nr_missing() >= 3000);
	assert_true(agent.nr_records + nr_missing() + IN_FLIGHT_MAX >= agent.nr_launches);
}

static void without_sharing_the_profiler_is_refused_and_the_profile_whole(void **state)
{
	struct outcome outcome;

	(void)state;
	start(ARGV(FAKE_KINETO, KINETO_NOW, "2000", "3000", "2000"),
	      ENVIRONMENT("FLAMEGRID_SHARE=off"));
	outcome = finish();
	assert_int_equal(outcome.subscribe, 39);
	assert_int_equal(outcome.recorded, 0);
	assert_int_equal(agent.nr_launches, 7000);
	assert_int_equal(agent.nr_records, 7000);
	assert_int_equal(nr_missing(), 0);
	assert_false(test_agent_has_notice(&agent, NOTICE_SUBSCRIPTION_SHARED));
}

/* As older ones do, which do not subscribe. */
static void sessions_of_a_program_without_subscription_are_whole_one_after_another(void **state)
{
	unsigned long long launched, inside, recorded;

	(void)state;
	start(ARGV(FAKE_PROFILER),
	      ENVIRONMENT("FAKE_CUDA_LAUNCH_NS=100000", "FLAMEGRID_PROFILER_PATIENCE=0"));
	await_records(1000);
	kill(agent.pid, SIGUSR1);
	await_notice(NOTICE_ACTIVITY_TAKEN);
	for (int i = 0; i < 3; i++) {
		kill(agent.pid, SIGUSR2);
		await_records(1000);
		kill(agent.pid, SIGUSR1);
		test_agent_serve(&agent, has_more_launches);
	}
	kill(agent.pid, SIGTERM);
	test_agent_finish(&agent);
	assert_int_equal(WEXITSTATUS(agent.status), 0);
	assert_int_equal(sscanf(strstr(agent.output, "launched"), "launched %llu session %llu %llu",
				&launched, &inside, &recorded),
			 3);
	assert_int_equal(recorded, inside);
	assert_int_equal(agent.nr_launches, launched);
	/* Four times in flight, when a session begins and when it is over. */
	assert_true(nr_missing() + 4 * IN_FLIGHT_MAX >= inside);
	assert_in_range(agent.nr_records + nr_missing(), launched - 8 * IN_FLIGHT_MAX,
			launched + 8 * IN_FLIGHT_MAX);
}

static bool was_told_why(struct test_agent *self)
{
	for (uint32_t i = 0; i < self->nr_notices; i++)
		if (self->notices[i].head.code == NOTICE_WINDOW_LOADED &&
		    strstr(self->notices[i].text, "another profiler shares it"))
			return true;
	return false;
}

static void windows_that_end_within_a_session_leave_it_whole(void **state)
{
	struct outcome outcome;

	(void)state;
	start(ARGV(FAKE_KINETO, KINETO_NOW, "2000", "-", "2000"),
	      ENVIRONMENT("FAKE_CUDA_LAUNCH_NS=100000", "FLAMEGRID_WINDOW=duty=20000000/60000000"));
	test_agent_serve(&agent, was_told_why);
	assert_true(was_told_why(&agent));
	kill(agent.pid, SIGUSR2);
	outcome = finish();
	compare_whole(&outcome);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(session_of_a_library_that_is_bound_at_once_is_whole),
		TEST(session_of_a_library_that_is_bound_call_by_call_is_whole),
		TEST(session_that_rests_before_its_end_is_whole),
		TEST(library_that_comes_later_shares_and_records_come_again_at_once),
		TEST(profiler_that_ends_cupti_does_not_end_the_capture),
		TEST(without_sharing_the_profiler_is_refused_and_the_profile_whole),
		TEST(sessions_of_a_program_without_subscription_are_whole_one_after_another),
		TEST(windows_that_end_within_a_session_leave_it_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
