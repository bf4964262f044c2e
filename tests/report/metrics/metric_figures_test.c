#include "report/metrics/metric_figures.h"

#include "tests/support/cmocka_test.h"

#include <math.h>

#define TENSOR "sm__ops_path_tensor_src_"

static struct metric_figures figures_of(struct report_metric *all, uint32_t nr)
{
	struct report_metric_row row = {.nr = nr};
	const struct report_metrics metrics = {
		.rows = &row, .nr_rows = 1, .metrics = all, .nr_metrics = nr};

	return metric_figures_of(&metrics, &row);
}

/* A metric of one launch, which took 10 ns. */
#define METRIC(name, value)                                                                        \
	{                                                                                          \
		name, 1, value, value, value, 10                                                   \
	}
#define CLOCK METRIC("sm__cycles_elapsed.avg.per_second", 1e9)

static void each_type_counts_once_and_integers_do_not(void **state)
{
	struct report_metric all[] = {METRIC(TENSOR "fp8.sum", 100),
				      METRIC(TENSOR "fp8_sparsity_off.sum", 60),
				      METRIC(TENSOR "int8.sum", 7000),
				      METRIC(TENSOR "bf16_dst_fp32.sum", 20),
				      METRIC(TENSOR "bf16_dst_fp32.sum.peak_sustained", 4),
				      CLOCK};

	(void)state;
	assert_true(figures_of(all, 6).flops_per_ns == 12);
	assert_true(isnan(figures_of(all, 6).flops_peak_per_ns));
	assert_true(figures_of(all + 3, 3).flops_per_ns == 2);
	assert_true(figures_of(all + 3, 3).flops_peak_per_ns == 2);
	assert_true(isnan(figures_of(all + 2, 1).flops_per_ns));
	assert_true(isnan(figures_of(all + 4, 2).flops_peak_per_ns));
}

static void a_peak_is_that_of_the_same_type(void **state)
{
	struct report_metric all[] = {METRIC(TENSOR "fp16_dst_fp32.sum", 20),
				      METRIC(TENSOR "bf16_dst_fp32.sum.peak_sustained", 4), CLOCK};

	(void)state;
	assert_true(figures_of(all, 3).flops_per_ns == 2);
	assert_true(isnan(figures_of(all, 3).flops_peak_per_ns));
}

static void types_with_peaks_of_their_own_share_the_cores_time(void **state)
{
	/* Peaks of 8 and 4 a cycle: half of the time goes to the first type, and a quarter to the second. */
	struct report_metric all[] = {METRIC(TENSOR "fp16_dst_fp16.sum", 40),
				      METRIC(TENSOR "fp16_dst_fp16.sum.peak_sustained", 16),
				      METRIC(TENSOR "fp16_dst_fp32.sum", 10),
				      METRIC(TENSOR "fp16_dst_fp32.sum.peak_sustained", 8), CLOCK};

	(void)state;
	assert_true(figures_of(all, 5).flops_per_ns == 5);
	assert_true(figures_of(all, 5).flops_per_ns / figures_of(all, 5).flops_peak_per_ns == 0.75);
	all[0].sum = all[2].sum = 0;
	assert_true(figures_of(all, 5).flops_peak_per_ns == 8);
	/* Without the second peak there is none. */
	all[3].name = "";
	assert_true(isnan(figures_of(all, 5).flops_peak_per_ns));
}

static void rates_are_over_the_launches_that_have_the_metric(void **state)
{
	/* Three launches in all; one of them lacks the bytes that were written. */
	struct report_metric all[] = {{"dram__bytes_read.sum", 3, 60, 10, 30, 30},
				      {"dram__bytes_write.sum", 2, 20, 10, 10, 10},
				      {"dram__bytes_write.sum", 0, 0, 0, 0, 0}};

	(void)state;
	assert_true(figures_of(all, 2).bytes_per_ns == 4);
	all[1] = all[2];
	assert_true(isnan(figures_of(all, 2).bytes_per_ns));
}

static void rates_over_elapsed_time_of_short_launches_are_too_low(void **state)
{
	static const struct {
		const char *name;
		bool is_low;
	} metrics[] = {{"dram__throughput.avg.pct_of_peak_sustained_elapsed", true},
		       {"dram__bytes_read.sum.per_second", true},
		       {"sm__cycles_elapsed.avg.per_second", false},
		       {"sm__cycles_elapsed.max", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		struct report_metric metric = {metrics[i].name, 3, 3, 1, 1, 3 * 900000};

		assert_int_equal(metric_figures_are_low(&metric), metrics[i].is_low);
		metric.ns = 3 * 1000000;
		assert_false(metric_figures_are_low(&metric));
		metric = (struct report_metric){metrics[i].name, 0, 0, 0, 0, 0};
		assert_false(metric_figures_are_low(&metric));
	}
}

static void a_type_is_named_if_it_is_the_only_one(void **state)
{
	struct report_metric all[] = {{"dram__bytes_read.sum", 1, 1, 1, 1, 1},
				      {TENSOR "int8.sum", 1, 1, 1, 1, 1},
				      {TENSOR "bf16_dst_fp32.sum.peak_sustained", 1, 4, 4, 4, 1},
				      {TENSOR "bf16_dst_fp32.sum", 1, 1, 1, 1, 1},
				      {TENSOR "bf16_dst_fp32.sum", 1, 2, 2, 2, 1},
				      {TENSOR "fp8.sum", 1, 1, 1, 1, 1}};
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
		cmocka_unit_test(types_with_peaks_of_their_own_share_the_cores_time),
		cmocka_unit_test(rates_are_over_the_launches_that_have_the_metric),
		cmocka_unit_test(rates_over_elapsed_time_of_short_launches_are_too_low),
		cmocka_unit_test(a_type_is_named_if_it_is_the_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
