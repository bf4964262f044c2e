#include "option_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 32u

const struct option_table *const option_tables[] = {
	&option_table_run,
	&option_table_report,
	&option_table_diff,
	&option_table_check,
	&option_table_serve,
	&option_table_watch,
	&option_table_top,
	&option_table_timeline,
	&option_table_merge,
	&option_table_export,
	&option_table_fetch,
	&option_table_control,
	&option_table_attach,
	&option_table_detach,
	&option_table_doctor,
	&option_table_demo,
	&option_table_step,
	&option_table_metrics,
	&option_table_keygen,
	&option_table_agent,
	&option_table_aggregate,
	NULL,
};

const char *option_table_name(const struct option_table *table, char text[static 64])
{
	snprintf(text, 64, "%s%s%s", table->program, table->is_daemon ? "" : " ",
		 table->is_daemon ? "" : table->verb);
	return text;
}

const struct option_row *option_table_find(const struct option_table *table, const char *name,
					   size_t size)
{
	for (const struct option_row *row = table->rows; row->name || row->help; row++)
		if (row->name && strlen(row->name) == size && memcmp(row->name, name, size) == 0)
			return row;
	return NULL;
}

int option_words_find(const char *argument, const char *value, bool *exhaustive)
{
	size_t value_size = strlen(value);
	int found = -1;

	*exhaustive = strchr(argument, '|') != NULL;
	for (int i = 0; *argument; i++) {
		size_t size = strcspn(argument, "|");

		bool is_word = true;

		for (size_t at = 0; at < size; at++)
			is_word &= islower((unsigned char)argument[at]) || argument[at] == '-';
		if (is_word && size == value_size && memcmp(argument, value, size) == 0)
			found = i;
		*exhaustive &= is_word;
		argument += size + (argument[size] == '|');
	}
	return found;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* The row holds the distances of a's first i letters. Longer words are cut, since none of our names is that long. */
static size_t letters_between(const char *a, const char *b)
{
	size_t size_a = strnlen(a, WORD_MAX), size_b = strnlen(b, WORD_MAX);
	size_t rows[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t j = 0; j <= size_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= size_a; i++) {
		rows[i][0] = i;
		for (size_t j = 1; j <= size_b; j++) {
			size_t *here = &rows[i][j];

			*here = smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
					 rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				*here = smallest(*here, *here, rows[i - 2][j - 2] + 1);
		}
	}
	return rows[size_a][size_b];
}

bool option_is_near(const char *word, const char *name, size_t *least)
{
	size_t letters = letters_between(word, name), size = strlen(word);
	bool are_missing = size + letters == strlen(name) && 2 * letters <= size;

	if (letters >= *least || size < 3 || (letters > 1 && 3 * letters >= size && !are_missing))
		return false;
	*least = letters;
	return true;
}
