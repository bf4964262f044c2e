#include "report/lateness/straggler_groups.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "straggler_model.h"
#include "tests/report/straggler/straggler_fixture.h"

#define STEPS 300

static void assert_group(const struct model_result *result, enum straggler_group_kind kind,
			 uint32_t number, uint32_t size)
{
	assert_int_equal(result->nr_groups, 1);
	assert_int_equal(result->groups[0].kind, kind);
	assert_int_equal(result->groups[0].number, number);
	assert_int_equal(result->groups[0].nr_members, size);
}

static void a_late_host_among_any_number_is_named(void **state)
{
	static const uint32_t hosts[] = {2, 4, 8, 16, 64};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			const struct model model = {.ranks = hosts[i] * 8,
						    .ranks_per_host = 8,
						    .collectives = STEPS,
						    .work_ms = 100,
						    .noise_ms = 4,
						    .plants = {{8, 15, 10, 0, 0, 0}},
						    .seed = seed};
			struct model_result result = model_play(&model);

			assert_group(&result, STRAGGLER_GROUP_HOST, 1, 8);
			model_free(&result);
		}
}

static void hosts_of_a_switch_are_named_as_one(void **state)
{
	const struct model model = {.ranks = 64,
				    .ranks_per_host = 4,
				    .hosts_per_switch = 4,
				    .collectives = STEPS,
				    .work_ms = 100,
				    .noise_ms = 3,
				    .plants = {{16, 31, 10, 0, 0, 0}},
				    .seed = 3};

	(void)state;
	struct model_result result = model_play(&model);

	assert_group(&result, STRAGGLER_GROUP_HOSTS, 1, 16);
	model_free(&result);
}

/* The model has one host at each switch, or hosts of which each has a name of its own. */
static void a_group_of_one_host_is_that_host(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		const struct model model = {.ranks = 16,
					    .ranks_per_host = 4,
					    .hosts_per_switch = 1,
					    .by_topology = i,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 3,
					    .plants = {{8, 11, 10, 0, 0, 0}},
					    .seed = 3};
		struct model_result result = model_play(&model);

		assert_group(&result, STRAGGLER_GROUP_HOST, 2, 4);
		model_free(&result);
	}
}

static void a_late_half_is_named_as_a_part(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 1,
					    .plants = {{4, 7, 20, 0, 0, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_group(&result, STRAGGLER_GROUP_PART, 0, 4);
		assert_int_equal(result.groups[0].members[0], 4);
		assert_int_equal(model_count_named(&result), 0);
		model_free(&result);
	}
}

/* Of four equally late hosts each is last too seldom to be named. */
static void equally_late_hosts_are_named_as_a_part(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct model model = {.ranks = 32,
					    .ranks_per_host = 4,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 2,
					    .plants = {{16, 31, 30, 0, 0, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_group(&result, STRAGGLER_GROUP_PART, 0, 16);
		assert_int_equal(result.groups[0].members[0], 16);
		assert_int_equal(model_count_named(&result), 0);
		model_free(&result);
	}
}

/* One host is late by twice as much as three others, so it comes first. Which of the others are seen is chance. */
static void a_later_host_of_a_part_is_named_by_itself(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct model model = {
			.ranks = 32,
			.ranks_per_host = 4,
			.collectives = STEPS,
			.work_ms = 100,
			.noise_ms = 2,
			.plants = {{16, 19, 60, 0, 0, 0}, {20, 31, 30, 0, 0, 0}},
			.seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.groups[0].number, 4);
		for (uint32_t i = 0; i < result.nr_groups; i++) {
			assert_int_equal(result.groups[i].kind, STRAGGLER_GROUP_HOST);
			assert_true(result.groups[i].members[0] >= 16);
		}
		model_free(&result);
	}
}

/* Returns what the ranks before `first` or after `last` waited for these, each on average, in collectives in which one
 * of these was last. *always: it was so in each. */
static double outside_waits(const uint64_t *times, const struct model *model, uint32_t first,
			    uint32_t last, bool *always)
{
	double sum_ns = 0;

	*always = true;
	for (uint32_t i = 0; i < model->collectives; i++) {
		const uint64_t *row = times + (size_t)i * model->ranks;
		uint32_t least = 0;

		for (uint32_t j = 1; j < model->ranks; j++)
			least = row[j] < row[least] ? j : least;
		if (least < first || least > last) {
			*always = false;
			continue;
		}
		for (uint32_t j = 0; j < model->ranks; j++)
			if (j < first || j > last)
				sum_ns += (double)(row[j] - row[least]);
	}
	return sum_ns / (model->ranks - (last - first + 1));
}

/* Half of the ranks, or one host of four. Only the ranks outside wait for it. */
static void each_rank_outside_of_a_group_waited_so_long(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (uint32_t of = 0; of < 2; of++) {
			const struct model model = {.ranks = of ? 16 : 8,
						    .ranks_per_host = 4,
						    .collectives = STEPS,
						    .work_ms = 100,
						    .noise_ms = of ? 5 : 1,
						    .plants = {{4, 7, of ? 10 : 20, 0, 0, 0}},
						    .seed = seed};
			double *work = model_work(&model);
			double span_ms;
			uint64_t *times = model_times(&model, work, &span_ms);
			struct model_result result = model_judge(times, &model, span_ms);
			const struct straggler_subject *found = &result.groups[0].found;
			bool always;
			const double true_ns = outside_waits(times, &model, 4, 7, &always);

			assert_int_equal(result.nr_groups, 1);
			assert_int_equal(result.groups[0].nr_members, 4);
			assert_int_equal(found->size, 4);
			const double told_ns = (double)found->others_ns /
					       straggler_subject_waiters(found, model.ranks);
			if (always)
				assert_true(fabs(told_ns - true_ns) < 1);
			assert_int_equal(always, !of);
			assert_true(told_ns > 0.999 * true_ns && told_ns < 1.05 * true_ns);
			assert_true(fabs(found->share - told_ns / (1e6 * span_ms)) < 1e-6);
			model_free(&result);
			free(times);
			free(work);
		}
}

static void a_single_late_rank_makes_no_late_host(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 32,
					    .ranks_per_host = 8,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 3,
					    .plants = {{11, 11, 15, 0, 0, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.nr_groups, 0);
		assert_int_equal(result.ranks[11].ground, STRAGGLER_FREQUENCY);
		assert_int_equal(model_count_named(&result), 1);
		model_free(&result);
	}
}

static void a_local_rank_of_all_hosts_is_named(void **state)
{
	enum { HOSTS = 4, LOCAL = 4, RANKS = HOSTS * LOCAL };
	const struct model model = {
		.ranks = RANKS, .ranks_per_host = LOCAL, .collectives = STEPS, .seed = 1};
	uint64_t *times = calloc(STEPS * RANKS, sizeof(*times));

	(void)state;
	/* GPU 2 of each host is 10 ms behind; which one is last changes. */
	for (uint32_t i = 0; i < STEPS; i++)
		for (uint32_t j = 0; j < RANKS; j++)
			times[i * RANKS + j] = (j % LOCAL == 2 ? 2000000u : 12000000u) +
					       (i * 7 + j * 13) % 31 * 30000u;
	struct model_result result = model_judge(times, &model, STEPS * 100.0);

	assert_group(&result, STRAGGLER_GROUP_LOCAL_RANK, 2, HOSTS);
	model_free(&result);
	free(times);
}

/* Of a rank of three on its host, where all ranks stall now and then; or of all three. */
static void lumps_of_a_host_are_those_of_most_of_its_ranks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const bool whole = seed % 2;
		const struct model model = {
			.ranks = 24,
			.ranks_per_host = 3,
			.collectives = STEPS,
			.work_ms = 100,
			.noise_ms = 1,
			.noise = whole ? MODEL_NORMAL : MODEL_STALLS,
			.plants = {{whole ? 9 : 10, whole ? 11 : 10, 500, 15, 29, 10}},
			.seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.nr_groups, whole);
		assert_int_equal(model_count_named(&result), !whole);
		if (whole)
			assert_group(&result, STRAGGLER_GROUP_HOST, 3, 3);
		else
			assert_int_not_equal(result.ranks[10].ground, STRAGGLER_NOT_NAMED);
		model_free(&result);
	}
}

/* One of its two ranks pauses again and again, the other one stalls once, for longer. */
static void one_stall_makes_no_host_of_a_rank_with_lumps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		const struct model model = {
			.ranks = 24,
			.ranks_per_host = 2,
			.collectives = STEPS,
			.work_ms = 100,
			.noise_ms = 2,
			.plants = {{2, 2, 400, 15, 29, 10}, {3, 3, 1500, 118, 0, 1}},
			.seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.nr_groups, 0);
		assert_int_equal(model_count_named(&result), 1);
		assert_int_not_equal(result.ranks[2].ground, STRAGGLER_NOT_NAMED);
		model_free(&result);
	}
}

/* In 2 % of the steps of each rank a burst of three steps begins that take up to twice as long. */
static void add_bursts(const struct model *model, double *work)
{
	uint64_t seed = model->seed + 1000;

	for (uint32_t j = 0; j < model->ranks; j++)
		for (uint32_t i = 0, left = 0; i < model->collectives; i++) {
			left = left > 0 ? left - 1 : job_uniform(&seed) < 0.02 ? 3 : 0;
			if (left > 0)
				work[(size_t)i * model->ranks + j] +=
					model->work_ms * job_uniform(&seed);
		}
}

/* The other rank of its host has bursts of its own in the costliest stretches. */
static void a_phase_of_a_rank_is_not_its_hosts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		const struct model model = {.ranks = 12,
					    .ranks_per_host = 2,
					    .collectives = 1000,
					    .work_ms = 84,
					    .noise_ms = 1.3,
					    .plants = {{2, 2, 15, 450, 0, 0}},
					    .seed = seed};
		double *work = model_work(&model);

		add_bursts(&model, work);
		struct model_result result = model_play_work(&model, work);

		assert_int_equal(result.nr_groups, 0);
		for (uint32_t i = 0; i < model.ranks; i++)
			if (i != 2)
				assert_int_equal(result.ranks[i].ground, STRAGGLER_NOT_NAMED);
		model_free(&result);
		free(work);
	}
}

/* Its neighbour has bursts of its own. Among many collectives these are as much as a lump in one of them. */
static void bursts_beside_a_rank_with_lumps_make_no_host_of_it(void **state)
{
	static const uint64_t seeds[] = {26, 66, 141}; /* those of 200 in which chance helps most */

	(void)state;
	for (uint32_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		const struct model model = {.ranks = 6,
					    .ranks_per_host = 2,
					    .collectives = 2000,
					    .work_ms = 7,
					    .noise_ms = 0.3,
					    .plants = {{5, 5, 18, 20, 60, 0}},
					    .seed = seeds[i]};
		double *work = model_work(&model);

		add_bursts(&model, work);
		struct model_result result = model_play_work(&model, work);

		assert_int_equal(result.nr_groups, 0);
		assert_int_not_equal(result.ranks[5].ground, STRAGGLER_NOT_NAMED);
		model_free(&result);
		free(work);
	}
}

static void a_twentieth_of_the_steps_is_enough(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = seed % 2 ? 400 : 3000,
					    .work_ms = 10,
					    .noise_ms = 0.2,
					    .plants = {{3, 3, 20, 7, 20, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_int_not_equal(result.ranks[3].ground, STRAGGLER_NOT_NAMED);
		assert_int_equal(model_count_named(&result), 1);
		model_free(&result);
	}
}

/* The late one is in what the other two are compared with. */
static void of_three_ranks_one_may_be_late_from_the_middle_on(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct model model = {.ranks = 3,
					    .ranks_per_host = 3,
					    .collectives = STEPS,
					    .work_ms = 100,
					    .noise_ms = 3,
					    .plants = {{1, 1, 20, STEPS / 2, 0, 0}},
					    .seed = seed};
		struct model_result result = model_play(&model);

		assert_int_not_equal(result.ranks[1].ground, STRAGGLER_NOT_NAMED);
		assert_int_equal(model_count_named(&result), 1);
		assert_int_equal(result.nr_groups, 0);
		model_free(&result);
	}
}

static void one_stall_is_a_fact_about_the_run(void **state)
{
	const struct model model = {.ranks = 8,
				    .ranks_per_host = 8,
				    .collectives = STEPS,
				    .work_ms = 6,
				    .noise_ms = 0.1,
				    .plants = {{0, 0, 2000, 150, 0, 1}},
				    .seed = 2};

	(void)state;
	struct model_result result = model_play(&model);

	assert_int_equal(result.ranks[0].ground, STRAGGLER_STALL);
	assert_true(result.ranks[0].lump_from <= 150 && result.ranks[0].lump_to > 150);
	assert_true(result.ranks[0].lump_ns > 7 * 1990000000ull);
	assert_int_equal(model_count_named(&result), 1);
	model_free(&result);
}

/* Ranks 4 to 7 of a host stop together; or rank 5 of it alone. */
static void a_stall_of_a_host_is_the_hosts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const bool whole = seed % 2;
		const struct model model = {
			.ranks = 16,
			.ranks_per_host = 4,
			.collectives = STEPS,
			.work_ms = 6,
			.noise_ms = 0.3,
			.plants = {{whole ? 4 : 5, whole ? 7 : 5, 2000, 150, 0, 1}},
			.seed = seed};
		struct model_result result = model_play(&model);

		assert_int_equal(result.nr_groups, whole);
		assert_int_equal(model_count_named(&result), !whole);
		if (whole) {
			assert_int_equal(result.groups[0].kind, STRAGGLER_GROUP_HOST);
			assert_int_equal(result.groups[0].nr_members, 4);
			assert_int_equal(result.groups[0].members[0], 4);
			assert_int_equal(result.groups[0].found.ground, STRAGGLER_STALL);
		}
		model_free(&result);
	}
}

/* Nine tests are made: of eight ranks, and of two parts. 1/8^6 is less than 0.0001 / 9, and 1/8^5 is more. */
static void six_collectives_of_eight_ranks_are_the_least(void **state)
{
	(void)state;
	for (uint32_t count = 5; count <= 6; count++) {
		const struct model model = {.ranks = 8,
					    .ranks_per_host = 8,
					    .collectives = count,
					    .work_ms = 100,
					    .noise_ms = 0.1,
					    .plants = {{3, 3, 50, 0, 0, 0}},
					    .seed = 1};
		struct model_result result = model_play(&model);

		assert_int_equal(result.ranks[3].ground,
				 count == 6 ? STRAGGLER_FREQUENCY : STRAGGLER_NOT_NAMED);
		model_free(&result);
	}
}

static void of_equal_hosts_none_is_named(void **state)
{
	static const double noises[] = {1, 5, 20, 40}, drifts[] = {0, 0.5, 0.95};
	static const uint32_t ranks[] = {4, 8, 16, 32};

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++)
		for (uint32_t i = 0; i < 4 * 3 * 3 * 4; i++) {
			const struct model model = {.ranks = ranks[i / 36],
						    .ranks_per_host =
							    ranks[i / 36] / (i % 2 ? 4 : 2),
						    .collectives = STEPS,
						    .work_ms = 100,
						    .noise_ms = noises[i % 4],
						    .drift = drifts[i / 4 % 3],
						    .noise = i / 12 % 3,
						    .seed = seed * 1000 + i};
			struct model_result result = model_play(&model);

			assert_int_equal(model_count_named(&result), 0);
			assert_int_equal(result.nr_groups, 0);
			model_free(&result);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_host_among_any_number_is_named),
		cmocka_unit_test(hosts_of_a_switch_are_named_as_one),
		cmocka_unit_test(a_group_of_one_host_is_that_host),
		cmocka_unit_test(a_late_half_is_named_as_a_part),
		cmocka_unit_test(equally_late_hosts_are_named_as_a_part),
		cmocka_unit_test(a_later_host_of_a_part_is_named_by_itself),
		cmocka_unit_test(each_rank_outside_of_a_group_waited_so_long),
		cmocka_unit_test(a_single_late_rank_makes_no_late_host),
		cmocka_unit_test(a_local_rank_of_all_hosts_is_named),
		cmocka_unit_test(of_three_ranks_one_may_be_late_from_the_middle_on),
		cmocka_unit_test(lumps_of_a_host_are_those_of_most_of_its_ranks),
		cmocka_unit_test(one_stall_makes_no_host_of_a_rank_with_lumps),
		cmocka_unit_test(bursts_beside_a_rank_with_lumps_make_no_host_of_it),
		cmocka_unit_test(a_twentieth_of_the_steps_is_enough),
		cmocka_unit_test(a_phase_of_a_rank_is_not_its_hosts),
		cmocka_unit_test(one_stall_is_a_fact_about_the_run),
		cmocka_unit_test(a_stall_of_a_host_is_the_hosts),
		cmocka_unit_test(six_collectives_of_eight_ranks_are_the_least),
		cmocka_unit_test(of_equal_hosts_none_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
