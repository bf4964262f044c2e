/* Records of what is no GPU work: which call they belong to, and what they leave alone. */
#include "aggregator/core/correlator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "correlator_fixture.h"

#define LAUNCH_STACK 5u
#define WAIT_STACK   6u

static void add(struct correlator_fixture *fixture, uint32_t correlation_id, uint8_t kind)
{
	const struct gpu_record record = {
		.start_ns = 100,
		.end_ns = 110,
		.correlation_id = correlation_id,
		.window = 1,
		.kind = kind,
	};

	assert_int_equal(correlator_record(fixture->correlator, &record), 0);
}

static void wait_in(struct correlator_fixture *fixture, uint32_t correlation_id)
{
	correlator_fixture_launch_with(fixture, correlation_id, WAIT_STACK, RECORD_LAUNCH_HOST, 1);
}

/* How many records of a kind were folded under a stack. */
static uint64_t count_of(const struct correlator_fixture *fixture, uint8_t kind, uint32_t stack_id,
			 uint8_t matched)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(fixture->table, &nr_rows);
	uint64_t count = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		if (rows[i].key.kind == kind && rows[i].key.stack_id == stack_id &&
		    rows[i].key.matched == matched)
			count += rows[i].count;
	return count;
}

static void a_wait_is_folded_under_the_call_that_waits(void **state)
{
	struct correlator_fixture *fixture = *state;

	wait_in(fixture, 1);
	add(fixture, 1, RECORD_GPU_SYNC);
	add(fixture, 2, RECORD_GPU_SYNC);
	assert_int_equal(correlator_waiting(fixture->correlator), 1);
	wait_in(fixture, 2);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
	assert_int_equal(count_of(fixture, RECORD_GPU_SYNC, WAIT_STACK, 1), 2);
}

static void what_no_call_is_behind_is_folded_at_once(void **state)
{
	struct correlator_fixture *fixture = *state;

	add(fixture, 0, RECORD_GPU_UNIFIED);
	add(fixture, 0, RECORD_GPU_OVERHEAD);
	assert_int_equal(correlator_waiting(fixture->correlator), 0);
	assert_int_equal(count_of(fixture, RECORD_GPU_UNIFIED, 0, 1), 1);
	assert_int_equal(count_of(fixture, RECORD_GPU_OVERHEAD, 0, 1), 1);
	assert_int_equal(correlator_counts(fixture->correlator)->unmatched, 0);
	assert_int_equal(correlator_counts(fixture->correlator)->matched, 2);
}

static void unified_memory_is_nobodys_even_with_an_id(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 3, LAUNCH_STACK);
	add(fixture, 3, RECORD_GPU_UNIFIED);
	assert_int_equal(count_of(fixture, RECORD_GPU_UNIFIED, LAUNCH_STACK, 1), 0);
	assert_int_equal(count_of(fixture, RECORD_GPU_UNIFIED, 0, 1), 1);
}

static void overhead_of_a_launch_stands_under_it_and_does_not_answer_it(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_limit(fixture, (struct correlator_options){.retired_max = 1});
	correlator_fixture_launch(fixture, 1, LAUNCH_STACK);
	add(fixture, 1, RECORD_GPU_OVERHEAD);
	/* Would push launch 1 out, had it been answered. */
	for (uint32_t id = 2; id < 6; id++) {
		correlator_fixture_launch(fixture, id, LAUNCH_STACK + 10);
		add(fixture, id, RECORD_GPU_KERNEL);
	}
	add(fixture, 1, RECORD_GPU_KERNEL);
	assert_int_equal(count_of(fixture, RECORD_GPU_OVERHEAD, LAUNCH_STACK, 1), 1);
	assert_int_equal(count_of(fixture, RECORD_GPU_KERNEL, LAUNCH_STACK, 1), 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
	assert_int_equal(correlator_counts(fixture->correlator)->unmatched, 0);
}

static void overhead_alone_leaves_a_launch_unanswered(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, LAUNCH_STACK);
	add(fixture, 1, RECORD_GPU_OVERHEAD);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 1);
}

/* cudaMemcpy: the driver's copy, then its wait, of one call of the runtime's and with one id. */
static void a_wait_within_a_copys_call_is_part_of_the_copy(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch(fixture, 1, LAUNCH_STACK);
	wait_in(fixture, 1);
	add(fixture, 1, RECORD_GPU_SYNC);
	add(fixture, 1, RECORD_GPU_MEMCPY);
	assert_int_equal(count_of(fixture, RECORD_GPU_SYNC, LAUNCH_STACK, 1), 1);
	assert_int_equal(count_of(fixture, RECORD_GPU_MEMCPY, LAUNCH_STACK, 1), 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->launches, 1);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
}

/* cudaLaunchKernel: the library is loaded by the first launch, with its id. */
static void a_load_before_a_launch_gives_way_to_it(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_fixture_launch_with(fixture, 1, WAIT_STACK,
				       RECORD_LAUNCH_HOST | RECORD_LAUNCH_MANY, 1);
	correlator_fixture_launch(fixture, 1, LAUNCH_STACK);
	add(fixture, 1, RECORD_GPU_MODULE);
	add(fixture, 1, RECORD_GPU_KERNEL);
	assert_int_equal(count_of(fixture, RECORD_GPU_MODULE, LAUNCH_STACK, 1), 1);
	assert_int_equal(count_of(fixture, RECORD_GPU_KERNEL, LAUNCH_STACK, 1), 1);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(correlator_counts(fixture->correlator)->expired, 0);
}

static void a_wait_whose_call_is_not_known_is_kept_and_unmatched(void **state)
{
	struct correlator_fixture *fixture = *state;

	add(fixture, 9, RECORD_GPU_SYNC);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	assert_int_equal(count_of(fixture, RECORD_GPU_SYNC, 0, 0), 1);
	assert_int_equal(correlator_counts(fixture->correlator)->unmatched, 1);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, correlator_fixture_set_up,                           \
					correlator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_is_folded_under_the_call_that_waits),
		TEST(what_no_call_is_behind_is_folded_at_once),
		TEST(unified_memory_is_nobodys_even_with_an_id),
		TEST(overhead_of_a_launch_stands_under_it_and_does_not_answer_it),
		TEST(overhead_alone_leaves_a_launch_unanswered),
		TEST(a_wait_within_a_copys_call_is_part_of_the_copy),
		TEST(a_load_before_a_launch_gives_way_to_it),
		TEST(a_wait_whose_call_is_not_known_is_kept_and_unmatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
