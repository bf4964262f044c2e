#include "report/writers/json_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/names/text_line.h"
#include "report/writers/row_text.h"

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

static void a_document_begins_with_its_schema_and_title(void **state)
{
	FILE *out = begin();

	(void)state;
	json_text_begin(out, "a\"b");
	json_text_member(out, "host", "n1");
	check(out, "{\"schema\":2,\n\"title\":\"a\\\"b\",\n\"host\":\"n1\",");
}

static void a_number_has_so_many_digits_or_is_null(void **state)
{
	FILE *out = begin();

	(void)state;
	json_text_number(out, "third", 3, 1.0 / 3);
	json_text_number(out, "none", 3, INFINITY);
	check(out, "\"third\":0.333,\"none\":null,");
}

struct animal {
	const char *name;
	int64_t legs;
	bool is_known, is_tame;
};

static const struct animal animals[] = {{"cat, \"tom\"", INT64_MIN, true, true},
					{"ant", 6, false, false}};

static void write_animal(struct row_text *out, const void *of)
{
	const struct animal *animal = of;

	row_text_string(out, "name", animal->name);
	row_text_number(out, "legs", animal->is_known, animal->legs);
	row_text_count(out, "most", UINT64_MAX);
	row_text_flag(out, "tame", animal->is_tame);
	row_text_print(out, "share", "%.1f", out->context ? 0.5 : 1.5);
}

static void rows_are_objects_in_json(void **state)
{
	FILE *out = begin();

	(void)state;
	row_text_json(out, "none", write_animal, NULL, NULL, 0, sizeof(animals[0]));
	row_text_json(out, "animals", write_animal, animals, animals, 2, sizeof(animals[0]));
	check(out, "\"none\":[]\"animals\":["
		   "\n{\"name\":\"cat, \\\"tom\\\"\",\"legs\":-9223372036854775808,"
		   "\"most\":18446744073709551615,\"tame\":true,\"share\":0.5},"
		   "\n{\"name\":\"ant\",\"legs\":null,"
		   "\"most\":18446744073709551615,\"tame\":false,\"share\":0.5}]");
}

static void rows_are_lines_under_a_heading_in_csv(void **state)
{
	FILE *out = begin();

	(void)state;
	row_text_csv(out, write_animal, &(struct animal){0}, animals, 2, sizeof(animals[0]));
	check(out, "name,legs,most,tame,share\n"
		   "\"cat, \"\"tom\"\"\",-9223372036854775808,18446744073709551615,1,1.5\n"
		   "ant,,18446744073709551615,0,1.5\n");
}

static void a_stack_stands_in_quotes_from_the_outside_in(void **state)
{
	const char *const strings[] = {"", "main", "a,\"b\""};
	const struct report_node nodes[] = {{0, 0}, {0, 1}, {1, 2}};
	struct row_text row = {.form = ROW_CSV};

	(void)state;
	row.out = begin();
	row_text_stack(&row, "stack", nodes, strings, 2);
	row_text_stack(&row, "stack", nodes, strings, REPORT_NODE_ROOT);
	check(row.out, "\"main;a,\"\"b\"\"\",\"\"");
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

/* OWASP's advice for names that others choose. */
static void csv_has_no_formulas(void **state)
{
	static const char *const names[][2] = {{"=1+1", "'=1+1"}, {"@SUM(1,2)", "\"'@SUM(1,2)\""},
					       {"+x", "'+x"},     {"-x", "'-x"},
					       {"-", "-"},        {"a=b", "a=b"},
					       {"", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		FILE *out = begin();
		struct row_text row = {.out = out, .form = ROW_CSV};

		row_text_string(&row, "name", names[i][0]);
		check(out, names[i][1]);
	}
}

static void a_path_is_sound_in_json_and_in_csv(void **state)
{
	static const struct report_node nodes[] = {{0, 0}, {0, 1}, {1, 2}};
	static const char *const strings[] = {"", "f<T = int; U>", "say \"x\""};
	struct row_text row = {.out = begin(), .form = ROW_JSON};

	(void)state;
	row_text_stack(&row, "stack", nodes, strings, 2);
	check(row.out, "\"stack\":\"f<T = int\\\\x3b U>;say \\\"x\\\"\"");
	row = (struct row_text){.out = begin(), .form = ROW_CSV};
	row_text_stack(&row, "stack", nodes, strings, 2);
	check(row.out, "\"f<T = int\\x3b U>;say \"\"x\"\"\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_quoted_and_escaped),
		cmocka_unit_test(a_number_has_so_many_digits_or_is_null),
		cmocka_unit_test(a_document_begins_with_its_schema_and_title),
		cmocka_unit_test(rows_are_objects_in_json),
		cmocka_unit_test(rows_are_lines_under_a_heading_in_csv),
		cmocka_unit_test(csv_has_no_formulas),
		cmocka_unit_test(a_stack_stands_in_quotes_from_the_outside_in),
		cmocka_unit_test(a_line_is_cut_where_its_array_ends),
		cmocka_unit_test(a_path_is_sound_in_json_and_in_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
