/* The comparison of both ways of sampling, in numbers. */
#include "report/stalls/stall_agreement.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "proto/host_sample.h"
#include "tests/report/model/report_fixture.h"

static uint32_t launch_of(const char *name)
{
	return report_fixture_push(0, report_fixture_code("/t.py", name, 8));
}

/* Samples of a line of a kernel. launch: of exact samples their stack, 0: not known. */
static void add(enum host_sample_kind kind, uint32_t launch, const char *kernel, uint64_t line,
		uint64_t count)
{
	const uint64_t mark = kind == HOST_SAMPLE_EXACT ? HOST_SAMPLE_EXACT_LINE : 0;
	const uint32_t frame = report_fixture_push(launch, report_fixture_code(NULL, kernel, mark));
	const struct fold_key key = {
		.process_id = report_fixture.process_id,
		.stack_id = report_fixture_push(frame,
						report_fixture_code("/src/hot.cu", kernel, line)),
		.name_id = report_fixture_string("wait"),
		.kind = (uint8_t)kind,
	};

	assert_int_equal(fold_table_add(report_fixture.collection->samples, &key, count, 0, 0), 0);
}

static void continuous(const char *kernel, uint64_t line, uint64_t count)
{
	add(HOST_SAMPLE_KERNEL, 0, kernel, line, count);
}

static void exact(const char *launch, const char *kernel, uint64_t line, uint64_t count)
{
	add(HOST_SAMPLE_EXACT, launch ? launch_of(launch) : 0, kernel, line, count);
}

static struct stall_agreement *made(void)
{
	struct stall_agreement *agreement;

	assert_int_equal(stall_agreement_make(&report_fixture.profile, &agreement), 0);
	assert_non_null(agreement);
	return agreement;
}

static void assert_row(const struct stall_agreement_row *row, uint64_t samples, uint64_t exact_ones,
		       uint64_t matched, double places, double launches)
{
	assert_int_equal(row->samples, samples);
	assert_int_equal(row->exact, exact_ones);
	assert_int_equal(row->matched, matched);
	assert_true(fabs(row->places - places) < 1e-12);
	assert_true(fabs(row->launches - launches) < 1e-12);
}

/* Lines: 60 and 40 % against 40 and 60 %. Launches: 75 and 25 % of the time against 30 and 70 %. */
static void tell_gemm(void)
{
	continuous("gemm", 17, 60);
	continuous("gemm", 18, 40);
	exact("a", "gemm", 17, 30);
	exact("b", "gemm", 17, 10);
	exact("b", "gemm", 18, 60);
	report_fixture_add_kernel(launch_of("a"), "gemm", 300);
	report_fixture_add_kernel(launch_of("b"), "gemm", 100);
}

static void both_ways_agree_by_the_smaller_share_of_each(void **state)
{
	(void)state;
	tell_gemm();
	/* Of a kernel without a known launch the lines alone are compared. */
	continuous("softmax", 5, 300);
	exact(NULL, "softmax", 5, 10);
	continuous("only", 9, 50);
	report_fixture_add_kernel(launch_of("a"), "only", 7);
	struct stall_agreement *agreement = made();
	assert_int_equal(agreement->nr_rows, 2);
	assert_int_equal(agreement->rows[0].name, report_fixture_string("gemm"));
	assert_row(&agreement->rows[0], 100, 100, 100, 0.8, 0.55);
	assert_int_equal(agreement->rows[1].name, report_fixture_string("softmax"));
	assert_row(&agreement->rows[1], 300, 10, 0, 1, 0);
	assert_int_equal(agreement->total.name, 0);
	assert_row(&agreement->total, 450, 110, 100, (100 * 0.8 + 300) / 400, 0.55);
	free(agreement);
}

/* Exact samples come of a run of their own. Its launches have 100 % of its time, and none of the other run's. */
static void launches_of_one_run_alone_do_not_agree(void **state)
{
	(void)state;
	continuous("gemm", 17, 60);
	report_fixture_add_kernel(launch_of("a"), "gemm", 300);
	report_fixture_add_kernel(launch_of("b"), "gemm", 100);
	report_fixture.process_id = report_fixture_process("node2", 2, 1, 0);
	exact("c", "gemm", 17, 50);
	report_fixture_add_kernel(launch_of("c"), "gemm", 400);
	struct stall_agreement *agreement = made();
	assert_row(&agreement->rows[0], 60, 50, 50, 1, 0);
	free(agreement);
	/* A half of its samples is of a launch that has a quarter of the other run's time. */
	exact("b", "gemm", 17, 50);
	agreement = made();
	assert_row(&agreement->rows[0], 60, 100, 100, 1, 0.25);
	free(agreement);
}

static void launches_without_gpu_time_are_left_out(void **state)
{
	(void)state;
	tell_gemm();
	exact("c", "gemm", 17, 20);
	exact("c", "gemm", 18, 30);
	report_fixture_add_kernel(launch_of("d"), "gemm", 0);
	struct stall_agreement *agreement = made();
	assert_int_equal(agreement->nr_rows, 1);
	/* Exact lines: 60 and 90 of 150. */
	assert_row(&agreement->rows[0], 100, 150, 100, 0.8, 0.55);
	free(agreement);
}

static void a_kernel_without_any_time_has_no_launch_to_compare(void **state)
{
	(void)state;
	continuous("gemm", 17, 3);
	exact("a", "gemm", 17, 4);
	report_fixture_add_kernel(launch_of("a"), "gemm", 0);
	struct stall_agreement *agreement = made();
	assert_int_equal(agreement->nr_rows, 1);
	assert_row(&agreement->rows[0], 3, 4, 0, 1, 0);
	assert_row(&agreement->total, 3, 4, 0, 1, 0);
	free(agreement);
}

static void one_way_alone_is_no_comparison(void **state)
{
	(void)state;
	struct stall_agreement *agreement = made();
	assert_int_equal(agreement->nr_rows, 0);
	assert_row(&agreement->total, 0, 0, 0, 0, 0);
	free(agreement);
	continuous("gemm", 17, 60);
	agreement = made();
	assert_int_equal(agreement->nr_rows, 0);
	assert_row(&agreement->total, 0, 0, 0, 0, 0);
	free(agreement);
}

static void a_sample_of_a_stack_that_is_not_there_is_refused(void **state)
{
	const struct fold_key key = {.process_id = report_fixture.process_id,
				     .stack_id = 12345,
				     .kind = HOST_SAMPLE_KERNEL};
	struct stall_agreement *agreement;

	(void)state;
	assert_int_equal(fold_table_add(report_fixture.collection->samples, &key, 1, 0, 0), 0);
	assert_int_equal(stall_agreement_make(&report_fixture.profile, &agreement), -EPROTO);
	assert_null(agreement);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ways_agree_by_the_smaller_share_of_each),
		TEST(launches_of_one_run_alone_do_not_agree),
		TEST(launches_without_gpu_time_are_left_out),
		TEST(a_kernel_without_any_time_has_no_launch_to_compare),
		TEST(one_way_alone_is_no_comparison),
		TEST(a_sample_of_a_stack_that_is_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
