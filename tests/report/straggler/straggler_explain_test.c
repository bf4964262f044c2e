#include "report/straggler/straggler_explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/collective.h"
#include "report/straggler/report_straggler.h"
#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"
#include "straggler_trainee.h"
#include "straggler_training.h"

#define LATE_RANK 3

/* Plays a long run, which has kept the rows of few of the collectives, and finds its late rank. Noise of kernels
 * makes each rank the last in many. */
static struct report_straggler *find(struct training training, enum straggler_ground ground)
{
	training.ranks = 8;
	training.late_rank = LATE_RANK;
	training.steps = 3000;
	training.host_ms = 8;
	training.noise_ms = 0.2;
	if (training.gemm_noise_ms == 0)
		training.gemm_noise_ms = 0.6;
	training.seed = 11;
	training_play(&training);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 1);
	const struct report_straggler_rank *rank = &found->ranks[0];
	assert_int_equal(rank->rank, LATE_RANK);
	assert_int_equal(found->communicators[0].members[rank->member].found.ground, ground);
	return found;
}

static void check(struct training training, enum straggler_ground ground, const char *cause,
		  enum straggler_extent extent)
{
	char text[STRAGGLER_TEXT_SIZE];
	struct report_straggler *found = find(training, ground);
	const struct report_straggler_rank *rank = &found->ranks[0];

	assert_true(rank->nr_causes >= 1);
	assert_string_equal(straggler_text_cause(&rank->causes[0], text, sizeof(text)), cause);
	assert_int_equal(rank->causes[0].extent, extent);
	if (rank->causes[0].share < 0.8 || rank->causes[0].share > 1.2)
		fail_msg("%s explains %.3f", text, rank->causes[0].share);
	report_straggler_destroy(found);
}

/* Their collectives keep rows, and so do those before them. */
static void of_ten_long_waits_their_collectives_show_the_cause(void **state)
{
	(void)state;
	check((struct training){.plant = TRAINING_SHARD, .late_each = 300, .shard_ms = 450},
	      STRAGGLER_LUMPS, "waits (sleep, train.py:load_shard)", STRAGGLER_LATE);
}

static void of_ten_long_waits_for_kernels_these_are_the_cause(void **state)
{
	(void)state;
	check((struct training){.plant = TRAINING_KERNELS, .late_each = 300, .shard_ms = 450},
	      STRAGGLER_LUMPS, "slower GPU kernels (gemm, train.py:forward)", STRAGGLER_LATE);
}

static void of_a_phase_that_is_over_its_longest_waits_show_the_cause(void **state)
{
	(void)state;
	check((struct training){.plant = TRAINING_SHARD,
				.late_from = 1200,
				.late_to = 1500,
				.shard_ms = 20},
	      STRAGGLER_PHASE, "waits (sleep, train.py:load_shard)", STRAGGLER_LATE);
}

static void of_a_phase_whose_rows_are_kept_its_collectives_show_the_cause(void **state)
{
	(void)state;
	check((struct training){.plant = TRAINING_SHARD,
				.late_from = 2700,
				.late_to = 3000,
				.shard_ms = 20},
	      STRAGGLER_PHASE, "waits (sleep, train.py:load_shard)", STRAGGLER_LATE);
}

/* It is last more often than by chance in all of the run, but outside of that part its work is that of the others. */
static void
of_a_rank_that_is_often_late_in_a_part_of_the_run_that_part_shows_the_cause(void **state)
{
	(void)state;
	check(
		(struct training){
			.plant = TRAINING_SHARD, .late_from = 900, .late_to = 1900, .shard_ms = 20},
		STRAGGLER_PHASE, "waits (sleep, train.py:load_shard)", STRAGGLER_LATE);
}

/* Its longest waits keep rows, too, and these show the noise of its kernels. */
static void of_a_rank_that_is_often_late_noise_is_no_cause(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	struct report_straggler *found =
		find((struct training){.plant = TRAINING_SHARD, .shard_ms = 4, .gemm_noise_ms = 4},
		     STRAGGLER_FREQUENCY);
	const struct report_straggler_rank *rank = &found->ranks[0];

	(void)state;
	assert_true(rank->nr_causes >= 1);
	assert_string_equal(straggler_text_cause(&rank->causes[0], text, sizeof(text)),
			    "waits (sleep, train.py:load_shard)");
	report_straggler_destroy(found);
}

/* Each of its ranks is last in some of them. */
static void of_stops_of_a_host_each_shows_the_cause(void **state)
{
	const struct training training = {.plant = TRAINING_KERNELS,
					  .ranks = 16,
					  .ranks_per_host = 8,
					  .late_rank = LATE_RANK,
					  .late_each = 30,
					  .shard_ms = 900,
					  .steps = 300,
					  .noise_ms = 2,
					  .one_clock = true,
					  .seed = 5};
	char text[STRAGGLER_TEXT_SIZE];

	(void)state;
	training_play(&training);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 1);
	const struct report_straggler_group *group = &found->groups[0];
	assert_int_equal(group->group->nr_members, 8);
	assert_true(group->nr_causes >= 1);
	assert_string_equal(straggler_text_cause(&group->causes[0], text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_int_equal(group->causes[0].extent, STRAGGLER_LATE);
	report_straggler_destroy(found);
}

static void noise_is_no_cause_where_the_cause_was_not_recorded(void **state)
{
	struct report_straggler *found = find((struct training){.plant = TRAINING_SHARD,
								.gpu_alone = true,
								.late_each = 300,
								.shard_ms = 450},
					      STRAGGLER_LUMPS);

	(void)state;
	assert_int_equal(found->ranks[0].nr_causes, 0);
	assert_false(found->ranks[0].scope.is_short);
	report_straggler_destroy(found);
}

/* Of GPU work a large job keeps an eighth of all times. */
static void of_ten_long_waits_that_are_not_kept_no_cause_is_told(void **state)
{
	(void)state;
	job_world(4096);
	struct report_straggler *found = find((struct training){.plant = TRAINING_KERNELS,
								.gpu_alone = true,
								.late_each = 300,
								.shard_ms = 450},
					      STRAGGLER_LUMPS);

	assert_int_equal(found->ranks[0].nr_causes, 0);
	assert_true(found->ranks[0].scope.is_short);
	report_straggler_destroy(found);
}

/* Plays steps of 100 ms of each rank in which three kernels run side by side. One of the late rank's takes 4 ms more. */
static void play_side_by_side(void)
{
	struct trainee ranks[8];
	double now_ms = 0;

	for (uint32_t i = 0; i < 8; i++) {
		ranks[i] = (struct trainee){.process = job_process((int32_t)i),
					    .gpu_offset_ns = TRAINEE_GPU_OFFSET_NS,
					    .period_ms = 10,
					    .delay_ms = 0.01};
		job_communicator(ranks[i].process, 1, 0xfeed, i, 8);
	}
	for (uint32_t step = 1; step <= 200; step++, now_ms += 110) {
		for (uint32_t i = 0; i < 8; i++) {
			const double works_ms = i == LATE_RANK ? 104 : 100;

			for (int j = 0; j < 3; j++)
				trainee_kernel(&ranks[i], "gemm",
					       "train.py:main;train.py:forward;cudaLaunchKernel",
					       now_ms, j ? 100 : works_ms);
			const struct collective call =
				job_all_reduce(1, step, ranks[i].correlation_id + 1,
					       trainee_clock(&ranks[i], now_ms + works_ms), 5000);
			job_call(ranks[i].process, &call);
			trainee_kernel(&ranks[i], "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
				       "train.py:main;train.py:backward;cudaLaunchKernelExC",
				       now_ms + works_ms, 106 - works_ms);
		}
	}
	for (uint32_t i = 0; i < 8; i++)
		job_end(ranks[i].process);
	job_commit();
}

/* A launch takes 1.3 % longer. */
static void a_little_longer_kernels_are_not_more(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];

	(void)state;
	play_side_by_side();
	struct report_straggler *found = job_straggler();
	const struct report_straggler_rank *rank = &found->ranks[0];
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(rank->rank, LATE_RANK);
	assert_true(rank->nr_causes >= 1);
	assert_string_equal(straggler_text_cause(&rank->causes[0], text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_true(rank->causes[0].launches == 0);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(of_ten_long_waits_their_collectives_show_the_cause),
		TEST(of_ten_long_waits_for_kernels_these_are_the_cause),
		TEST(of_a_phase_that_is_over_its_longest_waits_show_the_cause),
		TEST(of_a_phase_whose_rows_are_kept_its_collectives_show_the_cause),
		TEST(of_a_rank_that_is_often_late_in_a_part_of_the_run_that_part_shows_the_cause),
		TEST(of_a_rank_that_is_often_late_noise_is_no_cause),
		TEST(of_stops_of_a_host_each_shows_the_cause),
		TEST(noise_is_no_cause_where_the_cause_was_not_recorded),
		TEST(of_ten_long_waits_that_are_not_kept_no_cause_is_told),
		TEST(a_little_longer_kernels_are_not_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
