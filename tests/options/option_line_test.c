#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/option_line.h"
#include "options/tables/shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"format", 'f', "folded|html|table", 0, "Chooses the format."},
	{"files", 0, NULL, 0, "Writes files."},
	{"top", 0, "N", 0, "Prints so many rows."},
	{"pid", 'p', "PID", 0, "Names a process."},
	{"delay", 0, "TIME", 0, "Waits."},
	{"interval", 0, "TIME", 0, "Waits again and again."},
	{"lines", 0, "on|off", 0, "Shows lines."},
	{"cache", 0, "DIR|off", 0, "Keeps a cache."},
	{"name", 0, "TEXT", 0, "Names it."},
	{"output", 'o', "FILE", 0, "Writes it."},
	ROWS_MESSAGES,
	{"never", 'n', NULL, 0, "Is refused."},
	OPTION_ROW_HELP,
	{0},
};

static const struct option_table table = {
	.program = "flamegrid",
	.verb = "test",
	.usage = "[OPTION...]",
	.summary = "Tests.",
	.closing = "Exit status: 0.",
	.rows = rows,
	.usage_status = 7,
};

enum format { FORMAT_NONE, FORMAT_FOLDED, FORMAT_HTML, FORMAT_TABLE };

static struct values {
	enum format format;
	bool files, lines, quiet, has_delay;
	uint32_t top;
	pid_t pid;
	uint64_t delay_ns, interval_ns;
	const char *cache, *name, *output;
	enum log_level level;
	char said[512]; /* on both streams */
} values;

static int refuse_all(void *context, const char *name, const char *value, char **error)
{
	*error = strdup(context);
	(void)name;
	(void)value;
	return -EINVAL;
}

/* What parsing returns; what it says is in values.said. */
static int parse_table(const struct option_table *parsed, const char *const *words)
{
	const struct option_target targets[] = {
		{"format", .choice = &values.format, .first = FORMAT_FOLDED},
		{"files", .flag = &values.files},
		{"top", .number = &values.top, .least = 1, .most = 100},
		{"pid", .pid = &values.pid},
		{"delay", .time_ns = &values.delay_ns, .flag = &values.has_delay},
		{"interval", .time_ns = &values.interval_ns, .least = 1},
		{"lines", .flag = &values.lines},
		{"cache", .text = &values.cache},
		{"name", .text = &values.name, .least = 1},
		{"output", .text = &values.output, .least = 1},
		OPTION_TARGETS_MESSAGES(&values.level),
		{"never", .take = refuse_all, .context = (void *)(uintptr_t) "not today"},
	};
	int argc = 0, streams[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
	FILE *said = tmpfile();
	char *argv[16];

	values = (struct values){0};
	for (; words[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc];
	argv[argc] = NULL;
	fflush(stdout);
	dup2(fileno(said), STDOUT_FILENO);
	dup2(fileno(said), STDERR_FILENO);
	int status =
		option_line_parse(parsed, targets, sizeof(targets) / sizeof(*targets), argc, argv);
	fflush(stdout);
	dup2(streams[0], STDOUT_FILENO);
	dup2(streams[1], STDERR_FILENO);
	close(streams[0]);
	close(streams[1]);
	rewind(said);
	values.said[fread(values.said, 1, sizeof(values.said) - 1, said)] = '\0';
	fclose(said);
	return status;
}

#define PARSE(...) parse_table(&table, (const char *const[]){"test", __VA_ARGS__, NULL})

static void a_minus_is_standard_output_and_no_file(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-o", "a", "--name", "-"), OPTION_LINE_GO);
	assert_string_equal(values.output, "a");
	assert_string_equal(values.name, "-");
	assert_int_equal(PARSE("-o", "a", "-o", "-"), OPTION_LINE_GO);
	assert_null(values.output);
}

static void values_go_to_their_targets(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-f", "html", "--files", "--top=9", "-p7", "--delay", "2s",
			       "--lines", "on", "--cache", "here"),
			 OPTION_LINE_GO);
	assert_int_equal(optind, 12);
	assert_int_equal(values.format, FORMAT_HTML);
	assert_true(values.files);
	assert_true(values.lines);
	assert_int_equal(values.top, 9);
	assert_int_equal(values.pid, 7);
	assert_int_equal(values.delay_ns, 2000000000);
	assert_true(values.has_delay);
	assert_string_equal(values.cache, "here");
	assert_string_equal(values.said, "");
	assert_int_equal(PARSE("--lines", "off", "--cache=off"), OPTION_LINE_GO);
	assert_false(values.lines);
	assert_string_equal(values.cache, "off");
}

static void a_shortened_name_is_taken_if_it_is_of_one_option(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--fo", "table"), OPTION_LINE_GO);
	assert_int_equal(values.format, FORMAT_TABLE);
	assert_int_equal(PARSE("--f", "table"), 7);
	assert_string_equal(values.said, "flamegrid: test: --f: several options begin so "
					 "(flamegrid test --help=all)\n");
}

static void a_value_that_cannot_be_is_refused_with_those_that_can(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-f", "xml"), 7);
	assert_string_equal(values.said,
			    "flamegrid: test: --format xml: must be folded, html or table\n");
	assert_int_equal(PARSE("--lines", ""), 7);
	assert_string_equal(values.said, "flamegrid: test: --lines : must be on or off\n");
	for (size_t i = 0; i < 5; i++) {
		const char *const wrong[] = {"0", "101", "-1", "9x", ""};

		assert_int_equal(PARSE("--top", wrong[i]), 7);
		assert_non_null(strstr(values.said, ": must be a whole number from 1 to 100\n"));
		assert_int_equal(PARSE("--pid", i == 1 ? "2147483648" : wrong[i]), 7);
		assert_non_null(strstr(values.said, ": must be a process id\n"));
	}
	assert_int_equal(PARSE("--delay", "soon"), 7);
	assert_string_equal(values.said, "flamegrid: test: --delay soon: not a time such as 30s, "
					 "500ms or 2m\n");
	assert_int_equal(PARSE("--delay", "0"), OPTION_LINE_GO);
	assert_int_equal(PARSE("--interval", "0s"), 7);
	assert_string_equal(values.said, "flamegrid: test: --interval 0s: must be more than 0\n");
	assert_false(values.has_delay);
	assert_int_equal(PARSE("-n"), 7);
	assert_string_equal(values.said, "flamegrid: test: not today\n");
}

static void an_unknown_option_is_refused_with_a_suggestion(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--fromat=html"), 7);
	assert_string_equal(values.said, "flamegrid: test: --fromat: no such option; did you mean "
					 "--format?\n");
	assert_int_equal(PARSE("--nonsense"), 7);
	assert_string_equal(values.said, "flamegrid: test: --nonsense: no such option (flamegrid "
					 "test --help=all lists them)\n");
	assert_int_equal(PARSE("--=html"), 7);
	assert_string_equal(values.said, "flamegrid: test: --: no such option (flamegrid test "
					 "--help=all lists them)\n");
	assert_int_equal(PARSE("-\u00e9"), 7);
	assert_string_equal(values.said, "flamegrid: test: -?: no such option (flamegrid test "
					 "--help=all lists them)\n");
	assert_int_equal(PARSE("-x"), 7);
	assert_string_equal(values.said, "flamegrid: test: -x: no such option (flamegrid test "
					 "--help=all lists them)\n");
}

/* getopt_long() takes "--=VALUE" for the only option that takes a value. */
static void an_option_without_a_name_is_refused_in_a_small_table(void **state)
{
	static const struct option_row help[] = {OPTION_ROW_HELP, {0}};
	struct option_table small = table;

	(void)state;
	small.rows = help;
	assert_int_equal(parse_table(&small, (const char *const[]){"test", "--=x", NULL}), 7);
	assert_string_equal(values.said, "flamegrid: test: --: no such option (flamegrid test "
					 "--help=all lists them)\n");
}

static void a_text_that_must_not_be_empty_is_refused(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--name", ""), 7);
	assert_string_equal(values.said, "flamegrid: test: --name: its value is empty\n");
	assert_int_equal(PARSE("--name", "a", "--cache", ""), OPTION_LINE_GO);
}

static void say_word(const char *word, int expected)
{
	struct option_table words = table;
	int streams = dup(STDERR_FILENO);
	FILE *said = tmpfile();

	words.words = "start|stop|status";
	dup2(fileno(said), STDERR_FILENO);
	assert_int_equal(option_line_word(&words, word), expected);
	dup2(streams, STDERR_FILENO);
	close(streams);
	rewind(said);
	values.said[fread(values.said, 1, sizeof(values.said) - 1, said)] = '\0';
	fclose(said);
}

static void an_unknown_word_is_refused_with_a_suggestion(void **state)
{
	(void)state;
	say_word("status", 2);
	assert_string_equal(values.said, "");
	say_word("strat", -1);
	assert_string_equal(values.said, "flamegrid: test: strat: must be start, stop or status; "
					 "did you mean start?\n");
	say_word("go", -1);
	assert_string_equal(values.said, "flamegrid: test: go: must be start, stop or status\n");
	say_word(NULL, -1);
	assert_string_equal(values.said,
			    "flamegrid: test: nothing given: must be start, stop or status\n");
}

static void a_value_too_few_or_too_many_is_refused(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--top"), 7);
	assert_string_equal(values.said, "flamegrid: test: --top: a value is missing: N\n");
	assert_int_equal(PARSE("-f"), 7);
	assert_string_equal(values.said, "flamegrid: test: --format: a value is missing: "
					 "folded|html|table\n");
	assert_int_equal(PARSE("--files=3"), 7);
	assert_string_equal(values.said, "flamegrid: test: --files: takes no value\n");
}

static void help_is_printed_once_what_stands_before_it_is_understood(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--top", "3", "--help", "--nonsense"), EXIT_SUCCESS);
	assert_non_null(strstr(values.said, "Usage: flamegrid test [OPTION...]\nTests.\n"));
	assert_null(strstr(values.said, "--top"));
	assert_int_equal(PARSE("--help=all"), EXIT_SUCCESS);
	assert_non_null(strstr(values.said, "\n      --top N            Prints so many rows.\n"));
	assert_int_equal(PARSE("--help=more"), 7);
	assert_int_equal(PARSE("--nonsense", "--help"), 7);
}

static void operands_end_the_options_of_a_command(void **state)
{
	struct option_table command = table;
	char *argv[] = {(char *)(uintptr_t) "test", (char *)(uintptr_t) "ls",
			(char *)(uintptr_t) "--files", NULL};

	(void)state;
	command.stops_at_operand = true;
	assert_int_equal(
		parse_table(&command, (const char *const[]){"test", "ls", "--files", NULL}),
		OPTION_LINE_GO);
	assert_int_equal(optind, 1);
	assert_false(values.files);
	assert_false(option_line_has(&command, "files", 3, argv));
	assert_true(option_line_has(&table, "files", 3, argv));
}

static void a_wrong_number_of_operands_is_refused(void **state)
{
	struct option_table file = table;

	(void)state;
	assert_int_equal(PARSE("a", "--files"), 7);
	assert_string_equal(values.said, "flamegrid: test: a: not an option\n");
	file.operand = "file";
	assert_int_equal(parse_table(&file, (const char *const[]){"test", "a", "--files", NULL}),
			 OPTION_LINE_GO);
	assert_int_equal(optind, 2);
	assert_int_equal(parse_table(&file, (const char *const[]){"test", "--files", NULL}), 7);
	assert_string_equal(values.said, "flamegrid: test: no file given\n");
	file.example = "flamegrid test here";
	assert_int_equal(parse_table(&file, (const char *const[]){"test", "--files", NULL}), 7);
	assert_string_equal(values.said, "flamegrid: test: no file given; for example: flamegrid "
					 "test here\n");
	assert_int_equal(parse_table(&file, (const char *const[]){"test", "a", "b", NULL}), 7);
	assert_string_equal(values.said, "flamegrid: test: more than one file given\n");
}

static void a_daemon_is_named_by_its_program(void **state)
{
	struct option_table daemon = table;

	(void)state;
	daemon.program = "flamegrid-daemon";
	daemon.is_daemon = true;
	log_begin("flamegrid-daemon", NULL, LOG_LEVEL_INFO);
	assert_int_equal(parse_table(&daemon, (const char *const[]){"test", "-x", NULL}), 7);
	assert_string_equal(values.said, "flamegrid-daemon: -x: no such option (flamegrid-daemon "
					 "--help=all lists them)\n");
	log_begin("flamegrid", "test", LOG_LEVEL_NOTICE);
}

static void options_of_messages_set_the_level(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--verbose"), OPTION_LINE_GO);
	assert_int_equal(values.level, LOG_LEVEL_DEBUG);
	assert_int_equal(PARSE("--log-level", "info"), OPTION_LINE_GO);
	assert_int_equal(values.level, LOG_LEVEL_INFO);
	assert_int_equal(PARSE("-v", "--log-level=error"), OPTION_LINE_GO);
	assert_int_equal(values.level, LOG_LEVEL_ERROR);
	assert_int_equal(PARSE("--log-level", "loud"), 7);
	assert_string_equal(values.said, "flamegrid: test: --log-level loud: must be error, "
					 "warning, notice, info or debug\n");
}

static void a_word_is_near_another_by_a_third_of_its_letters(void **state)
{
	size_t least = SIZE_MAX;

	(void)state;
	assert_true(option_is_near("fromat", "format", &least));
	assert_int_equal(least, 1);
	assert_false(option_is_near("fromat", "formats", &least));
	least = SIZE_MAX;
	assert_true(option_is_near("runn", "run", &least));
	least = SIZE_MAX;
	assert_true(option_is_near("rum", "run", &least));
	least = SIZE_MAX;
	assert_true(option_is_near("oupt", "output", &least));
	least = SIZE_MAX;
	assert_false(option_is_near("top", "step", &least));
	assert_false(option_is_near("record", "report", &least));
	assert_false(option_is_near("", "run", &least));
	assert_false(
		option_is_near("an-option-that-is-longer-than-all-that-there-are", "run", &least));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minus_is_standard_output_and_no_file),
		cmocka_unit_test(values_go_to_their_targets),
		cmocka_unit_test(a_shortened_name_is_taken_if_it_is_of_one_option),
		cmocka_unit_test(a_value_that_cannot_be_is_refused_with_those_that_can),
		cmocka_unit_test(an_unknown_option_is_refused_with_a_suggestion),
		cmocka_unit_test(an_option_without_a_name_is_refused_in_a_small_table),
		cmocka_unit_test(a_text_that_must_not_be_empty_is_refused),
		cmocka_unit_test(an_unknown_word_is_refused_with_a_suggestion),
		cmocka_unit_test(a_value_too_few_or_too_many_is_refused),
		cmocka_unit_test(help_is_printed_once_what_stands_before_it_is_understood),
		cmocka_unit_test(operands_end_the_options_of_a_command),
		cmocka_unit_test(a_wrong_number_of_operands_is_refused),
		cmocka_unit_test(a_daemon_is_named_by_its_program),
		cmocka_unit_test(options_of_messages_set_the_level),
		cmocka_unit_test(a_word_is_near_another_by_a_third_of_its_letters),
	};

	log_begin("flamegrid", "test", LOG_LEVEL_NOTICE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
