#include "completion.h"

#include <stdbool.h>
#include <string.h>

#include "options/option_table.h"

static bool is_row(const struct option_row *row)
{
	return row->name || row->help;
}

/* Prints the words among the alternatives, with blanks between. */
static void print_words(FILE *out, const char *argument)
{
	const char *between = "";

	while (argument && *argument) {
		size_t size = strcspn(argument, "|");
		bool is_name = strcspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ[") < size;

		if (!is_name) {
			fprintf(out, "%s%.*s", between, (int)size, argument);
			between = " ";
		}
		argument += size + (argument[size] == '|');
	}
}

enum files { FILES_NONE, FILES_ALL, FILES_DIRECTORIES };

static enum files files_of(const char *argument)
{
	if (strncmp(argument, "DIR", 3) == 0)
		return FILES_DIRECTORIES;
	return strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0 ? FILES_ALL
									      : FILES_NONE;
}

/* Prints text with a backslash before special characters, ready for single quotes. */
static void print_quoted(FILE *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		else if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_bash_values(FILE *out, const struct option_row *row)
{
	static const char *const kinds[] = {
		[FILES_NONE] = "",
		[FILES_ALL] = "files=-f ",
		[FILES_DIRECTORIES] = "files=-d ",
	};

	fputs("\t\t", out);
	if (row->letter)
		fprintf(out, "-%c | ", row->letter);
	fprintf(out, "--%s) %slist=\"", row->name, kinds[files_of(row->argument)]);
	print_words(out, row->argument);
	fputs("\" is_value=yes ;;\n", out);
}

static void print_bash_verb(FILE *out, const struct option_table *table)
{
	fprintf(out, "\t%s)\n\t\toptions=\"", table->verb);
	for (const struct option_row *row = table->rows; is_row(row); row++)
		if (row->name)
			fprintf(out, "--%s ", row->name);
	fputs("\"\n\t\twords=\"", out);
	print_words(out, table->words);
	fputs("\"\n\t\tcase $before in\n", out);
	for (const struct option_row *row = table->rows; is_row(row); row++)
		if (row->name && row->argument && *row->argument != '[')
			print_bash_values(out, row);
	fputs("\t\tesac\n\t\t;;\n", out);
}

void completion_write_bash(FILE *out)
{
	fputs("# bash completion of flamegrid\n"
	      "_flamegrid() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal verb=${COMP_WORDS[1]} verbs=\"",
	      out);
	for (size_t i = 0; option_tables[i]; i++)
		fprintf(out, "%s ", option_tables[i]->verb);
	fputs("\" options= words= list= files= is_value=\n\n"
	      "\tif [ \"$word\" = = ]; then\n"
	      "\t\tword=\n"
	      "\telif [ \"$before\" = = ]; then\n"
	      "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tcase ${1##*/} in\n",
	      out);
	for (size_t i = 0; option_tables[i]; i++)
		if (option_tables[i]->is_daemon)
			fprintf(out, "\t%s) verb=%s ;;\n", option_tables[i]->program,
				option_tables[i]->verb);
	fputs("\t*)\n"
	      "\t\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\t\tCOMPREPLY=($(compgen -W \"$verbs --help --version\" -- \"$word\"))\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\t\t;;\n"
	      "\tesac\n"
	      "\tcase $verb in\n",
	      out);
	for (size_t i = 0; option_tables[i]; i++)
		print_bash_verb(out, option_tables[i]);
	fputs("\tesac\n"
	      "\tif [ -z \"$is_value\" ]; then\n"
	      "\t\tlist=$words\n"
	      "\t\tcase $word in -*) list=$options ;; esac\n"
	      "\t\tcase $verb,$before,$word in\n"
	      "\t\t*,*,-*) ;;\n"
	      "\t\trun,run,* | run,--,*) list= files=-c ;;\n"
	      "\t\tesac\n"
	      "\tfi\n"
	      /* compgen -W expands its list once more, so no file's name may be in it. */
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$word\"\n"
	      "\t\t[ -z \"$files\" ] || compgen \"$files\" -- \"$word\")\n"
	      "\t[ -z \"$files\" ] || compopt -o filenames 2>/dev/null\n"
	      "}\n"
	      "complete -o default -F _flamegrid flamegrid",
	      out);
	for (size_t i = 0; option_tables[i]; i++)
		if (option_tables[i]->is_daemon)
			fprintf(out, " %s", option_tables[i]->program);
	fputc('\n', out);
}

static void print_zsh_option(FILE *out, const struct option_row *row)
{
	static const char *const actions[] = {
		[FILES_NONE] = " ",
		[FILES_ALL] = "_files",
		[FILES_DIRECTORIES] = "_files -/",
	};
	bool has_value = row->argument && *row->argument != '[';

	fputs(" \\\n\t\t", out);
	if (row->letter)
		fprintf(out, "{-%c%s,--%s%s}", row->letter, has_value ? "+" : "", row->name,
			has_value ? "=" : "");
	else
		fprintf(out, "--%s%s", row->name, has_value ? "=" : "");
	fputs("'[", out);
	print_quoted(out, row->help, ":[]\\");
	fputs("]", out);
	if (has_value) {
		enum files files = files_of(row->argument);

		fputs(":", out);
		print_quoted(out, row->argument, ":[]\\");
		if (files == FILES_NONE && !strpbrk(row->argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
			fputs(":(", out);
			print_words(out, row->argument);
			fputs(")", out);
		} else
			fprintf(out, ":%s", actions[files]);
	}
	fputs("'", out);
}

static void print_zsh_verb(FILE *out, const struct option_table *table)
{
	fprintf(out, "_flamegrid_%s() {\n\t_arguments -s", table->verb);
	for (const struct option_row *row = table->rows; is_row(row); row++)
		if (row->name)
			print_zsh_option(out, row);
	if (table->words) {
		fputs(" \\\n\t\t'1:word:(", out);
		print_words(out, table->words);
		fputs(")'", out);
	}
	fprintf(out, " \\\n\t\t'*%s'\n}\n\n",
		table->stops_at_operand ? "::command: _normal" : ":file:_files");
}

void completion_write_zsh(FILE *out)
{
	fputs("#compdef flamegrid", out);
	for (size_t i = 0; option_tables[i]; i++)
		if (option_tables[i]->is_daemon)
			fprintf(out, " %s", option_tables[i]->program);
	fputs("\n\n", out);
	for (size_t i = 0; option_tables[i]; i++)
		print_zsh_verb(out, option_tables[i]);
	fputs("_flamegrid() {\n\tlocal verb\n\tlocal -a verbs\n\n\tverbs=(\n", out);
	for (size_t i = 0; option_tables[i]; i++) {
		fprintf(out, "\t\t'%s:", option_tables[i]->verb);
		print_quoted(out, option_tables[i]->summary, ":\\");
		fputs("'\n", out);
	}
	fputs("\t)\n\tcase $service in\n", out);
	for (size_t i = 0; option_tables[i]; i++)
		if (option_tables[i]->is_daemon)
			fprintf(out, "\t%s) _flamegrid_%s; return ;;\n", option_tables[i]->program,
				option_tables[i]->verb);
	fputs("\tesac\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_describe verb verbs\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tverb=$words[2]\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\t(($+functions[_flamegrid_$verb])) && _flamegrid_$verb\n"
	      "}\n\n"
	      "_flamegrid \"$@\"\n",
	      out);
}

/* condition says when fish offers the options; "": always. */
static void print_fish_rows(FILE *out, const struct option_table *table, const char *program,
			    const char *condition)
{
	static const char *const values[] = {
		[FILES_NONE] = " -x",
		[FILES_ALL] = " -r -F",
		[FILES_DIRECTORIES] = " -x -a '(__fish_complete_directories)'",
	};

	for (const struct option_row *row = table->rows; is_row(row); row++) {
		if (!row->name)
			continue;
		fprintf(out, "complete -c %s%s -l %s", program, condition, row->name);
		if (row->letter)
			fprintf(out, " -s %c", row->letter);
		if (row->argument && *row->argument != '[') {
			fputs(values[files_of(row->argument)], out);
			if (strchr(row->argument, '|')) {
				fputs(" -a '", out);
				print_words(out, row->argument);
				fputs("'", out);
			}
		}
		fputs(" -d '", out);
		for (const char *at = row->help; *at; at++)
			fprintf(out, "%s%c", *at == '\'' || *at == '\\' ? "\\" : "", *at);
		fputs("'\n", out);
	}
}

static void print_fish_verb(FILE *out, const struct option_table *table)
{
	char condition[96];

	snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'", table->verb);
	fprintf(out, "complete -c flamegrid -n __fish_use_subcommand -f -a %s -d '", table->verb);
	for (const char *at = table->summary; *at; at++)
		fprintf(out, "%s%c", *at == '\'' || *at == '\\' ? "\\" : "", *at);
	fputs("'\n", out);
	print_fish_rows(out, table, "flamegrid", condition);
	if (table->is_daemon)
		print_fish_rows(out, table, table->program, "");
	if (!table->words)
		return;
	fprintf(out, "complete -c flamegrid%s -a '", condition);
	print_words(out, table->words);
	fputs("'\n", out);
}

void completion_write_fish(FILE *out)
{
	fputs("# fish completion of flamegrid\n", out);
	for (size_t i = 0; option_tables[i]; i++)
		print_fish_verb(out, option_tables[i]);
}
