/* Help, the manual pages, completion and the tables have the same options. ARGS: the folder share of the build. */
#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/option_help.h"

#define HELP_LINES   24u
#define HELP_COLUMNS 80u

static const char *share;

static char *read_page(const char *name)
{
	static char text[1 << 18];
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", share, name);
	FILE *file = fopen(path, "re");
	if (!file)
		fail_msg("%s is not there", path);
	size_t size = fread(text, 1, sizeof(text) - 1, file);
	assert_true(feof(file));
	fclose(file);
	text[size] = '\0';
	return text;
}

static char *man_page(const struct option_table *table)
{
	char name[128];

	snprintf(name, sizeof(name), "man/man%d/%s%s%s.%d", table->is_daemon ? 8 : 1,
		 table->program, table->is_daemon ? "" : "-", table->is_daemon ? "" : table->verb,
		 table->is_daemon ? 8 : 1);
	return read_page(name);
}

/* owns */
static char *help_of(const struct option_table *table, bool all)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	option_help_print(out, table, all);
	fclose(out);
	return text;
}

static void has(const char *where, const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("%s lacks %s", where, wanted);
}

#define FOR_EACH_OPTION(row, table)                                                                \
	for (const struct option_row *row = (table)->rows; row->name || row->help; row++)          \
		if (row->name)

static void help_has_at_most_24_lines_and_80_columns(void **state)
{
	(void)state;
	for (size_t i = 0; option_tables[i]; i++) {
		for (int all = 0; all < 2; all++) {
			char *text = help_of(option_tables[i], all), *next = text;
			size_t lines = 0;

			for (char *line; (line = strsep(&next, "\n")) && next; lines++)
				if (strlen(line) > HELP_COLUMNS)
					fail_msg("%s: %s", option_tables[i]->verb, line);
			if (!all && lines > HELP_LINES)
				fail_msg("%s --help has %zu lines", option_tables[i]->verb, lines);
			free(text);
		}
	}
}

static void all_help_has_every_option_and_marks_the_experimental(void **state)
{
	(void)state;
	for (size_t i = 0; option_tables[i]; i++) {
		char *text = help_of(option_tables[i], true), name[64];
		size_t marks = 0, experimental = 0;

		FOR_EACH_OPTION(row, option_tables[i])
		{
			snprintf(name, sizeof(name), " --%s%s", row->name,
				 row->argument ? "" : " ");
			has("--help=all", text, name);
			experimental += (row->flags & OPTION_EXPERIMENTAL) != 0;
		}
		for (const char *at = text; (at = strstr(at, "(experimental)")); at++)
			marks++;
		assert_int_equal(marks, experimental);
		free(text);
	}
}

static void every_option_is_in_its_manual_page(void **state)
{
	char item[64];

	(void)state;
	for (size_t i = 0; option_tables[i]; i++) {
		const char *page = man_page(option_tables[i]);

		FOR_EACH_OPTION(row, option_tables[i])
		{
			if (row->letter)
				snprintf(item, sizeof(item), "\n.It Fl %c , -%s%s", row->letter,
					 row->name, row->argument ? " " : "\n");
			else
				snprintf(item, sizeof(item), "\n.It Fl -%s%s", row->name,
					 row->argument ? " " : "\n");
			has(option_tables[i]->verb, page, item);
		}
	}
}

static void the_configurations_page_has_what_may_be_configured(void **state)
{
	const char *page = read_page("man/man5/flamegrid.conf.5");
	char item[64];

	(void)state;
	FOR_EACH_OPTION(row, &option_table_run)
	{
		snprintf(item, sizeof(item), "\n.It Cm %s%s", row->name,
			 row->argument ? " " : "\n");
		if (row->flags & OPTION_LINE_ONLY)
			assert_null(strstr(page, item));
		else
			has("flamegrid.conf(5)", page, item);
	}
}

static void every_verb_is_in_the_first_page_and_the_list_of_verbs(void **state)
{
	const char *page = read_page("man/man1/flamegrid.1");
	char item[64], *verbs;
	size_t size;
	FILE *out = open_memstream(&verbs, &size);

	(void)state;
	option_help_verbs(out);
	fclose(out);
	for (size_t i = 0; option_tables[i]; i++) {
		snprintf(item, sizeof(item), "\n.It Cm %s\n", option_tables[i]->verb);
		has("flamegrid(1)", page, item);
		has("the list of verbs", verbs, option_tables[i]->summary);
	}
	free(verbs);
}

/* before: what stands before an option's name. */
static void complete_all(const char *path, const char *before)
{
	const char *script = read_page(path);
	char option[64];

	for (size_t i = 0; option_tables[i]; i++)
		FOR_EACH_OPTION(row, option_tables[i])
		{
			snprintf(option, sizeof(option), "%s%s", before, row->name);
			has(path, script, option);
		}
}

static void every_shell_completes_every_option(void **state)
{
	(void)state;
	complete_all("bash-completion/completions/flamegrid", "--");
	complete_all("zsh/site-functions/_flamegrid", "--");
	complete_all("fish/vendor_completions.d/flamegrid.fish", " -l ");
}

static void names_and_letters_are_of_one_option_each(void **state)
{
	(void)state;
	for (size_t i = 0; option_tables[i]; i++)
		FOR_EACH_OPTION(row, option_tables[i])
	FOR_EACH_OPTION(other, option_tables[i])
	if (row != other) {
		assert_string_not_equal(row->name, other->name);
		assert_true(!row->letter || row->letter != other->letter);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_has_at_most_24_lines_and_80_columns),
		cmocka_unit_test(all_help_has_every_option_and_marks_the_experimental),
		cmocka_unit_test(every_option_is_in_its_manual_page),
		cmocka_unit_test(the_configurations_page_has_what_may_be_configured),
		cmocka_unit_test(every_verb_is_in_the_first_page_and_the_list_of_verbs),
		cmocka_unit_test(every_shell_completes_every_option),
		cmocka_unit_test(names_and_letters_are_of_one_option_each),
	};

	if (argc != 2)
		return 2;
	share = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
