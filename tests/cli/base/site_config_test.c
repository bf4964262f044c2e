#include "cli/base/site_config.h"

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

struct fixture {
	char path[64];
	struct site_config config;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	strcpy(fixture->path, "/tmp/flamegrid_config_XXXXXX");
	close(mkstemp(fixture->path));
	return setenv(SITE_CONFIG_ENV, fixture->path, 1);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	free(fixture);
	return unsetenv(SITE_CONFIG_ENV);
}

static void write_config(const struct fixture *fixture, const char *text, size_t size)
{
	FILE *file = fopen(fixture->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void assert_setting(const struct fixture *fixture, size_t i, const char *name,
			   const char *value, unsigned int line)
{
	const struct site_config_setting *setting = &fixture->config.settings[i];

	assert_true(i < fixture->config.nr);
	assert_string_equal(setting->name, name);
	if (value)
		assert_string_equal(setting->value, value);
	else
		assert_null(setting->value);
	assert_int_equal(setting->line, line);
}

static void assert_refused(struct fixture *fixture, const char *text, const char *why)
{
	char *error;

	write_config(fixture, text, strlen(text));
	assert_int_equal(site_config_read(&fixture->config, &error), -EINVAL);
	assert_non_null(strstr(error, fixture->path));
	if (!strstr(error, why))
		fail_msg("%s", error);
	free(error);
}

static void a_line_is_a_name_and_a_value(void **state)
{
	static const char text[] = "# the site's\n"
				   "aggregator tcp://[fd00::1]:7411\n"
				   "\n"
				   "\tkeys = /etc/flamegrid/agent.keys  # root's\r\n"
				   "nvtx\n"
				   "symbol-cache=/var/cache/a b#c\n"
				   "title =\n"
				   "record sync,um";
	struct fixture *fixture = *state;
	char *error;

	write_config(fixture, text, strlen(text));
	assert_int_equal(site_config_read(&fixture->config, &error), 0);
	assert_string_equal(fixture->config.path, fixture->path);
	assert_int_equal(fixture->config.nr, 6);
	assert_setting(fixture, 0, "aggregator", "tcp://[fd00::1]:7411", 2);
	assert_setting(fixture, 1, "keys", "/etc/flamegrid/agent.keys", 4);
	assert_setting(fixture, 2, "nvtx", NULL, 5);
	assert_setting(fixture, 3, "symbol-cache", "/var/cache/a b#c", 6);
	assert_setting(fixture, 4, "title", NULL, 7);
	assert_setting(fixture, 5, "record", "sync,um", 8);
}

static void what_is_not_a_setting_is_named_with_its_line(void **state)
{
	struct fixture *fixture = *state;

	assert_refused(fixture, "nvtx\n--record sync\n", "line 2: --record: not NAME VALUE");
	assert_refused(fixture, "Aggregator tcp://a:1\n", "line 1: Aggregator: not NAME VALUE");
	assert_refused(fixture, "record: sync\n", "line 1: record:: not NAME VALUE");
	assert_refused(fixture, "= x\n", "line 1: =: not NAME VALUE");
}

static void too_many_settings_are_refused(void **state)
{
	struct fixture *fixture = *state;
	char text[8 * (SITE_CONFIG_MAX + 1) + 1] = "", *error;

	for (unsigned int i = 0; i < SITE_CONFIG_MAX; i++)
		strcat(text, "nvtx\n");
	write_config(fixture, text, strlen(text));
	assert_int_equal(site_config_read(&fixture->config, &error), 0);
	assert_int_equal(fixture->config.nr, SITE_CONFIG_MAX);
	strcat(text, "nvtx\n");
	assert_refused(fixture, text, "line 65: more than 64");
}

static void a_file_that_is_too_large_or_no_text_is_refused(void **state)
{
	struct fixture *fixture = *state;
	static char text[SITE_CONFIG_TEXT + 1];
	char *error;

	memset(text, '\n', sizeof(text));
	write_config(fixture, text, sizeof(text));
	assert_int_equal(site_config_read(&fixture->config, &error), -EFBIG);
	assert_non_null(strstr(error, "larger than"));
	free(error);
	write_config(fixture, text, SITE_CONFIG_TEXT - 2);
	assert_int_equal(site_config_read(&fixture->config, &error), 0);
	write_config(fixture, "nvtx\0\n", 6);
	assert_int_equal(site_config_read(&fixture->config, &error), -EINVAL);
	assert_non_null(strstr(error, "not a text"));
	free(error);
}

static void a_file_that_others_can_write_is_refused(void **state)
{
	struct fixture *fixture = *state;
	static const mode_t refused[] = {0620, 0602, 0666, 0664}, taken[] = {0600, 0644, 0444};
	char *error;

	write_config(fixture, "nvtx\n", 5);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(chmod(fixture->path, refused[i]), 0);
		assert_int_equal(site_config_read(&fixture->config, &error), -EPERM);
		assert_non_null(strstr(error, "chmod go-w"));
		free(error);
		assert_int_equal(fixture->config.nr, 0);
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		assert_int_equal(chmod(fixture->path, taken[i]), 0);
		assert_int_equal(site_config_read(&fixture->config, &error), 0);
		assert_int_equal(fixture->config.nr, 1);
	}
}

static void a_file_that_is_named_must_be_there(void **state)
{
	struct fixture *fixture = *state;
	char *error;

	unlink(fixture->path);
	assert_int_equal(site_config_read(&fixture->config, &error), -ENOENT);
	assert_non_null(strstr(error, fixture->path));
	free(error);
	assert_int_equal(mkdir(fixture->path, 0700), 0);
	assert_int_equal(site_config_read(&fixture->config, &error), -EPERM);
	assert_non_null(strstr(error, "not a regular file"));
	free(error);
	rmdir(fixture->path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_is_a_name_and_a_value),
		TEST(what_is_not_a_setting_is_named_with_its_line),
		TEST(too_many_settings_are_refused),
		TEST(a_file_that_is_too_large_or_no_text_is_refused),
		TEST(a_file_that_others_can_write_is_refused),
		TEST(a_file_that_is_named_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
