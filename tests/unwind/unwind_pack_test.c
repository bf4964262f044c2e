#include "unwind/unwind_pack.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind_row.h"
#include "unwind/unwind_rows.h"

#define NR_ROWS 1000u
#define TAG     77u

static struct unwind_rows rows;
static struct unwind_pack pack;

/* Distances of one to four bytes, and more rules than a byte can count. */
static int set_up(void **state)
{
	uint32_t pc = 5;

	(void)state;
	unwind_rows_init(&rows, 1u << 20);
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		unwind_rows_put(&rows, pc,
				unwind_rule(UNWIND_RSP, (int32_t)(i % 300), UNWIND_RBP_KEPT));
		pc += i % 97 == 0 ? 3000000 : i % 7 == 0 ? 20000 : 1 + i % 90;
	}
	assert_int_equal(rows.nr, NR_ROWS);
	assert_int_equal(unwind_pack_make(&rows, TAG, &pack), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unwind_pack_fini(&pack);
	unwind_rows_fini(&rows);
	return 0;
}

static void each_row_holds_from_its_address_to_the_next(void **state)
{
	(void)state;
	assert_int_equal(unwind_pack_find(&pack, 4), unwind_rule_special(UNWIND_GAP));
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		uint32_t rule = rows.rows[i].rule;

		assert_int_equal(unwind_pack_find(&pack, rows.rows[i].pc), rule);
		if (i + 1 < NR_ROWS)
			assert_int_equal(unwind_pack_find(&pack, rows.rows[i + 1].pc - 1), rule);
	}
	assert_int_equal(unwind_pack_find(&pack, UINT32_MAX), rows.rows[NR_ROWS - 1].rule);
}

static void zeroed_pack_has_no_rule(void **state)
{
	const struct unwind_pack none = {0};

	(void)state;
	assert_int_equal(unwind_pack_find(&none, 5), unwind_rule_special(UNWIND_UNSUPPORTED));
}

static void other_names_and_sizes_are_refused(void **state)
{
	struct unwind_pack other;

	(void)state;
	assert_true(unwind_pack_open(pack.data, pack.bytes, TAG, &other));
	assert_int_equal(unwind_pack_find(&other, rows.rows[100].pc), rows.rows[100].rule);
	assert_false(unwind_pack_open(pack.data, pack.bytes, TAG + 1, &other));
	for (uint32_t size = 0; size < pack.bytes; size++)
		assert_false(unwind_pack_open(pack.data, size, TAG, &other));
	assert_null(other.data);
}

/* The copy is exactly as large as the pack, so that a sanitizer sees each read beside it. */
static void damaged_bytes_lead_nowhere_else(void **state)
{
	uint8_t *copy = malloc(pack.bytes);
	struct unwind_pack other;

	(void)state;
	for (uint32_t at = 0; at < pack.bytes; at += at < 400 ? 1 : 37) {
		for (uint32_t value = 0; value < 256; value += 85) {
			memcpy(copy, pack.data, pack.bytes);
			copy[at] = (uint8_t)value;
			if (!unwind_pack_open(copy, pack.bytes, TAG, &other))
				continue;
			for (uint32_t i = 0; i < NR_ROWS; i += 9)
				unwind_pack_find(&other, rows.rows[i].pc);
			unwind_pack_find(&other, UINT32_MAX);
		}
	}
	free(copy);
}

static void too_many_rules_are_no_table(void **state)
{
	struct unwind_pack other;
	struct unwind_rows many;

	(void)state;
	unwind_rows_init(&many, 1u << 20);
	for (uint32_t i = 0; i <= UNWIND_PACK_RULES_MAX; i++)
		unwind_rows_put(&many, i, i << 3 | UNWIND_RSP);
	assert_int_equal(unwind_pack_make(&many, TAG, &other), -ENOSPC);
	assert_null(other.data);
	many.nr--;
	assert_int_equal(unwind_pack_make(&many, TAG, &other), 0);
	assert_int_equal(unwind_pack_find(&other, UNWIND_PACK_RULES_MAX),
			 many.rows[UNWIND_PACK_RULES_MAX - 1].rule);
	unwind_pack_fini(&other);
	unwind_rows_fini(&many);
}

/* The most is 100,000 rows, which is between two doublings. */
static void rows_take_no_more_room_than_they_may(void **state)
{
	const uint64_t most = 100000 * sizeof(struct unwind_row);
	struct unwind_rows all;

	(void)state;
	unwind_rows_init(&all, most);
	for (uint32_t i = 0; i < 100001; i++)
		unwind_rows_put(&all, i, i % 2 << 3 | UNWIND_RSP);
	assert_int_equal(all.error, -ENOSPC);
	assert_int_equal(all.nr, 100000);
	assert_true(all.room * sizeof(struct unwind_row) < most + 4096);
	for (uint32_t i = 0; i < all.nr; i++) {
		assert_int_equal(all.rows[i].pc, i);
		assert_int_equal(all.rows[i].rule, i % 2 << 3 | UNWIND_RSP);
	}
	unwind_rows_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_holds_from_its_address_to_the_next),
		cmocka_unit_test(zeroed_pack_has_no_rule),
		cmocka_unit_test(other_names_and_sizes_are_refused),
		cmocka_unit_test(damaged_bytes_lead_nowhere_else),
		cmocka_unit_test(too_many_rules_are_no_table),
		cmocka_unit_test(rows_take_no_more_room_than_they_may),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
