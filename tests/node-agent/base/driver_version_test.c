#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "node-agent/base/driver_version.h"
#include "tests/support/cmocka_test.h"

static bool read_line(const char *line, char version[static DRIVER_VERSION_SIZE])
{
	char path[] = "/tmp/flamegrid-test.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fputs(line, file);
	fclose(file);
	bool found = driver_version_read(path, version);
	unlink(path);
	return found;
}

static void driver_version_is_read_from_both_kinds_of_driver(void **state)
{
	char version[DRIVER_VERSION_SIZE];

	(void)state;
	assert_true(read_line("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  "
			      "5 22:23:56 UTC 2024\n"
			      "GCC version:  gcc version 12.2.0\n",
			      version));
	assert_string_equal(version, "550.54.15");
	assert_true(read_line("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
			      "Release Build\n",
			      version));
	assert_string_equal(version, "580.65.06");
}

static void driver_version_is_empty_without_one(void **state)
{
	char version[DRIVER_VERSION_SIZE] = "x";

	(void)state;
	assert_false(driver_version_read("/nonexistent/version", version));
	assert_string_equal(version, "");
	assert_false(read_line("", version));
	assert_false(read_line("NVRM version: NVIDIA UNIX x86_64\n550.54.15\n", version));
	assert_false(read_line("1.2222222222222222222222222222222222222\n", version));
	assert_string_equal(version, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(driver_version_is_read_from_both_kinds_of_driver),
		cmocka_unit_test(driver_version_is_empty_without_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
