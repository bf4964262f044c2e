#include "report/lateness/straggler_lumps.h"

#include "tests/support/cmocka_test.h"

#include "straggler_model.h"

#define STEPS 300

static void checkpoints_of_a_rank_are_lumps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = STEPS,
					    .work_ms = 15,
					    .noise_ms = 0.5,
					    .plants = {{0, 0, 300, 15, 30, 10}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_true(result.ranks[0].ground == STRAGGLER_LUMPS ||
			    result.ranks[0].ground == STRAGGLER_COST);
		assert_int_equal(model_count_named(&result), 1);
		assert_int_equal(result.nr_groups, 0);
		model_free(&result);
	}
}

/* A collection in each 50th step of three collectives, some of them in stretches next to a rank's own small ones. */
static void lumps_of_one_of_two_ranks_are_enough(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 2,
					    .ranks_per_host = 2,
					    .collectives = 3000,
					    .work_ms = 3,
					    .noise_ms = 0.3,
					    .plants = {{1, 1, 270, 149, 150, 20}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.ranks[1].ground, STRAGGLER_LUMPS);
		assert_int_equal(model_count_named(&result), 1);
		model_free(&result);
	}
}

/* Ten lumps cost nearly all. Between them are small ones of others. */
static void lumps_are_told_by_their_cost(void **state)
{
	struct straggler_lump lumps[70];

	(void)state;
	for (uint32_t i = 0; i < 70; i++)
		lumps[i] = (struct straggler_lump){.subject = i < 10 ? 0 : 1 + i % 5,
						   .nr_stretches = 1,
						   .kept_ns = i < 10 ? 500000 : 1000};
	assert_true(straggler_lumps_p(lumps, 70, 0, 1.0 / 6, 1, 0) < 1e-6);
	assert_true(straggler_lumps_p(lumps, 70, 1, 1.0 / 6, 1, 0) > 0.1);
	assert_true(straggler_lumps_p(lumps, 7, 0, 1.0 / 6, 1, 0) > 0.1);
}

/* Of two ranks one has the 20 costliest lumps, which is no power of two, and noise of the other is near a tenth of them. */
static void lumps_before_the_costs_drop_are_one_test(void **state)
{
	struct straggler_lump lumps[39];

	(void)state;
	for (uint32_t i = 0; i < 39; i++)
		lumps[i] = (struct straggler_lump){.subject = i >= 20,
						   .nr_stretches = 1,
						   .kept_ns = i < 20 ? 300000 - 1000 * i
								     : 130000 - 1000 * i};
	assert_true(straggler_lumps_p(lumps, 39, 0, 0.5, 1, 0) < 1e-5);
	assert_true(straggler_lumps_p(lumps, 39, 1, 0.5, 1, 0) > 0.1);
	/* Without a drop there, none of the first 20 is known to differ from the rest. */
	for (uint32_t i = 0; i < 39; i++)
		lumps[i].kept_ns = 300000 - 1000 * i;
	assert_true(straggler_lumps_p(lumps, 39, 0, 0.5, 1, 0) > 1e-5);
}

/* Neighbouring stretches of five ranks of six are one lump, so that they cost more than those of the sixth. */
static void long_lumps_of_most_ranks_are_chance(void **state)
{
	struct straggler_lump lumps[64];

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		lumps[i] = (struct straggler_lump){.subject = i >= 32,
						   .nr_stretches = i < 32 ? 5 : 1,
						   .kept_ns = i < 32 ? 5000 : 1000};
	assert_true(straggler_lumps_p(lumps, 64, 0, 5.0 / 6, 1, 0) > 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checkpoints_of_a_rank_are_lumps),
		cmocka_unit_test(lumps_of_one_of_two_ranks_are_enough),
		cmocka_unit_test(lumps_are_told_by_their_cost),
		cmocka_unit_test(lumps_before_the_costs_drop_are_one_test),
		cmocka_unit_test(long_lumps_of_most_ranks_are_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
