#include "tests/support/cmocka_test.h"

#include "node-agent/kernel/stack_budget.h"

#define MS 1000000ull

static void with_room_in_the_buffer_stacks_take_what_they_need(void **state)
{
	struct stack_budget budget = {0};

	(void)state;
	stack_budget_spend(&budget, 1000 * MS, 900 * MS);
	stack_budget_spend(&budget, 2000 * MS, 900 * MS);
	assert_true(stack_budget_allows(&budget, 2000 * MS, 0));
	assert_true(stack_budget_allows(&budget, 2000 * MS, STACK_BUDGET_CROWDED - 1));
	assert_false(stack_budget_allows(&budget, 2000 * MS, STACK_BUDGET_CROWDED));
}

static void in_a_crowded_buffer_a_process_has_a_fifth_of_the_time(void **state)
{
	struct stack_budget budget = {0};
	uint64_t now_ns = 5000 * MS, taken = 0;

	(void)state;
	/* It would take all of the time: each millisecond for itself. */
	for (int i = 0; i < 10000; i++) {
		now_ns += MS;
		if (stack_budget_allows(&budget, now_ns, STACK_BUDGET_CROWDED)) {
			stack_budget_spend(&budget, now_ns, MS);
			taken++;
		}
	}
	assert_in_range(taken, 2000, 2000 + STACK_BUDGET_AHEAD_NS / MS);
}

static void who_takes_less_is_always_allowed(void **state)
{
	struct stack_budget budget = {0};
	uint64_t now_ns = 5000 * MS;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		now_ns += MS;
		assert_true(stack_budget_allows(&budget, now_ns, STACK_BUDGET_CROWDED));
		stack_budget_spend(&budget, now_ns, MS / 6);
	}
}

static void nobody_is_allowed_when_the_buffer_is_nearly_full(void **state)
{
	struct stack_budget budget = {0};

	(void)state;
	assert_true(stack_budget_allows(&budget, MS, STACK_BUDGET_FULL - 1));
	assert_false(stack_budget_allows(&budget, MS, STACK_BUDGET_FULL));
	assert_false(stack_budget_allows(&budget, MS, 100));
	assert_true(stack_budget_allows(&budget, MS, 10));
}

static void a_clock_that_stands_still_or_steps_back_pays_nothing(void **state)
{
	struct stack_budget budget = {0};

	(void)state;
	stack_budget_spend(&budget, 1000 * MS, STACK_BUDGET_AHEAD_NS);
	assert_false(stack_budget_allows(&budget, 1000 * MS, STACK_BUDGET_CROWDED));
	assert_false(stack_budget_allows(&budget, 0, STACK_BUDGET_CROWDED));
	assert_true(stack_budget_allows(&budget, 1001 * MS, STACK_BUDGET_CROWDED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_room_in_the_buffer_stacks_take_what_they_need),
		cmocka_unit_test(in_a_crowded_buffer_a_process_has_a_fifth_of_the_time),
		cmocka_unit_test(who_takes_less_is_always_allowed),
		cmocka_unit_test(nobody_is_allowed_when_the_buffer_is_nearly_full),
		cmocka_unit_test(a_clock_that_stands_still_or_steps_back_pays_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
