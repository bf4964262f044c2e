/* How long kernels took to begin, from launches and records in any order. */
#include "aggregator/core/launch_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"

#define OFFSET_NS (-1000000) /* CUPTI's clock is ahead */

static struct fold_table *table;
static struct correlator *correlator;
static struct launch_delays delays;

static void start(void)
{
	correlator = correlator_create(
		1, &(struct correlator_options){.delays = &delays, .track_changes = true}, table);
	assert_non_null(correlator);
	correlator_set_clock(correlator, OFFSET_NS, true);
}

static int set_up(void **state)
{
	(void)state;
	table = fold_table_create();
	assert_non_null(table);
	start();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	correlator_destroy(correlator);
	fold_table_destroy(table);
	launch_delays_fini(&delays);
	return 0;
}

static void launch(uint32_t correlation_id, uint64_t time_ns, uint32_t flags)
{
	const struct launch_record record = {
		.time_ns = time_ns, .correlation_id = correlation_id, .window = 1, .flags = flags};

	assert_int_equal(correlator_launch(correlator, &record), 0);
}

/* By CLOCK_MONOTONIC. */
static void begin_on(uint32_t device_id, uint32_t correlation_id, uint64_t time_ns, uint8_t kind)
{
	struct gpu_record record = {.start_ns = time_ns - (uint64_t)OFFSET_NS,
				    .correlation_id = correlation_id,
				    .device_id = device_id,
				    .kind = kind,
				    .window = 1};

	record.end_ns = record.start_ns + 10;
	assert_int_equal(correlator_record(correlator, &record), 0);
}

static void begin(uint32_t correlation_id, uint64_t time_ns)
{
	begin_on(0, correlation_id, time_ns, RECORD_GPU_KERNEL);
}

static struct launch_delay delay_of(uint32_t device_id)
{
	const struct launch_delay *delay = launch_delays_find(&delays, device_id);

	return delay ? *delay : (struct launch_delay){0};
}

static void assert_delays(uint32_t device_id, uint64_t count, uint64_t sum_ns, uint64_t max_ns)
{
	struct launch_delay delay = delay_of(device_id);

	assert_int_equal(delay.count, count);
	assert_int_equal(delay.sum_ns, sum_ns);
	assert_int_equal(delay.max_ns, max_ns);
}

static void a_delay_is_from_the_launch_to_the_start(void **state)
{
	(void)state;
	launch(1, 5000, 0);
	launch(2, 6000, 0);
	begin(1, 5700);
	begin(2, 9000);
	assert_delays(0, 2, 3700, 3000);
	assert_true(delay_of(0).changed);
	launch_delays_saved(&delays);
	assert_false(delay_of(0).changed);
}

static void a_record_may_come_before_its_launch(void **state)
{
	(void)state;
	begin(1, 5700);
	assert_delays(0, 0, 0, 0);
	launch(1, 5000, 0);
	assert_delays(0, 1, 700, 700);
}

static void devices_are_apart(void **state)
{
	(void)state;
	launch(1, 5000, 0);
	launch(2, 5000, 0);
	launch(3, 5000, 0);
	begin_on(1, 1, 5001, RECORD_GPU_KERNEL);
	begin_on(RECORD_DEVICES_MAX - 1, 2, 5002, RECORD_GPU_KERNEL);
	begin_on(UINT32_MAX, 3, 5004, RECORD_GPU_KERNEL);
	assert_delays(0, 0, 0, 0);
	assert_delays(1, 1, 1, 1);
	assert_delays(RECORD_DEVICES_MAX - 1, 2, 6, 4);
}

static void copies_and_graphs_have_none(void **state)
{
	(void)state;
	launch(1, 5000, 0);
	launch(2, 5000, RECORD_LAUNCH_MANY);
	launch(3, 0, 0);
	begin_on(0, 1, 6000, RECORD_GPU_MEMCPY);
	begin(2, 6000);
	begin(2, 7000);
	begin(3, 6000);
	assert_delays(0, 0, 0, 0);
	assert_int_equal(delay_of(0).unclear, 0);
}

static void without_a_clock_none_is_known(void **state)
{
	(void)state;
	correlator_set_clock(correlator, 0, false);
	launch(1, 5000, 0);
	begin(1, 6000);
	assert_delays(0, 0, 0, 0);
}

static void what_the_clocks_make_nonsense_of_is_counted(void **state)
{
	(void)state;
	launch(1, 5000, 0);
	launch(2, 5000, 0);
	launch(3, 5000, 0);
	begin(1, 4999);
	begin(2, 1ull << 60);
	begin(3, 5000);
	assert_delays(0, 1, 0, 0);
	assert_int_equal(delay_of(0).unclear, 2);
}

static void sums_stick(void **state)
{
	(void)state;
	for (int i = 0; i < 64; i++)
		launch_delays_add(&delays, 0, 0, 1ull << 58);
	assert_delays(0, 64, INT64_MAX, 1ull << 58);
}

/* --- across a restart --- */

static struct launch kept[CORRELATOR_BLOCK_SIZE];
static uint32_t nr_kept;

static int keep(void *context, const struct correlator_block *block)
{
	(void)context;
	assert_int_equal(block->kind, CORRELATOR_BLOCK_LAUNCHES);
	nr_kept = block->count;
	memcpy(kept, block->launches, block->count * sizeof(*kept));
	return 0;
}

static void a_launch_keeps_its_time_across_a_restart(void **state)
{
	(void)state;
	launch(1, 5000, 0);
	assert_int_equal(correlator_save(correlator, keep, NULL), 0);
	const struct correlator_counts counts = *correlator_counts(correlator);
	const struct correlator_block block = {
		.kind = CORRELATOR_BLOCK_LAUNCHES, .count = nr_kept, .launches = kept};
	correlator_destroy(correlator);
	start();
	assert_int_equal(correlator_load(correlator, &block), 0);
	assert_int_equal(correlator_load_end(correlator, &counts), 0);
	begin(1, 5700);
	assert_delays(0, 1, 700, 700);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_delay_is_from_the_launch_to_the_start),
		TEST(a_record_may_come_before_its_launch),
		TEST(devices_are_apart),
		TEST(copies_and_graphs_have_none),
		TEST(without_a_clock_none_is_known),
		TEST(what_the_clocks_make_nonsense_of_is_counted),
		TEST(sums_stick),
		TEST(a_launch_keeps_its_time_across_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
