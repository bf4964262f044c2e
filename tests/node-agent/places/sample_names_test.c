/* The names of GPU code, and how much of them is read and entered. */
#include "node-agent/places/sample_names.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/dictionary/string_dictionary.h"

static void texts_are_read_once_and_within_a_bound(void **state)
{
	const uint32_t last = SAMPLE_NAMES_READ_MAX / WIRE_STRING_MAX, count = last + 50;
	struct string_dictionary *strings = string_dictionary_create();
	struct sample_names names = {0};
	char *text = malloc(count + WIRE_STRING_MAX + 1);
	uint32_t first, id;

	(void)state;
	assert_non_null(strings);
	assert_non_null(text);
	memset(text, 'x', count + WIRE_STRING_MAX);
	text[count + WIRE_STRING_MAX] = '\0';
	assert_int_equal(sample_names_line(&names, strings, text, &first), 0);
	assert_int_not_equal(first, STRING_NONE);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < count; i++) {
			const int r = sample_names_line(&names, strings, text + i, &id);

			assert_int_equal(r, i < last ? 0 : -ENOSPC);
			assert_int_equal(id, i < last ? first : STRING_NONE);
		}
	assert_int_equal(names.read_bytes, last * WIRE_STRING_MAX);
	assert_int_equal(names.lines_bytes, WIRE_STRING_MAX);
	assert_int_equal(string_dictionary_count(strings), 1);
	sample_names_fini(&names);
	string_dictionary_destroy(strings);
	free(text);
}

static void closed_names_find_what_is_known(void **state)
{
	static const char line[] = "one.cu", other[] = "two.cu", empty[] = "";
	struct string_dictionary *strings = string_dictionary_create();
	struct sample_names names = {0};
	uint32_t kernel, id;

	(void)state;
	assert_non_null(strings);
	assert_int_equal(sample_names_kernel(&names, strings, "gemm", 4, &kernel), 0);
	sample_names_close(&names);
	assert_int_equal(sample_names_kernel(&names, strings, "gemm", 4, &id), 0);
	assert_int_equal(id, kernel);
	assert_int_equal(sample_names_kernel(&names, strings, "gem", 3, &id), -ENOSPC);
	assert_int_equal(id, STRING_NONE);
	assert_int_equal(sample_names_line(&names, strings, line, &id), -ENOSPC);
	assert_int_equal(sample_names_line(&names, strings, line, &id), -ENOSPC);
	assert_int_equal(sample_names_line(&names, strings, other, &id), -ENOSPC);
	assert_int_equal(sample_names_line(&names, strings, empty, &id), 0);
	assert_int_equal(id, STRING_NONE);
	assert_int_equal(string_dictionary_count(strings), 1);
	sample_names_fini(&names);
	string_dictionary_destroy(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_once_and_within_a_bound),
		cmocka_unit_test(closed_names_find_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
