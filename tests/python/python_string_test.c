#include "python/python_string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_objects.h"

static struct python_library library;
static struct python_text text;

static int set_up(void **state)
{
	(void)state;
	library.layout = *python_layout_of(12);
	library.string_type = 0x1000;
	return 0;
}

static void assert_text(const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.text, expected, text.size);
}

static void read_string(const void *data, uint32_t length, unsigned kind, int ascii)
{
	struct fake_object object;

	fake_object_string(&object, &library, data, length, kind, ascii);
	python_string_read(&library.layout, fake_object_address(&object), &text);
	/* What is not in the buffer would dangle. */
	if (text.text != text.buffer + sizeof(text.buffer) - text.size &&
	    strncmp(text.text, PYTHON_STRING_UNREADABLE, text.size) != 0) {
		memcpy(text.buffer, text.text, text.size);
		text.text = text.buffer;
	}
}

static void ascii_is_given_as_it_is(void **state)
{
	(void)state;
	read_string("train.py", 8, 1, 1);
	assert_text("train.py");
	read_string("", 0, 1, 1);
	assert_text("");
}

static void latin_1_takes_two_bytes(void **state)
{
	(void)state;
	read_string("caf\xe9", 4, 1, 0);
	assert_text("caf\xc3\xa9");
}

static void wider_strings_become_utf_8(void **state)
{
	const uint16_t two[] = {0x3bb, 'x', 0x6f22};
	const uint32_t four[] = {0x1d4eb, 0xe9, 'y'};

	(void)state;
	read_string(two, 3, 2, 0);
	assert_text("\xce\xbbx\xe6\xbc\xa2");
	read_string(four, 3, 4, 0);
	assert_text("\xf0\x9d\x93\xab\xc3\xa9y");
}

static void what_is_no_character_is_replaced(void **state)
{
	const uint16_t surrogate[] = {'a', 0xdc80, 'b'};
	const uint32_t too_large[] = {0x110000};

	(void)state;
	read_string(surrogate, 3, 2, 0);
	assert_text("a\xef\xbf\xbd"
		    "b");
	read_string(too_large, 1, 4, 0);
	assert_text("\xef\xbf\xbd");
}

/* length bytes or code points in an object of the right size. */
static void read_long(uint32_t length, unsigned kind, int ascii, uint16_t first, uint16_t rest)
{
	struct {
		struct fake_object head;
		uint16_t more[8000];
	} *object = calloc(1, sizeof(*object));

	fake_object_string(&object->head, &library, "", 0, kind, ascii);
	fake_object_put64(&object->head, PYTHON_OBJECT_SIZE, length);
	char *data = (char *)object +
		     (ascii ? library.layout.string_ascii : library.layout.string_other);
	for (uint32_t i = 0; i < length; i++) {
		uint16_t code_point = i == 0 ? first : rest;

		memcpy(data + i * kind, &code_point, kind);
	}
	python_string_read(&library.layout, fake_object_address(&object->head), &text);
	assert_true(text.size <= RECORD_CODE_TEXT_MAX);
	memmove(text.buffer, text.text, text.size);
	text.text = text.buffer;
	free(object);
}

static void long_strings_keep_their_end(void **state)
{
	(void)state;
	read_long(RECORD_CODE_TEXT_MAX, 1, 1, 'a', 'b');
	assert_int_equal(text.size, RECORD_CODE_TEXT_MAX);
	assert_int_equal(text.text[0], 'a');
	read_long(RECORD_CODE_TEXT_MAX + 1, 1, 1, 'a', 'b');
	assert_int_equal(text.size, RECORD_CODE_TEXT_MAX);
	assert_int_equal(text.text[0], 'b');
}

static void no_character_is_cut_in_two(void **state)
{
	(void)state;
	read_long(5000, 2, 0, 'a', 0x6f22);
	assert_int_equal(text.size, RECORD_CODE_TEXT_MAX / 3 * 3);
	assert_memory_equal(text.text, "\xe6\xbc\xa2", 3);
}

static void strings_that_make_no_sense_are_unreadable(void **state)
{
	struct fake_object object;

	(void)state;
	fake_object_ascii(&object, &library, "name");
	fake_object_put64(&object, PYTHON_OBJECT_SIZE, UINT64_MAX);
	python_string_read(&library.layout, fake_object_address(&object), &text);
	assert_text(PYTHON_STRING_UNREADABLE);
	fake_object_ascii(&object, &library, "name");
	fake_object_put32(&object, PYTHON_STRING_STATE, 1 << 2); /* not compact */
	python_string_read(&library.layout, fake_object_address(&object), &text);
	assert_text(PYTHON_STRING_UNREADABLE);
	fake_object_put32(&object, PYTHON_STRING_STATE, 3 << 2 | PYTHON_STRING_COMPACT);
	python_string_read(&library.layout, fake_object_address(&object), &text);
	assert_text(PYTHON_STRING_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascii_is_given_as_it_is),
		cmocka_unit_test(latin_1_takes_two_bytes),
		cmocka_unit_test(wider_strings_become_utf_8),
		cmocka_unit_test(what_is_no_character_is_replaced),
		cmocka_unit_test(long_strings_keep_their_end),
		cmocka_unit_test(no_character_is_cut_in_two),
		cmocka_unit_test(strings_that_make_no_sense_are_unreadable),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
