#include "report/absence/straggler_absences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_build.h"
#include "report/writers/straggler_text.h"
#include "report/writers/straggler_writer.h"
#include "straggler_fixture.h"

#define RANKS  8u
#define MS     1000000ull
#define S      (1000 * MS)
#define WORLD  1u
#define TENSOR 2u
#define DATA   3u
#define ALL    0xffu
#define EPOCH  (1700000000 * S) /* CLOCK_REALTIME at the begin of the job */
#define AHEAD  (40 * S)         /* the second host's clock, of the first one's */

/* Eight ranks on two hosts. Each collective comes 100 ms after the one before. Kernels of the last one have not ended
 * where ranks lack. */
static struct {
	uint32_t processes[RANKS], calls[RANKS][DATA + 1], correlation_ids[RANKS];
	uint64_t now_ns;
} job;

static struct report_straggler *report;

static uint64_t own_clock(uint32_t rank, uint64_t ns)
{
	return 3600 * S + ns + (rank < 4 ? 0 : AHEAD);
}

static void define(uint32_t rank)
{
	job_communicator(job.processes[rank], WORLD, 0xfeed, rank, RANKS);
	job_communicator(job.processes[rank], TENSOR, 0x1000 + rank / 4, rank % 4, 4);
	job_communicator(job.processes[rank], DATA, 0x2000 + rank % 4, rank / 4, 2);
}

static void start(uint32_t rank)
{
	if (rank == 4)
		job_node("node02");
	job.processes[rank] = job_process((int32_t)rank);
	define(rank);
}

static void start_all(void)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		start(rank);
	for (uint32_t rank = 0; rank < RANKS; rank += 4)
		job_clock(job.processes[rank], (int64_t)own_clock(rank, 0) - (int64_t)EPOCH);
}

static int set_up(void **state)
{
	int result = job_set_up(state);

	memset(&job, 0, sizeof(job));
	job_world(RANKS);
	report = NULL;
	return result;
}

static int tear_down(void **state)
{
	report_straggler_destroy(report);
	return job_tear_down(state);
}

static void call(uint32_t rank, uint32_t communicator, bool ends, uint64_t ns)
{
	const uint32_t id = ++job.correlation_ids[rank];
	const struct collective all_reduce =
		job_all_reduce(communicator, ++job.calls[rank][communicator], id,
			       own_clock(rank, job.now_ns), 20000);
	const struct job_kernel kernel = {
		.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		.stack = "train.py:step",
		.correlation_id = id,
		.tid = 9,
		.start_ns = own_clock(rank, job.now_ns) + 30000,
		.ns = ns,
	};

	job_call(job.processes[rank], &all_reduce);
	if (ends)
		job_kernel(job.processes[rank], &kernel);
}

/* A collective of the ranks of a communicator that have a bit. */
static void meet(uint32_t communicator, uint32_t ranks, bool ends)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		if (ranks & 1u << rank)
			call(rank, communicator, ends, MS);
}

static void train(uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		job.now_ns += 100 * MS;
		meet(TENSOR, ALL, true);
		meet(DATA, ALL, true);
		meet(WORLD, ALL, true);
	}
}

/* Ends the ranks that have a bit so many seconds after the newest calls. */
static void end(uint32_t ranks, enum job_ending ending, uint64_t after_s)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		if (ranks & 1u << rank)
			job_end_at(job.processes[rank], ending, EPOCH + job.now_ns + after_s * S);
}

static const struct report_straggler *find(void)
{
	job_commit();
	report = job_straggler();
	return report;
}

static const char *line_of(void)
{
	static char line[STRAGGLER_TEXT_SIZE];

	return straggler_text_line(find(), line, sizeof(line));
}

static void assert_nobody(void)
{
	assert_int_equal(find()->nr_missing, 0);
}

static void a_rank_that_never_comes_is_named(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL, JOB_TERMINATED, 600);
	const char *line = line_of();

	assert_ptr_equal(strstr(line, "late: rank 5 on node02 never came to collective 21 "
				      "(all_reduce, all ranks); 7 ranks waited for it 600.000 s, "
				      "until their end; its process ended at 20"),
			 line);
	assert_int_equal(report->nr_missing, 1);
	assert_int_equal(report->missing[0].absence->nr_absent, 1);
	assert_int_equal(report->missing[0].absence->absent[0].rank, 5);
}

/* It has said nothing of its end. */
static void a_rank_that_still_runs_has_no_end(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL & ~(1u << 5), JOB_TERMINATED, 30);
	end(1u << 5, JOB_RUNS, 0);
	const char *line = line_of();

	assert_non_null(strstr(line, " 7 ranks waited for it 30.000 s, until their end"));
	assert_null(strstr(line, "ended at"));
}

/* A launcher ends the others as soon as one has died. */
static void a_rank_that_died_needs_no_long_wait(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_DIES, 1);
	end(ALL & ~(1u << 5), JOB_TERMINATED, 2);
	const char *line = line_of();

	assert_non_null(strstr(line, "late: rank 5 on node02 never came to collective 21 "));
	assert_true(report->missing[0].absence->has_ended);
}

/* Rank 6 had come before it died. */
static void ranks_that_die_together_are_named_together(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(3u << 5, JOB_DIES, 1);
	end(ALL & ~(3u << 5), JOB_TERMINATED, 27);
	const char *line = line_of();

	assert_ptr_equal(strstr(line, "late: ranks 5-6 on node02 never came to, or died in, "
				      "collective 21 (all_reduce, all ranks); 6 ranks waited "),
			 line);
	assert_non_null(
		strstr(line, " for them 27.000 s, until their end; their processes ended "));
	assert_true(report->missing[0].absence->has_ended);
}

static void ranks_of_a_running_job_wait_for_so_long(void **state)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(3u << 5), false);
	end(ALL, JOB_RUNS, 0);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_true(report->is_running);
	report->absences.list[0].waited_ns = 20 * S; /* it is until now */
	straggler_text_absence(line, sizeof(line), report, &report->missing[0]);
	assert_string_equal(line, " never came to collective 21 (all_reduce, all ranks); 6 ranks "
				  "wait for them, for 20.000 s");
}

static void one_of_all_ranks_may_survive(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL & ~1u, JOB_DIES, 1);
	end(1u, JOB_TERMINATED, 27);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_int_equal(report->missing[0].absence->nr_absent, 7);
	assert_int_equal(report->missing[0].absence->nr_waiting, 1);
}

/* Rank 1 waited in a collective of its pair alone, and is in none of the others'. */
static void a_rank_that_died_waits_for_nobody(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(DATA, 1u << 1, false);
	meet(WORLD, ALL & ~0x22u, false);
	end(0x22, JOB_DIES, 1);
	end(ALL & ~0x22u, JOB_TERMINATED, 27);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_int_equal(report->missing[0].absence->nr_absent, 2);
	assert_int_equal(report->missing[0].absence->absent[0].rank, 1);
	assert_int_equal(report->missing[0].absence->absent[1].rank, 5);
	assert_int_equal(report->missing[0].absence->nr_waiting, 6);
	assert_false(report->missing[0].absence->has_fallen);
}

/* A library's watchdog ended it after ten minutes. */
static void a_rank_that_waited_long_before_it_died_has_waited(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(3u << 5, JOB_DIES, 600);
	end(ALL & ~(3u << 5), JOB_TERMINATED, 601);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_string_equal(report->missing[0].name, "rank 5 on node02");
	assert_int_equal(report->missing[0].absence->nr_waiting, 7);
	assert_int_equal(report->missing[0].absence->waited_ns, 600 * S);
}

/* Rank 6 saw an error because of rank 5, or all ranks ended: that is not known. */
static void a_rank_that_said_goodbye_has_not_died(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_DIES, 1);
	job_end(job.processes[6]);
	end(ALL & ~(3u << 5), JOB_TERMINATED, 27);
	assert_nobody();
}

/* What ends them is not known, but it came later. */
static void ranks_that_end_long_after_it_have_waited(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_DIES, 1);
	end(ALL & ~(1u << 5), JOB_DIES, 3);
	find();
	assert_int_equal(report->nr_missing, 1);
}

static void ranks_that_die_at_about_one_time_have_not(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_DIES, 1);
	end(ALL & ~(1u << 5), JOB_DIES, 2);
	assert_nobody();
}

/* Without a comparison of clocks the wait is known from the end of the process on. */
static void clocks_that_are_not_known_leave_the_end_of_the_process(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		start(rank);
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_DIES, 5);
	end(ALL & ~(1u << 5), JOB_DIES, 45);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_int_equal(report->missing[0].absence->waited_ns, 40 * S);
}

static void a_whole_host_is_named_as_the_host(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, 0x0f, false);
	end(0x0f, JOB_TERMINATED, 20);
	end(0xf0, JOB_RUNS, 0);
	const char *line = line_of();

	assert_ptr_equal(strstr(line, "late: node02 (4 ranks: 4-7) never came to collective 21 "
				      "(all_reduce, all ranks); 4 ranks waited for it 20.000 s, "),
			 line);
}

/* Each pair of ranks of the two hosts waits in a communicator of its own. */
static void a_host_that_lacks_on_several_communicators_is_one(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(DATA, 0x0f, false);
	end(0x0f, JOB_TERMINATED, 20);
	end(0xf0, JOB_RUNS, 0);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_string_equal(report->missing[0].name, "node02 (4 ranks: 4-7)");
	assert_int_equal(report->missing[0].absence->nr_waiting, 4);
}

/* Rank 5 lacks in its group of four. The others of that group lack in theirs of two, because they wait. */
static void ranks_that_wait_elsewhere_are_not_to_blame(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(TENSOR, 0x0f, true);
	meet(TENSOR, 0xd0, false);
	meet(DATA, 0x0f, false);
	end(ALL, JOB_TERMINATED, 20);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_string_equal(report->missing[0].name, "rank 5 on node02");
	assert_string_equal(communicator_names_of(report->names, report->missing[0].absence->key),
			    "ranks 4-7");
}

/* Two ranks have their collectives in different orders. */
static void ranks_that_wait_in_a_circle_are_told_with_that(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	meet(DATA, 1u << 5, false);
	end(ALL, JOB_TERMINATED, 20);
	const char *line = line_of();

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
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~0x60u, false);
	end(ALL, JOB_TERMINATED, 20);
	find();
	assert_string_equal(report->missing[0].name, "ranks 5-6 on node02");
}

/* Rank 7 has not made a call on the communicator. The job has as many ranks. */
static void a_rank_that_made_no_call_is_known_by_the_job(void **state)
{
	(void)state;
	start_all();
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 7), false);
	end(ALL, JOB_TERMINATED, 20);
	find();
	assert_int_equal(report->nr_missing, 1);
	assert_string_equal(report->missing[0].name, "rank 7 on node02");
}

static void a_rank_without_a_process_is_not_in_the_profile(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 7; rank++)
		start(rank);
	job_clock(job.processes[0], (int64_t)own_clock(0, 0) - (int64_t)EPOCH);
	job_clock(job.processes[4], (int64_t)own_clock(4, 0) - (int64_t)EPOCH);
	job.now_ns += 100 * MS;
	meet(WORLD, 0x7f, false);
	end(0x7f, JOB_TERMINATED, 20);
	const char *line = line_of();

	assert_non_null(strstr(line, "late: rank 7 never came to collective 1 "));
	assert_non_null(strstr(line, "; it is not in the profile"));
}

/* ---- what is none */

static void a_job_that_ends_has_nobody_missing(void **state)
{
	(void)state;
	start_all();
	train(20);
	end(ALL, JOB_DIES, 60);
	assert_nobody();
}

/* A cancel ends the ranks anywhere in a step. */
static void a_job_that_is_cancelled_has_nobody_missing(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL, JOB_TERMINATED, 1);
	assert_nobody();
}

/* Rank 5 ends at the signal, and the others only when they are killed, half a minute later. */
static void what_ranks_do_after_the_signal_is_no_wait(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(1u << 5, JOB_TERMINATED, 1);
	end(ALL & ~(1u << 5), JOB_DIES, 31);
	assert_nobody();
}

/* Rank 0 saves its state when the signal comes, which ends the others at once. */
static void a_rank_that_ends_after_the_others_has_not_died(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~1u, false);
	end(ALL & ~1u, JOB_TERMINATED, 1);
	end(1u, JOB_DIES, 9);
	assert_nobody();
}

/* The records of rank 5 are lost: the others went on. */
static void a_collective_whose_kernel_ended_is_over(void **state)
{
	(void)state;
	start_all();
	train(20);
	for (int i = 0; i < 5; i++) {
		job.now_ns += 100 * MS;
		meet(WORLD, ALL & ~(1u << 5), true);
	}
	end(ALL, JOB_TERMINATED, 600);
	assert_nobody();
}

static void a_call_that_was_lost_is_no_absence(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	job.calls[5][WORLD]++;
	meet(WORLD, ALL & ~(1u << 6), false);
	end(ALL, JOB_TERMINATED, 600);
	assert_nobody();
}

static void capture_windows_end_at_different_collectives(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		job_window(job.processes[rank]);
	end(ALL, JOB_DIES, 600);
	assert_nobody();
}

/* Steps take half a minute. */
static void a_wait_is_long_if_it_is_longer_than_usual(void **state)
{
	(void)state;
	start_all();
	for (int i = 0; i < 10; i++) {
		job.now_ns += 30 * S;
		meet(WORLD, ALL, true);
	}
	job.now_ns += 20 * S;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL, JOB_TERMINATED, 25);
	assert_nobody();
}

/* Of a job of 64 nodes one is in the profile. */
static void most_of_the_ranks_are_never_missing(void **state)
{
	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, 0x07, false);
	end(ALL, JOB_TERMINATED, 600);
	assert_nobody();
}

/* ---- formats */

static void tables_and_json_have_it(void **state)
{
	char *text = NULL;
	size_t size;

	(void)state;
	start_all();
	train(20);
	job.now_ns += 100 * MS;
	meet(WORLD, ALL & ~(1u << 5), false);
	end(ALL, JOB_TERMINATED, 600);
	find();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, &(struct report_options){0}, &tree), 0);
	FILE *file = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(file, report, tree, NULL, 0, false), 0);
	fclose(file);
	assert_non_null(strstr(text, "\nrank 5 on node02 never came to collective 21 "));
	free(text);
	file = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_json(file, report, tree), 0);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_rank_that_never_comes_is_named),
		TEST(a_rank_that_still_runs_has_no_end),
		TEST(a_rank_that_died_needs_no_long_wait),
		TEST(ranks_that_die_together_are_named_together),
		TEST(ranks_of_a_running_job_wait_for_so_long),
		TEST(one_of_all_ranks_may_survive),
		TEST(a_rank_that_died_waits_for_nobody),
		TEST(a_rank_that_waited_long_before_it_died_has_waited),
		TEST(a_rank_that_said_goodbye_has_not_died),
		TEST(ranks_that_end_long_after_it_have_waited),
		TEST(ranks_that_die_at_about_one_time_have_not),
		TEST(clocks_that_are_not_known_leave_the_end_of_the_process),
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
		TEST(a_rank_that_ends_after_the_others_has_not_died),
		TEST(a_collective_whose_kernel_ended_is_over),
		TEST(a_call_that_was_lost_is_no_absence),
		TEST(capture_windows_end_at_different_collectives),
		TEST(a_wait_is_long_if_it_is_longer_than_usual),
		TEST(most_of_the_ranks_are_never_missing),
		TEST(tables_and_json_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
