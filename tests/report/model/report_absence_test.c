#include "report/model/report_absence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_cause(struct report_absence_facts facts, const char *words)
{
	char line[REPORT_ABSENCE_SIZE];

	assert_non_null(strstr(report_absence_line(&facts, line, sizeof(line)), words));
	assert_null(strstr(line, "nothing lost"));
}

static void without_a_process_cuda_was_not_started(void **state)
{
	(void)state;
	assert_cause((struct report_absence_facts){.nr_agents = 1},
		     "no process started CUDA (cuInit)");
	assert_cause((struct report_absence_facts){.nr_agents = 1}, "refuses connect()");
	assert_cause((struct report_absence_facts){.nr_agents = 1},
		     "its limits (ulimit -n, -d, -v, -l with mlockall) leave no room");
	assert_cause((struct report_absence_facts){.nr_agents = 1}, "flamegrid doctor");
}

static void without_an_agent_nothing_could_be_recorded(void **state)
{
	(void)state;
	assert_cause((struct report_absence_facts){0}, "no agent has joined");
}

static void a_process_that_failed_is_named_before_all_else(void **state)
{
	(void)state;
	assert_cause((struct report_absence_facts){.nr_agents = 1,
						   .nr_processes = 2,
						   .chosen = "a range",
						   .failed = "libcupti was not found"},
		     "libcupti was not found");
}

static void a_range_that_was_never_entered_is_the_cause_it_gave(void **state)
{
	(void)state;
	assert_cause(
		(struct report_absence_facts){.nr_agents = 1,
					      .nr_processes = 1,
					      .chosen = "the NVTX range 'x' was never entered"},
		"the NVTX range 'x' was never entered");
}

static void a_process_without_gpu_work_is_told_from_one_without_records(void **state)
{
	(void)state;
	assert_cause((struct report_absence_facts){.nr_agents = 1, .nr_processes = 1},
		     "1 process started CUDA, and launched no GPU work");
	assert_cause((struct report_absence_facts){.nr_agents = 1,
						   .nr_processes = 1,
						   .has_launches = true},
		     "CUPTI delivered no record");
}

static void what_still_runs_may_yet_begin(void **state)
{
	(void)state;
	assert_cause((struct report_absence_facts){.nr_agents = 1, .is_written = true},
		     "no process has started CUDA yet");
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_process_cuda_was_not_started),
		TEST(without_an_agent_nothing_could_be_recorded),
		TEST(a_process_that_failed_is_named_before_all_else),
		TEST(a_range_that_was_never_entered_is_the_cause_it_gave),
		TEST(a_process_without_gpu_work_is_told_from_one_without_records),
		TEST(what_still_runs_may_yet_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
