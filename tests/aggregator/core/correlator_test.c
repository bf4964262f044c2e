#include "aggregator/core/correlator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "aggregator/core/memory_account.h"
#include "correlator_fixture.h"
#include "proto/memory_kind.h"

static void kernel_in(struct correlator_fixture *fixture, uint32_t correlation_id, uint64_t ns,
		      uint16_t window)
{
	struct gpu_record record = {
		.start_ns = 1000,
		.end_ns = 1000 + ns,
		.correlation_id = correlation_id,
		.stream_id = 3,
		.name_id = 5,
		.window = window,
	};

	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
}

static void kernel(struct correlator_fixture *fixture, uint32_t correlation_id, uint64_t ns)
{
	kernel_in(fixture, correlation_id, ns, 1);
}

static void node_of_a_graph(struct correlator_fixture *fixture, uint32_t correlation_id,
			    uint32_t capture_stack_id, uint64_t ns)
{
	struct gpu_record record = {
		.start_ns = 1000,
		.end_ns = 1000 + ns,
		.graph_node_id = 1,
		.graph_id = 1,
		.correlation_id = correlation_id,
		.stream_id = 3,
		.name_id = 5,
		.window = 1,
		.capture_stack_id = capture_stack_id,
	};

	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
}

/* The sum of all rows of this stack; stack 0: those without a launch. */
static struct fold_row sum_of(struct correlator_fixture *fixture, uint32_t stack_id)
{
	struct fold_row sum = {0};
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(fixture->table, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++) {
		if (rows[i].key.stack_id != stack_id)
			continue;
		assert_int_equal(rows[i].key.process_id, CORRELATOR_FIXTURE_PROCESS);
		assert_int_equal(rows[i].key.matched, stack_id != 0);
		assert_int_equal(rows[i].key.tid, stack_id ? CORRELATOR_FIXTURE_TID : 0);
		sum.count += rows[i].count;
		sum.ns += rows[i].ns;
	}
	return sum;
}

static void a_launch_may_come_after_its_kernel(void **state)
{
	struct correlator_fixture *fixture = *state;

	kernel(fixture, 1, 50);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
	correlator_fixture_launch(fixture, 1, 9);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
	assert_int_equal(sum_of(fixture, 9).count, 1);
	assert_int_equal(sum_of(fixture, 9).ns, 50);
	assert_int_equal(correlator_counts(fixture->correlator)->matched, 1);
}

static void a_kernel_without_a_launch_is_kept_under_no_stack(void **state)
{
	struct correlator_fixture *fixture = *state;

	kernel(fixture, 1, 50);
	assert_int_equal(sum_of(fixture, 0).count, 0);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(sum_of(fixture, 0).count, 1);
	assert_int_equal(sum_of(fixture, 0).ns, 50);
	assert_int_equal(correlator_counts(fixture->correlator)->unmatched, 1);
}

static void many_kernels_may_belong_to_one_launch(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch_with(fixture, 1, 9, RECORD_LAUNCH_MANY, 1);
	for (uint64_t i = 0; i < 10000; i++)
		kernel(fixture, 1, 2);
	assert_int_equal(sum_of(fixture, 9).count, 10000);
	assert_int_equal(sum_of(fixture, 9).ns, 20000);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
}

static void a_kernel_after_its_launch_has_its_stack(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, 9);
	kernel(fixture, 1, 50);
	assert_int_equal(sum_of(fixture, 9).count, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->launches, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->records, 1);
}

static void kernels_that_wait_for_a_graph_launch_all_find_it(void **state)
{
	struct correlator_fixture *fixture = *state;

	for (int i = 0; i < 100; i++)
		kernel(fixture, 1, 3);
	correlator_fixture_launch_with(fixture, 1, 9, RECORD_LAUNCH_MANY, 1);
	kernel(fixture, 1, 3);
	assert_int_equal(sum_of(fixture, 9).count, 101);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
}

static struct fold_row row_of_capture(struct correlator_fixture *fixture, uint32_t capture_stack_id)
{
	struct fold_row found = {0};
	uint32_t nr_rows, nr_found = 0;
	const struct fold_row *rows = fold_table_rows(fixture->table, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++) {
		if (rows[i].key.capture_stack_id != capture_stack_id)
			continue;
		found = rows[i];
		nr_found++;
	}
	assert_int_equal(nr_found, 1);
	return found;
}

static void nodes_of_one_graph_launch_are_told_apart_by_their_capture_stacks(void **state)
{
	struct correlator_fixture *fixture = *state;
	uint32_t nr_rows;

	node_of_a_graph(fixture, 1, 21, 3);
	correlator_fixture_launch_with(fixture, 1, 9, RECORD_LAUNCH_MANY, 1);
	node_of_a_graph(fixture, 1, 22, 5);
	node_of_a_graph(fixture, 1, 21, 4);
	node_of_a_graph(fixture, 1, 0, 1);
	fold_table_rows(fixture->table, &nr_rows);
	assert_int_equal(nr_rows, 3);
	assert_int_equal(row_of_capture(fixture, 21).count, 2);
	assert_int_equal(row_of_capture(fixture, 21).ns, 7);
	assert_int_equal(row_of_capture(fixture, 21).key.stack_id, 9);
	assert_int_equal(row_of_capture(fixture, 22).ns, 5);
	assert_int_equal(row_of_capture(fixture, 0).ns, 1);
	assert_int_equal(sum_of(fixture, 9).count, 4);
}

static void a_node_without_a_launch_keeps_its_capture_stack(void **state)
{
	struct correlator_fixture *fixture = *state;

	node_of_a_graph(fixture, 1, 21, 3);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(row_of_capture(fixture, 21).count, 1);
	assert_int_equal(row_of_capture(fixture, 21).key.stack_id, 0);
	assert_int_equal(row_of_capture(fixture, 21).key.matched, 0);
}

static void a_second_part_of_a_copy_still_finds_its_launch(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, 9);
	kernel(fixture, 1, 50);
	kernel(fixture, 1, 60);
	assert_int_equal(sum_of(fixture, 9).count, 2);
	assert_int_equal(sum_of(fixture, 9).ns, 110);
}

static void a_retired_launch_is_forgotten_after_as_many_others(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.retired_max = 4});
	for (uint32_t id = 1; id <= 5; id++) {
		correlator_fixture_launch(fixture, id, 9);
		kernel(fixture, id, 1);
	}
	kernel(fixture, 2, 1);
	assert_int_equal(sum_of(fixture, 9).count, 6);
	kernel(fixture, 1, 1);
	assert_int_equal(sum_of(fixture, 9).count, 6);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
}

static void a_failed_launch_is_counted_and_does_not_expire(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, 9);
	correlator_fixture_launch_with(fixture, 1, 0, RECORD_LAUNCH_FAILED, 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->launches, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->failed, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
}

static void a_failure_of_an_unknown_launch_is_counted(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch_with(fixture, 1, 0, RECORD_LAUNCH_FAILED, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->failed, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->launches, 0);
}

static void windows_keep_equal_ids_apart(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch_with(fixture, 1, 9, 0, 1);
	correlator_fixture_launch_with(fixture, 1, 10, 0, 2);
	kernel_in(fixture, 1, 5, 2);
	kernel_in(fixture, 1, 7, 1);
	assert_int_equal(sum_of(fixture, 9).ns, 7);
	assert_int_equal(sum_of(fixture, 10).ns, 5);
	kernel_in(fixture, 1, 7, 3);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
}

static void ids_may_wrap_around(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.retired_max = 8});
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t id = UINT32_MAX - 31 + i;

		correlator_fixture_launch(fixture, id, 9);
		kernel(fixture, id, 1);
	}
	assert_int_equal(sum_of(fixture, 9).count, 64);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
}

static void an_id_that_comes_again_means_the_newer_launch(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, 9);
	correlator_fixture_launch(fixture, 1, 10);
	kernel(fixture, 1, 1);
	assert_int_equal(sum_of(fixture, 9).count, 0);
	assert_int_equal(sum_of(fixture, 10).count, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 1);
}

static void beyond_the_limit_the_oldest_launch_expires(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.launches_max = 10});
	for (uint32_t id = 1; id <= 11; id++)
		correlator_fixture_launch(fixture, id, 9);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 1);
	kernel(fixture, 1, 1);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
	kernel(fixture, 2, 1);
	kernel(fixture, 11, 1);
	assert_int_equal(sum_of(fixture, 9).count, 2);
}

static void work_whose_launch_was_given_up_is_counted_once(void **state)
{
	const struct gpu_record wait = {.start_ns = 1000,
					.end_ns = 1001,
					.correlation_id = 99,
					.kind = RECORD_GPU_SYNC,
					.window = 1};
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.launches_max = 32});
	struct correlator *correlator = fixture->correlator;
	for (uint32_t id = 1; id <= 33; id++)
		correlator_fixture_launch(fixture, id, 9);
	assert_int_equal(correlator_counts(correlator)->expired, 3);
	for (uint32_t id = 1; id <= 33; id++)
		kernel(fixture, id, 1);
	assert_int_equal(correlator_record(correlator, &wait), 0);
	assert_int_equal(correlator_waiting(correlator), 4);
	assert_int_equal(correlator_take_late(correlator), 0);
	assert_int_equal(correlator_finish(correlator), 0);
	assert_int_equal(correlator_take_late(correlator), 3);
	assert_int_equal(correlator_take_late(correlator), 0);
	assert_int_equal(correlator_counts(correlator)->unmatched, 4);
}

static void work_without_a_launch_is_not_late_where_none_was_given_up(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, 9);
	kernel(fixture, 2, 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->unmatched, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 1);
	assert_int_equal(correlator_take_late(fixture->correlator), 0);
}

static void large_numbers_of_launches_expire_in_order(void **state)
{
	struct correlator_fixture *fixture = *state;
	const uint32_t max = 1u << 14, more = 3 * max;

	correlator_fixture_limit(fixture, (struct correlator_options){.launches_max = max});
	for (uint32_t i = 0; i < more; i++)
		correlator_fixture_launch(fixture, i * 2654435761u, 9);
	uint64_t expired = correlator_counts(fixture->correlator)->expired;
	assert_true(expired >= more - max && expired <= more - max + max / 16 + 1);
	for (uint32_t i = 0; i < more; i++)
		kernel(fixture, i * 2654435761u, 1);
	assert_int_equal(sum_of(fixture, 9).count, more - expired);
	kernel(fixture, 1, 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(sum_of(fixture, 0).count, expired + 1);
}

static void beyond_the_limit_the_oldest_waiting_record_is_folded(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.waiting_max = 3});
	for (uint32_t id = 1; id <= 4; id++)
		kernel(fixture, id, id);
	assert_int_equal(sum_of(fixture, 0).ns, 1);
	assert_int_equal(correlator_waiting(fixture->correlator), 3);
	correlator_fixture_launch(fixture, 1, 9);
	correlator_fixture_launch(fixture, 2, 9);
	assert_int_equal(sum_of(fixture, 9).ns, 2);
}

static void records_with_impossible_times_are_counted_not_folded(void **state)
{
	struct correlator_fixture *fixture = *state;
	struct gpu_record record = {.start_ns = 0, .end_ns = 5, .correlation_id = 1, .window = 1};

	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
	record.start_ns = 6;
	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
	record.end_ns = UINT64_MAX;
	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->invalid, 3);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
}

static void a_graph_launch_that_was_answered_does_not_expire(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.launches_max = 4});
	correlator_fixture_launch_with(fixture, 1, 9, RECORD_LAUNCH_MANY, 1);
	kernel(fixture, 1, 1);
	for (uint32_t id = 2; id <= 5; id++)
		correlator_fixture_launch(fixture, id, 9);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
	kernel(fixture, 1, 1);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, correlator_fixture_set_up,                           \
					correlator_fixture_tear_down)

static void record_memory(struct correlator_fixture *fixture, uint8_t kind, uint64_t time_ns,
			  uint32_t correlation_id)
{
	const struct gpu_record record = {
		.start_ns = time_ns,
		.end_ns = time_ns,
		.bytes = 100,
		.address = 0x1000ull * correlation_id,
		.correlation_id = correlation_id,
		.kind = kind,
		.copy_kind = MEMORY_KIND_DEVICE,
		.window = 1,
	};

	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
}

/* Also where the call comes after the record, or never. */
static void allocations_go_to_the_account_with_their_stacks(void **state)
{
	struct correlator_fixture *fixture = *state;
	struct memory_account *account = memory_account_create(NULL);
	uint32_t nr_rows;

	assert_non_null(account);
	correlator_fixture_replace(fixture, &(struct correlator_options){.memory = account});
	correlator_fixture_launch_with(fixture, 1, 5, RECORD_LAUNCH_HOST, 1);
	record_memory(fixture, RECORD_GPU_ALLOC, 10, 1);
	record_memory(fixture, RECORD_GPU_ALLOC, 20, 2);
	correlator_fixture_launch_with(fixture, 2, 6, RECORD_LAUNCH_HOST, 1);
	record_memory(fixture, RECORD_GPU_ALLOC, 30, 3);
	record_memory(fixture, RECORD_GPU_KERNEL, 40, 4);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(memory_account_finish(account), 0);
	const struct memory_row *rows = memory_account_rows(account, &nr_rows);
	assert_int_equal(nr_rows, 3);
	for (uint32_t i = 0; i < nr_rows; i++) {
		assert_int_equal(rows[i].live_bytes, 100);
		assert_int_equal(rows[i].key.stack_id, i < 2 ? 5 + i : 0);
		assert_int_equal(rows[i].key.matched, i < 2);
	}
	correlator_fixture_replace(fixture, NULL);
	memory_account_destroy(account);
}

static void a_call_without_gpu_work_is_no_launch(void **state)
{
	struct correlator_fixture *fixture = *state;
	const struct correlator_counts *counts = correlator_counts(fixture->correlator);

	correlator_fixture_launch_with(fixture, 1, 5, RECORD_LAUNCH_HOST, 1);
	correlator_fixture_launch_with(fixture, 2, 6, RECORD_LAUNCH_HOST, 1);
	correlator_fixture_launch_with(fixture, 3, 6, RECORD_LAUNCH_HOST, 1);
	correlator_fixture_launch_with(fixture, 3, 0, RECORD_LAUNCH_HOST | RECORD_LAUNCH_FAILED, 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(counts->launches, 0);
	assert_int_equal(counts->failed, 0);
	assert_int_equal(counts->expired, 0);
}

static void fetching_ahead_changes_nothing(void **state)
{
	struct correlator_fixture *fixture = *state;
	const struct correlator_counts *counts = correlator_counts(fixture->correlator);
	struct gpu_record records[CORRELATOR_PREFETCH_MAX];
	const struct launch_record launch = {.correlation_id = 1, .window = 1};
	uint32_t nr_rows;

	for (uint32_t i = 0; i < CORRELATOR_PREFETCH_MAX; i++)
		records[i] = (struct gpu_record){
			.start_ns = 1, .end_ns = 2, .correlation_id = i / 2, .window = 1};
	correlator_prefetch_launch(fixture->correlator, &launch);
	correlator_prefetch(fixture->correlator, records, CORRELATOR_PREFETCH_MAX);
	for (uint32_t i = 1; i <= CORRELATOR_RETIRED_MAX; i++) {
		correlator_fixture_launch(fixture, i, 5);
		if (i % 2)
			kernel(fixture, i, 10);
	}
	const struct correlator_counts before = *counts;
	correlator_prefetch_launch(fixture->correlator, &launch);
	correlator_prefetch(fixture->correlator, records, CORRELATOR_PREFETCH_MAX);
	assert_memory_equal(counts, &before, sizeof(before));
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
	fold_table_rows(fixture->table, &nr_rows);
	assert_int_equal(nr_rows, 1);
	assert_int_equal(sum_of(fixture, 5).count, CORRELATOR_RETIRED_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(allocations_go_to_the_account_with_their_stacks),
		TEST(a_launch_may_come_after_its_kernel),
		TEST(a_kernel_without_a_launch_is_kept_under_no_stack),
		TEST(many_kernels_may_belong_to_one_launch),
		TEST(a_kernel_after_its_launch_has_its_stack),
		TEST(kernels_that_wait_for_a_graph_launch_all_find_it),
		TEST(nodes_of_one_graph_launch_are_told_apart_by_their_capture_stacks),
		TEST(a_node_without_a_launch_keeps_its_capture_stack),
		TEST(a_second_part_of_a_copy_still_finds_its_launch),
		TEST(a_retired_launch_is_forgotten_after_as_many_others),
		TEST(a_failed_launch_is_counted_and_does_not_expire),
		TEST(a_failure_of_an_unknown_launch_is_counted),
		TEST(a_call_without_gpu_work_is_no_launch),
		TEST(windows_keep_equal_ids_apart),
		TEST(ids_may_wrap_around),
		TEST(an_id_that_comes_again_means_the_newer_launch),
		TEST(beyond_the_limit_the_oldest_launch_expires),
		TEST(work_whose_launch_was_given_up_is_counted_once),
		TEST(work_without_a_launch_is_not_late_where_none_was_given_up),
		TEST(large_numbers_of_launches_expire_in_order),
		TEST(beyond_the_limit_the_oldest_waiting_record_is_folded),
		TEST(records_with_impossible_times_are_counted_not_folded),
		TEST(a_graph_launch_that_was_answered_does_not_expire),
		TEST(fetching_ahead_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
