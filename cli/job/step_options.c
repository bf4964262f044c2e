#include "step_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "options/option_table.h"

#define BLANKS     " \t\n"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

static int fail(char **error, const char *word, size_t size, const char *why)
{
	return error_text_set(error, -EINVAL, "%.*s: %s", (int)size, word, why);
}

/* Compares shortened names, too, because getopt_long() accepts them. A step has its own agent, and its launcher names
 * the command. */
static bool is_refused(const char *name, size_t size)
{
	for (const struct option_row *row = option_table_run.rows; row->name || row->help; row++)
		if (row->name && row->flags & OPTION_NOT_IN_STEP &&
		    strncmp(row->name, name, size) == 0)
			return true;
	return false;
}

/* Finds a comma that should be a blank, as in "record=sync,cpu-hz=99". */
static bool has_comma_for_blank(const char *value, const char *end)
{
	for (const char *at = value; at < end; at++) {
		size_t size = *at == ',' ? strspn(at + 1, NAME_CHARS) : 0;

		if (size && at + 1 + size < end && at[1 + size] == '=')
			return true;
	}
	return false;
}

static int add_word(struct step_options *options, const char *word, size_t size, char **error)
{
	size_t name_size = strspn(word, NAME_CHARS);

	if (*word == '-')
		return fail(error, word, size, "options are written without dashes here");
	if (name_size == 0 || (name_size < size && word[name_size] != '='))
		return fail(error, word, size, "not NAME or NAME=VALUE");
	if (is_refused(word, name_size))
		return fail(error, word, size, "not for tasks of Slurm");
	if (has_comma_for_blank(word + name_size, word + size))
		return fail(error, word, size, "between options are blanks, not commas");
	if (options->nr == STEP_OPTIONS_MAX)
		return fail(error, word, size, "too many options");
	if (asprintf(&options->list[options->nr], "--%.*s", (int)size, word) < 0)
		return -ENOMEM;
	options->nr++;
	return 0;
}

int step_options_add(struct step_options *options, const char *text, char **error)
{
	*error = NULL;
	for (const char *word = text + strspn(text, BLANKS); *word; word += strspn(word, BLANKS)) {
		size_t size = strcspn(word, BLANKS);
		int result = add_word(options, word, size, error);

		if (result)
			return result;
		word += size;
	}
	return 0;
}

void step_options_fini(struct step_options *options)
{
	while (options->nr)
		free(options->list[--options->nr]);
}
