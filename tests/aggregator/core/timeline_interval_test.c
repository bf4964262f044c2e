#include "aggregator/core/timeline_interval.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

#define SPAN 4000u

static uint32_t random_below(uint64_t *seed, uint32_t limit_value)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit_value;
}

static void arrays_in_any_order_are_brought_into_order(void **state)
{
	(void)state;
	struct timeline_interval intervals[500], scratch[250];

	for (uint64_t seed = 1; seed <= 500; seed++) {
		uint8_t expected[SPAN] = {0}, actual[SPAN] = {0};
		uint64_t random = seed;
		uint32_t count = random_below(&random, 500), run = 1 + random_below(&random, 200);
		uint32_t start = 0;

		for (uint32_t i = 0; i < count; i++) {
			start = i % run ? (start + random_below(&random, 20)) % (SPAN - 40)
					: random_below(&random, SPAN - 40);
			uint32_t length = 1 + random_below(&random, 10);
			intervals[i] = (struct timeline_interval){start, start + length};
			memset(expected + start, 1, length);
		}
		count = timeline_interval_order(intervals, count, scratch);
		assert_true(timeline_interval_ordered(intervals, count));
		for (uint32_t i = 0; i < count; i++)
			memset(actual + intervals[i].start_ns, 1,
			       intervals[i].end_ns - intervals[i].start_ns);
		assert_memory_equal(actual, expected, SPAN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_in_any_order_are_brought_into_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
