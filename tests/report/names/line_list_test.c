#include "report/names/line_list.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

static void assert_dropped(const char *list, const char *expected)
{
	char text[128];

	strcpy(text, list);
	line_list_drop_numbers(text);
	assert_string_equal(text, expected);
}

static void items_are_found_whole(void **state)
{
	(void)state;
	assert_true(line_list_has("a.py:f:1, b.py:g:2", "a.py:f:1"));
	assert_true(line_list_has("a.py:f:1, b.py:g:2", "b.py:g:2"));
	assert_false(line_list_has("a.py:f:1, b.py:g:2", "b.py:g"));
	assert_false(line_list_has("a.py:f:1, b.py:g:2", "y:f:1"));
	assert_false(line_list_has("", "a"));
}

static void equal_lines_are_one_without_numbers(void **state)
{
	(void)state;
	assert_dropped("a.py:f:1", "a.py:f");
	assert_dropped("a.py:f:1, a.py:f:22, b.py:g:3, a.py:f:4", "a.py:f, b.py:g");
	assert_dropped("a.py:f, b.py:g", "a.py:f, b.py:g");
	assert_dropped("a.py:f:1, ...", "a.py:f, ...");
	assert_dropped("a.py:f:1, b.py:12, a.py:f:2", "a.py:f, b.py");
	assert_dropped("", "");
	assert_dropped(":1, :2", "");
	assert_dropped("f:", "f:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_found_whole),
		cmocka_unit_test(equal_lines_are_one_without_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
