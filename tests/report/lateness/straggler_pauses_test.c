/* Ranks that pause more than others in jobs where others pause, too (straggler_pauses.h). */
#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "straggler_model.h"
#include "tests/report/straggler/straggler_fixture.h"

#define JOBS 20u
#define LATE 1u

static struct model job_of(uint32_t ranks, uint32_t steps)
{
	return (struct model){
		.ranks = ranks,
		.ranks_per_host = ranks,
		.collectives = steps,
		.work_ms = 100,
		.noise_ms = 2,
	};
}

/* Returns in how many jobs the late rank is named. Nobody else is, in any. */
static uint32_t count_right(struct model model)
{
	uint32_t right = 0;

	for (uint32_t i = 0; i < JOBS; i++) {
		model.seed = 7000 + i;
		struct model_result found = model_play(&model);

		for (uint32_t j = 0; j < found.nr_ranks; j++)
			if (found.ranks[j].ground) {
				assert_int_equal(j, LATE);
				right++;
			}
		assert_int_equal(found.nr_groups, 0);
		model_free(&found);
	}
	return right;
}

/* It pauses fifteen times. The stall is ten times as long as one of these pauses. */
static void one_stall_of_another_rank_hides_none_that_pauses_often(void **state)
{
	(void)state;
	for (uint32_t ranks = 3; ranks <= 5; ranks++) {
		struct model model = job_of(ranks, 300);

		model.plants[0] = (struct model_plant){LATE, LATE, 400, 5, 20, 0};
		model.plants[1] = (struct model_plant){0, 0, 4000, 112, 0, 1};
		assert_int_equal(count_right(model), JOBS);
	}
}

/* All ranks pause in each 40th step, and one in another of them, too. In some jobs that is not beyond chance. */
static void a_rank_that_pauses_twice_as_often_is_not_taken_back(void **state)
{
	struct model model = job_of(4, 2000);

	(void)state;
	model.pause_every = 40;
	model.pause_ms = 400;
	model.plants[0] = (struct model_plant){LATE, LATE, 400, 4, 40, 0};
	assert_true(count_right(model) >= JOBS * 7 / 10);
}

static void ranks_that_pause_alike_are_not_named(void **state)
{
	(void)state;
	for (uint32_t ranks = 2; ranks <= 8; ranks += 2) {
		struct model model = job_of(ranks, 2000);

		model.pause_every = 40;
		model.pause_ms = 400;
		assert_int_equal(count_right(model), 0);
	}
}

/* All ranks pause now and then, for times by a power law. */
static void add_pauses(const struct model *model, double *work, double least_ms, double exponent)
{
	uint64_t seed = 41 * model->seed + 7;

	for (uint32_t i = 0; i < model->collectives * model->ranks; i++)
		if (job_uniform(&seed) < 0.02)
			work[i] += least_ms * pow(1 - job_uniform(&seed), -1 / exponent);
}

/* So one pause in a job is much longer than all others. With a bound of ten times the rest one of eight jobs had a
 * name. */
static void the_longest_of_many_pauses_is_no_stall(void **state)
{
	uint32_t count = 0;

	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		struct model model = job_of(8, 1000);

		model.seed = i;
		double *work = model_work(&model);
		add_pauses(&model, work, 50, 1.2);
		struct model_result found = model_play_work(&model, work);
		count += model_count_named(&found) + found.nr_groups > 0;
		model_free(&found);
		free(work);
	}
	assert_true(count <= 4);
}

/* Rank 5 stalls for a quarter of the run, and rank 3 for half of it. */
static void a_stall_hides_no_longer_one(void **state)
{
	uint32_t right = 0;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		struct model model = job_of(8, 300);

		model.seed = i;
		double *work = model_work(&model);
		add_pauses(&model, work, 20, 1.5);
		work[8 * 120 + 5] += 12000;
		work[8 * 210 + 3] += 24000;
		struct model_result found = model_play_work(&model, work);
		for (uint32_t j = 0; j < model.ranks; j++) {
			assert_true(!found.ranks[j].ground || j == 3 || j == 5);
			right += j == 3 && found.ranks[j].ground == STRAGGLER_STALL;
		}
		model_free(&found);
		free(work);
	}
	assert_true(right >= 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stall_of_another_rank_hides_none_that_pauses_often),
		cmocka_unit_test(a_rank_that_pauses_twice_as_often_is_not_taken_back),
		cmocka_unit_test(ranks_that_pause_alike_are_not_named),
		cmocka_unit_test(the_longest_of_many_pauses_is_no_stall),
		cmocka_unit_test(a_stall_hides_no_longer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
