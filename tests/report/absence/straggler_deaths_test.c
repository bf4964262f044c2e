#include "report/absence/straggler_deaths.h"

#include <string.h>

#include "tests/support/cmocka_test.h"

#include "absent_ranks.h"

/* A launcher ends the others as soon as one has died. */
static void a_rank_that_died_needs_no_long_wait(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_DIES, 1);
	absent_end(ALL & ~(1u << 5), JOB_TERMINATED, 2);
	const char *line = absent_line_of();

	assert_non_null(strstr(line, "late: rank 5 on node02 never came to collective 21 "));
	assert_true(absent_report->missing[0].absence->has_ended);
}

/* Rank 6 had come before it died. */
static void ranks_that_die_together_are_named_together(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(3u << 5, JOB_DIES, 1);
	absent_end(ALL & ~(3u << 5), JOB_TERMINATED, 27);
	const char *line = absent_line_of();

	assert_ptr_equal(strstr(line, "late: ranks 5-6 on node02 never came to, or died in, "
				      "collective 21 (all_reduce, all ranks); 6 ranks waited "),
			 line);
	assert_non_null(
		strstr(line, " for them 27.000 s, until their end; their processes ended "));
	assert_true(absent_report->missing[0].absence->has_ended);
}

static void one_of_all_ranks_may_survive(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL & ~1u, JOB_DIES, 1);
	absent_end(1u, JOB_TERMINATED, 27);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_int_equal(absent_report->missing[0].absence->nr_absent, 7);
	assert_int_equal(absent_report->missing[0].absence->nr_waiting, 1);
}

/* Rank 1 waited in a collective of its pair alone, and is in none of the others'. */
static void a_rank_that_died_waits_for_nobody(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(DATA, 1u << 1, false);
	absent_meet(WORLD, ALL & ~0x22u, false);
	absent_end(0x22, JOB_DIES, 1);
	absent_end(ALL & ~0x22u, JOB_TERMINATED, 27);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_int_equal(absent_report->missing[0].absence->nr_absent, 2);
	assert_int_equal(absent_report->missing[0].absence->absent[0].rank, 1);
	assert_int_equal(absent_report->missing[0].absence->absent[1].rank, 5);
	assert_int_equal(absent_report->missing[0].absence->nr_waiting, 6);
	assert_false(absent_report->missing[0].absence->has_fallen);
}

/* A library's watchdog ended it after ten minutes. */
static void a_rank_that_waited_long_before_it_died_has_waited(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(3u << 5, JOB_DIES, 600);
	absent_end(ALL & ~(3u << 5), JOB_TERMINATED, 601);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_string_equal(absent_report->missing[0].name, "rank 5 on node02");
	assert_int_equal(absent_report->missing[0].absence->nr_waiting, 7);
	assert_int_equal(absent_report->missing[0].absence->waited_ns, 600 * S);
}

/* Rank 6 saw an error because of rank 5, or all ranks ended: that is not known. */
static void a_rank_that_said_goodbye_has_not_died(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_DIES, 1);
	job_end(absent_job.processes[6]);
	absent_end(ALL & ~(3u << 5), JOB_TERMINATED, 27);
	absent_assert_nobody();
}

/* What ends them is not known, but it came later. */
static void ranks_that_end_long_after_it_have_waited(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_DIES, 1);
	absent_end(ALL & ~(1u << 5), JOB_DIES, 3);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
}

static void ranks_that_die_at_about_one_time_have_not(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_DIES, 1);
	absent_end(ALL & ~(1u << 5), JOB_DIES, 2);
	absent_assert_nobody();
}

/* Without a comparison of clocks the wait is known from the end of the process on. */
static void clocks_that_are_not_known_leave_the_end_of_the_process(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		absent_start(rank);
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_DIES, 5);
	absent_end(ALL & ~(1u << 5), JOB_DIES, 45);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_int_equal(absent_report->missing[0].absence->waited_ns, 40 * S);
}

/* Rank 0 saves its state when the signal comes, which ends the others at once. */
static void a_rank_that_ends_after_the_others_has_not_died(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~1u, false);
	absent_end(ALL & ~1u, JOB_TERMINATED, 1);
	absent_end(1u, JOB_DIES, 9);
	absent_assert_nobody();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, absent_set_up, absent_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_rank_that_died_needs_no_long_wait),
		TEST(ranks_that_die_together_are_named_together),
		TEST(one_of_all_ranks_may_survive),
		TEST(a_rank_that_died_waits_for_nobody),
		TEST(a_rank_that_waited_long_before_it_died_has_waited),
		TEST(a_rank_that_said_goodbye_has_not_died),
		TEST(ranks_that_end_long_after_it_have_waited),
		TEST(ranks_that_die_at_about_one_time_have_not),
		TEST(clocks_that_are_not_known_leave_the_end_of_the_process),
		TEST(a_rank_that_ends_after_the_others_has_not_died),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
