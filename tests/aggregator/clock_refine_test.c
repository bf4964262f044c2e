#include "aggregator/clock_refine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S     1000000000ll
#define US    1000ll
#define CALLS 200u

static struct clock_refine_pair pairs[CALLS];
static const struct clock_refine_result nothing = {.bound_ns = 60 * S};

static uint64_t next_random(void)
{
	static uint64_t state = 12345;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Ends that are at most spread_ns apart; of each tenth late the first host was preempted for up to 5 ms. */
static void make(int64_t offset_ns, uint64_t spread_ns, uint32_t late_tenths)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t end_ns = (uint64_t)(100 * S + i * 10000 * US);

		pairs[i].second_ns = end_ns + next_random() % (spread_ns / 2 + 1);
		pairs[i].first_ns =
			end_ns + (uint64_t)offset_ns + next_random() % (spread_ns / 2 + 1);
		if (i % 10 < late_tenths)
			pairs[i].first_ns += 200 * US + next_random() % (5000 * US);
	}
}

static void assert_holds(int64_t offset_ns, const struct clock_refine_result *result)
{
	int64_t off_ns = result->offset_ns - offset_ns;

	assert_true((uint64_t)(off_ns < 0 ? -off_ns : off_ns) <= result->bound_ns);
}

static void the_offset_is_found_within_the_bound(void **state)
{
	static const int64_t offsets[] = {0, 5 * S, -5 * S, 123456};
	struct clock_refine_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		make(offsets[i], 8 * US, 0);
		assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &nothing, &result), 0);
		assert_holds(offsets[i], &result);
		assert_in_range(result.bound_ns, 4 * US, 9 * US);
		assert_int_equal(result.nr_used, CALLS / 2 + 1);
	}
}

static void calls_that_were_noticed_late_do_not_move_it(void **state)
{
	struct clock_refine_result result;

	(void)state;
	make(-3 * S, 8 * US, 4);
	assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &nothing, &result), 0);
	assert_holds(-3 * S, &result);
	assert_in_range(result.bound_ns, 4 * US, 9 * US);
}

static void what_is_known_is_refined_and_never_widened(void **state)
{
	const struct clock_refine_result known = {.offset_ns = 5 * S + 40 * US,
						  .bound_ns = 45 * US};
	const struct clock_refine_result narrow = {.offset_ns = 5 * S, .bound_ns = 1 * US};
	struct clock_refine_result result;

	(void)state;
	make(5 * S, 8 * US, 2);
	assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &known, &result), 0);
	assert_holds(5 * S, &result);
	assert_true(result.bound_ns < known.bound_ns);
	assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &narrow, &result), 0);
	assert_true(result.bound_ns <= narrow.bound_ns);
}

static void pairs_that_contradict_what_is_known_are_not_believed(void **state)
{
	const struct clock_refine_result known = {.offset_ns = -S, .bound_ns = 45 * US};
	struct clock_refine_result result;

	(void)state;
	make(5 * S, 8 * US, 0);
	assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &known, &result), -ERANGE);
	assert_int_equal(result.offset_ns, known.offset_ns);
	assert_int_equal(result.bound_ns, known.bound_ns);
}

static void too_few_or_hostile_pairs_change_nothing(void **state)
{
	struct clock_refine_result result;

	(void)state;
	make(0, 8 * US, 0);
	assert_int_equal(clock_refine(pairs, CLOCK_REFINE_PAIRS_MIN - 1, 0, &nothing, &result),
			 -EINVAL);
	assert_int_equal(result.bound_ns, nothing.bound_ns);
	assert_int_equal(clock_refine(pairs, CLOCK_REFINE_PAIRS_MAX + 1, 0, &nothing, &result),
			 -EINVAL);
	assert_int_equal(clock_refine(pairs, CALLS, UINT64_MAX, &nothing, &result), -EINVAL);
	for (uint32_t i = 0; i < CALLS; i++)
		pairs[i] =
			(struct clock_refine_pair){i % 2 ? UINT64_MAX : 0, i % 2 ? 0 : UINT64_MAX};
	assert_int_equal(clock_refine(pairs, CALLS, 4 * US, &nothing, &result),
			 0); /* as far apart as can be */
	assert_int_equal(result.bound_ns, nothing.bound_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_offset_is_found_within_the_bound),
		cmocka_unit_test(calls_that_were_noticed_late_do_not_move_it),
		cmocka_unit_test(what_is_known_is_refined_and_never_widened),
		cmocka_unit_test(pairs_that_contradict_what_is_known_are_not_believed),
		cmocka_unit_test(too_few_or_hostile_pairs_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
