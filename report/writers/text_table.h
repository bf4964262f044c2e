/* A table of text whose columns are as wide as their cells need. Where lines have a limit, columns of least use are
 * left out until the names have room, and names that are still too long are cut in their middle. Single-threaded. */
#ifndef TEXT_TABLE_H
#define TEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_TABLE_COLUMNS 24u

/* What the reader's terminal can show. Zeroed: it is none. */
struct text_form {
	uint32_t columns; /* of a line; 0: there is no limit */
	bool has_colours; /* headings and findings stand out */
};

struct text_column {
	const char *heading;
	uint32_t width; /* at least, where lines have no limit */
	uint32_t gap;   /* blanks before it; there are two where lines have a limit */
	bool is_left;   /* cells stand at the left, and those of the last column are cut */
	/* Columns with higher numbers are left out first; 0: the column always stays. */
	uint32_t spare;
};

struct text_table {
	FILE *out;
	struct text_form form;
	struct text_column columns[TEXT_TABLE_COLUMNS];
	uint32_t nr_columns;
	char **cells; /* owns; row by row, without the heading */
	size_t nr_cells, capacity;
	bool is_short; /* there was not enough memory */
};

/* form NULL: no limit. Columns follow by text_table_column(), then cells row by row, then text_table_end(). */
void text_table_begin(struct text_table *table, FILE *out, const struct text_form *form);
void text_table_column(struct text_table *table, const struct text_column *column);

/* Adds the next cell of the row. */
__attribute__((format(printf, 2, 3))) void text_table_cell(struct text_table *table,
							   const char *format, ...);

/* Writes the heading and all rows, and frees them. 0; -ENOMEM: nothing was written. */
int text_table_end(struct text_table *table);

/* Writes the escape that begins or ends bold text, if there are colours. */
void text_form_bold(FILE *out, const struct text_form *form, bool begins);

#endif
