#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/string_dictionary.h"

static uint32_t intern(struct string_dictionary *strings, const char *data, size_t size)
{
	uint32_t id;

	assert_int_equal(string_dictionary_intern(strings, data, size, &id), 0);
	return id;
}

static void equal_strings_get_one_id_and_ids_have_no_gaps(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	char text[32];

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 20000; i++) {
			int size = snprintf(text, sizeof(text), "kernel_%u", i);

			assert_int_equal(intern(strings, text, (size_t)size), i + 1);
		}
	assert_int_equal(string_dictionary_count(strings), 20000);
	assert_memory_equal(string_dictionary_texts(strings, 20000)->data, "kernel_19999", 12);
	string_dictionary_destroy(strings);
}

static void the_empty_string_is_none(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();

	(void)state;
	assert_int_equal(intern(strings, "", 0), STRING_NONE);
	assert_int_equal(intern(strings, "\0abc", 4), STRING_NONE);
	assert_int_equal(string_dictionary_count(strings), 0);
	string_dictionary_destroy(strings);
}

static void a_string_is_cut_at_nul_and_at_the_limit(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	size_t size = WIRE_STRING_MAX + 100;
	char *text = malloc(size);

	(void)state;
	memset(text, 'x', size);
	assert_int_equal(intern(strings, "ab\0cd", 5), 1);
	assert_int_equal(intern(strings, "ab", 2), 1);
	assert_int_equal(intern(strings, text, size), 2);
	assert_int_equal(string_dictionary_texts(strings, 2)->size, WIRE_STRING_MAX);
	free(text);
	string_dictionary_destroy(strings);
}

static void what_was_forgotten_gives_its_memory_back_and_keeps_its_ids(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	uint64_t empty = string_dictionary_bytes(strings);
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 10000; i++) {
		text[snprintf(text, 16, "%u", i)] = 'x';
		intern(strings, text, sizeof(text));
	}
	uint32_t count = string_dictionary_count(strings);
	assert_true(string_dictionary_bytes(strings) > count * 1000ull);
	string_dictionary_forget(strings);
	assert_true(string_dictionary_bytes(strings) == empty);
	assert_int_equal(string_dictionary_count(strings), count);
	assert_int_equal(intern(strings, "new", 3), count + 1);
	assert_int_equal(intern(strings, text, sizeof(text)), count + 2);
	assert_int_equal(intern(strings, "new", 3), count + 1);
	assert_memory_equal(string_dictionary_texts(strings, count + 1)->data, "new", 3);
	string_dictionary_destroy(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_get_one_id_and_ids_have_no_gaps),
		cmocka_unit_test(the_empty_string_is_none),
		cmocka_unit_test(a_string_is_cut_at_nul_and_at_the_limit),
		cmocka_unit_test(what_was_forgotten_gives_its_memory_back_and_keeps_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
