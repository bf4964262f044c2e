#include "report/writers/durations_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/report_kind.h"

static struct report_group of_kernel(uint64_t longest_ns)
{
	struct report_group group = {.label = "gemm",
				     .kind = REPORT_KIND_KERNEL,
				     .count = 100,
				     .ns = 99 * 1000 + longest_ns};

	assert_int_equal(duration_bins_add(&group.durations, duration_bucket(1000), 99), 0);
	assert_int_equal(duration_bins_add(&group.durations, duration_bucket(longest_ns), 1), 0);
	return group;
}

/* A bucket ends above the durations that it has. */
static void a_percentile_is_not_above_the_maximum(void **state)
{
	struct report_config configs[] = {{.name = "gemm", .count = 40, .max_ns = 1000},
					  {.name = "norm", .count = 60, .max_ns = 9000},
					  {.name = "gemm", .count = 60, .max_ns = 1001}};
	const struct report_statistics statistics = {.configs = configs, .nr_configs = 3};
	struct report_group group = of_kernel(1001);
	const uint64_t end_ns = duration_bucket_last_ns(duration_bucket(1001)) + 1;

	(void)state;
	assert_true(end_ns > 1001);
	assert_int_equal(durations_writer_below(&group, group.count, &statistics, 990), 1001);
	assert_int_equal(durations_writer_below(&group, group.count, NULL, 990), end_ns);
	configs[1] = (struct report_config){.name = "gemm", .count = 900, .max_ns = 900};
	assert_int_equal(durations_writer_below(&group, 1000, &statistics, 990),
			 1001); /* of one rank */
	configs[2].count = 59;  /* of one launch nothing is known */
	assert_int_equal(durations_writer_below(&group, group.count, &statistics, 990), end_ns);
	duration_bins_fini(&group.durations);
}

/* Of copies there are no statistics. A single one is as long as the sum. */
static void the_sum_bounds_a_percentile_too(void **state)
{
	struct report_group group = {
		.label = "HtoD", .kind = REPORT_KIND_MEMCPY, .count = 1, .ns = 1001};

	(void)state;
	assert_int_equal(durations_writer_below(&group, group.count, NULL, 500),
			 0); /* no histogram */
	assert_int_equal(duration_bins_add(&group.durations, duration_bucket(1001), 1), 0);
	assert_int_equal(durations_writer_below(&group, group.count, NULL, 500), 1001);
	duration_bins_fini(&group.durations);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_percentile_is_not_above_the_maximum),
		cmocka_unit_test(the_sum_bounds_a_percentile_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
