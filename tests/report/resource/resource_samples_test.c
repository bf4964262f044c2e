/* Samples of counters as stretches of time. */
#include "report/resource/resource_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/kept_window.h"

#define MS    1000000ull
#define BEGIN (1795000000ull * 1000 * MS)

static struct database *database;
static struct resource_stretches stretches;

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(database_open(":memory:", false, &database, NULL), 0);
	return database_execute(database,
				"CREATE TABLE counter_samples (device, begin_ns, end_ns, known, sm,"
				" occupancy, tensor, dram, dram_bytes, nvlink_bytes, pcie_bytes)");
}

static int tear_down(void **state)
{
	(void)state;
	resource_stretches_fini(&stretches);
	database_close(database);
	return 0;
}

/* Adds count samples of a millisecond, from a time on. */
static void add(uint32_t device, uint64_t begin_ns, uint32_t count)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < "
		 "%" PRIu32 ") INSERT INTO counter_samples SELECT %" PRIu32 ", %" PRIu64
		 " + i * 1000000, %" PRIu64
		 " + (i + 1) * 1000000, 95, 500000, 250000, 1000000, 0, 3000, 0, 70 FROM n",
		 count, device, begin_ns, begin_ns);
	assert_int_equal(database_execute(database, sql), 0);
}

static void a_sample_is_a_stretch_with_its_amounts(void **state)
{
	(void)state;
	add(1, BEGIN, 3);
	add(2, BEGIN, 5);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	assert_int_equal(stretches.count, 3);
	const struct resource_stretch *last = &stretches.list[2];
	assert_int_equal(last->begin_ns, BEGIN + 2 * MS);
	assert_int_equal(last->ns, MS);
	assert_int_equal(last->known, RESOURCES_OF_USE & ~(1u << RESOURCE_NVLINK));
	assert_int_equal(last->amounts[RESOURCE_SM], 500000);
	assert_int_equal(last->amounts[RESOURCE_OCCUPANCY], 250000);
	assert_int_equal(last->amounts[RESOURCE_TENSOR], MS);
	assert_int_equal(last->amounts[RESOURCE_DRAM], 3000);
	assert_int_equal(last->amounts[RESOURCE_PCIE], 70);
}

static void of_too_many_those_of_high_windows_stay(void **state)
{
	uint32_t levels = 0;

	(void)state;
	add(1, BEGIN, 3 * RESOURCE_SAMPLES_MAX);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	assert_in_range(stretches.count, RESOURCE_SAMPLES_MAX / 4, RESOURCE_SAMPLES_MAX);
	for (uint32_t i = 0; i < stretches.count; i++)
		levels |= 1u << kept_window_level(stretches.list[i].begin_ns / KEPT_WINDOW_GPU_NS);
	/* All windows of a level are there, or none. */
	assert_int_equal(levels & 1, 0);
	assert_true(stretches.list[stretches.count - 1].begin_ns >
		    BEGIN + 2 * RESOURCE_SAMPLES_MAX * MS);
	for (uint32_t i = 1; i < stretches.count; i++)
		assert_true(stretches.list[i].begin_ns >= stretches.list[i - 1].end_ns);
}

static void samples_at_the_same_time_count_once(void **state)
{
	(void)state;
	add(1, BEGIN, 3);
	add(1, BEGIN + MS / 2, 3);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	assert_int_equal(stretches.count, 3);
}

static void a_sample_that_cannot_be_is_damage(void **state)
{
	(void)state;
	add(1, BEGIN, 1);
	assert_int_equal(database_execute(database, "UPDATE counter_samples SET sm = 1000001"), 0);
	assert_int_equal(resource_samples_init(&stretches, database, 1), -EPROTO);
	resource_stretches_fini(&stretches);
	assert_int_equal(
		database_execute(database, "UPDATE counter_samples SET sm = 1, end_ns = begin_ns"),
		0);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	assert_int_equal(stretches.count, 0); /* of an older aggregator */
}

/* Finds a window that is kept at level 1, behind one that is kept or not. */
static uint64_t find_window(bool is_before_kept)
{
	uint64_t window = BEGIN / KEPT_WINDOW_GPU_NS;

	while (kept_window_level(window) < 1 ||
	       (kept_window_level(window - 1) >= 1) != is_before_kept)
		window++;
	return window;
}

static void the_begin_of_a_window_lacks_what_began_before_it(void **state)
{
	const uint64_t alone = find_window(false) * KEPT_WINDOW_GPU_NS;
	const uint64_t behind = find_window(true) * KEPT_WINDOW_GPU_NS;
	uint32_t nr_thin = 0;

	(void)state;
	add(1, alone, 100);
	add(2, behind, 100);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	resource_samples_mark(&stretches, 0);
	for (uint32_t i = 0; i < stretches.count; i++)
		assert_false(stretches.list[i].is_thin);
	resource_samples_mark(&stretches, 1);
	for (uint32_t i = 0; i < stretches.count; i++)
		nr_thin += stretches.list[i].is_thin;
	assert_int_equal(nr_thin, 10);
	assert_true(stretches.list[9].is_thin);
	resource_stretches_fini(&stretches);
	assert_int_equal(resource_samples_init(&stretches, database, 2), 0);
	resource_samples_mark(&stretches, 1);
	for (uint32_t i = 0; i < stretches.count; i++)
		assert_false(stretches.list[i].is_thin);
}

/* Half of each millisecond of samples is use; rows of 100 ms have another amount. */
static void samples_and_rows_of_the_same_time_are_compared(void **state)
{
	struct resource_stretch list[4];
	const struct resource_stretches rows = {.list = list, .count = 4};

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		list[i] = (struct resource_stretch){.begin_ns = BEGIN + i * 100 * MS,
						    .end_ns = BEGIN + (i + 1) * 100 * MS,
						    .ns = 100 * MS,
						    .known = 1u << RESOURCE_SM,
						    .amounts = {[RESOURCE_SM] = 40 * MS}};
	add(1, BEGIN + 50 * MS, 250);
	assert_int_equal(resource_samples_init(&stretches, database, 1), 0);
	/* 100 ms of use, where rows have 80; what is before the first sample, and after the last one, does not count. */
	list[0].amounts[RESOURCE_SM] = list[3].amounts[RESOURCE_SM] = 0;
	assert_float_equal(resource_samples_mismatch(&stretches, &rows, RESOURCE_SM), 0.25, 1e-9);
	list[1].amounts[RESOURCE_SM] = 70 * MS; /* 110 in both */
	assert_float_equal(resource_samples_mismatch(&stretches, &rows, RESOURCE_SM), 10.0 / 110,
			   1e-9);
	/* Little use: 2 ms of 200 are compared with 5 % of them. */
	list[1].amounts[RESOURCE_SM] = list[2].amounts[RESOURCE_SM] = MS;
	for (uint32_t i = 0; i < stretches.count; i++)
		stretches.list[i].amounts[RESOURCE_SM] = MS / 50;
	assert_float_equal(resource_samples_mismatch(&stretches, &rows, RESOURCE_SM), 0.2, 1e-9);
	assert_float_equal(resource_samples_mismatch(&stretches, &rows, RESOURCE_DRAM), 0, 0);
	stretches.count = 0;
	assert_float_equal(resource_samples_mismatch(&stretches, &rows, RESOURCE_SM), 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_is_a_stretch_with_its_amounts),
		TEST(of_too_many_those_of_high_windows_stay),
		TEST(samples_at_the_same_time_count_once),
		TEST(a_sample_that_cannot_be_is_damage),
		TEST(the_begin_of_a_window_lacks_what_began_before_it),
		TEST(samples_and_rows_of_the_same_time_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
