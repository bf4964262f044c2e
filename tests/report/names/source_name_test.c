#include "report/names/source_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_file(const char *path, const char *expected)
{
	size_t size = strlen(path);
	const char *file = source_name_file(path, &size);

	assert_int_equal(size, strlen(expected));
	assert_memory_equal(file, expected, size);
}

static void a_file_is_called_by_its_last_component(void **state)
{
	(void)state;
	assert_file("/home/me/job/train.py", "train.py");
	assert_file("train.py", "train.py");
	assert_file("a/b/", "b/");
	assert_file("/", "/");
	assert_file("", "");
}

static void a_file_of_a_package_is_called_by_its_path_in_it(void **state)
{
	(void)state;
	assert_file("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		    "torch/nn/modules/linear.py");
	assert_file("/usr/lib/python3/dist-packages/torch/_ops.py", "torch/_ops.py");
	assert_file("/usr/lib/python3.11/concurrent/futures/thread.py",
		    "concurrent/futures/thread.py");
	assert_file("/usr/lib64/python3.9/threading.py", "threading.py");
	assert_file("/opt/py/lib/python3.13t/threading.py", "threading.py");
	assert_file("/x/site-packages/a/site-packages/b/c.py", "b/c.py");
}

static void what_only_looks_like_a_package_is_none(void **state)
{
	(void)state;
	assert_file("/usr/lib/python3/foo/bar.py", "bar.py");
	assert_file("/usr/lib/python3.x/foo/bar.py", "bar.py");
	assert_file("/usr/lib/python3.", "python3.");
	assert_file("/usr/lib/python3.11", "python3.11");
	assert_file("/x/site-packages/", "site-packages/");
}

static void names_that_are_no_paths_stay(void **state)
{
	(void)state;
	assert_file("<string>", "<string>");
	assert_file("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>");
	assert_file("<ipython-input-3-a/b>", "<ipython-input-3-a/b>");
}

static void assert_name(const char *file, const char *name, uint64_t line, const char *expected)
{
	size_t size;
	char *text = source_name_make(file, strlen(file), name, strlen(name), line, &size);

	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
	free(text);
}

static void a_function_has_its_file_before_and_its_line_behind(void **state)
{
	(void)state;
	assert_name("train.py", "<module>", 88, "train.py:<module>:88");
	assert_name("train.py", "f", 0, "train.py:f");
	assert_name("", "f", 7, "f:7");
	assert_name("hot.cu", "", 17, "hot.cu:17");
	assert_name("hot.cu", "", 0, "hot.cu");
	assert_name("a.py", "", UINT64_MAX, "a.py:18446744073709551615");
}

static void a_line_is_a_number_behind_a_colon(void **state)
{
	(void)state;
	assert_true(source_name_has_line("train.py:step:88"));
	assert_false(source_name_has_line("train.py:step"));
	assert_false(source_name_has_line("std::8"));
	assert_false(source_name_has_line("launch:"));
	assert_false(source_name_has_line(":8"));
	assert_false(source_name_has_line(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_called_by_its_last_component),
		cmocka_unit_test(a_file_of_a_package_is_called_by_its_path_in_it),
		cmocka_unit_test(what_only_looks_like_a_package_is_none),
		cmocka_unit_test(names_that_are_no_paths_stay),
		cmocka_unit_test(a_function_has_its_file_before_and_its_line_behind),
		cmocka_unit_test(a_line_is_a_number_behind_a_colon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
