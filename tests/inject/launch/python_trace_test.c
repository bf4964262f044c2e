#include "inject/launch/python_trace.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 200u

/* Asserts the places of a text, which is read from a block without a byte behind it. */
static void assert_places(const char *text, const char *expected)
{
	char bytes[ROOM];
	struct place_list places = {bytes, sizeof(bytes), 0};
	size_t size = strlen(text);
	char *block = malloc(size ? size : 1);

	memcpy(block, text, size);
	python_trace_places(block, (uint32_t)size, &places);
	free(block);
	assert_int_equal(places.size, strlen(expected));
	assert_memory_equal(bytes, expected, places.size);
}

static void innermost_line_of_each_traceback_is_listed_once(void **state)
{
	(void)state;
	assert_places("\nFile \"/home/u/model.py\", line 30, in forward\n"
		      "    x = block(x)\n"
		      "  File \"/home/u/block.py\", line 18, in attend\n"
		      "    y = self.norm(x)\n"
		      "\n"
		      "File \"/home/u/model.py\", line 31, in forward\n"
		      "    return x * 2\n"
		      "\n"
		      "File \"/home/u/block.py\", line 18, in attend\n",
		      "block.py:attend:18, model.py:forward:31");
}

static void lines_of_packages_give_way_to_what_led_there(void **state)
{
	(void)state;
	assert_places("File \"/u/model.py\", line 3, in f\n"
		      "File \"/v/lib/python3.12/site-packages/torch/nn/linear.py\", line 134, in "
		      "forward\n"
		      "File \"/usr/lib/python3/dist-packages/x.py\", line 1, in g",
		      "model.py:f:3");
	assert_places("File \"/v/site-packages/a.py\", line 1, in f\n"
		      "File \"/v/site-packages/b.py\", line 2, in g",
		      "b.py:g:2");
}

static void what_is_no_traceback_has_no_places(void **state)
{
	(void)state;
	assert_places("", "");
	assert_places("\n\n\n", "");
	assert_places("File \"", "");
	assert_places("File \"a.py", "");
	assert_places("File \"a.py\", line ", "");
	assert_places("File \"a.py\", line x, in f", "");
	assert_places("File \"a.py\", line 3", "");
	assert_places("File \"a.py\", line 3, in ", "");
	assert_places("a.py:3", "");
	assert_places("File \"a.py\", line 3, in <module>", "a.py:<module>:3");
}

static void more_places_than_room_end_with_dots(void **state)
{
	char text[4096] = "", expected[ROOM + 1] = "";

	(void)state;
	for (int i = 10; i < 60; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "File \"/u/model.py\", line %d, in f\n\n", i);
	/* Places of 13 bytes, 15 with what separates them, and room for ", ...". */
	for (int i = 10; i < 10 + 13; i++)
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
			 "%smodel.py:f:%d", i > 10 ? ", " : "", i);
	strcat(expected, ", ...");
	assert_places(text, expected);
}

static void a_place_that_is_too_long_becomes_dots(void **state)
{
	char text[2048] = "File \"/u/", *at = text + strlen(text);

	(void)state;
	memset(at, 'x', 600);
	strcpy(at + 600, "\", line 3, in f\n\nFile \"a.py\", line 4, in g");
	assert_places(text, "..., a.py:g:4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(innermost_line_of_each_traceback_is_listed_once),
		cmocka_unit_test(lines_of_packages_give_way_to_what_led_there),
		cmocka_unit_test(what_is_no_traceback_has_no_places),
		cmocka_unit_test(more_places_than_room_end_with_dots),
		cmocka_unit_test(a_place_that_is_too_long_becomes_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
