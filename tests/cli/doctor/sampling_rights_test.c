/* Who may sample kernels, by the driver's parameters. */
#include "cli/doctor/sampling_rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

static char path[] = "/tmp/sampling_rights_test.XXXXXX";

static void set_parameters(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Returns what is read, and checks the words. */
static bool reads(const char *version, bool may_admin, bool may_perfmon, const char *words)
{
	char line[256];
	bool may = sampling_rights_read(path, version, may_admin, may_perfmon, line, sizeof(line));

	if (!strstr(line, words))
		fail_msg("'%s' lacks '%s'", line, words);
	return may;
}

static void everybody_may_where_the_driver_says_so(void **state)
{
	(void)state;
	set_parameters("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n");
	assert_true(reads("580.159.04", false, false, "allowed for all"));
	assert_true(reads("", true, true, "allowed for all"));
}

static void else_a_capability_is_needed(void **state)
{
	(void)state;
	set_parameters("RmProfilingAdminOnly: 1\n");
	assert_true(reads("550.54", true, false, "has CAP_SYS_ADMIN"));
	assert_true(reads("565.57", false, true, "has CAP_PERFMON"));
	assert_false(reads("550.54", false, true, "no CAP_SYS_ADMIN: "));
	assert_false(reads("580.159", false, false, "no CAP_SYS_ADMIN or CAP_PERFMON: "));
	assert_false(reads("580.159", false, false, "--metrics measures none"));
	assert_false(reads("", false, true, "no CAP_SYS_ADMIN: "));
}

static void what_cannot_be_read_is_not_known(void **state)
{
	(void)state;
	set_parameters("Other: 1\n");
	assert_false(reads("580", true, true, "not known"));
	unlink(path);
	assert_false(reads("580", true, true, "not known"));
	assert_false(reads("580", true, true, "and --metrics may have no counters"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_may_where_the_driver_says_so),
		cmocka_unit_test(else_a_capability_is_needed),
		cmocka_unit_test(what_cannot_be_read_is_not_known),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
