#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/export_target.h"
#include "tests/support/cmocka_test.h"

static int read_text(const char *text, mode_t mode, struct export_target *target, char **error)
{
	char path[] = "/tmp/flamegrid-test.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fputs(text, file);
	fchmod(fd, mode);
	fclose(file);
	int status = export_target_read(path, target, error);
	unlink(path);
	return status;
}

static void target_has_what_its_file_says(void **state)
{
	struct export_target target;
	char *error;

	(void)state;
	assert_int_equal(
		read_text("# a comment\nclickhouse https://host:8443\nuser flame\npassword a-b\n"
			  "ca /etc/ca.pem\ndatabase site_2\ninterval 5\ntimeout 7\n",
			  0600, &target, &error),
		0);
	assert_string_equal(target.url, "https://host:8443");
	assert_string_equal(target.database, "site_2");
	assert_string_equal(target.user, "flame");
	assert_string_equal(target.password, "a-b");
	assert_string_equal(target.ca, "/etc/ca.pem");
	assert_int_equal(target.interval_s, 5);
	assert_int_equal(target.timeout_s, 7);
	export_target_fini(&target);
	assert_int_equal(read_text("clickhouse http://h\n", 0600, &target, &error), 0);
	assert_string_equal(target.database, "flamegrid");
	assert_null(target.password);
	assert_int_equal(target.interval_s, EXPORT_TARGET_INTERVAL_S);
	export_target_fini(&target);
}

static void pyroscope_may_have_a_tenant(void **state)
{
	struct export_target target;
	char *error;

	(void)state;
	assert_int_equal(read_text("pyroscope https://h:4040\ntenant a\n", 0600, &target, &error),
			 0);
	assert_int_equal(target.kind, EXPORT_PYROSCOPE);
	assert_string_equal(target.url, "https://h:4040");
	assert_string_equal(target.tenant, "a");
	assert_null(target.database);
	export_target_fini(&target);
}

static void target_is_refused_if_others_may_read_it(void **state)
{
	struct export_target target;
	char *error;

	(void)state;
	assert_int_equal(read_text("clickhouse http://h\n", 0640, &target, &error), -EPERM);
	assert_non_null(error);
	free(error);
	export_target_fini(&target);
}

static void target_is_refused_with_lines_that_make_no_sense(void **state)
{
	static const char *const texts[] = {
		"",
		"user x\n",
		"clickhouse ftp://h\n",
		"clickhouse http://\n",
		"clickhouse http://user:word@h\n",
		"clickhouse http://h/path\n",
		"clickhouse http://h\ndatabase a;b\n",
		"clickhouse http://h\ndatabase 1a\n",
		"clickhouse http://h\ninterval 0\n",
		"clickhouse http://h\ninterval -1\n",
		"clickhouse http://h\ninterval 86401\n",
		"clickhouse http://h\ntimeout 1s\n",
		"clickhouse http://h\nport 1\n",
		"clickhouse http://h and more\n",
		"clickhouse http://h\npyroscope http://h\n",
		"clickhouse http://h\ntenant a\n",
		"pyroscope http://h\ndatabase a\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct export_target target;
		char *error;

		assert_int_equal(read_text(texts[i], 0600, &target, &error), -EINVAL);
		assert_non_null(error);
		free(error);
		export_target_fini(&target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_has_what_its_file_says),
		cmocka_unit_test(pyroscope_may_have_a_tenant),
		cmocka_unit_test(target_is_refused_if_others_may_read_it),
		cmocka_unit_test(target_is_refused_with_lines_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
