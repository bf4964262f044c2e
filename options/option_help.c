#include "option_help.h"

#include <string.h>

#define COLUMNS 79u
#define INDENT  25u /* column where the sentences begin */

/* Prints text from `column` on, its further lines from `indent` on, and ends the line. */
static void print_wrapped(FILE *out, const char *text, unsigned int column, unsigned int indent)
{
	while (*text) {
		unsigned int size = (unsigned int)strcspn(text, " ");

		if (column > indent && column + 1 + size > COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)size, text);
		column += size;
		text += size + strspn(text + size, " ");
	}
	fputc('\n', out);
}

static void print_row(FILE *out, const struct option_row *row)
{
	char left[96], text[512];
	unsigned int size;

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", row->letter ? '-' : ' ',
		 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
		 row->argument && *row->argument != '[' ? " " : "",
		 row->argument ? row->argument : "");
	snprintf(text, sizeof(text), "%s%s", row->help,
		 row->flags & OPTION_EXPERIMENTAL ? " (experimental)" : "");
	size = (unsigned int)strlen(left);
	fputs(left, out);
	if (size + 1 > INDENT)
		fprintf(out, "\n%*s", (int)INDENT, "");
	else
		fprintf(out, "%*s", (int)(INDENT - size), "");
	print_wrapped(out, text, INDENT, INDENT);
}

void option_help_print(FILE *out, const struct option_table *table, bool all)
{
	const struct option_row *heading = NULL;
	const char *form = table->usage;
	char name[64];

	option_table_name(table, name);
	for (const char *word = "Usage:"; form; word = "      ") {
		fprintf(out, "%s %s %.*s\n", word, name, (int)strcspn(form, "\n"), form);
		form = strchr(form, '\n');
		form += form != NULL;
	}
	print_wrapped(out, table->summary, 0, 0);
	for (const struct option_row *row = table->rows; row->name || row->help; row++) {
		if (!row->name)
			heading = row;
		if (!row->name || !(all || row->flags & OPTION_DAILY))
			continue;
		if (heading)
			fprintf(out, "\n%s:\n", heading->help);
		heading = NULL;
		print_row(out, row);
	}
	fputc('\n', out);
	print_wrapped(out, table->closing, 0, 0);
}

void option_help_verbs(FILE *out)
{
	for (size_t i = 0; option_tables[i]; i++) {
		fprintf(out, "  %-11s", option_tables[i]->verb);
		print_wrapped(out, option_tables[i]->summary, 13, 13);
	}
}
