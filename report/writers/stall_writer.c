#include "stall_writer.h"

#include <errno.h>
#include <stdlib.h>

#include "row_text.h"

#include "report/digest/stall_rows.h"
#include "report/model/report_summary.h"
#include "report/stalls/stall_agreement.h"

#define NUMBER_SIZE 32u

struct named_row {
	const char *kernel; /* NULL: all */
	const struct stall_agreement_row *row;
};

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

static void write_compared(struct text_table *table, const struct stall_agreement_row *row,
			   const char *kernel)
{
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_share(row->places, 1, text));
	if (row->matched)
		text_table_cell(table, "%s", report_summary_share(row->launches, 1, text));
	else
		text_table_cell(table, "%s", "");
	text_table_cell(table, "%s", report_summary_count(row->exact, text));
	text_table_cell(table, "%s", report_summary_count(row->samples, text));
	text_table_cell(table, "%s", kernel);
}

/* How far exact windows agree with continuous samples. */
static int write_agreement(FILE *out, const struct report_tree *tree, const struct text_form *form,
			   uint32_t top)
{
	const struct stall_agreement *agreement = tree->agreement;
	struct text_table table;
	char text[NUMBER_SIZE];

	if (!agreement || !agreement->total.exact)
		return 0;
	fputc('\n', out);
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"lines agree", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"launches agree", 14, 1, false, 1});
	text_table_column(&table, &(struct text_column){"exact samples", 14, 1, false, 2});
	text_table_column(&table, &(struct text_column){"others", 14, 1, false, 3});
	text_table_column(&table, &(struct text_column){"kernel", 0, 2, true, 0});
	write_compared(&table, &agreement->total, "all kernels");
	for (uint32_t i = 0; i < agreement->nr_rows && i < top; i++)
		write_compared(&table, &agreement->rows[i], tree->strings[agreement->rows[i].name]);
	const int error = text_table_end(&table);
	if (agreement->nr_rows > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(agreement->nr_rows - top, text));
	return error;
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
	return error ? error : write_agreement(out, tree, form, top);
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

static void write_compared_json(struct row_text *out, const struct stall_agreement_row *row)
{
	row_text_print(out, "lines_agree", "%.6f", row->places);
	if (row->matched)
		row_text_print(out, "launches_agree", "%.6f", row->launches);
	else
		row_text_number(out, "launches_agree", false, 0);
	row_text_count(out, "exact_samples", row->exact);
	row_text_count(out, "exact_launched", row->matched);
	row_text_count(out, "samples", row->samples);
}

/* The first row is that of all kernels. */
static void write_agreement_row(struct row_text *out, const void *of)
{
	const struct named_row *row = of;

	if (row->kernel)
		row_text_string(out, "kernel", row->kernel);
	else
		row_text_number(out, "kernel", false, 0);
	write_compared_json(out, row->row);
}

static int write_agreement_json(FILE *out, const struct report_tree *tree)
{
	const struct stall_agreement *agreement = tree->agreement;

	if (!agreement || !agreement->total.exact)
		return 0;
	struct named_row *rows = calloc(agreement->nr_rows + 1ul, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	rows[0].row = &agreement->total;
	for (uint32_t i = 0; i < agreement->nr_rows; i++)
		rows[i + 1] = (struct named_row){tree->strings[agreement->rows[i].name],
						 &agreement->rows[i]};
	row_text_json(out, "sampling_agreement", write_agreement_row, tree, rows,
		      agreement->nr_rows + 1, sizeof(*rows));
	fputs(",\n", out);
	free(rows);
	return 0;
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
	return error ? error : write_agreement_json(out, tree);
}
