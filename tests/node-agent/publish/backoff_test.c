#include "tests/support/cmocka_test.h"

#include <stdbool.h>

#include "node-agent/publish/backoff.h"

static void waits_double_up_to_a_limit(void **state)
{
	uint64_t expected_ns = 100000000;
	struct backoff backoff;

	(void)state;
	backoff_init(&backoff);
	for (int i = 0; i < 20; i++) {
		uint64_t wait_ns = backoff_next_ns(&backoff);

		assert_in_range(wait_ns, expected_ns / 2, expected_ns);
		expected_ns = expected_ns * 2 < 8000000000 ? expected_ns * 2 : 8000000000;
	}
	backoff_reset(&backoff);
	assert_in_range(backoff_next_ns(&backoff), 50000000, 100000000);
}

static void two_that_start_together_do_not_stay_together(void **state)
{
	struct backoff first, second;
	bool differ = false;

	(void)state;
	backoff_init(&first);
	backoff_init(&second);
	for (int i = 0; i < 20; i++)
		differ |= backoff_next_ns(&first) != backoff_next_ns(&second);
	assert_true(differ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_up_to_a_limit),
		cmocka_unit_test(two_that_start_together_do_not_stay_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
