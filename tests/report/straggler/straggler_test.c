#include "report/lateness/straggler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/profile/collective_fold.h"
#include "report/statistics/binomial.h"
#include "straggler_fixture.h"

#define MS 1000000.0

static void assert_near(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-9 * fabs(wanted))
		fail_msg("%.17g, not %.17g", value, wanted);
}

static void the_tail_is_that_of_the_binomial_distribution(void **state)
{
	(void)state;
	assert_near(binomial_tail(0, 10, 0.125), 1);
	assert_near(binomial_tail(10, 10, 0.5), 1.0 / 1024);
	assert_near(binomial_tail(9, 10, 0.5), 11.0 / 1024);
	assert_near(binomial_tail(1, 3, 0.25), 37.0 / 64);
	/* 1 - sum over k < 30 of C(100, k) 0.125^k 0.875^(100 - k), by exact arithmetic. */
	assert_near(binomial_tail(30, 100, 0.125), 3.026014086690451e-06);
	assert_true(binomial_tail(100000, 100000, 0.125) <= 0);
	assert_true(binomial_tail(100000, 1000000, 0.125) > 0.999999);
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The exact median, and what else is added up of each rank. */
static void add_up(const uint64_t *times, uint32_t collectives, struct collective_fold *fold,
		   struct straggler_subject *found)
{
	const uint32_t ranks = fold->nr_members;
	uint64_t *behind = calloc((size_t)ranks * collectives + 1, sizeof(*behind));
	uint32_t *order = calloc(ranks, sizeof(*order));

	for (uint32_t i = 0; i < collectives; i++) {
		struct collective_fold_waits waits;

		collective_fold_compare(fold, times + (size_t)i * ranks, order, &waits);
		for (uint32_t j = 0; j < ranks; j++)
			found[j].waited_ns += times[(size_t)i * ranks + j] - waits.least_ns;
		if (waits.last == COLLECTIVE_FOLD_NONE)
			continue;
		struct straggler_subject *last = &found[waits.last];
		behind[(size_t)waits.last * collectives + last->last++] = waits.behind_ns;
		last->others_ns += waits.waited_ns;
	}
	for (uint32_t j = 0; j < ranks; j++) {
		uint64_t *own = behind + (size_t)j * collectives, count = found[j].last;

		qsort(own, count, sizeof(*own), compare_numbers);
		found[j].behind_ns = count ? (own[(count - 1) / 2] + own[count / 2]) / 2 : 0;
	}
	free(behind);
	free(order);
}

static struct straggler_subject *find(const uint64_t *times, uint32_t collectives, uint32_t ranks,
				      uint64_t span_ns)
{
	struct collective_fold fold = {.nr_ranks = COLLECTIVE_NOT_KNOWN};
	struct straggler_subject *found = calloc(ranks, sizeof(*found));

	for (uint32_t i = 0; i < ranks; i++) {
		const struct communicator end = {
			.communicator_id = 1, .rank = i, .nr_ranks = ranks};

		assert_int_equal(collective_fold_add(&fold, i + 1, &end), 0);
	}
	add_up(times, collectives, &fold, found);
	uint32_t *each = calloc(ranks, sizeof(*each));
	for (uint32_t i = 0; i < ranks; i++)
		each[i] = i;
	const struct straggler_input input = {.fold = &fold,
					      .trials = fold.used,
					      .span_ns = span_ns,
					      .run_ns = span_ns,
					      .nr_tests = ranks,
					      .division = {each, ranks}};
	assert_int_equal(straggler_find(&input, found), 0);
	free(each);
	collective_fold_fini(&fold);
	return found;
}

static void waits_are_added_up_as_defined(void **state)
{
	const uint64_t times[] = {
		10, 30, 20, /* rank 0 last: others waited 20 + 10 */
		40, 5,  15, /* rank 1: 35 + 10 */
		7,  7,  9,  /* nobody alone */
		1,  5,  9,  /* rank 0: 4 + 8 */
	};

	(void)state;
	struct straggler_subject *found = find(times, 4, 3, 100);

	assert_int_equal(found[0].last, 2);
	assert_int_equal(found[1].last, 1);
	assert_int_equal(found[2].last, 0);
	assert_int_equal(found[0].others_ns, 42);
	assert_int_equal(found[1].others_ns, 45);
	assert_int_equal(found[0].waited_ns, 35);
	assert_int_equal(found[1].waited_ns, 24);
	assert_int_equal(found[2].waited_ns, 30);
	assert_int_equal(found[0].behind_ns, 7); /* of 10 and 4 */
	assert_int_equal(found[1].behind_ns, 10);
	/* (25 - 10) + (10 - 40) + (8 - 7) + (7 - 1), by 4 */
	assert_int_equal(found[0].late_ns, -2);
	assert_near(found[0].share, 42.0 / 2 / 100);
	assert_near(found[0].p, binomial_tail(2, 4, 1.0 / 3));
	for (uint32_t i = 0; i < 3; i++)
		assert_false(found[i].ground);
	free(found);
}

static void no_collective_names_nobody(void **state)
{
	(void)state;
	struct straggler_subject *found = find(NULL, 0, 4, 0);

	for (uint32_t i = 0; i < 4; i++) {
		assert_false(found[i].ground);
		assert_int_equal(found[i].last, 0);
	}
	free(found);
}

struct model {
	uint32_t collectives, ranks;
	double noise_ms;              /* of each rank in each collective */
	double drift;                 /* of which so much stays until the next */
	uint32_t late_rank, from, to; /* of these collectives; to 0: to the end */
	double late_ms;
	uint64_t seed;
};

/* Each collective takes 100 ms of work and the waiting for the last, and 2 ms of its own. */
static struct straggler_subject *play(const struct model *model)
{
	uint64_t seed = model->seed;
	uint64_t *times = calloc((size_t)model->collectives * model->ranks, sizeof(*times));
	double *work = calloc(model->ranks, sizeof(*work));
	double *state = calloc(model->ranks, sizeof(*state)), span = 0;

	for (uint32_t i = 0; i < model->collectives; i++) {
		double last = 0;

		for (uint32_t j = 0; j < model->ranks; j++) {
			state[j] = model->drift * state[j] +
				   sqrt(1 - model->drift * model->drift) * job_normal(&seed);
			work[j] = 100 + model->noise_ms * state[j];
			if (j == model->late_rank && i >= model->from &&
			    (!model->to || i < model->to))
				work[j] += model->late_ms;
			last = work[j] > last ? work[j] : last;
		}
		for (uint32_t j = 0; j < model->ranks; j++)
			times[i * model->ranks + j] = (uint64_t)((last - work[j] + 2) * MS);
		span += last + 2;
	}
	struct straggler_subject *found =
		find(times, model->collectives, model->ranks, (uint64_t)(span * MS));
	free(times);
	free(work);
	free(state);
	return found;
}

static uint32_t count_named(const struct straggler_subject *found, uint32_t ranks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ranks; i++)
		count += found[i].ground != STRAGGLER_NOT_NAMED;
	return count;
}

static void of_equal_ranks_none_is_named(void **state)
{
	static const uint32_t ranks[] = {2, 4, 8, 16, 64};
	static const double noises[] = {0.5, 5, 20}, drifts[] = {0, 0.5, 0.95};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (size_t i = 0; i < 5; i++)
			for (size_t j = 0; j < 9; j++) {
				const struct model model = {.collectives = 300,
							    .ranks = ranks[i],
							    .noise_ms = noises[j / 3],
							    .drift = drifts[j % 3],
							    .seed = seed * 77};
				struct straggler_subject *found = play(&model);

				assert_int_equal(count_named(found, ranks[i]), 0);
				free(found);
			}
}

static void one_that_is_late_is_named_and_no_other(void **state)
{
	static const uint32_t ranks[] = {2, 3, 4, 8, 16, 64};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (size_t i = 0; i < 6; i++) {
			const struct model model = {.collectives = 200,
						    .ranks = ranks[i],
						    .noise_ms = 2,
						    .drift = 0.3,
						    .late_rank = (uint32_t)seed % ranks[i],
						    .late_ms = 10,
						    .seed = seed};
			struct straggler_subject *found = play(&model);

			assert_true(found[model.late_rank].ground);
			assert_int_equal(count_named(found, ranks[i]), 1);
			assert_true(fabs((double)found[model.late_rank].late_ns / MS - 10) < 1);
			free(found);
		}
}

static void one_that_becomes_late_in_the_middle_is_named(void **state)
{
	const struct model model = {.collectives = 400,
				    .ranks = 8,
				    .noise_ms = 2,
				    .late_rank = 6,
				    .from = 200,
				    .late_ms = 12,
				    .seed = 5};

	(void)state;
	struct straggler_subject *found = play(&model);

	assert_true(found[6].ground);
	assert_int_equal(count_named(found, 8), 1);
	free(found);
}

static void one_that_is_late_for_a_while_is_named_with_its_phase(void **state)
{
	static const uint32_t ranks[] = {3, 4, 8, 16, 64}, shares[] = {5, 5, 8, 8, 8};
	uint32_t phases = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (size_t i = 0; i < 5; i++) {
			const uint32_t from = 1000 + (uint32_t)seed * 100,
				       length = 8000 / shares[i];
			const struct model model = {.collectives = 8000,
						    .ranks = ranks[i],
						    .noise_ms = 3,
						    .drift = 0.5,
						    .late_rank = (uint32_t)seed % ranks[i],
						    .from = from,
						    .to = from + length,
						    .late_ms = 40,
						    .seed = seed};
			struct straggler_subject *found = play(&model);
			const struct straggler_subject *late = &found[model.late_rank];

			assert_true(late->ground);
			assert_int_equal(count_named(found, ranks[i]), 1);
			if (late->ground == STRAGGLER_PHASE) {
				/* buckets are of 64 or 128 collectives */
				assert_true(labs((long)late->lump_from - (long)from) <= 128);
				assert_true(labs((long)late->lump_to - (long)(from + length)) <=
					    128);
				phases++;
			}
			free(found);
		}
	/* Others are named by another ground, which holds as well. */
	assert_true(phases >= 50);
}

/* Small noise that lasts makes neighbouring stretches alike. It says nothing of stops that are far longer. */
static void stops_of_one_rank_are_named_in_noise_that_lasts(void **state)
{
	enum { COLLECTIVES = 3000, RANKS = 4, STOPS = 20 };
	uint64_t *times = calloc(COLLECTIVES * RANKS, sizeof(*times));

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t random = seed;
		double noise[RANKS] = {0}, span = 0;

		for (uint32_t i = 0; i < COLLECTIVES; i++) {
			double work[RANKS], last = 0;

			for (uint32_t j = 0; j < RANKS; j++) {
				noise[j] = 0.98 * noise[j] + 0.2 * job_normal(&random);
				work[j] = 4 + 0.3 * noise[j];
				if (j == 2 && i % (COLLECTIVES / STOPS) == 77)
					work[j] += 300;
				work[j] = work[j] > 1 ? work[j] : 1;
				last = work[j] > last ? work[j] : last;
			}
			for (uint32_t j = 0; j < RANKS; j++)
				times[i * RANKS + j] = (uint64_t)((last - work[j] + 0.1) * MS);
			span += last + 0.1;
		}
		struct straggler_subject *found =
			find(times, COLLECTIVES, RANKS, (uint64_t)(span * MS));
		assert_int_equal(found[2].ground, STRAGGLER_LUMPS);
		assert_int_equal(count_named(found, RANKS), 1);
		free(found);
	}
	free(times);
}

static void one_long_hiccup_is_a_stall_and_many_in_a_row_are_a_phase(void **state)
{
	enum { COLLECTIVES = 1000, RANKS = 8 };
	static const struct {
		uint32_t late; /* collectives */
		uint64_t late_ms;
		enum straggler_ground ground;
	} cases[] = {{1, 100000, STRAGGLER_STALL}, {100, 1000, STRAGGLER_PHASE}};
	uint64_t *times = calloc(COLLECTIVES * RANKS, sizeof(*times));

	(void)state;
	/* Rank 2 is late by 100 s: in one collective, or in a tenth of the run. */
	for (size_t k = 0; k < 2; k++) {
		uint64_t seed = 3;

		for (uint32_t i = 0; i < COLLECTIVES; i++)
			for (uint32_t j = 0; j < RANKS; j++)
				times[i * RANKS + j] =
					(uint64_t)((5 + job_uniform(&seed)) * MS) +
					(i < cases[k].late && j != 2 ? cases[k].late_ms * 1000000
								     : 0);
		struct straggler_subject *found = find(times, COLLECTIVES, RANKS, 200000000000ull);

		assert_true(found[2].share > 0.02);
		assert_int_equal(found[2].ground, cases[k].ground);
		assert_int_equal(count_named(found, RANKS), 1);
		assert_true(found[2].lump_to >= cases[k].late &&
			    found[2].lump_to < cases[k].late + 50);
		free(found);
	}
	free(times);
}

/* Of two ranks, chance explains how often one is the later in a phase: there are too few stretches. What the phase costs
 * is a fact. In the rest of the run rank 0 is a little later. */
static void one_of_two_that_is_late_for_a_while_is_named(void **state)
{
	enum { COLLECTIVES = 9000, FROM = 2700, TO = 6300 };
	uint64_t *times = calloc(COLLECTIVES * 2, sizeof(*times));

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t random = seed;
		double noise[2] = {0}, span = 0;

		for (uint32_t i = 0; i < COLLECTIVES; i++) {
			double work[2];

			for (uint32_t j = 0; j < 2; j++) {
				noise[j] = 0.9 * noise[j] + 0.1 * job_normal(&random);
				work[j] = 4 + noise[j] + (j == 0 ? 0.3 : 0);
			}
			work[1] += i >= FROM && i < TO ? 2 : 0;
			const double last = work[0] > work[1] ? work[0] : work[1];
			for (uint32_t j = 0; j < 2; j++)
				times[i * 2 + j] = (uint64_t)((last - work[j] + 0.05) * MS);
			span += last + 0.05;
		}
		struct straggler_subject *found =
			find(times, COLLECTIVES, 2, (uint64_t)(span * MS));

		assert_int_equal(found[1].ground, STRAGGLER_PHASE);
		assert_true(labs((long)found[1].lump_from - FROM) <= 128);
		assert_true(labs((long)found[1].lump_to - TO) <= 128);
		assert_false(found[0].ground);
		free(found);
	}
	free(times);
}

/* Each rank in one of a hundred collectives stalls for a while, as on a machine that others use, too. */
static struct straggler_subject *play_stalls(uint64_t seed, double late_ms)
{
	enum { COLLECTIVES = 300, RANKS = 8 };
	uint64_t *times = calloc(COLLECTIVES * RANKS, sizeof(*times));
	double work[RANKS], span = 0;

	for (uint32_t i = 0; i < COLLECTIVES; i++) {
		double last = 0;

		for (uint32_t j = 0; j < RANKS; j++) {
			work[j] = 20 + 0.1 * job_normal(&seed) + (j == 3 ? late_ms : 0);
			if (job_uniform(&seed) < 0.01)
				work[j] += 5 + 100 * job_uniform(&seed);
			last = work[j] > last ? work[j] : last;
		}
		for (uint32_t j = 0; j < RANKS; j++)
			times[i * RANKS + j] = (uint64_t)((last - work[j] + 0.02) * MS);
		span += last;
	}
	struct straggler_subject *found = find(times, COLLECTIVES, RANKS, (uint64_t)(span * MS));
	free(times);
	return found;
}

static void stalls_of_all_ranks_neither_hide_one_nor_name_one(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct straggler_subject *found = play_stalls(seed, 1.5);

		assert_true(found[3].ground);
		assert_int_equal(count_named(found, 8), 1);
		free(found);
		found = play_stalls(seed, 0);
		assert_int_equal(count_named(found, 8), 0);
		free(found);
	}
}

/* Noise that lasts makes collectives follow one another, but none of this size makes a rank so late. */
static void lasting_noise_hides_nobody_who_is_later_than_it(void **state)
{
	const uint32_t steps = 60, ranks = 8;
	const double noise_ms[] = {0, 0.01, 0.3};

	(void)state;
	for (uint32_t i = 0; i < sizeof(noise_ms) / sizeof(*noise_ms); i++) {
		uint64_t *times = calloc((size_t)steps * ranks, sizeof(*times)), seed = 11;
		double drift[8] = {0};

		for (uint32_t step = 0; step < steps; step++)
			for (uint32_t rank = 0; rank < ranks; rank++) {
				drift[rank] =
					0.99 * drift[rank] + 0.14 * noise_ms[i] * job_normal(&seed);
				times[(size_t)step * ranks + rank] =
					(uint64_t)((30 - drift[rank] - (rank == 5 ? 20 : 0)) * MS);
			}
		struct straggler_subject *found =
			find(times, steps, ranks, (uint64_t)(steps * 100 * MS));
		for (uint32_t rank = 0; rank < ranks; rank++)
			assert_int_equal(found[rank].ground,
					 rank == 5 ? STRAGGLER_FREQUENCY : STRAGGLER_NOT_NAMED);
		free(found);
		free(times);
	}
}

static void what_costs_nothing_is_not_named(void **state)
{
	const struct model model = {.collectives = 500,
				    .ranks = 8,
				    .noise_ms = 0.1,
				    .late_rank = 1,
				    .late_ms = 1,
				    .seed = 9};

	(void)state;
	struct straggler_subject *found = play(&model);

	assert_true(found[1].last > 490);
	assert_true(found[1].p < 1e-20);
	assert_true(found[1].z > 3.5);
	assert_true(found[1].share < 0.02);
	assert_false(found[1].ground);
	free(found);
}

static void too_few_collectives_are_no_evidence(void **state)
{
	struct model model = {.ranks = 8, .noise_ms = 1, .late_rank = 1, .late_ms = 50, .seed = 1};

	(void)state;
	for (model.collectives = 1; model.collectives < 30; model.collectives++) {
		struct straggler_subject *found = play(&model);

		/* (1/8)^n < 1e-4 / 8 from six on. */
		assert_int_equal(found[1].ground, model.collectives >= 6);
		assert_int_equal(found[1].doubt,
				 model.collectives < 6 ? STRAGGLER_TOO_FEW : STRAGGLER_NO_DOUBT);
		assert_false(found[0].doubt && model.collectives >= 6);
		assert_int_equal(count_named(found, 8), found[1].ground);
		free(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tail_is_that_of_the_binomial_distribution),
		cmocka_unit_test(waits_are_added_up_as_defined),
		cmocka_unit_test(no_collective_names_nobody),
		cmocka_unit_test(of_equal_ranks_none_is_named),
		cmocka_unit_test(one_that_is_late_is_named_and_no_other),
		cmocka_unit_test(one_that_becomes_late_in_the_middle_is_named),
		cmocka_unit_test(one_that_is_late_for_a_while_is_named_with_its_phase),
		cmocka_unit_test(stops_of_one_rank_are_named_in_noise_that_lasts),
		cmocka_unit_test(one_long_hiccup_is_a_stall_and_many_in_a_row_are_a_phase),
		cmocka_unit_test(one_of_two_that_is_late_for_a_while_is_named),
		cmocka_unit_test(stalls_of_all_ranks_neither_hide_one_nor_name_one),
		cmocka_unit_test(lasting_noise_hides_nobody_who_is_later_than_it),
		cmocka_unit_test(what_costs_nothing_is_not_named),
		cmocka_unit_test(too_few_collectives_are_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
