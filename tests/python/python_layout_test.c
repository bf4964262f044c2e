#include "python/python_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "python/python_library.h"

#define WORDS (PYTHON_DEBUG_OFFSETS_BYTES / 8)

static uint64_t words[WORDS];

/* As 3.14 begins its _PyRuntime, where the tests look. */
static void put_offsets(unsigned minor, uint64_t instruction)
{
	memset(words, 0, sizeof(words));
	memcpy(words, "xdebugpy", 8);
	words[1] = 3u << 24 | minor << 16 | 0x0af0;
	words[208 / 8] = 72;
	words[256 / 8] = 8;
	words[272 / 8] = instruction;
	words[288 / 8] = 74;
	words[320 / 8] = 112;
	words[328 / 8] = 120;
	words[336 / 8] = 128;
	words[344 / 8] = 136;
	words[352 / 8] = 68;
	words[384 / 8] = 208;
	words[600 / 8] = 16;
	words[608 / 8] = 32;
	words[624 / 8] = 32;
	words[632 / 8] = 16;
	words[640 / 8] = 40;
	words[40 / 8] = 808;
	words[64 / 8] = 7272;
	words[72 / 8] = 7344;
	words[192 / 8] = 8;
	words[200 / 8] = 16;
	words[216 / 8] = 152;
}

static void known_minor_versions_are_8_to_14(void **state)
{
	(void)state;
	for (unsigned minor = 0; minor < 30; minor++) {
		const struct python_layout *layout = python_layout_of(minor);

		if (minor < 8 || minor > 14) {
			assert_null(layout);
		} else {
			assert_non_null(layout);
			assert_int_equal(layout->minor, minor);
		}
	}
}

static void offsets_that_the_interpreter_tells_are_taken(void **state)
{
	struct python_layout layout = *python_layout_of(14);

	(void)state;
	put_offsets(14, 56);
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_TAKEN);
	assert_memory_equal(&layout, python_layout_of(14), sizeof(layout));
	put_offsets(14, 64);
	words[384 / 8] = 216;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_TAKEN);
	assert_int_equal(layout.frame_instruction, 64);
	assert_int_equal(layout.code_bytecode, 216);
	assert_int_equal(layout.code_first_traceable, 200);
}

static void older_versions_tell_no_offsets(void **state)
{
	struct python_layout layout = *python_layout_of(12);

	(void)state;
	put_offsets(12, 64);
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_ABSENT);
	assert_int_equal(layout.frame_instruction, 56);
}

static void other_offsets_are_refused_and_leave_the_layout(void **state)
{
	struct python_layout layout = *python_layout_of(14);

	(void)state;
	put_offsets(13, 64);
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	put_offsets(14, 64);
	words[0]++;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	put_offsets(14, PYTHON_LAYOUT_OFFSET_MAX + 1);
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	put_offsets(14, 64);
	words[632 / 8] = 24;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	assert_memory_equal(&layout, python_layout_of(14), sizeof(layout));
}

/* They would have the agent read and write outside of its copies. */
static void offsets_before_what_must_precede_them_are_refused(void **state)
{
	struct python_layout layout = *python_layout_of(14);

	(void)state;
	put_offsets(14, 64);
	words[640 / 8] = PYTHON_STRING_HEAD - 1;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	put_offsets(14, 64);
	words[384 / 8] = 15;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_OTHER);
	assert_memory_equal(&layout, python_layout_of(14), sizeof(layout));
	put_offsets(14, 64);
	words[384 / 8] = 16;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_TAKEN);
	assert_int_equal(layout.code_first_traceable, 0);
}

static void free_threaded_build_is_told_by_its_offsets(void **state)
{
	struct python_layout layout = *python_layout_of(14);

	(void)state;
	put_offsets(14, 56);
	words[2] = 1;
	assert_int_equal(python_layout_take_offsets(&layout, words), PYTHON_OFFSETS_FREE_THREADED);
}

static void version_text_gives_minor_and_name(void **state)
{
	char text[PYTHON_LIBRARY_TEXT_MAX];

	(void)state;
	assert_int_equal(python_library_version("3.11.2 (main, Apr 28 2025) [GCC]", text), 11);
	assert_string_equal(text, "CPython 3.11.2");
	assert_int_equal(python_library_version("3.8.18 (default) \n[GCC 12.2.0]", text), 8);
	assert_int_equal(python_library_version("3.14.0rc2+", text), 14);
	assert_string_equal(text, "CPython 3.14.0rc2+");
	assert_int_equal(python_library_version("2.7.18 (default)", text), -1);
	assert_int_equal(python_library_version("3.", text), -1);
	assert_int_equal(python_library_version("", text), -1);
	assert_true(python_library_version("3.99999999999", text) > 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_minor_versions_are_8_to_14),
		cmocka_unit_test(offsets_that_the_interpreter_tells_are_taken),
		cmocka_unit_test(older_versions_tell_no_offsets),
		cmocka_unit_test(other_offsets_are_refused_and_leave_the_layout),
		cmocka_unit_test(offsets_before_what_must_precede_them_are_refused),
		cmocka_unit_test(free_threaded_build_is_told_by_its_offsets),
		cmocka_unit_test(version_text_gives_minor_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
