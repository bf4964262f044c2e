#include "cli/job/step_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void words_become_long_options(void **state)
{
	struct step_options options = {0};
	char *error;

	(void)state;
	assert_int_equal(
		step_options_add(&options, "  output=prof-%j\trecord=sync,um  inlines\n", &error),
		0);
	assert_null(error);
	assert_int_equal(step_options_add(&options, "", &error), 0);
	assert_int_equal(step_options_add(&options, "cpu-hz=99", &error), 0);
	assert_int_equal(options.nr, 4);
	assert_string_equal(options.list[0], "--output=prof-%j");
	assert_string_equal(options.list[1], "--record=sync,um");
	assert_string_equal(options.list[2], "--inlines");
	assert_string_equal(options.list[3], "--cpu-hz=99");
	step_options_fini(&options);
	assert_int_equal(options.nr, 0);
}

static void assert_refused(const char *text, const char *why)
{
	struct step_options options = {0};
	char *error;

	assert_int_equal(step_options_add(&options, text, &error), -EINVAL);
	assert_non_null(error);
	assert_non_null(strstr(error, why));
	free(error);
	step_options_fini(&options);
}

static void what_a_step_cannot_have_is_refused_by_any_of_its_names(void **state)
{
	(void)state;
	assert_refused("agent=/run/agent", "agent=/run/agent: not for tasks");
	assert_refused("dormant", "not for tasks");
	assert_refused("dorm", "not for tasks");
	assert_refused("inlines help", "help: not for tasks");
}

static void what_is_no_option_is_refused(void **state)
{
	(void)state;
	assert_refused("--output=prof", "without dashes");
	assert_refused("-o", "without dashes");
	assert_refused("=prof", "not NAME");
	assert_refused("Output=prof", "not NAME");
	assert_refused("output/prof", "not NAME");
}

static void commas_between_options_are_noticed(void **state)
{
	struct step_options options = {0};
	char *error;

	(void)state;
	assert_refused("output=prof,cpu-hz=99", "blanks, not commas");
	assert_refused("record=sync,um,output=prof", "blanks, not commas");
	assert_int_equal(step_options_add(&options, "stacks=leaf,64,64", &error), 0);
	step_options_fini(&options);
}

static void there_is_an_end_to_them(void **state)
{
	struct step_options options = {0};
	char *error;

	(void)state;
	for (uint32_t i = 0; i < STEP_OPTIONS_MAX; i++)
		assert_int_equal(step_options_add(&options, "inlines", &error), 0);
	assert_int_equal(step_options_add(&options, "inlines", &error), -EINVAL);
	assert_non_null(strstr(error, "too many"));
	free(error);
	step_options_fini(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_long_options),
		cmocka_unit_test(what_a_step_cannot_have_is_refused_by_any_of_its_names),
		cmocka_unit_test(what_is_no_option_is_refused),
		cmocka_unit_test(commas_between_options_are_noticed),
		cmocka_unit_test(there_is_an_end_to_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
