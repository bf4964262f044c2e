#include "option_line.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_help.h"

#include "base/error_text.h"
#include "base/text_print.h"
#include "proto/options/duration.h"

#define ROWS_MAX   96u
#define WORDS_MAX  64u
#define LONG_FIRST 256 /* getopt_long()'s result for the first row */

int option_line_refuse(const struct option_table *table, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = text_print_list(format, arguments);
	va_end(arguments);
	log_error("%s", text ? text : format);
	free(text);
	return table->usage_status;
}

int option_line_lacks(const struct option_table *table, const char *what)
{
	if (!table->example)
		return option_line_refuse(table, "%s", what);
	return option_line_refuse(table, "%s; for example: %s", what, table->example);
}

/* ---- values */

/* Makes "on or off" or "us, ns or s" of the alternatives. */
static char *list_words(const char *argument)
{
	size_t room = 4 * strlen(argument) + 1, used = 0;
	char *list = malloc(room);

	while (list && *argument) {
		size_t size = strcspn(argument, "|");
		const char *rest = argument[size] ? argument + size + 1 : argument + size;

		used += (size_t)snprintf(list + used, room - used, "%.*s%s", (int)size, argument,
					 !*rest              ? ""
					 : strchr(rest, '|') ? ", "
							     : " or ");
		argument = rest;
	}
	return list;
}

static int refuse_word(const struct option_row *row, const char *value, char **error)
{
	char *list = list_words(row->argument);
	int result = error_text_set(error, -EINVAL, "--%s %s: must be %s", row->name, value,
				    list ? list : row->argument);

	free(list);
	return result;
}

static int take_number(const struct option_row *row, const struct option_target *target,
		       const char *value, char **error)
{
	const char *words_end = strrchr(row->argument, '|');
	size_t words = words_end ? (size_t)(words_end - row->argument) : 0;
	char *end;

	errno = 0;
	unsigned long number = strtoul(value, &end, 10);
	*target->number = (uint32_t)number;
	if (*value >= '0' && *value <= '9' && !*end && !errno && number >= target->least &&
	    number <= target->most)
		return 0;
	return error_text_set(error, -EINVAL, "--%s %s: must be %.*s%sa whole number from %u to %u",
			      row->name, value, (int)words, row->argument, words ? " or " : "",
			      target->least, target->most);
}

static int take_pid(const struct option_target *target, const char *value, char **error)
{
	size_t digits = strspn(value, "0123456789");
	unsigned long long pid = strtoull(value, NULL, 10);

	*target->pid = (pid_t)pid;
	if (digits && !value[digits] && pid > 0 && pid <= INT_MAX)
		return 0;
	return error_text_set(error, -EINVAL, "--%s %s: must be a process id", target->name, value);
}

static int take_time(const struct option_target *target, const char *value, char **error)
{
	if (duration_parse(value, target->time_ns, NULL))
		return error_text_set(error, -EINVAL,
				      "--%s %s: not a time such as 30s, 500ms or 2m", target->name,
				      value);
	if (*target->time_ns < target->least)
		return error_text_set(error, -EINVAL, "--%s %s: must be more than 0", target->name,
				      value);
	if (target->flag)
		*target->flag = true;
	return 0;
}

/* Returns whether the value of -o FILE is "-": no file, as without the option. */
static bool is_standard_output(const struct option_row *row, const char *value)
{
	return row->letter == 'o' && strcmp(row->argument, "FILE") == 0 && strcmp(value, "-") == 0;
}

static int set_target(const struct option_row *row, const struct option_target *target,
		      const char *value, char **error)
{
	bool exhaustive = false;
	int word =
		row->argument && value ? option_words_find(row->argument, value, &exhaustive) : -1;

	if (exhaustive && word < 0)
		return refuse_word(row, value, error);
	if (target->take)
		return target->take(target->context, row->name, value, error);
	if (target->number && word < 0)
		return take_number(row, target, value, error);
	if (target->pid)
		return take_pid(target, value, error);
	if (target->time_ns)
		return take_time(target, value, error);
	if (target->number)
		*target->number = target->first + (uint32_t)word;
	if (target->level)
		*target->level = value                ? LOG_LEVEL_ERROR + (enum log_level)word
				 : row->letter == 'q' ? LOG_LEVEL_WARNING
						      : LOG_LEVEL_DEBUG;
	if (target->choice)
		*(unsigned int *)target->choice = target->first + (unsigned int)word;
	if (target->text && strlen(value) < target->least)
		return error_text_set(error, -EINVAL, "--%s: its value is empty", row->name);
	if (target->text)
		*target->text = is_standard_output(row, value) ? NULL : value;
	if (target->flag)
		*target->flag = target->choice || word <= 0; /* no word, or "on" */
	return 0;
}

int option_line_set(const struct option_row *row, const struct option_target *targets,
		    size_t nr_targets, const char *value, char **error)
{
	*error = NULL;
	for (size_t i = 0; i < nr_targets; i++)
		if (!targets[i].name || strcmp(targets[i].name, row->name) == 0)
			return set_target(row, &targets[i], value, error);
	assert(!"an option without a target");
	return -EINVAL;
}

/* ---- the line */

struct getopt_arrays {
	struct option options[ROWS_MAX + 1];
	char letters[3 * ROWS_MAX + 3];
};

/* getopt_long() returns the letter, or LONG_FIRST plus the row's index. */
static void make_arrays(const struct option_table *table, struct getopt_arrays *arrays)
{
	char *letter = arrays->letters;
	size_t nr = 0;

	if (table->stops_at_operand)
		*letter++ = '+';
	*letter++ = ':';
	for (const struct option_row *row = table->rows; row->name || row->help; row++) {
		bool optional = row->argument && *row->argument == '[';

		if (!row->name || nr == ROWS_MAX)
			continue;
		arrays->options[nr++] =
			(struct option){row->name,
					optional        ? optional_argument
					: row->argument ? required_argument
							: no_argument,
					NULL, LONG_FIRST + (int)(row - table->rows)};
		if (!row->letter)
			continue;
		*letter++ = row->letter;
		if (row->argument && !optional)
			*letter++ = ':';
	}
	*letter = '\0';
	arrays->options[nr] = (struct option){0};
}

static const struct option_row *row_of(const struct option_table *table, int found)
{
	if (found >= LONG_FIRST)
		return &table->rows[found - LONG_FIRST];
	for (const struct option_row *row = table->rows; row->name || row->help; row++)
		if (row->letter == found)
			return row;
	return NULL;
}

static const char *nearest(const struct option_table *table, const char *name)
{
	const char *found = NULL;
	size_t least = SIZE_MAX;

	for (const struct option_row *row = table->rows; row->name || row->help; row++)
		if (row->name && option_is_near(name, row->name, &least))
			found = row->name;
	return found;
}

/* Returns whether the name is a beginning. getopt_long() calls a beginning of several names unknown. */
static bool is_beginning(const struct option_table *table, const char *name)
{
	for (const struct option_row *row = table->rows; *name && (row->name || row->help); row++)
		if (row->name && strncmp(row->name, name, strlen(name)) == 0)
			return true;
	return false;
}

/* Returns whether the last option read is "--=VALUE". getopt_long() takes it for a table's only option. */
static bool is_nameless(const char *word)
{
	return strncmp(word, "--=", 3) == 0 && optarg == word + 3;
}

static int refuse_unknown(const struct option_table *table, const char *word)
{
	char own[64], name[64];
	const char *near;

	option_table_name(table, own);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	near = nearest(table, name);
	if (is_beginning(table, name))
		return option_line_refuse(table, "--%s: several options begin so (%s --help=all)",
					  name, own);
	if (near)
		return option_line_refuse(table, "--%s: no such option; did you mean --%s?", name,
					  near);
	return option_line_refuse(table, "--%s: no such option (%s --help=all lists them)", name,
				  own);
}

static int refuse(const struct option_table *table, int found, char **argv)
{
	const struct option_row *row = optopt ? row_of(table, optopt) : NULL;
	char own[64];

	if (found == ':')
		return option_line_refuse(table, "--%s: a value is missing: %s", row->name,
					  row->argument);
	if (row)
		return option_line_refuse(table, "--%s: takes no value", row->name);
	if (optopt == 0)
		return refuse_unknown(table, argv[optind - 1]);
	/* A letter beyond ASCII comes byte by byte, and one byte is no character. */
	return option_line_refuse(table, "-%c: no such option (%s --help=all lists them)",
				  optopt > 0 && optopt < 0x7f ? optopt : '?',
				  option_table_name(table, own));
}

static int print_asked(const struct option_table *table, const struct option_row *row)
{
	if (strcmp(row->name, "version") == 0) {
		printf("%s " FLAMEGRID_VERSION "\n", table->program);
		return EXIT_SUCCESS;
	}
	if (optarg && strcmp(optarg, "all") != 0)
		return option_line_refuse(table, "--help=%s: must be --help or --help=all", optarg);
	option_help_print(stdout, table, optarg != NULL);
	return EXIT_SUCCESS;
}

/* Checks the number of operands. A table with words, or with options of another program, leaves that to its verb. */
static int check_operands(const struct option_table *table, int nr, char **operands)
{
	char lacking[64];

	if (table->words || table->stops_at_operand || nr == (table->operand ? 1 : 0) ||
	    (table->has_many && nr > 1) || (table->is_optional && nr == 0))
		return OPTION_LINE_GO;
	if (!table->operand)
		return option_line_refuse(table, "%s: not an option", operands[0]);
	if (nr)
		return option_line_refuse(table, "more than one %s given", table->operand);
	snprintf(lacking, sizeof(lacking), "no %s given", table->operand);
	return option_line_lacks(table, lacking);
}

int option_line_parse(const struct option_table *table, const struct option_target *targets,
		      size_t nr_targets, int argc, char **argv)
{
	struct getopt_arrays arrays;
	int found;

	make_arrays(table, &arrays);
	opterr = optind = 0;
	while ((found = getopt_long(argc, argv, arrays.letters, arrays.options, NULL)) != -1) {
		char *error;

		if (found == ':' || found == '?')
			return refuse(table, found, argv);
		if (is_nameless(argv[optind - 1]))
			return refuse_unknown(table, argv[optind - 1]);
		const struct option_row *row = row_of(table, found);
		if (strcmp(row->name, "help") == 0 || strcmp(row->name, "version") == 0)
			return print_asked(table, row);
		int result = option_line_set(row, targets, nr_targets, optarg, &error);
		if (result)
			option_line_refuse(table, "%s", error ? error : strerror(-result));
		free(error);
		if (result)
			return table->usage_status;
	}
	return check_operands(table, argc - optind, argv + optind);
}

int option_line_word(const struct option_table *table, const char *word)
{
	char names[WORDS_MAX], *list = list_words(table->words), *rest = names;
	const char *near = NULL, *name;
	bool exhaustive;
	size_t least = SIZE_MAX;
	int found = word ? option_words_find(table->words, word, &exhaustive) : -1;

	snprintf(names, sizeof(names), "%s", table->words);
	while (word && (name = strsep(&rest, "|")))
		if (option_is_near(word, name, &least))
			near = name;
	if (found < 0)
		option_line_refuse(table, "%s: must be %s%s%s%s%s%s", word ? word : "nothing given",
				   list ? list : table->words, near ? "; did you mean " : "",
				   near ? near : "", near ? "?" : "",
				   !word && table->example ? "; for example: " : "",
				   !word && table->example ? table->example : "");
	free(list);
	return found;
}

bool option_line_has(const struct option_table *table, const char *name, int argc, char **argv)
{
	struct getopt_arrays arrays;
	bool has = false;
	int found;

	make_arrays(table, &arrays);
	opterr = optind = 0;
	while ((found = getopt_long(argc, argv, arrays.letters, arrays.options, NULL)) != -1)
		if (found != ':' && found != '?')
			has |= strcmp(row_of(table, found)->name, name) == 0;
	return has;
}
