#include "cli/run/output_template.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct job_step fourth = {.job = "4711", .rank = 3, .world_size = 8};

static void becomes(const char *template, const char *expected)
{
	char path[PATH_MAX];
	const char *at;

	assert_int_equal(output_template_expand(template, &fourth, true, path, &at), 0);
	assert_string_equal(path, expected);
}

static void each_sign_becomes_its_value(void **state)
{
	char host[256] = "", expected[512];

	(void)state;
	becomes("plain/name", "plain/name");
	becomes("", "");
	becomes("prof-%j.%r", "prof-4711.3");
	becomes("100%%", "100%");
	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "%s_%ld", host, (long)getpid());
	becomes("%h_%p", expected);
	setenv("TEMPLATE_TEST", "a b/c\td", 1);
	becomes("x%q{TEMPLATE_TEST}y", "xa_b_c_dy");
}

static void fails(const char *template, bool in_step, int status, const char *where)
{
	const struct job_step none = {.job = ""};
	char path[PATH_MAX];
	const char *at;

	assert_int_equal(
		output_template_expand(template, in_step ? &fourth : &none, in_step, path, &at),
		status);
	assert_string_equal(at, where);
}

static void what_is_not_known_is_named(void **state)
{
	(void)state;
	unsetenv("TEMPLATE_NONE");
	fails("a%xb", true, -EINVAL, "%xb");
	fails("a%", true, -EINVAL, "%");
	fails("%q{", true, -EINVAL, "%q{");
	fails("%q{}", true, -EINVAL, "%q{}");
	fails("%qNAME", true, -EINVAL, "%qNAME");
	fails("p%q{TEMPLATE_NONE}", true, -ENOENT, "%q{TEMPLATE_NONE}");
	fails("p%j", false, -ENOENT, "%j");
	fails("p%r", false, -ENOENT, "%r");
}

static void a_path_that_is_too_long_is_an_error(void **state)
{
	char template[PATH_MAX + 8], path[PATH_MAX];
	const char *at;

	(void)state;
	memset(template, 'x', sizeof(template));
	template[PATH_MAX] = '\0';
	assert_int_equal(output_template_expand(template, &fourth, true, path, &at), -ENAMETOOLONG);
	template[PATH_MAX - 1] = '\0';
	assert_int_equal(output_template_expand(template, &fourth, true, path, &at), 0);
}

static void signs_that_differ_between_processes_are_known(void **state)
{
	(void)state;
	assert_false(output_template_is_per_process("prof"));
	assert_false(output_template_is_per_process("prof-%j%q{X}"));
	assert_false(output_template_is_per_process("%%r"));
	assert_true(output_template_is_per_process("prof-%r"));
	assert_true(output_template_is_per_process("%%%h"));
	assert_true(output_template_is_per_process("%j.%p"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sign_becomes_its_value),
		cmocka_unit_test(what_is_not_known_is_named),
		cmocka_unit_test(a_path_that_is_too_long_is_an_error),
		cmocka_unit_test(signs_that_differ_between_processes_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
