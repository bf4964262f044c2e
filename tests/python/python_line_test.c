#include "python/python_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE(format, table, first, offset) python_line(format, table, sizeof(table), first, offset)

static void lnotab_steps_add_up_to_the_line(void **state)
{
	/* Bytes 0-5: line 10; 6-55: 11; 56-: 10 + 1 + 127 + 3, in two steps. */
	const uint8_t table[] = {6, 1, 50, 127, 0, 3};

	(void)state;
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, -1), 10);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 0), 10);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 5), 10);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 6), 11);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 55), 11);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 56), 141);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 10, 5000), 141);
}

static void lnotab_lines_may_go_back(void **state)
{
	const uint8_t table[] = {4, 5, 4, (uint8_t)-3};

	(void)state;
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 1, 4), 6);
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 1, 8), 3);
}

static void pairs_give_the_line_of_their_range(void **state)
{
	const uint8_t table[] = {6, 1, 2, 0x80, 254, 0, 10, (uint8_t)-1};

	(void)state;
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, 0), 21);
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, 7), 0); /* -128: none */
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, 8), 21);
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, 262), 20);
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, 272), 0); /* behind the last */
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 20, -2), 20);
}

static void location_entries_of_every_kind_are_understood(void **state)
{
	const uint8_t table[] = {
		0x80 | 13 << 3 | 1, 2,                        /* 2 units, no columns, line +1 */
		0x80 | 3 << 3 | 0,  0x11,                     /* 1 unit, short form, same line */
		0x80 | 12 << 3 | 7, 0x10,      0x20,          /* 8 units, line +2 */
		0x80 | 14 << 3 | 0, 0x40 | 10, 8,    0, 1, 1, /* 1 unit, line +(8 << 6 | 10) / 2 */
		0x80 | 15 << 3 | 0,                           /* 1 unit, no line */
		0x80 | 13 << 3 | 0, 7,                        /* 1 unit, line -3 */
	};

	(void)state;
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, -2), 100);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 0), 101);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 2), 101);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 4), 101);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 6), 103);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 20), 103);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 22), 364);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 24), 0);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 26), 361);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, 100, 28), 0);
}

static void lines_below_one_are_none(void **state)
{
	const uint8_t table[] = {4, (uint8_t)-100};

	(void)state;
	assert_int_equal(LINE(PYTHON_LINE_LNOTAB, table, 5, 10), 0);
	assert_int_equal(LINE(PYTHON_LINE_PAIRS, table, 5, 1), 0);
	assert_int_equal(LINE(PYTHON_LINE_LOCATIONS, table, -7, -1), 0);
}

/* Each table stands at the end of its allocation, where a sanitizer sees a step too far. */
static void any_bytes_are_read_within_their_bounds(void **state)
{
	uint32_t random = 1, some = 0;

	(void)state;
	for (uint32_t round = 0; round < 20000; round++) {
		size_t size = round % 24;
		uint8_t *table = malloc(size ? size : 1);

		for (size_t i = 0; i < size; i++) {
			random = random * 1664525u + 1013904223u;
			table[i] = (uint8_t)(random >> 24);
		}
		for (int format = PYTHON_LINE_LNOTAB; format <= PYTHON_LINE_LOCATIONS; format++)
			some += python_line((enum python_line_format)format, table, size, 50,
					    (int32_t)(random % 64)) != 0;
		free(table);
	}
	assert_true(some > 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_steps_add_up_to_the_line),
		cmocka_unit_test(lnotab_lines_may_go_back),
		cmocka_unit_test(pairs_give_the_line_of_their_range),
		cmocka_unit_test(location_entries_of_every_kind_are_understood),
		cmocka_unit_test(lines_below_one_are_none),
		cmocka_unit_test(any_bytes_are_read_within_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
