#include "report/writers/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_table(const struct text_form *form, const char *expected)
{
	static const struct text_column columns[] = {
		{"time", 10, 0, false, 0},
		{"count", 8, 1, false, 1},
		{"average", 10, 1, false, 2},
		{"name", 0, 2, true, 0},
	};
	struct text_table table;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	text_table_cell(&table, "12 us");
	text_table_cell(&table, "%d", 3);
	text_table_cell(&table, "4 us");
	text_table_cell(&table, "ampere_sgemm_128x64_tn");
	text_table_cell(&table, "1 us");
	text_table_cell(&table, "%d", 1);
	text_table_cell(&table, "1 us");
	text_table_cell(&table, "copy");
	assert_int_equal(text_table_end(&table), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void without_a_limit_columns_have_their_widths(void **state)
{
	(void)state;
	assert_table(NULL, "      time    count    average  name\n"
			   "     12 us        3       4 us  ampere_sgemm_128x64_tn\n"
			   "      1 us        1       1 us  copy\n");
}

static void with_a_limit_columns_are_as_wide_as_their_cells(void **state)
{
	(void)state;
	assert_table(&(struct text_form){.columns = 50},
		     " time  count  average  name\n"
		     "12 us      3     4 us  ampere_sgemm_128x64_tn\n"
		     " 1 us      1     1 us  copy\n");
}

static void columns_of_less_use_are_left_out_for_names(void **state)
{
	(void)state;
	assert_table(&(struct text_form){.columns = 40}, " time  count  name\n"
							 "12 us      3  ampere_sgemm_128x64_tn\n"
							 " 1 us      1  copy\n");
}

static void names_that_are_still_too_long_are_cut(void **state)
{
	(void)state;
	assert_table(&(struct text_form){.columns = 20}, " time  name\n"
							 "12 us  ampe\xe2\x80\xa6"
							 "28x64_tn\n"
							 " 1 us  copy\n");
}

static void headings_are_bold_where_there_are_colours(void **state)
{
	(void)state;
	assert_table(&(struct text_form){.columns = 50, .has_colours = true},
		     "\033[1m time  count  average  name\033[0m\n"
		     "12 us      3     4 us  ampere_sgemm_128x64_tn\n"
		     " 1 us      1     1 us  copy\n");
}

static void a_table_without_rows_is_its_heading(void **state)
{
	struct text_table table;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	text_table_begin(&table, out, &(struct text_form){.columns = 40});
	text_table_column(&table, &(struct text_column){"name", 0, 0, true, 0});
	assert_int_equal(text_table_end(&table), 0);
	fclose(out);
	assert_string_equal(text, "name\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_columns_have_their_widths),
		cmocka_unit_test(with_a_limit_columns_are_as_wide_as_their_cells),
		cmocka_unit_test(columns_of_less_use_are_left_out_for_names),
		cmocka_unit_test(names_that_are_still_too_long_are_cut),
		cmocka_unit_test(headings_are_bold_where_there_are_colours),
		cmocka_unit_test(a_table_without_rows_is_its_heading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
