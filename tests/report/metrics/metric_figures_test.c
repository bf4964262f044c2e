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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_counts_once_and_integers_do_not),
		cmocka_unit_test(a_peak_is_that_of_the_same_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
