#include "inject/metrics/measurements.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

#include "inject/base/definition_writer.h"
#include "tests/inject/test_ring.h"

static const char names[3][METRIC_OPTIONS_NAME] = {"dram__bytes.sum", "sm__throughput.max",
						   METRIC_OPTIONS_KERNELS};
static const uint32_t both[] = {0, 1};
static const struct metric_subject subject = {
	.device_id = 3, .stack_id = 17, .cbid = 307, .nr_passes = 1};

static struct {
	struct test_ring ring;
	struct definition_writer writer;
	struct metric_sums *sums;
	uint32_t nr_flushes;
} fixture;

static void flush_soon(void)
{
	fixture.nr_flushes++;
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&fixture.ring);
	fixture.writer = DEFINITION_WRITER_INIT(fixture.ring.guest);
	fixture.sums = metric_sums_create(names, 3);
	assert_non_null(fixture.sums);
	fixture.nr_flushes = 0;
	measurements_init(fixture.sums, fixture.ring.guest, flush_soon);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	metric_sums_destroy(fixture.sums);
	test_ring_fini(&fixture.ring);
	return 0;
}

static uint32_t begin(uint32_t correlation_id)
{
	const uint32_t number = measurements_begin(&subject);

	assert_int_not_equal(number, MEASUREMENTS_NONE);
	measurements_launch(number, correlation_id, 1000);
	return number;
}

static void record(uint32_t correlation_id, uint32_t name_id, uint64_t ns)
{
	measurements_record(&(struct measured_kernel){.correlation_id = correlation_id,
						      .name_id = name_id,
						      .device_id = subject.device_id,
						      .begin_ns = 5000,
						      .end_ns = 5000 + ns});
}

static void give(uint32_t number, double first, double second)
{
	const double values[] = {first, second};

	measurements_values(number, both, values, 2);
}

static void assert_ledger(uint64_t launches, uint64_t shared, uint64_t lost)
{
	assert_int_equal(test_ring_ledger(&fixture.ring, 3, LEDGER_METRIC_LAUNCHES).count,
			 launches);
	assert_int_equal(test_ring_ledger(&fixture.ring, 3, LEDGER_METRIC_SHARED).count, shared);
	assert_int_equal(test_ring_ledger(&fixture.ring, 3, LEDGER_METRIC_LOST).count, lost);
}

/* Reads the next sums, after the names of all metrics. */
static bool next(struct definition_kernel_metrics *head, struct definition_metric_sum sums[3])
{
	uint8_t body[512];
	uint32_t type;
	int size;

	measurements_define(&fixture.writer);
	do {
		size = test_ring_definition(&fixture.ring, &type, body, sizeof(body));
	} while (size >= 0 && type == DEFINITION_METRIC);
	if (size < 0)
		return false;
	assert_int_equal(type, DEFINITION_KERNEL_METRICS);
	memcpy(head, body, sizeof(*head));
	assert_int_equal(size, sizeof(*head) + head->nr_sums * sizeof(*sums));
	memcpy(sums, body + sizeof(*head), head->nr_sums * sizeof(*sums));
	return true;
}

static void values_and_records_come_in_any_order(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	uint32_t first = begin(5), second = begin(6);
	record(5, 9, 100);
	record(7, 9, 1);
	assert_ledger(0, 0, 0);
	give(second, 4, 8);
	assert_ledger(0, 0, 0);
	give(first, 2, 16);
	record(6, 9, 300);
	assert_ledger(2, 0, 0);
	assert_true(next(&head, sums));
	assert_int_equal(head.device_id, 3);
	assert_int_equal(head.stack_id, 17);
	assert_int_equal(head.name_id, 9);
	assert_int_equal(head.count, 2);
	assert_int_equal(head.total_ns, 400);
	assert_int_equal(head.nr_sums, 2);
	assert_true(sums[0].sum == 6 && sums[0].min == 2 && sums[0].max == 4);
	assert_true(sums[1].sum == 24 && sums[1].min == 8 && sums[1].max == 16);
	assert_false(next(&head, sums));
}

static void parts_are_one_measurement(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	uint32_t number = begin(5);
	record(5, 9, 100);
	measurements_launch(number, 6, 2000);
	measurements_launch(number, 7, 3000);
	give(number, 1, 1);
	record(7, 9, 50);
	assert_ledger(0, 0, 0);
	record(6, 9, 20);
	assert_ledger(3, 0, 0);
	assert_true(next(&head, sums));
	assert_int_equal(head.count, 1);
	assert_int_equal(head.total_ns, 170);
}

static void what_is_shared_or_lost_is_not_added(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	uint32_t shared = begin(5), lost = begin(6), failed = begin(7), late = begin(8);
	measurements_shared(shared);
	record(5, 9, 100);
	give(shared, 1, 1);
	measurements_lose(lost);
	record(6, 9, 100);
	measurements_failed(failed);
	/* One of two passes, and no further one: its record is nobody's. */
	measurements_give_up(begin(10));
	measurements_give_up(MEASUREMENTS_NONE);
	record(10, 9, 100);
	give(late, 1, 1);
	assert_ledger(2, 1, 1);
	measurements_expire(1000 + MEASUREMENTS_WAIT_NS, false);
	assert_ledger(2, 1, 1);
	measurements_expire(1001 + MEASUREMENTS_WAIT_NS, false);
	assert_ledger(3, 1, 2);
	begin(9);
	measurements_expire(0, true);
	assert_ledger(4, 1, 3);
	assert_false(next(&head, sums));
}

static void places_are_used_again(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MEASUREMENTS_MAX; i++) {
		begin(100 + i);
		assert_int_equal(fixture.nr_flushes != 0, i >= MEASUREMENTS_MAX / 2);
	}
	assert_int_equal(measurements_begin(&subject), MEASUREMENTS_NONE);
	measurements_values(MEASUREMENTS_NONE, both, (const double[]){1, 1}, 2);
	measurements_lose(MEASUREMENTS_NONE);
	measurements_lose(40);
	assert_int_equal(measurements_begin(&subject), 40);
	assert_ledger(1, 0, 1);
}

static void values_that_are_none_are_left_out(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	uint32_t number = begin(5);
	give(number, 3, -1);
	record(5, 9, 100);
	number = begin(6);
	give(number, 5, __builtin_nan(""));
	record(6, 9, 100);
	assert_true(next(&head, sums));
	assert_int_equal(head.count, 2);
	assert_int_equal(head.nr_sums, 1);
	assert_int_equal(sums[0].index, 0);
	assert_int_equal(sums[0].missing, 0);
	assert_true(sums[0].sum == 8);
	number = begin(7);
	give(number, __builtin_inf(), 6);
	record(7, 9, 100);
	assert_true(next(&head, sums));
	assert_int_equal(head.count, 3);
	assert_int_equal(head.nr_sums, 2);
	assert_true(sums[0].sum == 8 && sums[0].missing == 1);
	assert_true(sums[1].sum == 6 && sums[1].missing == 2);
	assert_ledger(3, 0, 0);
}

static void a_measurement_without_any_value_is_lost(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	give(begin(5), __builtin_nan(""), -1);
	record(5, 9, 100);
	assert_ledger(1, 0, 1);
	assert_false(next(&head, sums));
}

static const struct metric_subject range = {.device_id = 3,
					    .stack_id = 18,
					    .name_id = 77,
					    .cbid = 307,
					    .nr_passes = 1,
					    .is_range = true,
					    .kernels_metric = 2};

static void record_of(uint32_t correlation_id, uint32_t device_id, uint64_t begin_ns,
		      uint64_t end_ns)
{
	measurements_record(&(struct measured_kernel){.correlation_id = correlation_id,
						      .name_id = 9,
						      .device_id = device_id,
						      .begin_ns = begin_ns,
						      .end_ns = end_ns});
}

/* Its calls are 10 (a kernel), 14 (a copy), 16 (a kernel, which fails) and 20 (a kernel). */
static uint32_t begin_range(void)
{
	const uint32_t number = measurements_begin(&range);

	assert_int_not_equal(number, MEASUREMENTS_NONE);
	measurements_launch(number, 10, 1000);
	measurements_call(number, 10, 1);
	measurements_call(number, 14, 0);
	measurements_call(number, 16, 1);
	measurements_uncall(number, 1);
	measurements_call(number, 20, 1);
	return number;
}

static void a_range_has_the_time_and_the_number_of_its_kernels(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	const uint32_t number = begin_range();
	record_of(20, 3, 400, 700); /* on another stream */
	record_of(11, 3, 1, 9000);  /* CUPTI's own */
	record_of(15, 4, 1, 9000);  /* of another device */
	record_of(21, 3, 1, 9000);  /* behind it */
	give(number, 4, 8);
	assert_ledger(0, 0, 0);
	record_of(10, 3, 500, 900);
	assert_ledger(1, 0, 0);
	assert_true(next(&head, sums));
	assert_int_equal(head.name_id, 77);
	assert_int_equal(head.stack_id, 18);
	assert_int_equal(head.count, 1);
	assert_int_equal(head.total_ns, 500);
	assert_int_equal(head.nr_sums, 3);
	assert_int_equal(sums[2].index, 2);
	assert_true(sums[0].sum == 4 && sums[1].sum == 8 && sums[2].sum == 2);
	assert_true(sums[2].min == 2 && sums[2].max == 2);
}

static void a_range_without_any_value_is_lost(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	give(begin_range(), __builtin_nan(""), __builtin_nan(""));
	record_of(10, 3, 400, 700);
	record_of(20, 3, 400, 700);
	assert_ledger(1, 0, 1);
	assert_false(next(&head, sums));
}

/* Another thread drew its id within the range, and launched behind it. */
static void a_kernel_that_begins_behind_a_range_is_not_its_own(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	const uint32_t number = begin_range();
	measurements_end(number, 1000);
	record_of(17, 3, 1000, 1500);
	record_of(20, 3, 400, 700);
	record_of(10, 3, 999, 1200);
	give(number, 4, 8);
	assert_true(next(&head, sums));
	assert_int_equal(head.total_ns, 800);
	assert_true(sums[2].sum == 2);
}

static void ids_of_a_range_may_wrap(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	const uint32_t number = measurements_begin(&range);
	measurements_launch(number, UINT32_MAX - 3, 1000);
	measurements_call(number, UINT32_MAX - 3, 1);
	measurements_call(number, 4, 1); /* another thread was faster */
	measurements_call(number, UINT32_MAX, 1);
	record_of(UINT32_MAX - 3, 3, 10, 20);
	record_of(UINT32_MAX - 2, 3, 10, 99);
	record_of(UINT32_MAX, 3, 20, 30);
	record_of(4, 3, 30, 50);
	record_of(5, 3, 30, 99);
	give(number, 1, 1);
	assert_true(next(&head, sums));
	assert_int_equal(head.total_ns, 40);
	assert_true(sums[2].sum == 3);
}

static void a_range_of_unknown_kernels_takes_what_has_come(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	const uint32_t number = begin_range();
	measurements_call(number, 24, MEASUREMENTS_UNKNOWN);
	measurements_uncall(number, MEASUREMENTS_UNKNOWN);
	give(number, 4, 8);
	record_of(10, 3, 100, 200);
	record_of(20, 3, 200, 300);
	for (uint32_t i = 0; i < 5; i++)
		record_of(24, 3, 300, 400 + i);
	measurements_expire(1000 + MEASUREMENTS_WAIT_NS, false);
	assert_ledger(0, 0, 0);
	measurements_expire(1001 + MEASUREMENTS_WAIT_NS, false);
	assert_ledger(1, 0, 0);
	assert_true(next(&head, sums));
	assert_int_equal(head.total_ns, 304);
	assert_true(sums[2].sum == 7);
	/* But those that are known must come. */
	const uint32_t lost = begin_range();
	measurements_call(lost, 24, MEASUREMENTS_UNKNOWN);
	give(lost, 4, 8);
	record_of(24, 3, 100, 200);
	measurements_expire(0, true);
	assert_ledger(2, 0, 1);
	assert_false(next(&head, sums));
}

static void a_range_without_kernels_is_not_measured(void **state)
{
	struct definition_kernel_metrics head;
	struct definition_metric_sum sums[3];

	(void)state;
	const uint32_t number = measurements_begin(&range);
	measurements_launch(number, 10, 1000);
	measurements_call(number, 10, 0);
	give(number, 1, 1);
	assert_ledger(0, 0, 0);
	assert_int_equal(measurements_begin(&range), number);
	assert_false(next(&head, sums));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(values_and_records_come_in_any_order),
		TEST(parts_are_one_measurement),
		TEST(what_is_shared_or_lost_is_not_added),
		TEST(places_are_used_again),
		TEST(values_that_are_none_are_left_out),
		TEST(a_measurement_without_any_value_is_lost),
		TEST(a_range_has_the_time_and_the_number_of_its_kernels),
		TEST(a_range_without_any_value_is_lost),
		TEST(a_kernel_that_begins_behind_a_range_is_not_its_own),
		TEST(ids_of_a_range_may_wrap),
		TEST(a_range_of_unknown_kernels_takes_what_has_come),
		TEST(a_range_without_kernels_is_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
