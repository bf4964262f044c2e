#include "text_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
#include "report/names/text_width.h"

#define NAME_LEAST 24u /* columns of names for which others are left out */
#define NAME_MOST  8u  /* columns that names keep in any case */
#define GAP        2u

void text_table_begin(struct text_table *table, FILE *out, const struct text_form *form)
{
	memset(table, 0, sizeof(*table));
	table->out = out;
	if (form)
		table->form = *form;
}

void text_table_column(struct text_table *table, const struct text_column *column)
{
	if (table->nr_columns < TEXT_TABLE_COLUMNS)
		table->columns[table->nr_columns++] = *column;
}

static bool has_room(struct text_table *table)
{
	if (table->nr_cells < table->capacity)
		return true;
	size_t capacity = table->capacity ? 2 * table->capacity : 64;
	char **cells = realloc(table->cells, capacity * sizeof(*cells));

	if (!cells)
		return false;
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void text_table_cell(struct text_table *table, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = text_print_list(format, arguments);
	va_end(arguments);
	if (text && has_room(table)) {
		table->cells[table->nr_cells++] = text;
		return;
	}
	free(text);
	table->is_short = true;
}

void text_form_bold(FILE *out, const struct text_form *form, bool begins)
{
	if (form && form->has_colours)
		fputs(begins ? "\033[1m" : "\033[0m", out);
}

/* ---- widths */

static uint32_t widest(const struct text_table *table, uint32_t column)
{
	uint32_t width = text_width_of(table->columns[column].heading);

	for (size_t i = column; i < table->nr_cells; i += table->nr_columns) {
		uint32_t own = text_width_of(table->cells[i]);

		width = own > width ? own : width;
	}
	return width;
}

/* Returns the width of all columns before the last, with all gaps. */
static uint32_t width_before(const struct text_table *table, const bool *left_out)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i + 1 < table->nr_columns; i++)
		sum += left_out[i] ? 0 : table->columns[i].width + GAP;
	return sum;
}

/* Returns the column to leave out next; nr_columns: none. */
static uint32_t find_spare(const struct text_table *table, const bool *left_out)
{
	uint32_t found = table->nr_columns, most = 0;

	for (uint32_t i = 0; i + 1 < table->nr_columns; i++) {
		if (left_out[i] || table->columns[i].spare <= most)
			continue;
		most = table->columns[i].spare;
		found = i;
	}
	return found;
}

/* Leaves columns out, and narrows the last, until the line has room for all. */
static void fit(struct text_table *table, bool *left_out)
{
	const uint32_t last = table->nr_columns - 1, room = table->form.columns;

	for (uint32_t i = 0; i < table->nr_columns; i++)
		table->columns[i].gap = i ? GAP : 0;
	const uint32_t names = table->columns[last].width;
	const uint32_t wanted = names < NAME_LEAST ? names : NAME_LEAST;
	uint32_t spare;
	while (width_before(table, left_out) + wanted > room &&
	       (spare = find_spare(table, left_out)) < table->nr_columns)
		left_out[spare] = true;
	const uint32_t before = width_before(table, left_out);
	uint32_t kept = room > before ? room - before : 0;

	kept = kept < NAME_MOST ? NAME_MOST : kept;
	table->columns[last].width = names < kept ? names : kept;
}

/* ---- lines */

static void write_padding(FILE *out, uint32_t width)
{
	fprintf(out, "%*s", (int)width, "");
}

static void write_cell(const struct text_table *table, uint32_t i, const char *text, bool is_first)
{
	const struct text_column *column = &table->columns[i];
	const uint32_t own = text_width_of(text);
	const uint32_t padding = own < column->width ? column->width - own : 0;

	write_padding(table->out, is_first && table->form.columns ? 0 : column->gap);
	if (!column->is_left)
		write_padding(table->out, padding);
	fputs(text, table->out);
	if (column->is_left && i + 1 < table->nr_columns)
		write_padding(table->out, padding);
}

static void write_heading(const struct text_table *table, const bool *left_out)
{
	bool is_first = true;

	text_form_bold(table->out, &table->form, true);
	for (uint32_t i = 0; i < table->nr_columns; i++) {
		if (left_out[i])
			continue;
		write_cell(table, i, table->columns[i].heading, is_first);
		is_first = false;
	}
	text_form_bold(table->out, &table->form, false);
	fputc('\n', table->out);
}

static void write_row(const struct text_table *table, char **cells, const bool *left_out)
{
	const uint32_t last = table->nr_columns - 1;
	bool is_first = true;

	if (table->form.columns && table->columns[last].is_left)
		text_width_cut(cells[last], table->columns[last].width);
	for (uint32_t i = 0; i < table->nr_columns; i++) {
		if (left_out[i])
			continue;
		write_cell(table, i, cells[i], is_first);
		is_first = false;
	}
	fputc('\n', table->out);
}

int text_table_end(struct text_table *table)
{
	bool left_out[TEXT_TABLE_COLUMNS] = {false};

	if (!table->is_short && table->nr_columns) {
		for (uint32_t i = 0; i < table->nr_columns; i++) {
			uint32_t width = widest(table, i);

			if (table->form.columns || width > table->columns[i].width)
				table->columns[i].width = width;
		}
		if (table->form.columns)
			fit(table, left_out);
		write_heading(table, left_out);
		for (size_t i = 0; i + table->nr_columns <= table->nr_cells; i += table->nr_columns)
			write_row(table, table->cells + i, left_out);
	}
	for (size_t i = 0; i < table->nr_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->nr_cells = table->capacity = 0;
	return table->is_short ? -ENOMEM : 0;
}
