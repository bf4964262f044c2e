#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/job_step.h"
#include "cli/base/verbs.h"
#include "cli/run/run_options.h"
#include "options/option_line.h"

static enum log_level logged; /* of the last message */

void __wrap_log_write(enum log_level level, const char *format, ...);

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	(void)format;
	logged = level;
}

static char config_path[] = "/tmp/run_options_test.XXXXXX";

/* A value that the option takes; NULL: it has none. */
static const char *value_of(const struct option_row *row)
{
	static const struct {
		const char *argument, *value;
	} values[] = {
		{"ENDPOINT|none", "none"},
		{"KIB", "8"},
		{"LIST", "all"},
		{"MIB", "100"},
		{"MODE[,NATIVE[,PYTHON]]", "native,7"},
		{"N", "9"},
		{"ON/PERIOD", "1s/30s"},
		{"PERCENT", "2%"},
		{"RATE/s", "100/s"},
		{"TIME", "1s"},
		{"TIME|all", "30s"},
	};
	static char word[64];

	for (size_t i = 0; row->argument && i < sizeof(values) / sizeof(*values); i++)
		if (strcmp(values[i].argument, row->argument) == 0)
			return values[i].value;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(row->argument ? row->argument : "", "|"),
		 row->argument ? row->argument : "");
	return row->argument ? word : NULL;
}

/* 0 or -errno, with *error. */
static int check_line(const char *name, const char *value, char **error)
{
	static struct run_options options;
	FILE *file = fopen(config_path, "we");

	fprintf(file, "%s %s\n", name, value ? value : "");
	assert_int_equal(fclose(file), 0);
	options = (struct run_options){0};
	*error = NULL;
	return run_options_check_config(&options, error);
}

static void every_option_may_be_configured_but_those_of_the_command_line(void **state)
{
	size_t nr = 0;

	(void)state;
	for (const struct option_row *row = option_table_run.rows; row->name || row->help; row++) {
		char *error;

		if (!row->name)
			continue;
		nr++;
		int result = check_line(row->name, value_of(row), &error);
		if (row->flags & OPTION_LINE_ONLY) {
			assert_int_equal(result, -EINVAL);
			assert_non_null(strstr(error, "no option that can be there"));
		} else if (result) {
			fail_msg("%s", error);
		}
		free(error);
	}
	assert_true(nr > 30);
}

static void a_value_where_there_is_none_and_none_where_there_is_one_are_refused(void **state)
{
	char *error;

	(void)state;
	assert_int_equal(check_line("inlines", "on", &error), -EINVAL);
	assert_non_null(strstr(error, ": line 1: inlines on: has no value"));
	free(error);
	assert_int_equal(check_line("output", NULL, &error), -EINVAL);
	assert_non_null(strstr(error, ": line 1: output: no value"));
	free(error);
	assert_int_equal(check_line("lines", "perhaps", &error), -EINVAL);
	assert_non_null(strstr(error, ": line 1: --lines perhaps: must be on or off"));
	free(error);
}

static int parse(struct run_options *options, const char *const *words)
{
	char *argv[16];
	int argc = 0;

	*options = (struct run_options){0};
	for (; words[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc];
	argv[argc] = NULL;
	return run_options_parse(options, argc, argv);
}

static void the_command_line_goes_before_the_configuration(void **state)
{
	static struct run_options options;
	char *error;

	(void)state;
	assert_int_equal(check_line("node-name", "configured", &error), 0);
	assert_int_equal(parse(&options, (const char *const[]){"run", "true", NULL}),
			 OPTION_LINE_GO);
	assert_string_equal(options.node_name, "configured");
	assert_int_equal(
		parse(&options, (const char *const[]){"run", "--node-name=given", "true", NULL}),
		OPTION_LINE_GO);
	assert_string_equal(options.node_name, "given");
	assert_int_equal(parse(&options, (const char *const[]){"run", "--no-config", "true", NULL}),
			 OPTION_LINE_GO);
	assert_null(options.node_name);
}

/* A limit in the configuration is for other runs as well. */
static void a_limit_on_the_cost_of_no_stacks_is_refused(void **state)
{
	static struct run_options options;
	char *error;

	(void)state;
	assert_int_equal(check_line("max-cost", "2%", &error), 0);
	assert_int_equal(
		parse(&options, (const char *const[]){"run", "--stacks=none", "true", NULL}),
		OPTION_LINE_GO);
	assert_int_equal(parse(&options, (const char *const[]){"run", "--stacks=none",
							       "--max-cost=2%", "true", NULL}),
			 EXIT_RUN_OWN);
	assert_int_equal(logged, LOG_LEVEL_ERROR);
	assert_int_equal(parse(&options, (const char *const[]){"run", "--max-cost=2%",
							       "--stacks=leaf", "true", NULL}),
			 OPTION_LINE_GO);
}

static void a_faulty_configuration_is_a_warning_and_with_strict_an_error(void **state)
{
	static struct run_options options;
	char *error;

	(void)state;
	assert_true(check_line("nonsense", "1", &error) < 0);
	free(error);
	assert_int_equal(parse(&options, (const char *const[]){"run", "true", NULL}),
			 OPTION_LINE_GO);
	assert_int_equal(logged, LOG_LEVEL_WARNING);
	assert_int_not_equal(
		parse(&options, (const char *const[]){"run", "--strict", "true", NULL}),
		OPTION_LINE_GO);
	assert_int_equal(logged, LOG_LEVEL_ERROR);
}

/* A node that comes late decides as the first one did. */
static void nodes_fold_by_their_number_and_disk_unless_the_option_says_how(void **state)
{
	static struct run_options options;
	const struct {
		const char *word; /* NULL: no option */
		int32_t nr_nodes;
		bool folds, folds_if_shared;
	} cases[] = {
		{NULL, JOB_STEP_UNKNOWN, false, true},
		{NULL, 1, false, true},
		{NULL, 32, false, true},
		{NULL, 33, true, true},
		{NULL, 10000, true, true},
		{"auto", 32, false, true},
		{"auto", 33, true, true},
		{"central", 33, false, false},
		{"central", 10000, false, false},
		{"node", JOB_STEP_UNKNOWN, true, true},
		{"node", 1, true, true},
	};

	(void)state;
	assert_int_equal(truncate(config_path, 0), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const with[] = {"run", "--aggregate", cases[i].word, "true", NULL};
		const char *const without[] = {"run", "true", NULL};

		assert_int_equal(parse(&options, cases[i].word ? with : without), OPTION_LINE_GO);
		assert_int_equal(run_options_fold_on_nodes(&options, cases[i].nr_nodes, false),
				 cases[i].folds);
		assert_int_equal(run_options_fold_on_nodes(&options, cases[i].nr_nodes, true),
				 cases[i].folds_if_shared);
	}
}

static int remove_config(void **state)
{
	(void)state;
	return unlink(config_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_may_be_configured_but_those_of_the_command_line),
		cmocka_unit_test(
			a_value_where_there_is_none_and_none_where_there_is_one_are_refused),
		cmocka_unit_test(the_command_line_goes_before_the_configuration),
		cmocka_unit_test(a_limit_on_the_cost_of_no_stacks_is_refused),
		cmocka_unit_test(nodes_fold_by_their_number_and_disk_unless_the_option_says_how),
		cmocka_unit_test(a_faulty_configuration_is_a_warning_and_with_strict_an_error),
	};
	int fd = mkstemp(config_path);

	if (fd < 0)
		return 1;
	close(fd);
	setenv("FLAMEGRID_CONFIG", config_path, 1);
	return cmocka_run_group_tests(tests, NULL, remove_config);
}
