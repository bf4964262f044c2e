/* The rows of measured launches, in numbers. */
#include "report/metrics/report_metrics.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"
#include "proto/kernel_metric.h"
#include "proto/options/metric_options.h"
#include "tests/report/model/report_fixture.h"

#define READ "dram__bytes_read.sum"
#define FADD "sm__ops_fadd.sum"

static struct report_metrics *metrics;
static int place_answer;

static int set_up(void **state)
{
	metrics = NULL;
	place_answer = 0;
	return report_fixture_set_up(state);
}

static int tear_down(void **state)
{
	report_metrics_destroy(metrics);
	return report_fixture_tear_down(state);
}

/* A row for each launch stack and name. */
static int place(void *context, const struct fold_key *key, uint32_t *node, const char **kernel)
{
	uint32_t size;

	assert_ptr_equal(context, &place_answer);
	*node = key->stack_id;
	*kernel = catalog_string(report_fixture.catalog, key->name_id, &size);
	return place_answer;
}

static int make(void)
{
	return report_metrics_make(&report_fixture.profile, place, &place_answer, &metrics);
}

struct measured {
	const char *kernel, *metric;
	uint32_t stack;
	uint64_t passes, count, ns;
	double sum, min, max;
};

static void add(uint32_t process_id, const struct measured *of)
{
	struct roster_process *process =
		roster_process(report_fixture.collection->roster, process_id);
	const struct message_kernel_metric row = {
		.stack_id = of->stack,
		.name_id = report_fixture_string(of->kernel),
		.metric = report_fixture_string(of->metric),
		.nr_passes = of->passes,
		.count = of->count,
		.total_ns = of->ns,
		.sum = kernel_metric_bits(of->sum),
		.min = kernel_metric_bits(of->min),
		.max = kernel_metric_bits(of->max),
	};

	if (!process->statistics)
		process->statistics = statistics_table_create();
	assert_non_null(process->statistics);
	assert_int_equal(statistics_table_put_metric(process->statistics, &row), 0);
}

static void assert_metric(const struct report_metric *metric, const char *name, uint64_t count,
			  const double values[4])
{
	assert_string_equal(metric->name, name);
	assert_int_equal(metric->count, count);
	assert_true(metric->sum == values[0]);
	assert_true(metric->min == values[1]);
	assert_true(metric->max == values[2]);
	assert_true(metric->ns == values[3]);
}

static void rows_add_up_processes_and_count_each_launch_once(void **state)
{
	const uint32_t step = report_fixture_stack("step", NULL);
	const uint32_t first = report_fixture.process_id;
	const uint32_t second = report_fixture_process("node02", 7, 1, 1);
	const uint32_t processes[] = {first, second};

	(void)state;
	add(first, &(struct measured){"gemm", READ, step, 2, 10, 2000, 500, 40, 60});
	add(first, &(struct measured){"gemm", FADD, step, 2, 8, 1600, 80, 10, 10});
	add(second, &(struct measured){"gemm", READ, step, 4, 1, 4000, 70, 70, 70});
	add(first, &(struct measured){"long", READ, step, 1, 1, 900000, 1, 1, 1});
	for (uint32_t i = 0; i < 2; i++) {
		struct fold_key key = report_fixture_key(step, "gemm");

		key.process_id = processes[i];
		report_fixture_add_row(key, 20, 5000, 0);
		key.stream_id++;
		report_fixture_add_row(key, 1, 100, 0);
		key.capture_stack_id = step; /* of a graph: never measured */
		report_fixture_add_row(key, 1000, 1000, 0);
		key.capture_stack_id = 0;
		key.matched = 0;
		report_fixture_add_row(key, 1000, 1000, 0);
	}
	report_fixture_add_kernel(step, "long", 900000);
	assert_int_equal(make(), 0);
	assert_int_equal(metrics->nr_rows, 2);
	assert_string_equal(metrics->rows[0].kernel, "long");
	const struct report_metric_row *row = &metrics->rows[1];
	assert_string_equal(row->kernel, "gemm");
	assert_int_equal(row->node, step);
	assert_false(row->is_range);
	assert_int_equal(row->launches, 42);
	assert_int_equal(row->ns, 10200);
	/* Of the first process the metric with most measurements. */
	assert_int_equal(row->measured, 11);
	assert_int_equal(row->measured_ns, 6000);
	assert_int_equal(row->nr_passes, 4);
	assert_int_equal(row->nr, 2);
	/* The time of a launch is that of a measurement through its passes. */
	assert_metric(&metrics->metrics[row->first], READ, 11,
		      (const double[]){570, 40, 70, 2000 / 2. + 4000 / 4.});
	assert_metric(&metrics->metrics[row->first + 1], FADD, 8,
		      (const double[]){80, 10, 10, 800});
}

static void a_range_has_its_kernels_and_its_own_time(void **state)
{
	const uint32_t step = report_fixture_stack("step", NULL);
	const uint32_t id = report_fixture.process_id;

	(void)state;
	add(id, &(struct measured){"step", METRIC_OPTIONS_KERNELS, step, 2, 3, 600, 7.5, 2, 3});
	add(id, &(struct measured){"step", READ, step, 2, 3, 600, 30, 10, 10});
	/* A kernel with the range's name and place is not the range. */
	report_fixture_add_kernel(step, "step", 12345);
	assert_int_equal(make(), 0);
	assert_int_equal(metrics->nr_rows, 1);
	assert_true(metrics->rows[0].is_range);
	assert_int_equal(metrics->rows[0].launches, 15);
	assert_int_equal(metrics->rows[0].measured, 3);
	assert_int_equal(metrics->rows[0].measured_ns, 600);
	assert_int_equal(metrics->rows[0].ns, 600);
}

static void values_that_are_no_numbers_leave_a_row_without_any(void **state)
{
	const uint32_t step = report_fixture_stack("step", NULL);

	(void)state;
	add(report_fixture.process_id, &(struct measured){"gemm", READ, step, 1, 0, 0, 0, 0, 0});
	report_fixture_add_kernel(step, "gemm", 0);
	assert_int_equal(make(), 0);
	assert_int_equal(metrics->nr_rows, 1);
	assert_int_equal(metrics->rows[0].launches, 1);
	assert_int_equal(metrics->rows[0].ns, 0);
	assert_int_equal(metrics->rows[0].measured, 0);
	assert_metric(&metrics->metrics[0], READ, 0, (const double[]){0, 0, 0, 0});
}

static void without_measurements_there_is_nothing(void **state)
{
	(void)state;
	report_fixture_add_kernel(report_fixture_stack("step", NULL), "gemm", 5);
	assert_int_equal(make(), 0);
	assert_null(metrics);
}

static void what_cannot_be_is_refused(void **state)
{
	const uint32_t step = report_fixture_stack("step", NULL);
	struct message_kernel_metric row = {.stack_id = step, .metric = 99999, .nr_passes = 1};
	struct roster_process *process =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);

	(void)state;
	add(report_fixture.process_id, &(struct measured){"gemm", READ, step, 1, 1, 1, 1, 1, 1});
	place_answer = -EIO;
	assert_int_equal(make(), -EIO);
	assert_null(metrics);
	place_answer = 0;
	row.name_id = report_fixture_string("gemm");
	assert_int_equal(statistics_table_put_metric(process->statistics, &row), 0);
	assert_int_equal(make(), -EPROTO);
	assert_null(metrics);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_add_up_processes_and_count_each_launch_once),
		TEST(a_range_has_its_kernels_and_its_own_time),
		TEST(values_that_are_no_numbers_leave_a_row_without_any),
		TEST(without_measurements_there_is_nothing),
		TEST(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
