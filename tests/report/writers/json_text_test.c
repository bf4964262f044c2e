#include "report/writers/json_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/writers/csv_writer.h"
#include "report/writers/text_line.h"

static char *text;
static size_t size;

static FILE *begin(void)
{
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	return out;
}

static void check(FILE *out, const char *wanted)
{
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void strings_are_quoted_and_escaped(void **state)
{
	FILE *out = begin();

	(void)state;
	json_text_write(out, "");
	json_text_write(out, "C:\\\"x\" \xc3\xa4");
	check(out, "\"\"\"C:\\\\\\\"x\\\" \xc3\xa4\"");
}

static void members_end_with_a_comma(void **state)
{
	FILE *out = begin();

	(void)state;
	json_text_member(out, "host", "a\"b");
	json_text_number(out, "least", true, INT64_MIN);
	json_text_number(out, "most", true, INT64_MAX);
	check(out, "\"host\":\"a\\\"b\",\"least\":-9223372036854775808,"
		   "\"most\":9223372036854775807,");
}

static void what_is_not_known_is_null(void **state)
{
	FILE *out = begin();

	(void)state;
	json_text_number(out, "rank", false, 3);
	json_text_write_number(out, false, 3);
	json_text_write_number(out, true, 0);
	check(out, "\"rank\":null,null0");
}

static void a_field_that_is_not_known_is_empty(void **state)
{
	FILE *out = begin();

	(void)state;
	csv_writer_number(out, true, -1);
	csv_writer_number(out, false, 5);
	csv_writer_number(out, true, 0);
	check(out, "-1,,0,");
}

static void a_line_is_cut_where_its_array_ends(void **state)
{
	char line[8] = "";

	(void)state;
	text_line_append(line, sizeof(line), "%s %d", "ab", 1);
	assert_string_equal(line, "ab 1");
	text_line_append(line, sizeof(line), "%s", "23456");
	assert_string_equal(line, "ab 1234");
	text_line_append(line, sizeof(line), "%s", "7");
	assert_string_equal(line, "ab 1234");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_quoted_and_escaped),
		cmocka_unit_test(members_end_with_a_comma),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(a_field_that_is_not_known_is_empty),
		cmocka_unit_test(a_line_is_cut_where_its_array_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
