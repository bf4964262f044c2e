#include "tests/support/cmocka_test.h"

#include "aggregator/core/raw_budget.h"

#define WINDOW RAW_BUDGET_WINDOW_NS

static void an_aggregator_takes_the_events_of_32_agents(void **state)
{
	const struct raw_budget budget = {0};

	(void)state;
	assert_true(raw_budget_has_room(&budget, 0, false));
	assert_true(raw_budget_has_room(&budget, RAW_BUDGET_AGENTS - 1, false));
	assert_false(raw_budget_has_room(&budget, RAW_BUDGET_AGENTS, false));
	assert_false(raw_budget_has_room(&budget, UINT64_MAX, false));
}

static void none_is_taken_while_commits_are_slow_or_fail(void **state)
{
	const struct raw_budget budget = {0};

	(void)state;
	assert_false(raw_budget_has_room(&budget, 0, true));
}

/* cpu_ns: in three windows, one after the other, that are looked at often. */
static void none_is_taken_after_a_window_of_more_than_half_a_core(void **state)
{
	const struct {
		uint64_t cpu_ns;
		bool has_room;
	} windows[] = {{WINDOW / 2, true}, {WINDOW / 2 + 10, false}, {0, true}};
	struct raw_budget budget = {0};
	uint64_t now_ns = 1000, cpu_ns = 77;

	(void)state;
	raw_budget_look(&budget, now_ns, cpu_ns);
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		const bool had_room = raw_budget_has_room(&budget, 0, false);

		for (int look = 0; look < 10; look++) {
			assert_int_equal(raw_budget_has_room(&budget, 0, false), had_room);
			now_ns += WINDOW / 10;
			cpu_ns += windows[i].cpu_ns / 10;
			raw_budget_look(&budget, now_ns, cpu_ns);
		}
		assert_int_equal(raw_budget_has_room(&budget, 0, false), windows[i].has_room);
	}
}

/* A window without a message lasts until the next one. */
static void what_a_long_window_took_counts_by_its_length(void **state)
{
	struct raw_budget budget = {0};

	(void)state;
	raw_budget_look(&budget, 1, 0);
	raw_budget_look(&budget, 1 + 10 * WINDOW, WINDOW);
	assert_true(raw_budget_has_room(&budget, 0, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_aggregator_takes_the_events_of_32_agents),
		cmocka_unit_test(none_is_taken_while_commits_are_slow_or_fail),
		cmocka_unit_test(none_is_taken_after_a_window_of_more_than_half_a_core),
		cmocka_unit_test(what_a_long_window_took_counts_by_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
