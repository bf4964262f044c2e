#include "stall_writer.h"

#include "row_text.h"

#include "report/digest/stall_rows.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

static void write_share(struct text_table *table, const struct stall_part_of *part)
{
	char text[NUMBER_SIZE];

	if (*part->text)
		text_table_cell(table, "%s %s", part->text,
				report_summary_share(part->share, 1, text));
	else
		text_table_cell(table, "%s", "");
}

static void begin(struct text_table *table, FILE *out, const struct text_form *form)
{
	fputc('\n', out);
	text_table_begin(table, out, form);
	text_table_column(table, &(struct text_column){"time", 14, 0, false, 0});
	text_table_column(table, &(struct text_column){"share", 7, 1, false, 2});
	text_table_column(table, &(struct text_column){"samples", 14, 1, false, 3});
	text_table_column(table, &(struct text_column){"main reason", 14, 2, true, 0});
	text_table_column(table, &(struct text_column){"hottest line", 14, 2, true, 1});
	text_table_column(table, &(struct text_column){"kernel", 0, 2, true, 0});
}

int stall_writer_kernels(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top)
{
	const uint64_t total_ns = tree->plane_totals[REPORT_PLANE_STALLS].ns;
	struct text_table table;
	struct stall_rows rows;
	char text[NUMBER_SIZE];
	int error = stall_rows_init(&rows, tree);

	if (!error && rows.nr_rows) {
		begin(&table, out, form);
		for (uint32_t i = 0; i < rows.nr_rows && i < top; i++) {
			const struct stall_row *row = &rows.rows[i];

			text_table_cell(&table, "%s", report_summary_time(row->ns, text));
			text_table_cell(
				&table, "%s",
				report_summary_share((double)row->ns, (double)total_ns, text));
			text_table_cell(&table, "%s", report_summary_count(row->count, text));
			write_share(&table, &row->reason);
			write_share(&table, &row->line);
			text_table_cell(&table, "%s", row->kernel);
		}
		error = text_table_end(&table);
		if (rows.nr_rows > top)
			fprintf(out, "%14s %s more\n", "",
				report_summary_count(rows.nr_rows - top, text));
	}
	stall_rows_fini(&rows);
	return error;
}

/* An empty text is null, as its share. */
static void write_part(struct row_text *out, const char *name, const char *share_name,
		       const struct stall_part_of *part)
{
	if (*part->text) {
		row_text_string(out, name, part->text);
		row_text_print(out, share_name, "%.6f", part->share);
	} else {
		row_text_number(out, name, false, 0);
		row_text_number(out, share_name, false, 0);
	}
}

static void write_row(struct row_text *out, const void *of)
{
	const struct stall_row *row = of;

	row_text_string(out, "kernel", row->kernel);
	row_text_count(out, "ns", row->ns);
	row_text_count(out, "samples", row->count);
	write_part(out, "reason", "reason_share", &row->reason);
	write_part(out, "line", "line_share", &row->line);
}

int stall_writer_json(FILE *out, const struct report_tree *tree)
{
	struct stall_rows rows;
	int error = stall_rows_init(&rows, tree);

	if (!error && rows.nr_rows) {
		row_text_json(out, "sampled_kernels", write_row, tree, rows.rows, rows.nr_rows,
			      sizeof(*rows.rows));
		fputs(",\n", out);
	}
	stall_rows_fini(&rows);
	return error;
}
