#include "report/metrics/metric_figures.h"

#include "tests/support/cmocka_test.h"

#include <math.h>

#define TENSOR "sm__ops_path_tensor_src_"

static struct metric_figures figures_of(struct report_metric *all, uint32_t nr)
{
	struct report_metric_row row = {.measured = 1, .nr_passes = 1, .measured_ns = 10, .nr = nr};
	const struct report_metrics metrics = {
		.rows = &row, .nr_rows = 1, .metrics = all, .nr_metrics = nr};

	return metric_figures_of(&metrics, &row);
}

static void each_type_counts_once_and_integers_do_not(void **state)
{
	struct report_metric all[] = {{TENSOR "fp8.sum", 1, 100, 100, 100},
				      {TENSOR "fp8_sparsity_off.sum", 1, 60, 60, 60},
				      {TENSOR "int8.sum", 1, 7000, 7000, 7000},
				      {TENSOR "bf16_dst_fp32.sum", 1, 20, 20, 20},
				      {TENSOR "bf16_dst_fp32.sum.peak_sustained", 1, 4, 4, 4},
				      {"sm__cycles_elapsed.avg.per_second", 1, 1e9, 1e9, 1e9}};

	(void)state;
	assert_true(figures_of(all, 6).flops_per_ns == 12);
	assert_true(isnan(figures_of(all, 6).flops_peak_per_ns));
	assert_true(figures_of(all + 3, 3).flops_per_ns == 2);
	assert_true(figures_of(all + 3, 3).flops_peak_per_ns == 2);
	assert_true(isnan(figures_of(all + 2, 1).flops_per_ns));
}

static void a_peak_is_that_of_the_same_type(void **state)
{
	struct report_metric all[] = {{TENSOR "fp16_dst_fp32.sum", 1, 20, 20, 20},
				      {TENSOR "bf16_dst_fp32.sum.peak_sustained", 1, 4, 4, 4},
				      {"sm__cycles_elapsed.avg.per_second", 1, 1e9, 1e9, 1e9}};

	(void)state;
	assert_true(figures_of(all, 3).flops_per_ns == 2);
	assert_true(isnan(figures_of(all, 3).flops_peak_per_ns));
}

static void rates_over_elapsed_time_of_short_launches_are_too_low(void **state)
{
	/* Three measurements of two launches each, which took 0.9 and 1 ms on average. */
	const struct report_metric_row brief = {
		.measured = 3, .nr_passes = 2, .measured_ns = 6 * 900000};
	const struct report_metric_row lasting = {
		.measured = 3, .nr_passes = 2, .measured_ns = 6 * 1000000};
	const struct report_metric_row none = {0};
	const struct report_metric share = {"dram__throughput.avg.pct_of_peak_sustained_elapsed", 1,
					    1, 1, 1};
	const struct report_metric rate = {"dram__bytes_read.sum.per_second", 1, 1, 1, 1};
	const struct report_metric clock = {"sm__cycles_elapsed.avg.per_second", 1, 1, 1, 1};
	const struct report_metric sum = {"sm__cycles_elapsed.max", 1, 1, 1, 1};

	(void)state;
	assert_true(metric_figures_are_low(&brief, &share));
	assert_true(metric_figures_are_low(&brief, &rate));
	assert_false(metric_figures_are_low(&brief, &clock));
	assert_false(metric_figures_are_low(&brief, &sum));
	assert_false(metric_figures_are_low(&lasting, &share));
	assert_false(metric_figures_are_low(&none, &share));
}

static void a_type_is_named_if_it_is_the_only_one(void **state)
{
	struct report_metric all[] = {{"dram__bytes_read.sum", 1, 1, 1, 1},
				      {TENSOR "int8.sum", 1, 1, 1, 1},
				      {TENSOR "bf16_dst_fp32.sum.peak_sustained", 1, 4, 4, 4},
				      {TENSOR "bf16_dst_fp32.sum", 1, 1, 1, 1},
				      {TENSOR "bf16_dst_fp32.sum", 1, 2, 2, 2},
				      {TENSOR "fp8.sum", 1, 1, 1, 1}};
	struct report_metrics metrics = {.metrics = all};
	char text[METRIC_FIGURES_TYPE];

	(void)state;
	for (uint32_t nr = 0; nr <= 6; nr++) {
		metrics.nr_metrics = nr;
		assert_string_equal(metric_figures_type(&metrics, text), nr < 4   ? ""
									 : nr < 6 ? "bf16"
										  : "all types");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_counts_once_and_integers_do_not),
		cmocka_unit_test(a_peak_is_that_of_the_same_type),
		cmocka_unit_test(rates_over_elapsed_time_of_short_launches_are_too_low),
		cmocka_unit_test(a_type_is_named_if_it_is_the_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
