#include "proto/options/stack_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_options(const char *text, enum stack_mode mode, uint32_t native, uint32_t python)
{
	struct stack_options options;

	assert_int_equal(stack_options_parse(text, &options), 0);
	assert_int_equal(options.mode, mode);
	assert_int_equal(options.native_depth, native);
	assert_int_equal(options.python_depth, python);
}

static void nothing_given_is_the_default(void **state)
{
	(void)state;
	assert_options(NULL, STACK_MODE_LEAF, 96, 128);
	assert_options("", STACK_MODE_LEAF, 96, 128);
}

static void modes_and_depths_are_read(void **state)
{
	(void)state;
	assert_options("leaf", STACK_MODE_LEAF, 96, 128);
	assert_options("full", STACK_MODE_FULL, 96, 128);
	assert_options("native,20", STACK_MODE_NATIVE, 20, 128);
	assert_options("python,1,250", STACK_MODE_PYTHON, 1, 250);
	assert_options("none,96,128", STACK_MODE_NONE, 96, 128);
}

static void what_makes_no_sense_is_refused_and_leaves_the_default(void **state)
{
	static const char *const texts[] = {"leafy",   "lea",     "leaf,",  "leaf,x",
					    "leaf,1x", "leaf,1,", ",1",     "leaf,1,2,",
					    "leaf,-1", "leaf 1",  "leaf,,1"};
	struct stack_options options;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(stack_options_parse(texts[i], &options), -EINVAL);
		assert_int_equal(options.mode, STACK_MODE_LEAF);
		assert_int_equal(options.native_depth, STACK_OPTIONS_NATIVE_DEPTH);
	}
}

static void depths_that_do_not_fit_are_out_of_range(void **state)
{
	struct stack_options options;

	(void)state;
	assert_int_equal(stack_options_parse("full,0", &options), -ERANGE);
	assert_int_equal(stack_options_parse("full,96,0", &options), -ERANGE);
	assert_int_equal(stack_options_parse("full,1,251", &options), -ERANGE);
	assert_int_equal(stack_options_parse("full,4294967297,1", &options), -ERANGE);
	assert_int_equal(options.native_depth, STACK_OPTIONS_NATIVE_DEPTH);
}

static void formatted_options_read_back_the_same(void **state)
{
	const struct stack_options options = {STACK_MODE_NATIVE, 250, 1};
	struct stack_options read;
	char text[STACK_OPTIONS_SIZE];

	(void)state;
	stack_options_format(&options, text);
	assert_string_equal(text, "native,250,1");
	assert_int_equal(stack_options_parse(text, &read), 0);
	assert_memory_equal(&read, &options, sizeof(read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_is_the_default),
		cmocka_unit_test(modes_and_depths_are_read),
		cmocka_unit_test(what_makes_no_sense_is_refused_and_leaves_the_default),
		cmocka_unit_test(depths_that_do_not_fit_are_out_of_range),
		cmocka_unit_test(formatted_options_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
