#include "report/straggler/report_straggler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"
#include "straggler_training.h"

/* ---- what is said of it -------------------------------------------------------------------------- */

static const struct straggler_cause *first_cause(const struct report_straggler *found,
						 const struct training *training)
{
	char line[STRAGGLER_TEXT_SIZE];

	if (found->nr_named != 1 || found->ranks[0].rank != (int32_t)training->late_rank ||
	    !found->ranks[0].nr_causes)
		fail_msg("%s", straggler_text_line(found, line, sizeof(line)));
	assert_int_equal(found->ranks[0].scope.extent, STRAGGLER_LATE);
	return &found->ranks[0].causes[0];
}

static void assert_share(const struct straggler_cause *cause, double low, double high)
{
	if (cause->share < low || cause->share > high)
		fail_msg("%s in %s explains %.3f", cause->what, cause->function, cause->share);
}

static void each_way(enum training_plant plant, void (*check)(const struct straggler_cause *cause,
							      const struct training *training))
{
	for (int way = 0; way < 2; way++) {
		const struct training training = {.ranks = way % 2 ? 16 : 8,
						  .steps = 150,
						  .plant = plant,
						  .late_rank = way % 2 ? 11 : 3,
						  .noise_ms = 1,
						  .seed = 17 + (uint64_t)way};
		void *state = NULL;

		if (way > 0)
			assert_int_equal(job_set_up(&state), 0);
		training_play(&training);
		struct report_straggler *found = job_straggler();
		check(first_cause(found, &training), &training);
		report_straggler_destroy(found);
		if (way < 1)
			assert_int_equal(job_tear_down(&state), 0);
	}
}

static void check_host(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_int_equal(cause->extent, STRAGGLER_LATE);
	assert_true(cause->excess_ns > 8500000 && cause->excess_ns < 11500000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "host code (numpy.py:resize)");
	assert_share(cause, 0.85, 1.15);
}

static void check_extra(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_true(cause->excess_ns > 10000000 && cause->excess_ns < 14000000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "host code (train.py:spin)");
	assert_share(cause, 0.8, 1.2);
}

static void check_loader(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_OFF_CPU);
	assert_true(cause->excess_ns > 11000000 && cause->excess_ns < 13000000);
	assert_string_equal(cause->what, "poll");
	assert_string_equal(cause->function, "loader.py:next");
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "waits (poll, loader.py:next)");
	assert_string_equal(cause->stack,
			    "train.py:main;loader.py:next;poll;do_poll_[k];[Off-CPU]poll");
	assert_share(cause, 0.9, 1.1);
}

static void check_partner(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_OFF_CPU);
	assert_true(cause->excess_ns > 11000000 && cause->excess_ns < 13000000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "waits (poll, loader.py:next)");
	assert_share(cause, 0.65, 0.85);
}

static void check_kernels(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_GPU);
	assert_int_equal(cause->extent, STRAGGLER_LATE);
	assert_int_equal(cause->excess_ns, 9000000);
	assert_false(cause->more);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_share(cause, 0.85, 1.15);
}

static void slower_host_code_is_named_with_its_function(void **state)
{
	(void)state;
	each_way(TRAINING_HOST, check_host);
}

static void a_function_of_its_own_is_named_whatever_it_calls(void **state)
{
	(void)state;
	each_way(TRAINING_EXTRA, check_extra);
}

static void a_function_all_of_which_takes_longer_is_named(void **state)
{
	(void)state;
	each_way(TRAINING_EVEN, check_extra);
}

static void a_slow_loader_is_named_with_its_wait(void **state)
{
	(void)state;
	each_way(TRAINING_LOADER, check_loader);
}

static void waits_for_another_thread_are_no_part_of_other_waits(void **state)
{
	(void)state;
	each_way(TRAINING_PARTNER, check_partner);
}

static void slower_kernels_are_named(void **state)
{
	(void)state;
	each_way(TRAINING_KERNELS, check_kernels);
}

/* The start takes longer than all that makes the rank late. */
static void check_after_start(struct training training, const char *cause, double low, double high)
{
	char text[STRAGGLER_TEXT_SIZE];

	training.ranks = 8;
	training.steps = 300;
	training.late_rank = 3;
	training.noise_ms = 0.3;
	training.host_ms = 20;
	training.start_ms = 20000;
	training_play(&training);
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)), cause);
	assert_share(first, low, high);
	/* What is left over is an effect, or small. */
	for (uint32_t i = 1; i < found->ranks[0].nr_causes; i++)
		assert_true(first[i].effect || first[i].share < 0.25);
	report_straggler_destroy(found);
}

static void a_function_that_takes_longer_in_some_steps_is_named_and_not_its_module(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = TRAINING_TOKENS, .seed = 5},
			  "host code (train.py:tokenize_batch)", 0.7, 1.3);
}

static void a_sleep_is_named_with_its_function_and_not_the_imports(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = TRAINING_SHARD, .seed = 6},
			  "waits (sleep, train.py:load_shard)", 0.9, 1.1);
}

static void kernels_before_the_first_step_are_no_cause(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = TRAINING_KERNELS, .seed = 10},
			  "slower GPU kernels (gemm, train.py:forward)", 0.9, 1.1);
}

static void execute(const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(job_path(), false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

static void nor_are_they_where_no_samples_are(void **state)
{
	(void)state;
	check_after_start(
		(struct training){.plant = TRAINING_KERNELS, .gpu_alone = true, .seed = 11},
		"slower GPU kernels (gemm, train.py:forward)", 0.9, 1.1);
}

static void page_faults_are_named_with_their_function(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = TRAINING_FAULTS, .seed = 8},
			  "page faults (numpy.py:resize)", 0.8, 1.2);
}

/* As a long run, whose ranks keep a half or a quarter of their kernels. */
static void kernels_are_compared_in_the_times_that_all_ranks_have_kept(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 1200,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .host_ms = 20,
					  .gpu_alone = true,
					  .one_clock = true,
					  .seed = 12};

	(void)state;
	training_play(&training);
	execute("INSERT INTO sample_levels SELECT id, 1, 1 + id % 2 FROM processes;"
		"DELETE FROM sample_blocks WHERE sort = 1 AND level < 1 + process % 2");
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_share(first, 0.8, 1.2);
	report_straggler_destroy(found);
}

/* The whole run is never compared in place of times that are not kept. */
static void where_nothing_is_kept_there_is_no_cause(void **state)
{
	const struct training training = {.ranks = 8,
					  .steps = 100,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .start_ms = 20000,
					  .seed = 13};

	(void)state;
	training_play(&training);
	execute("INSERT INTO sample_levels SELECT id, 0, 19 FROM processes;"
		"INSERT INTO sample_levels SELECT id, 1, 19 FROM processes;"
		"DELETE FROM sample_blocks WHERE level < 19");
	struct report_straggler *found = job_straggler();
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].nr_causes, 0);
	report_straggler_destroy(found);
}

static void time_in_the_run_queue_is_one_cause(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = TRAINING_QUEUE, .seed = 7},
			  "no free CPU (run queue)", 0.9, 1.1);
}

/* As a long run, whose ranks keep a half or a quarter of their times: the same quarter is compared. */
static void only_times_that_all_ranks_have_kept_are_compared(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 1200,
					  .plant = TRAINING_SHARD,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .host_ms = 20,
					  .one_clock = true,
					  .seed = 9};

	(void)state;
	training_play(&training);
	execute("INSERT INTO sample_levels SELECT id, 0, 1 + id % 2 FROM processes;"
		"DELETE FROM sample_blocks WHERE sort = 0 AND level < 1 + process % 2");
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "waits (sleep, train.py:load_shard)");
	assert_share(first, 0.8, 1.2);
	report_straggler_destroy(found);
}

static void waits_for_the_own_gpu_are_no_cause(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 300,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .waits_for_gpu = true,
					  .seed = 8};

	(void)state;
	training_play(&training);
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_int_equal(found->ranks[0].nr_causes, 1);
	report_straggler_destroy(found);
}

static void what_the_host_does_while_the_gpu_works_is_no_cause(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 300,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .waits_for_room = true,
					  .seed = 14};

	(void)state;
	training_play(&training);
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_int_equal(first[1].sort, STRAGGLER_WAITS);
	assert_true(first[1].share > first->share);
	assert_int_equal(first[1].effect, STRAGGLER_HOST_EFFECT);
	report_straggler_destroy(found);
}

/* Plays a job whose rank 1 sleeps in some steps, and compares how it is named, and its first cause. */
static void check_some_steps(struct training training, enum straggler_ground ground)
{
	const bool sleeps = training.plant == TRAINING_SHARD;

	training.ranks = 4;
	training.late_rank = 1;
	training.noise_ms = 0.3;
	training.seed = 5;
	training_play(&training);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 1);
	const struct report_straggler_rank *rank = &found->ranks[0];
	assert_int_equal(rank->rank, 1);
	assert_int_equal(found->communicators[0].members[rank->member].found.ground, ground);
	assert_true(rank->nr_causes >= 1);
	assert_string_equal(rank->causes[0].function,
			    sleeps ? "train.py:load_shard" : "train.py:forward");
	assert_string_equal(rank->causes[0].what, sleeps ? "sleep" : "gemm");
	assert_false(rank->causes[0].more);
	assert_share(&rank->causes[0], 0.8, 1.2);
	report_straggler_destroy(found);
}

static void a_stall_is_compared_by_itself(void **state)
{
	(void)state;
	check_some_steps((struct training){.plant = TRAINING_SHARD,
					   .steps = 300,
					   .late_from = 150,
					   .late_to = 151,
					   .shard_ms = 9000},
			 STRAGGLER_STALL);
}

static void of_a_stall_a_kernel_counts_that_began_before_it(void **state)
{
	(void)state;
	check_some_steps((struct training){.plant = TRAINING_KERNELS,
					   .steps = 300,
					   .late_from = 150,
					   .late_to = 151,
					   .shard_ms = 9000},
			 STRAGGLER_STALL);
}

/* Of its newest collectives, which have most rows, it is the last of some, by chance. */
static void lateness_that_is_long_over_has_its_cause(void **state)
{
	(void)state;
	check_some_steps((struct training){.plant = TRAINING_SHARD,
					   .steps = 1500,
					   .late_from = 200,
					   .late_to = 700,
					   .shard_ms = 25},
			 STRAGGLER_PHASE);
}

static void in_twenty_runs_of_equal_ranks_none_is_named(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct training training = {.ranks = 8,
						  .steps = 60,
						  .noise_ms = seed % 2 ? 1 : 15,
						  .seed = seed * 1009};

		if (seed > 1)
			assert_int_equal(job_set_up(state), 0);
		training_play(&training);
		struct report_straggler *found = job_straggler();
		assert_int_equal(found->nr_named, 0);
		assert_int_equal(found->nr_ranks, 8);
		assert_int_equal(found->communicators[0].fold->used, 59); /* the first is none */
		assert_int_equal(found->communicators[0].fold->by_gpu, 59);
		report_straggler_destroy(found);
		if (seed < 20)
			assert_int_equal(job_tear_down(state), 0);
	}
}

/* Two attempts of a job. In each one another rank starts ten seconds after the others. */
static void who_starts_late_is_not_late(void **state)
{
	const uint32_t ranks = 8, steps = 40;
	uint64_t seed = 3;

	(void)state;
	for (uint32_t attempt = 0; attempt < 2; attempt++)
		for (uint32_t rank = 0; rank < ranks; rank++) {
			uint32_t process = job_process((int32_t)rank);

			job_communicator(process, 1, 100 + attempt, rank, ranks);
			for (uint32_t step = 1; step <= steps; step++) {
				double ms = 10 + job_uniform(&seed);
				const struct collective call = job_all_reduce(
					1, step, 0, 100000000ull * step,
					(uint64_t)(1e6 * (step == 1 && rank != 2 + attempt ? 10000
											   : ms)));
				job_call(process, &call);
			}
			job_end(process);
		}
	job_commit();
	struct report_straggler *found = job_straggler();
	assert_int_equal(found->nr_ranks, ranks);
	assert_int_equal(found->nr_communicators, 2);
	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 0);
	report_straggler_destroy(found);
}

static void every_format_says_who_and_why(void **state)
{
	const struct training training = {.ranks = 8,
					  .steps = 80,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 5,
					  .noise_ms = 1,
					  .seed = 4};
	char *text = NULL;
	size_t size;

	(void)state;
	training_play(&training);
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	fflush(out);
	assert_null(strstr(text, "feed"));
	assert_null(strstr(text, "chance of equal ranks"));
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, true), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	assert_int_equal(straggler_rows_csv(out, found), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nranks 0-7        8 of 8           80   100.00%"));
	assert_non_null(strstr(text, "\ncommunicator  key                   ranks  collectives"));
	assert_non_null(
		strstr(text, "\nranks 0-7     000000000000feed     8 of 8           80   1"));
	assert_non_null(
		strstr(text, "rank 5 on node01 is late in collectives of ranks 0-7\n  last in "));
	assert_non_null(strstr(text, "\n  chance of equal ranks: "));
	assert_non_null(strstr(text, " collectives of ranks 0-7; each other rank waited "));
	assert_non_null(
		strstr(text, "{\"communicator\":\"000000000000feed\",\"name\":\"ranks 0-7\","));
	assert_non_null(strstr(text, ",ground,name,part_from,"));
	assert_non_null(strstr(text, ",frequency,ranks 0-7,,,,,,\n"));
	assert_non_null(strstr(text, "\nlate: rank 5 on node01 (without it up to "));
	assert_true(strcspn(strstr(text, "\nlate: ") + 1, "\n") <= 200);
	assert_non_null(strstr(text, "\n  last in "));
	assert_non_null(strstr(text, "slower GPU kernels (gemm, train.py:forward)\n"));
	assert_non_null(strstr(text, "\"cause\":\"slower GPU kernels (gemm, train.py:forward)\","
				     "\"plane\":\"gpu\",\"function\":\"train.py:forward\",\"what\":"
				     "\"gemm\",\"stack\":\"train.py:main;train.py:forward;"
				     "cudaLaunchKernel;[GPU_Kernel]gemm\",\"excess_ns\":9000000,"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

/* Of 24 ranks: the late one, and four to compare with. */
static void of_many_ranks_those_alike_are_one_line(void **state)
{
	const struct training training = {.ranks = 24,
					  .steps = 80,
					  .plant = TRAINING_KERNELS,
					  .late_rank = 5,
					  .noise_ms = 1,
					  .seed = 4};
	char *text = NULL;
	size_t size;

	(void)state;
	training_play(&training);
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	fflush(out);
	assert_non_null(strstr(text, "\n19 more ranks: each was last in "));
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 7, false), 0);
	fclose(out);
	assert_non_null(strstr(text, "\n17 more ranks: each was last in "));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(slower_host_code_is_named_with_its_function),
		TEST(a_function_of_its_own_is_named_whatever_it_calls),
		TEST(a_function_all_of_which_takes_longer_is_named),
		TEST(a_slow_loader_is_named_with_its_wait),
		TEST(waits_for_another_thread_are_no_part_of_other_waits),
		TEST(slower_kernels_are_named),
		TEST(a_function_that_takes_longer_in_some_steps_is_named_and_not_its_module),
		TEST(a_sleep_is_named_with_its_function_and_not_the_imports),
		TEST(kernels_before_the_first_step_are_no_cause),
		TEST(nor_are_they_where_no_samples_are),
		TEST(kernels_are_compared_in_the_times_that_all_ranks_have_kept),
		TEST(where_nothing_is_kept_there_is_no_cause),
		TEST(time_in_the_run_queue_is_one_cause),
		TEST(page_faults_are_named_with_their_function),
		TEST(only_times_that_all_ranks_have_kept_are_compared),
		TEST(waits_for_the_own_gpu_are_no_cause),
		TEST(what_the_host_does_while_the_gpu_works_is_no_cause),
		TEST(of_many_ranks_those_alike_are_one_line),
		TEST(a_stall_is_compared_by_itself),
		TEST(of_a_stall_a_kernel_counts_that_began_before_it),
		TEST(lateness_that_is_long_over_has_its_cause),
		TEST(in_twenty_runs_of_equal_ranks_none_is_named),
		TEST(who_starts_late_is_not_late),
		TEST(every_format_says_who_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
