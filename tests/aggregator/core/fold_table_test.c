#include "aggregator/core/fold_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void equal_keys_become_one_row(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_key key = {.process_id = 1, .stack_id = 2, .matched = 1};
	uint32_t nr_rows;

	assert_int_equal(fold_table_add(table, &key, 1, 10, 100), 0);
	assert_int_equal(fold_table_add(table, &key, 2, 20, 200), 0);
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);
	assert_int_equal(nr_rows, 1);
	assert_memory_equal(&rows[0].key, &key, sizeof(key));
	assert_int_equal(rows[0].count, 3);
	assert_int_equal(rows[0].ns, 30);
	assert_int_equal(rows[0].bytes, 300);
	fold_table_destroy(table);
}

static void every_field_of_the_key_tells_rows_apart(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_key key;
	uint32_t nr_rows;

	for (size_t byte = 0; byte < sizeof(key); byte++) {
		memset(&key, 0, sizeof(key));
		((uint8_t *)&key)[byte] = 1;
		assert_int_equal(fold_table_add(table, &key, 1, byte, 0), 0);
	}
	fold_table_rows(table, &nr_rows);
	assert_int_equal(nr_rows, sizeof(key));
	fold_table_destroy(table);
}

static void many_rows_keep_exact_sums(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	const uint32_t nr_keys = 100000;
	uint32_t nr_rows;
	uint64_t ns = 0;

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < nr_keys; i++) {
			struct fold_key key = {.process_id = i % 7, .stack_id = i, .tid = i / 3};

			assert_int_equal(fold_table_add(table, &key, 1, i, 1), 0);
			ns += i;
		}
	}
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);
	assert_int_equal(nr_rows, nr_keys);
	for (uint32_t i = 0; i < nr_rows; i++) {
		assert_int_equal(rows[i].count, 3);
		ns -= rows[i].ns;
	}
	assert_int_equal(ns, 0);
	fold_table_destroy(table);
}

static void sums_stick_instead_of_wrapping(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_key key = {.process_id = 1};
	uint32_t nr_rows;

	assert_int_equal(fold_table_add(table, &key, 1, UINT64_MAX - 5, 0), 0);
	assert_int_equal(fold_table_add(table, &key, 1, 10, 0), 0);
	assert_true(fold_table_rows(table, &nr_rows)[0].ns == UINT64_MAX);
	fold_table_destroy(table);
}

static void a_cleared_table_is_empty_and_usable(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_key key = {.process_id = 1};
	uint32_t nr_rows;

	assert_int_equal(fold_table_add(table, &key, 1, 10, 0), 0);
	fold_table_clear(table);
	fold_table_rows(table, &nr_rows);
	assert_int_equal(nr_rows, 0);
	assert_int_equal(fold_table_add(table, &key, 1, 3, 0), 0);
	assert_int_equal(fold_table_rows(table, &nr_rows)[0].ns, 3);
	assert_int_equal(nr_rows, 1);
	fold_table_destroy(table);
}

static void a_row_is_found_and_made_by_its_hash(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_key key = {.process_id = 1};
	uint32_t hashes[100], nr_rows;

	for (uint32_t i = 0; i < 100; i++) {
		key.stack_id = i;
		hashes[i] = fold_table_hash(&key);
		fold_table_prefetch(table, hashes, i + 1);
		assert_null(fold_table_find(table, &key, hashes[i]));
		struct fold_row *row = fold_table_append(table, &key, hashes[i]);
		assert_non_null(row);
		fold_row_add(row, 1, i, 2);
		assert_ptr_equal(fold_table_find(table, &key, hashes[i]), row);
		assert_int_equal(fold_table_add(table, &key, 1, 1, 1), 0);
	}
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);
	assert_int_equal(nr_rows, 100);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(rows[i].key.stack_id, i);
		assert_int_equal(rows[i].count, 2);
		assert_int_equal(rows[i].ns, i + 1);
		assert_int_equal(rows[i].bytes, 3);
	}
	fold_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_become_one_row),
		cmocka_unit_test(every_field_of_the_key_tells_rows_apart),
		cmocka_unit_test(many_rows_keep_exact_sums),
		cmocka_unit_test(sums_stick_instead_of_wrapping),
		cmocka_unit_test(a_cleared_table_is_empty_and_usable),
		cmocka_unit_test(a_row_is_found_and_made_by_its_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
