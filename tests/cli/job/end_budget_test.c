#include "cli/job/end_budget.h"

#include "tests/support/cmocka_test.h"

#define SECOND 1000000000ull

static void what_came_before_the_last_round_is_part_of_the_time(void **state)
{
	const struct end_budget budget = {.since_ns = SECOND, .limit_ms = END_BUDGET_MS};

	(void)state;
	assert_int_equal(end_budget_left_ms(&budget, SECOND), END_BUDGET_MS);
	assert_int_equal(end_budget_left_ms(&budget, 2 * SECOND), END_BUDGET_MS - 1000);
}

static void the_last_round_always_has_some_time(void **state)
{
	const struct end_budget budget = {.since_ns = SECOND, .limit_ms = END_BUDGET_MS};

	(void)state;
	assert_int_equal(
		end_budget_left_ms(&budget,
				   SECOND + (END_BUDGET_MS - END_BUDGET_ROUND_MS) * 1000000ull),
		END_BUDGET_ROUND_MS);
	assert_int_equal(end_budget_left_ms(&budget, 100 * SECOND), END_BUDGET_ROUND_MS);
}

static void without_an_aggregator_nothing_is_waited_for(void **state)
{
	const struct end_budget budget = {.since_ns = SECOND};

	(void)state;
	assert_int_equal(end_budget_left_ms(&budget, SECOND), 0);
	assert_int_equal(end_budget_left_ms(&budget, 100 * SECOND), 0);
}

static void a_time_before_the_beginning_counts_as_the_beginning(void **state)
{
	const struct end_budget budget = {.since_ns = 5 * SECOND, .limit_ms = END_BUDGET_MS};

	(void)state;
	assert_int_equal(end_budget_left_ms(&budget, SECOND), END_BUDGET_MS);
}

static void a_time_that_is_over_leaves_no_wait(void **state)
{
	(void)state;
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, SECOND), 1500);
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, SECOND - 1), 1500);
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, 2 * SECOND), 500);
	/* poll() must not end before the time */
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, 2 * SECOND + 1), 500);
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, 5 * SECOND / 2), 0);
	assert_int_equal(end_budget_timeout_ms(SECOND, 1500, 100 * SECOND), 0);
}

/* Each part of the end is within the one before. */
static void no_wait_follows_another(void **state)
{
	(void)state;
	assert_true(END_BUDGET_MS < 2000);
	assert_true(END_BUDGET_STORE_MS < END_BUDGET_MS);
	assert_true(END_BUDGET_SEND_MS < END_BUDGET_STORE_MS);
	assert_true(END_BUDGET_ROUND_MS < END_BUDGET_SEND_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_came_before_the_last_round_is_part_of_the_time),
		cmocka_unit_test(the_last_round_always_has_some_time),
		cmocka_unit_test(without_an_aggregator_nothing_is_waited_for),
		cmocka_unit_test(a_time_before_the_beginning_counts_as_the_beginning),
		cmocka_unit_test(a_time_that_is_over_leaves_no_wait),
		cmocka_unit_test(no_wait_follows_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
