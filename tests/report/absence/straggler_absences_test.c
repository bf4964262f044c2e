#include "report/absence/straggler_absences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "absent_ranks.h"
#include "report/model/report_build.h"
#include "report/writers/straggler/absence_text.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"

static void a_rank_that_never_comes_is_named(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL, JOB_TERMINATED, 600);
	const char *line = absent_line_of();

	assert_ptr_equal(strstr(line, "late: rank 5 on node02 never came to collective 21 "
				      "(all_reduce, all ranks); 7 ranks waited for it 600.000 s, "
				      "until their end; its process ended at 20"),
			 line);
	assert_int_equal(absent_report->nr_missing, 1);
	assert_int_equal(absent_report->missing[0].absence->nr_absent, 1);
	assert_int_equal(absent_report->missing[0].absence->absent[0].rank, 5);
}

/* It has said nothing of its end. */
static void a_rank_that_still_runs_has_no_end(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL & ~(1u << 5), JOB_TERMINATED, 30);
	absent_end(1u << 5, JOB_RUNS, 0);
	const char *line = absent_line_of();

	assert_non_null(strstr(line, " 7 ranks waited for it 30.000 s, until their end"));
	assert_null(strstr(line, "ended at"));
}

static void ranks_of_a_running_job_wait_for_so_long(void **state)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(3u << 5), false);
	absent_end(ALL, JOB_RUNS, 0);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_true(absent_report->is_running);
	absent_report->absences.list[0].waited_ns = 20 * S; /* it is until now */
	absence_text_append(line, sizeof(line), absent_report, &absent_report->missing[0]);
	assert_string_equal(line, " never came to collective 21 (all_reduce, all ranks); 6 ranks "
				  "wait for them, for 20.000 s");
}

static void a_whole_host_is_named_as_the_host(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, 0x0f, false);
	absent_end(0x0f, JOB_TERMINATED, 20);
	absent_end(0xf0, JOB_RUNS, 0);
	const char *line = absent_line_of();

	assert_ptr_equal(strstr(line, "late: node02 (4 ranks: 4-7) never came to collective 21 "
				      "(all_reduce, all ranks); 4 ranks waited for it 20.000 s, "),
			 line);
}

/* Each pair of ranks of the two hosts waits in a communicator of its own. */
static void a_host_that_lacks_on_several_communicators_is_one(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(DATA, 0x0f, false);
	absent_end(0x0f, JOB_TERMINATED, 20);
	absent_end(0xf0, JOB_RUNS, 0);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_string_equal(absent_report->missing[0].name, "node02 (4 ranks: 4-7)");
	assert_int_equal(absent_report->missing[0].absence->nr_waiting, 4);
}

/* Rank 5 lacks in its group of four. The others of that group lack in theirs of two, because they wait. */
static void ranks_that_wait_elsewhere_are_not_to_blame(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(TENSOR, 0x0f, true);
	absent_meet(TENSOR, 0xd0, false);
	absent_meet(DATA, 0x0f, false);
	absent_end(ALL, JOB_TERMINATED, 20);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_string_equal(absent_report->missing[0].name, "rank 5 on node02");
	assert_string_equal(
		communicator_names_of(absent_report->names, absent_report->missing[0].absence->key),
		"ranks 4-7");
}

/* Two ranks have their collectives in different orders. */
static void ranks_that_wait_in_a_circle_are_told_with_that(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_meet(DATA, 1u << 5, false);
	absent_end(ALL, JOB_TERMINATED, 20);
	const char *line = absent_line_of();

	assert_ptr_equal(strstr(line,
				"late: rank 5 on node02 never came to collective 21 "
				"(all_reduce, all ranks), because of a wait in one of ranks 1 "
				"5; 7 ranks waited for it 20.000 s, until their end"),
			 line);
	assert_non_null(strstr(line, "; and 1 more that never came"));
}

static void several_ranks_are_named_together(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~0x60u, false);
	absent_end(ALL, JOB_TERMINATED, 20);
	absent_find();
	assert_string_equal(absent_report->missing[0].name, "ranks 5-6 on node02");
}

/* Rank 7 has not made a call on the communicator. The job has as many ranks. */
static void a_rank_that_made_no_call_is_known_by_the_job(void **state)
{
	(void)state;
	absent_start_all();
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 7), false);
	absent_end(ALL, JOB_TERMINATED, 20);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_string_equal(absent_report->missing[0].name, "rank 7 on node02");
}

static void a_rank_without_a_process_is_not_in_the_profile(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 7; rank++)
		absent_start(rank);
	job_clock(absent_job.processes[0], (int64_t)absent_own_clock(0, 0) - (int64_t)EPOCH);
	job_clock(absent_job.processes[4], (int64_t)absent_own_clock(4, 0) - (int64_t)EPOCH);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, 0x7f, false);
	absent_end(0x7f, JOB_TERMINATED, 20);
	const char *line = absent_line_of();

	assert_non_null(strstr(line, "late: rank 7 never came to collective 1 "));
	assert_non_null(strstr(line, "; it is not in the profile"));
}

/* ---- what is none */

static void a_job_that_ends_has_nobody_missing(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_end(ALL, JOB_DIES, 60);
	absent_assert_nobody();
}

/* A cancel ends the ranks anywhere in a step. */
static void a_job_that_is_cancelled_has_nobody_missing(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL, JOB_TERMINATED, 1);
	absent_assert_nobody();
}

/* Rank 5 ends at the signal, and the others only when they are killed, half a minute later. */
static void what_ranks_do_after_the_signal_is_no_wait(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(1u << 5, JOB_TERMINATED, 1);
	absent_end(ALL & ~(1u << 5), JOB_DIES, 31);
	absent_assert_nobody();
}

/* The records of rank 5 are lost: the others went on. */
static void a_collective_whose_kernel_ended_is_over(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	for (int i = 0; i < 5; i++) {
		absent_job.now_ns += 100 * MS;
		absent_meet(WORLD, ALL & ~(1u << 5), true);
	}
	absent_end(ALL, JOB_TERMINATED, 600);
	absent_assert_nobody();
}

/* The agent of node02 was lost, and then rank 1 does not come. */
static void a_node_without_records_is_not_missing(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	for (int i = 0; i < 5; i++) {
		absent_job.now_ns += 100 * MS;
		absent_meet(WORLD, 0x0f, true);
	}
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, 0x0f & ~(1u << 1), false);
	absent_end(0x0f, JOB_TERMINATED, 600);
	absent_end(0xf0, JOB_RUNS, 0);
	absent_find();
	assert_int_equal(absent_report->nr_missing, 1);
	assert_string_equal(absent_report->missing[0].name, "rank 1 on node01");
	assert_int_equal(absent_report->missing[0].absence->nr_absent, 1);
}

static void a_call_that_was_lost_is_no_absence(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_job.calls[5][WORLD]++;
	absent_meet(WORLD, ALL & ~(1u << 6), false);
	absent_end(ALL, JOB_TERMINATED, 600);
	absent_assert_nobody();
}

static void capture_windows_end_at_different_collectives(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		job_window(absent_job.processes[rank]);
	absent_end(ALL, JOB_DIES, 600);
	absent_assert_nobody();
}

/* Steps take half a minute. */
static void a_wait_is_long_if_it_is_longer_than_usual(void **state)
{
	(void)state;
	absent_start_all();
	for (int i = 0; i < 10; i++) {
		absent_job.now_ns += 30 * S;
		absent_meet(WORLD, ALL, true);
	}
	absent_job.now_ns += 20 * S;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL, JOB_TERMINATED, 25);
	absent_assert_nobody();
}

/* Of a job of 64 nodes one is in the profile. */
static void most_of_the_ranks_are_never_missing(void **state)
{
	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, 0x07, false);
	absent_end(ALL, JOB_TERMINATED, 600);
	absent_assert_nobody();
}

/* ---- formats */

static void tables_and_json_have_it(void **state)
{
	char *text = NULL;
	size_t size;

	(void)state;
	absent_start_all();
	absent_train(20);
	absent_job.now_ns += 100 * MS;
	absent_meet(WORLD, ALL & ~(1u << 5), false);
	absent_end(ALL, JOB_TERMINATED, 600);
	absent_find();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, &(struct report_options){0}, &tree), 0);
	FILE *file = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(file, absent_report, tree, NULL, 0, false), 0);
	fclose(file);
	assert_non_null(strstr(text, "\nrank 5 on node02 never came to collective 21 "));
	free(text);
	file = open_memstream(&text, &size);
	assert_int_equal(straggler_rows_json(file, absent_report, tree), 0);
	fclose(file);
	assert_non_null(strstr(
		text, "\"missing\":[\n{\"name\":\"rank 5 on node02\",\"ranks\":[5],"
		      "\"communicator\":\"000000000000feed\",\"communicator_name\":\"all ranks\","
		      "\"function\":\"all_reduce\",\"sequence\":21,\"waiting\":7,"
		      "\"waited_ns\":600000000000,\"ended\":true}]"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, absent_set_up, absent_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_rank_that_never_comes_is_named),
		TEST(a_rank_that_still_runs_has_no_end),
		TEST(ranks_of_a_running_job_wait_for_so_long),
		TEST(a_whole_host_is_named_as_the_host),
		TEST(a_host_that_lacks_on_several_communicators_is_one),
		TEST(ranks_that_wait_elsewhere_are_not_to_blame),
		TEST(ranks_that_wait_in_a_circle_are_told_with_that),
		TEST(several_ranks_are_named_together),
		TEST(a_rank_that_made_no_call_is_known_by_the_job),
		TEST(a_rank_without_a_process_is_not_in_the_profile),
		TEST(a_job_that_ends_has_nobody_missing),
		TEST(a_job_that_is_cancelled_has_nobody_missing),
		TEST(what_ranks_do_after_the_signal_is_no_wait),
		TEST(a_collective_whose_kernel_ended_is_over),
		TEST(a_node_without_records_is_not_missing),
		TEST(a_call_that_was_lost_is_no_absence),
		TEST(capture_windows_end_at_different_collectives),
		TEST(a_wait_is_long_if_it_is_longer_than_usual),
		TEST(most_of_the_ranks_are_never_missing),
		TEST(tables_and_json_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
