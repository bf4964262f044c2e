/* Who is late for a part of the run, or now and then, and what noise that lasts makes of ranks that are equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/report/straggler/straggler_fixture.h"
#include "straggler_model.h"

/* Each model is played with so many seeds. Returns in how many a rank or a group is named. */
static uint32_t count_jobs(const struct model *model, uint32_t seeds)
{
	uint32_t count = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct model played = *model;

		played.seed = seed * 37;
		struct model_result result = model_play(&played);
		count += model_count_named(&result) + result.nr_groups > 0;
		model_free(&result);
	}
	return count;
}

static void of_equal_ranks_with_noise_that_lasts_none_is_named(void **state)
{
	static const struct {
		uint32_t ranks, seeds;
	} cases[] = {{2, 60}, {4, 40}, {8, 20}, {16, 10}, {64, 3}};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (uint32_t noise_ms = 20; noise_ms <= 30; noise_ms += 10) {
			const struct model model = {.ranks = cases[i].ranks,
						    .ranks_per_host = 4,
						    .collectives = 300,
						    .work_ms = 100,
						    .noise_ms = noise_ms,
						    .drift = 0.98};

			assert_int_equal(count_jobs(&model, cases[i].seeds), 0);
		}
}

/* Stalls of all ranks must not hide that the other noise lasts: without that, 2 to 4 jobs would name somebody. */
static void stalls_do_not_hide_that_noise_lasts(void **state)
{
	uint32_t count = 0;

	(void)state;
	for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
		const struct model model = {.ranks = ranks,
					    .ranks_per_host = 4,
					    .collectives = 300,
					    .work_ms = 100,
					    .noise_ms = 5,
					    .drift = 0.98,
					    .noise = MODEL_STALLS};

		count += count_jobs(&model, 60);
	}
	assert_true(count <= 1);
}

/* Of two ranks a drift of one looks most like a part of the run in which it is late. One in a thousand jobs had a name
 * while stalls hid how alike all other stretches are, and while the edges of a part counted as given. */
static void a_drift_between_stalls_is_no_part_of_a_run(void **state)
{
	const struct model model = {.ranks = 2,
				    .ranks_per_host = 4,
				    .collectives = 300,
				    .work_ms = 100,
				    .noise_ms = 5,
				    .drift = 0.98,
				    .noise = MODEL_STALLS};

	uint32_t count = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct model played = model;

		played.seed = seed;
		struct model_result result = model_play(&played);
		for (uint32_t i = 0; i < 2; i++)
			count += result.ranks[i].ground == STRAGGLER_PHASE;
		model_free(&result);
	}
	assert_true(count <= 1);
}

/* A slow spot of 20 ms wanders among equal ranks. It stays with one for `visit` steps on average. Another rank may be
 * late all along by late_ms. Returns in how many of the jobs a rank or a group is named. */
static uint32_t count_wandering(uint32_t ranks, uint32_t visit, double late_ms, uint32_t jobs)
{
	uint32_t count = 0;

	for (uint64_t job = 1; job <= jobs; job++) {
		const struct model model = {.ranks = ranks,
					    .ranks_per_host = 4,
					    .collectives = 1000,
					    .work_ms = 100,
					    .noise_ms = 1,
					    .plants = {{1, 1, late_ms, 0, 0, 0}},
					    .seed = job};
		double *work = model_work(&model);
		uint64_t seed = job * 31;
		uint32_t at = 0;

		for (uint32_t i = 0; i < model.collectives; i++) {
			if (job_uniform(&seed) * visit < 1)
				at = (uint32_t)(job_uniform(&seed) * ranks);
			work[i * ranks + at] += 20;
		}
		struct model_result result = model_play_work(&model, work);
		count += model_count_named(&result) + result.nr_groups > 0;
		assert_true(late_ms <= 0 || model_count_named(&result) <= 1);
		assert_true(late_ms <= 0 || !model_count_named(&result) || result.ranks[1].ground);
		model_free(&result);
		free(work);
	}
	return count;
}

static void a_slow_spot_that_wanders_among_equal_ranks_names_none(void **state)
{
	static const uint32_t ranks[] = {3, 8, 16};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(count_wandering(ranks[i], 5, 0, 40), 0);
		assert_int_equal(count_wandering(ranks[i], 20, 0, 40), 0);
	}
}

static void a_rank_that_is_always_late_is_named_beside_a_slow_spot_that_wanders(void **state)
{
	(void)state;
	assert_int_equal(count_wandering(3, 5, 30, 20), 20);
	assert_int_equal(count_wandering(8, 20, 30, 20), 20);
	assert_int_equal(count_wandering(16, 20, 30, 20), 20);
}

/* Plays the model, and asserts that only its planted ranks are named, or their host if there are several. */
static void assert_found(const struct model *model, enum straggler_ground ground)
{
	const struct model_plant *plant = &model->plants[0];
	const bool is_host = plant->last > plant->first;
	struct model_result result = model_play(model);

	assert_int_equal(model_count_named(&result), is_host ? 0 : 1);
	assert_int_equal(result.nr_groups, is_host);
	if (is_host) {
		assert_int_equal(result.groups[0].kind, STRAGGLER_GROUP_HOST);
		assert_int_equal(result.groups[0].nr_members, plant->last - plant->first + 1);
		assert_int_equal(result.groups[0].members[0], plant->first);
		assert_int_equal(result.groups[0].found.ground, ground);
	} else {
		assert_int_equal(result.ranks[plant->first].ground, ground);
	}
	model_free(&result);
}

static void one_of_two_that_is_late_for_half_of_the_run_is_named(void **state)
{
	static const double drifts[] = {0, 0.5, 0.9};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (size_t i = 0; i < 3; i++)
			for (uint32_t from = 0; from <= 1000; from += 500) {
				const struct model model = {.ranks = 2,
							    .ranks_per_host = 2,
							    .collectives = 2000,
							    .work_ms = 100,
							    .noise_ms = 3,
							    .drift = drifts[i],
							    .plants = {{1, 1, 20, from, 1, 1000}},
							    .seed = seed};

				assert_found(&model, STRAGGLER_PHASE);
			}
}

static void a_tenth_of_the_run_is_a_phase(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = 520,
					    .work_ms = 100,
					    .noise_ms = 5,
					    .plants = {{3, 3, 100, 20 * (uint32_t)seed, 1, 52}},
					    .seed = seed};

		assert_found(&model, STRAGGLER_PHASE);
	}
}

static void a_host_of_few_that_stops_now_and_then_is_named(void **state)
{
	static const uint32_t hosts[] = {2, 4};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (size_t i = 0; i < 2; i++)
			for (uint32_t size = 2; size <= 8; size *= 2) {
				const struct model model = {
					.ranks = hosts[i] * size,
					.ranks_per_host = size,
					.collectives = 300,
					.work_ms = 100,
					.noise_ms = 3,
					.plants = {{size, 2 * size - 1, 500, 15, 30, 10}},
					.seed = seed};

				assert_found(&model, STRAGGLER_LUMPS);
			}
}

/* Of 16 ranks `stopping` ones stop at each 16th step, each at one of its own, and the first of them for longest in
 * two of three stretches. Returns how many are named. */
static uint32_t count_of_stopping(uint32_t stopping, uint64_t seed)
{
	const struct model model = {.ranks = 16,
				    .ranks_per_host = 8,
				    .collectives = 2048,
				    .work_ms = 100,
				    .noise_ms = 0.5,
				    .seed = seed};
	double *work = model_work(&model);

	for (uint32_t i = 0; i < model.collectives; i++) {
		const uint32_t block = i / 64;
		const uint32_t longest = block % 3 == 2 ? (block / 3) % 15 + 1 : 0;

		if (i % 16 < stopping)
			work[i * model.ranks + i % 16] += i % 16 == longest ? 66 : 60;
	}
	struct model_result result = model_play_work(&model, work);
	const uint32_t count = model_count_named(&result) + result.nr_groups;

	model_free(&result);
	free(work);
	return count;
}

static void of_ranks_that_stop_in_turn_none_is_named(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		assert_int_equal(count_of_stopping(16, seed), 0);
		assert_true(count_of_stopping(2, seed) > 0);
	}
}

/* All ranks pause for as long as a step takes, each at one of each `every` steps. */
static struct model pausing(uint32_t ranks, uint32_t collectives, uint32_t every)
{
	return (struct model){.ranks = ranks,
			      .ranks_per_host = 4,
			      .collectives = collectives,
			      .work_ms = 100,
			      .noise_ms = 2,
			      .pause_every = every,
			      .pause_ms = 100};
}

static void of_ranks_that_all_pause_alike_none_is_named(void **state)
{
	static const uint32_t ranks[] = {2, 3, 4, 8, 16};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (uint32_t every = 8; every <= 50; every += 21) {
			struct model few = pausing(ranks[i], 300, every);
			struct model many = pausing(ranks[i], 2000, every);

			assert_int_equal(count_jobs(&few, 20), 0);
			assert_int_equal(count_jobs(&many, 5), 0);
		}
}

static void a_rank_that_pauses_for_longer_than_the_others_is_named(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct model model = pausing(8, 300, 29);

		model.seed = seed;
		model.plants[0] = (struct model_plant){3, 3, 250, 5, 20, 0};
		assert_found(&model, STRAGGLER_LUMPS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_equal_ranks_with_noise_that_lasts_none_is_named),
		cmocka_unit_test(stalls_do_not_hide_that_noise_lasts),
		cmocka_unit_test(a_drift_between_stalls_is_no_part_of_a_run),
		cmocka_unit_test(a_slow_spot_that_wanders_among_equal_ranks_names_none),
		cmocka_unit_test(
			a_rank_that_is_always_late_is_named_beside_a_slow_spot_that_wanders),
		cmocka_unit_test(one_of_two_that_is_late_for_half_of_the_run_is_named),
		cmocka_unit_test(a_tenth_of_the_run_is_a_phase),
		cmocka_unit_test(a_host_of_few_that_stops_now_and_then_is_named),
		cmocka_unit_test(of_ranks_that_stop_in_turn_none_is_named),
		cmocka_unit_test(of_ranks_that_all_pause_alike_none_is_named),
		cmocka_unit_test(a_rank_that_pauses_for_longer_than_the_others_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
