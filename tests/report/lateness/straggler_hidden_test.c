/* Late ranks of whom another one is last whenever both are late. */
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "straggler_model.h"
#include "tests/report/straggler/straggler_fixture.h"

#define STEPS 300

static void the_second_of_two_late_ranks_is_named_too(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 1,
					    .plants = {{3, 3, 20, 0, 0, 0}, {5, 5, 10, 0, 0, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.ranks[3].ground, STRAGGLER_FREQUENCY);
		assert_int_equal(result.ranks[5].ground, STRAGGLER_HIDDEN);
		assert_int_equal(model_count_named(&result), 2);
		assert_int_equal(result.nr_groups, 0);
		model_free(&result);
	}
}

/* Each of three late ranks hides the next one, in whatever order they are. Two more are late by too little. */
static void each_late_rank_hides_the_next_one(void **state)
{
	static const uint32_t orders[][3] = {{1, 4, 9}, {9, 4, 1}, {4, 9, 1}, {4, 1, 9}};
	enum { RANKS = 16 };
	const struct model model = {.ranks = RANKS, .ranks_per_host = RANKS, .collectives = STEPS};

	(void)state;
	for (uint32_t of = 0; of < 4; of++) {
		uint64_t *times = calloc((size_t)STEPS * RANKS, sizeof(*times)), seed = of + 1;

		for (uint32_t i = 0; i < STEPS; i++)
			for (uint32_t j = 0; j < RANKS; j++) {
				uint64_t late_us = j == 0 || j == 7 ? 3000 : 0;

				for (uint32_t k = 0; k < 3; k++)
					late_us = orders[of][k] == j ? 40000 - 8000 * k : late_us;
				times[i * RANKS + j] = 1000 * (50000 - late_us) +
						       (uint64_t)(1e6 * job_uniform(&seed));
			}
		struct model_result result = model_judge(times, &model, STEPS * 100.0);

		for (uint32_t i = 0; i < RANKS; i++) {
			enum straggler_ground expected = STRAGGLER_NOT_NAMED;

			if (i == orders[of][0])
				expected = STRAGGLER_FREQUENCY;
			else if (i == orders[of][1] || i == orders[of][2])
				expected = STRAGGLER_HIDDEN;
			assert_int_equal(result.ranks[i].ground, expected);
		}
		assert_int_equal(result.nr_groups, 0);
		model_free(&result);
		free(times);
	}
}

/* One of three ranks is last each time, and of the other two one is later: by chance it could be either. */
static void of_two_ranks_none_is_hidden(void **state)
{
	const struct model model = {.ranks = 3,
				    .ranks_per_host = 3,
				    .collectives = STEPS,
				    .work_ms = 100,
				    .noise_ms = 1,
				    .plants = {{2, 2, 200, 0, 0, 0}, {1, 1, 20, 0, 0, 0}},
				    .seed = 1};

	(void)state;
	struct model_result result = model_play(&model);

	assert_int_equal(result.ranks[2].ground, STRAGGLER_FREQUENCY);
	assert_int_equal(model_count_named(&result), 1);
	model_free(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_of_two_late_ranks_is_named_too),
		cmocka_unit_test(each_late_rank_hides_the_next_one),
		cmocka_unit_test(of_two_ranks_none_is_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
