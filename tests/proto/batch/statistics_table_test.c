#include "proto/batch/statistics_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct statistics_table *table;
static uint64_t nr_compares;

static int set_up(void **state)
{
	(void)state;
	nr_compares = 0;
	table = statistics_table_create();
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	statistics_table_destroy(table);
	return 0;
}

int __real_memcmp(const void *one, const void *two, size_t size);
int __wrap_memcmp(const void *one, const void *two, size_t size);
int __wrap_memcmp(const void *one, const void *two, size_t size)
{
	nr_compares++;
	return __real_memcmp(one, two, size);
}

static int put_call(uint32_t domain, uint32_t cbid, uint32_t error, uint64_t count)
{
	return statistics_table_put_call(
		table,
		&(struct message_api_call){
			.domain = domain, .cbid = cbid, .error = error, .name = 3, .count = count});
}

static int put_config(uint32_t grid_x, uint64_t count)
{
	return statistics_table_put_config(
		table,
		&(struct message_kernel_config){.config = {.grid_x = grid_x}, .count = count});
}

static int put_metric(uint32_t stack_id, uint32_t metric, uint64_t count)
{
	return statistics_table_put_metric(
		table,
		&(struct message_kernel_metric){
			.stack_id = stack_id, .metric = metric, .nr_passes = 1, .count = count});
}

static void a_metric_has_a_row_for_each_stack(void **state)
{
	const struct message_kernel_metric *metrics;
	uint32_t count;

	(void)state;
	assert_int_equal(put_metric(4, 1, 2), 0);
	assert_int_equal(put_metric(5, 1, 3), 0);
	assert_int_equal(put_metric(4, 2, 2), 0);
	statistics_table_saved(table);
	assert_int_equal(put_metric(4, 2, 2), 0);
	assert_false(statistics_table_changed(table));
	assert_int_equal(put_metric(4, 1, 7), 0);
	assert_true(statistics_table_changed(table));
	assert_true(statistics_table_metric_changed(table, 0));
	assert_false(statistics_table_metric_changed(table, 1));
	metrics = statistics_table_metrics(table, &count);
	assert_int_equal(count, 3);
	assert_int_equal(metrics[0].count, 7);
	assert_int_equal(statistics_table_find_metric(
				 table, &(struct message_kernel_metric){.stack_id = 5, .metric = 1})
				 ->count,
			 3);
	assert_null(statistics_table_find_metric(
		table, &(struct message_kernel_metric){.stack_id = 5, .metric = 2}));
}

static void a_row_replaces_the_one_of_its_key(void **state)
{
	const struct message_api_call *calls;
	uint32_t count;

	(void)state;
	assert_int_equal(put_call(1, 7, 0, 10), 0);
	assert_int_equal(put_call(2, 7, 0, 20), 0);
	assert_int_equal(put_call(1, 7, 2, 30), 0);
	assert_int_equal(put_call(1, 7, 0, 11), 0);
	calls = statistics_table_calls(table, &count);
	assert_int_equal(count, 3);
	assert_int_equal(calls[0].count, 11);
	assert_int_equal(calls[1].count, 20);
	assert_int_equal(calls[2].count, 30);
	assert_int_equal(
		statistics_table_find_call(
			table, &(struct message_api_call){.domain = 1, .cbid = 7, .error = 2})
			->count,
		30);
	assert_null(statistics_table_find_call(table,
					       &(struct message_api_call){.domain = 1, .cbid = 8}));
	assert_null(statistics_table_find_config(table, &(struct message_kernel_config){0}));
}

static void only_what_differs_is_a_change(void **state)
{
	(void)state;
	put_call(1, 7, 0, 10);
	put_call(1, 8, 0, 10);
	put_config(1, 1);
	put_config(2, 1);
	assert_true(statistics_table_changed(table));
	statistics_table_saved(table);
	assert_false(statistics_table_changed(table));
	put_call(1, 7, 0, 10);
	put_config(1, 1);
	assert_false(statistics_table_changed(table));
	put_call(1, 8, 0, 12);
	put_config(2, 2);
	put_config(2, 3);
	assert_true(statistics_table_changed(table));
	assert_false(statistics_table_call_changed(table, 0));
	assert_true(statistics_table_call_changed(table, 1));
	assert_false(statistics_table_config_changed(table, 0));
	assert_true(statistics_table_config_changed(table, 1));
}

static void a_full_table_takes_known_keys_alone(void **state)
{
	uint32_t count;

	(void)state;
	for (uint32_t i = 0; i < STATISTICS_TABLE_CALLS; i++)
		assert_int_equal(put_call(1, i, 0, 1), 0);
	assert_int_equal(put_call(2, 0, 0, 1), -ENOSPC);
	assert_int_equal(put_call(1, 0, 0, 2), 0);
	for (uint32_t i = 0; i < STATISTICS_TABLE_CONFIGS; i++)
		assert_int_equal(put_config(i, 1), 0);
	assert_int_equal(put_config(STATISTICS_TABLE_CONFIGS, 1), -ENOSPC);
	assert_int_equal(put_config(5, 2), 0);
	statistics_table_configs(table, &count);
	assert_int_equal(count, STATISTICS_TABLE_CONFIGS);
}

/* Against a product with a known factor for each word: what the second one does not take back, the highest bits of the
 * first one's product are chosen not to have. */
static void keys_that_are_chosen_are_told_apart_by_few_compares(void **state)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	const uint32_t nr = 4096;
	uint32_t cbid = 0, count;

	(void)state;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t domain;

		do { /* the hash of its domain, id and error has 12 zeros */
			domain = (12 ^ 1) * factor;
			domain = (domain ^ ++cbid) * factor;
		} while ((domain * factor >> 32 & 0xfff) != 0);
		assert_int_equal(put_call(1, cbid, 0, 1), 0);
	}
	statistics_table_calls(table, &count);
	assert_int_equal(count, nr);
	assert_true(nr_compares < 4 * nr);
}

static void no_table_has_no_rows(void **state)
{
	uint32_t count = 1;

	(void)state;
	assert_null(statistics_table_calls(NULL, &count));
	assert_int_equal(count, 0);
	count = 1;
	assert_null(statistics_table_configs(NULL, &count));
	assert_int_equal(count, 0);
	count = 1;
	assert_null(statistics_table_metrics(NULL, &count));
	assert_int_equal(count, 0);
	assert_false(statistics_table_changed(NULL));
	statistics_table_saved(NULL);
	statistics_table_destroy(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_row_replaces_the_one_of_its_key),
		TEST(a_metric_has_a_row_for_each_stack),
		TEST(only_what_differs_is_a_change),
		TEST(a_full_table_takes_known_keys_alone),
		TEST(keys_that_are_chosen_are_told_apart_by_few_compares),
		TEST(no_table_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
