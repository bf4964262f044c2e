#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/dictionary/id_memory.h"
#include "node-agent/dictionary/string_dictionary.h"

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

/* Enters count texts of 1,000 bytes; text is the last one. */
static void enter_long_texts(struct string_dictionary *strings, uint32_t count, char text[1000])
{
	memset(text, 'x', 1000);
	for (uint32_t i = 0; i < count; i++) {
		text[snprintf(text, 16, "%u", i)] = 'x';
		intern(strings, text, 1000);
	}
}

static void what_was_sent_is_known_without_its_text(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	char text[1000];

	(void)state;
	enter_long_texts(strings, 10000, text);
	assert_true(string_dictionary_bytes(strings) > 10000 * 1000);
	string_dictionary_sent(strings);
	assert_true(string_dictionary_bytes(strings) < 10000 * 64);
	assert_int_equal(string_dictionary_count(strings), 10000);
	assert_int_equal(intern(strings, text, sizeof(text)), 10000);
	assert_int_equal(intern(strings, "new", 3), 10001);
	assert_memory_equal(string_dictionary_texts(strings, 10001)->data, "new", 3);
	string_dictionary_destroy(strings);
}

static void what_was_forgotten_gives_its_memory_back_and_keeps_its_ids(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	char text[1000];

	(void)state;
	enter_long_texts(strings, 10000, text);
	string_dictionary_sent(strings);
	string_dictionary_forget(strings);
	assert_int_equal(string_dictionary_bytes(strings), 0);
	assert_int_equal(string_dictionary_count(strings), 10000);
	assert_int_equal(intern(strings, "new", 3), 10001);
	assert_int_equal(intern(strings, text, sizeof(text)), 10002);
	assert_int_equal(intern(strings, "new", 3), 10001);
	string_dictionary_destroy(strings);
}

static void two_memories_know_nothing_of_each_other(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	struct id_memory other = {0};

	(void)state;
	assert_int_equal(intern(strings, "name", 4), 1);
	string_dictionary_use(strings, &other, 7);
	assert_int_equal(intern(strings, "name", 4), 2);
	assert_int_equal(intern(strings, "name", 4), 2);
	string_dictionary_use(strings, NULL, 0);
	assert_int_equal(intern(strings, "name", 4), 1);
	assert_int_equal(string_dictionary_owners(strings, 1)[0], 0);
	assert_int_equal(string_dictionary_owners(strings, 2)[0], 7);
	id_memory_clear(&other);
	string_dictionary_destroy(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_get_one_id_and_ids_have_no_gaps),
		cmocka_unit_test(the_empty_string_is_none),
		cmocka_unit_test(a_string_is_cut_at_nul_and_at_the_limit),
		cmocka_unit_test(what_was_sent_is_known_without_its_text),
		cmocka_unit_test(two_memories_know_nothing_of_each_other),
		cmocka_unit_test(what_was_forgotten_gives_its_memory_back_and_keeps_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
