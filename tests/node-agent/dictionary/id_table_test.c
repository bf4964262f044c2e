#include "node-agent/dictionary/id_table.h"

#include "tests/support/cmocka_test.h"

#include <malloc.h>

static void what_is_set_is_found_and_all_else_is_none(void **state)
{
	struct id_table table = {0};

	(void)state;
	assert_int_equal(id_table_get(&table, 0), 0);
	for (uint32_t i = 0; i < 5000; i += 3)
		assert_int_equal(id_table_set(&table, i, i + 1), 0);
	for (uint32_t i = 0; i < 9000; i++)
		assert_int_equal(id_table_get(&table, i), i < 5000 && i % 3 == 0 ? i + 1 : 0);
	assert_int_equal(id_table_set(&table, 3, 7), 0);
	assert_int_equal(id_table_get(&table, 3), 7);
	id_table_fini(&table);
	assert_int_equal(id_table_get(&table, 3), 0);
}

static void one_high_id_costs_little(void **state)
{
	struct id_table table = {0};

	(void)state;
	assert_int_equal(id_table_set(&table, 1u << 20, 5), 0);
	assert_int_equal(id_table_get(&table, 1u << 20), 5);
	size_t bytes = malloc_usable_size(table.chunks);
	for (uint32_t i = 0; i < table.nr_chunks; i++)
		bytes += malloc_usable_size(table.chunks[i]);
	assert_true(bytes < 40000);
	id_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_is_found_and_all_else_is_none),
		cmocka_unit_test(one_high_id_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
