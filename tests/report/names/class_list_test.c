#include "report/names/class_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/names/kernel_class.h"

struct fixture {
	char folder[64], path[128]; /* path: the class list in folder, which is $XDG_CONFIG_HOME */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char inner[96];

	assert_non_null(fixture);
	*state = fixture;
	strcpy(fixture->folder, "/tmp/flamegrid_classes_XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(inner, sizeof(inner), "%s/flamegrid", fixture->folder);
	assert_int_equal(mkdir(inner, 0700), 0);
	snprintf(fixture->path, sizeof(fixture->path), "%s/classes", inner);
	setenv("XDG_CONFIG_HOME", fixture->folder, 1);
	return setenv(CLASS_LIST_ENV, fixture->path,
		      1); /* so that the machine's own list is left out */
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kernel_class_forget();
	unlink(fixture->path);
	*strrchr(fixture->path, '/') = '\0';
	rmdir(fixture->path);
	rmdir(fixture->folder);
	free(fixture);
	unsetenv(CLASS_LIST_ENV);
	return unsetenv("XDG_CONFIG_HOME");
}

static void write_bytes(const struct fixture *fixture, const char *bytes, size_t size)
{
	FILE *file = fopen(fixture->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void write_list(const struct fixture *fixture, const char *text)
{
	write_bytes(fixture, text, strlen(text));
}

static void read_list(const struct fixture *fixture, const char *text)
{
	char *error;

	write_list(fixture, text);
	int status = class_list_read(&error);
	if (status != 0)
		fail_msg("%s", error);
	assert_null(error);
}

/* The message about the list has the file, the line and why; and no rule is in force. */
static void assert_refusal(const struct fixture *fixture, int status, unsigned int line,
			   const char *why)
{
	char *error, where[192];

	assert_int_equal(class_list_read(&error), status);
	snprintf(where, sizeof(where), "%s: line %u: ", fixture->path, line);
	if (strncmp(error, where, strlen(where)) != 0 || !strstr(error, why))
		fail_msg("%s", error);
	free(error);
	assert_string_equal(kernel_class_word(kernel_class_of("my_gemm")), "gemm");
	assert_null(kernel_class_word(KERNEL_CLASS_OWN));
}

static void assert_refused(const struct fixture *fixture, const char *text, int status,
			   unsigned int line, const char *why)
{
	write_list(fixture, text);
	assert_refusal(fixture, status, line, why);
}

static void assert_class(const char *kernel, const char *wanted)
{
	assert_string_equal(kernel_class_word(kernel_class_of(kernel)), wanted);
}

static void rules_come_before_the_built_in_ones(void **state)
{
	read_list(*state, "# ours\n"
			  "moe\t topk_gating|^fused_moe  # both\n"
			  "\n"
			  "gemm my solver\r\n"
			  "  kernel flash_[a-c]$\n"
			  "moe permute#2");
	assert_class("vllm::topk_gating_softmax", "moe");
	assert_class("FUSED_MOE_gemm", "moe");
	assert_class("not_fused_moe_gemm", "gemm");
	assert_class("my solver<int>", "gemm");
	assert_class("flash_b", "kernel");
	assert_class("flash_d", "attention");
	assert_class("permute#2", "moe");
	assert_int_equal(kernel_class_of("fused_moe"), KERNEL_CLASS_OWN);
	assert_null(kernel_class_word(KERNEL_CLASS_OWN + 1));
}

static void the_first_rule_that_fits_decides(void **state)
{
	read_list(*state, "b bc\na abc\nnccl abcd\n");
	assert_class("abcd", "b");
	assert_class("abc", "b");
	assert_int_equal(kernel_class_of("bc"), KERNEL_CLASS_OWN);
}

static void reading_again_replaces_the_rules(void **state)
{
	read_list(*state, "a x\nb y\nc z\n");
	assert_class("y", "b");
	read_list(*state, "d y\n");
	assert_class("x", "kernel");
	assert_class("y", "d");
	assert_int_equal(kernel_class_of("y"), KERNEL_CLASS_OWN);
}

static void a_bad_line_is_told_and_no_rule_is_in_force(void **state)
{
	assert_refused(*state, "moe gemm\nmoe\n", -EINVAL, 2, "moe: not CLASS PATTERN");
	assert_refused(*state, "moe # no pattern\n", -EINVAL, 1, "moe: not CLASS PATTERN");
	assert_refused(*state, "MoE x\n", -EINVAL, 1, "MoE: a class has a small letter");
	assert_refused(*state, "2d x\n", -EINVAL, 1, "2d: a class has a small letter");
	assert_refused(*state, "copy x\n", -EINVAL, 1, "copy: the name stands for something else");
	assert_refused(*state, "a x\nb x\nc x\na y\nd x\n", -ENOSPC, 5,
		       "d: more than 3 new classes; the page has colours for a, b and c");
	assert_refused(*state, "\n\nmoe (x\n", -EINVAL, 3, "(x: ");
}

static void a_pattern_that_is_none_of_posix_is_refused(void **state)
{
	static const char *const patterns[] = {
		"x)y",  "*x",  "x**",  "x+?",    "(?:x)",
		"x{2}", "\\d", "\\<x", "(x)\\1", "x\\",
		"[x",   "[]",  "^*",   "[[:x]",  "(((((((((x)))))))))",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		char line[64];

		snprintf(line, sizeof(line), "moe %s\n", patterns[i]);
		assert_refused(*state, line, -EINVAL, 1, patterns[i]);
	}
	read_list(*state, "moe [^a-c]x|(y\\[z)+|a.?b$|]|\\{|[]+({[:digit:]]q|\xc3\xa4\n");
	assert_class("ax", "kernel");
	assert_class("dx", "moe");
	assert_class("y[zy[z", "moe");
	assert_class("k<a]>", "moe");
	assert_class("{q", "moe");
	assert_class("7q", "moe");
	assert_class("aq", "kernel");
	assert_class("k\xc3\xa4", "moe");
}

/* Tools that try one way after another need longer than anybody waits. */
static void a_pattern_with_repetitions_in_each_other_is_quick(void **state)
{
	char kernel[2048];

	memset(kernel, 'a', sizeof(kernel) - 1);
	kernel[sizeof(kernel) - 1] = '\0';
	read_list(*state, "x ^([a-z0-9]+_?)+_fprop$\ny (((.*)*)*)*x$\n"
			  "z (a|aa)+$x|((((((((b+)+)+)+)+)+)+)+)+c\n");
	assert_class(kernel, "kernel");
	kernel[sizeof(kernel) - 2] = 'x';
	assert_class(kernel, "y");
}

/* A NUL ends no line, and would cut the pattern. */
static void a_nul_is_refused(void **state)
{
	static const char inner[] = "gemm x\nmine ^k1$\0 more\n", last[] = "mine ^k1$\n\0",
			  first[] = "\0mine ^k1$\n";

	write_bytes(*state, inner, sizeof(inner) - 1);
	assert_refusal(*state, -EINVAL, 2, "has a NUL");
	write_bytes(*state, last, sizeof(last) - 1);
	assert_refusal(*state, -EINVAL, 2, "has a NUL");
	write_bytes(*state, first, sizeof(first) - 1);
	assert_refusal(*state, -EINVAL, 1, "has a NUL");
}

static void too_long_a_line_and_too_many_rules_are_refused(void **state)
{
	char *text = calloc(1, 16384);
	size_t used = 0;

	assert_non_null(text);
	memcpy(text, "moe ", 4);
	memset(text + 4, 'x', 5000);
	assert_refused(*state, text, -EINVAL, 1, "longer than 4094 bytes");
	for (unsigned int i = 0; i <= KERNEL_CLASS_ADDED_MAX; i++)
		used += (size_t)sprintf(text + used, "moe x%u\n", i);
	assert_refused(*state, text, -ENOSPC, KERNEL_CLASS_ADDED_MAX + 1, "more than 256 rules");
	free(text);
}

static void the_environment_names_a_file_in_place_of_others(void **state)
{
	struct fixture *fixture = *state;
	char *error;

	write_list(fixture, "moe x\n");
	unsetenv(CLASS_LIST_ENV);
	assert_int_equal(class_list_read(&error), 0);
	assert_class("x", "moe");
	setenv(CLASS_LIST_ENV, "", 1);
	assert_int_equal(class_list_read(&error), 0);
	assert_class("x", "kernel");
	setenv(CLASS_LIST_ENV, fixture->path, 1);
	setenv("XDG_CONFIG_HOME", "/nowhere", 1);
	assert_int_equal(class_list_read(&error), 0);
	assert_class("x", "moe");
	setenv(CLASS_LIST_ENV, "/nowhere/classes", 1);
	assert_int_equal(class_list_read(&error), -ENOENT);
	assert_string_equal(error, "/nowhere/classes: No such file or directory");
	free(error);
	setenv(CLASS_LIST_ENV, fixture->folder, 1);
	assert_int_equal(class_list_read(&error), -EINVAL);
	assert_non_null(strstr(error, "not a regular file"));
	free(error);
}

static void without_a_file_there_are_the_built_in_rules(void **state)
{
	char *error;

	(void)state;
	setenv(CLASS_LIST_ENV, "", 1);
	assert_int_equal(class_list_read(&error), 0);
	assert_class("my_gemm", "gemm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rules_come_before_the_built_in_ones, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_first_rule_that_fits_decides, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(reading_again_replaces_the_rules, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bad_line_is_told_and_no_rule_is_in_force, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_pattern_that_is_none_of_posix_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_pattern_with_repetitions_in_each_other_is_quick,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_nul_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_long_a_line_and_too_many_rules_are_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_environment_names_a_file_in_place_of_others,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_file_there_are_the_built_in_rules, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
