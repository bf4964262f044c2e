#include "clocks_writer.h"

#include <inttypes.h>

#include "json_text.h"
#include "row_text.h"
#include "text_file.h"
#include "text_table.h"

#include "report/model/report_summary.h"

#define NUMBER_SIZE 64u

/* The store bounds offsets, so INT64_MIN, which has no positive, cannot come. */
static uint64_t amount(int64_t number)
{
	return (uint64_t)(number < 0 ? -number : number);
}

const char *clocks_writer_line(const struct report_clocks *clocks, char *line, size_t size)
{
	char spread[NUMBER_SIZE];

	*line = '\0';
	if (clocks->nr_rows < 2)
		return line;
	if (clocks->nr_unknown == clocks->nr_rows)
		snprintf(line, size, "clocks of %" PRIu32 " hosts: how far apart is not known",
			 clocks->nr_rows);
	else if (clocks->nr_unknown)
		snprintf(line, size,
			 "CLOCK_REALTIME of %" PRIu32 " of %" PRIu32
			 " hosts: at most %s apart; of the others it is not known",
			 clocks->nr_rows - clocks->nr_unknown, clocks->nr_rows,
			 report_summary_time(clocks->spread_ns, spread));
	else
		snprintf(line, size, "CLOCK_REALTIME of %" PRIu32 " hosts: at most %s apart",
			 clocks->nr_rows, report_summary_time(clocks->spread_ns, spread));
	return line;
}

/* ---- text */

static char sign_of(int64_t number)
{
	return number < 0 ? '-' : '+';
}

/* Writes "+12.345678901 s". All digits count, because clocks that were never set alike differ by days. */
static const char *seconds(int64_t ns, char text[static NUMBER_SIZE])
{
	snprintf(text, NUMBER_SIZE, "%c%" PRIu64 ".%09" PRIu64 " s", sign_of(ns),
		 amount(ns) / 1000000000u, amount(ns) % 1000000000u);
	return text;
}

static const char *parts_per_million(const struct report_clocks_row *row,
				     char text[static NUMBER_SIZE])
{
	uint64_t drift = amount(row->drift_ppb), bound = row->drift_bound_ppb;

	snprintf(text, NUMBER_SIZE, "%c%" PRIu64 ".%03" PRIu64 " +-%" PRIu64 ".%03" PRIu64 " ppm",
		 sign_of(row->drift_ppb), drift / 1000, drift % 1000, bound / 1000, bound % 1000);
	return text;
}

static void write_table_row(struct text_table *table, const struct report_clocks_row *row)
{
	char text[NUMBER_SIZE], elsewhere[NUMBER_SIZE + 64] = "";

	if (!row->measured) {
		for (unsigned int i = 0; i < 5; i++)
			text_table_cell(table, "-");
	} else {
		text_table_cell(table, "%s", seconds(row->offset_ns, text));
		text_table_cell(table, "%s", report_summary_time(row->bound_ns, text));
		text_table_cell(table, "%s", report_summary_time(row->round_trip_ns, text));
		text_table_cell(table, "%s", row->has_drift ? parts_per_million(row, text) : "-");
		text_table_cell(table, "%s",
				row->has_realtime ? seconds(row->realtime_ns, text) : "-");
	}
	text_table_cell(table, "%" PRIu32, row->measured);
	if (row->elsewhere)
		snprintf(elsewhere, sizeof(elsewhere),
			 "; %" PRIu32 " more with another aggregator's clock, not used",
			 row->elsewhere);
	text_table_cell(table, "%s%s", row->host, elsewhere);
}

static int write_table_rows(FILE *out, const struct report_clocks *clocks,
			    const struct text_form *form)
{
	static const struct text_column columns[] = {
		{"CLOCK_MONOTONIC", 26, 0, false, 0},
		{"bound", 12, 1, false, 0},
		{"round trip", 12, 1, false, 3},
		{"drift", 24, 1, false, 2},
		{"CLOCK_REALTIME", 22, 1, false, 1},
		{"compared", 8, 1, false, 4},
		{"host", 0, 2, true, 0},
	};
	struct text_table table;

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < clocks->nr_rows; i++)
		write_table_row(&table, &clocks->rows[i]);
	return text_table_end(&table);
}

static void write_refinement(FILE *out, const struct report_clocks *clocks)
{
	char text[NUMBER_SIZE];
	uint64_t most_ns = 0, compared_ns = 0;

	if (clocks->contradicted)
		fputs("collectives contradict these comparisons, and were left aside\n", out);
	if (!clocks->refined)
		return;
	for (uint32_t i = 0; i < clocks->nr_rows; i++) {
		const struct report_clocks_row *row = &clocks->rows[i];

		most_ns = row->bound_ns > most_ns ? row->bound_ns : most_ns;
		compared_ns =
			row->compared_bound_ns > compared_ns ? row->compared_bound_ns : compared_ns;
	}
	fprintf(out, "held against collectives: the widest bound is %s",
		report_summary_time(most_ns, text));
	fprintf(out, ", by comparisons alone %s\n", report_summary_time(compared_ns, text));
}

int clocks_writer_table(FILE *out, const struct report_clocks *clocks,
			const struct report_tree *tree, const struct text_form *form)
{
	char line[REPORT_SUMMARY_SIZE];

	report_summary_title(out, tree);
	fputs("each host's clocks less the aggregator's, give or take the bound, when last "
	      "compared\n\n",
	      out);
	int result = write_table_rows(out, clocks, form);
	if (result)
		return result;
	fputc('\n', out);
	if (*clocks_writer_line(clocks, line, sizeof(line)))
		fprintf(out, "%s\n", line);
	write_refinement(out, clocks);
	report_summary_write(out, tree, "");
	return text_file_flush(out);
}

/* ---- JSON and CSV */

static void write_row(struct row_text *out, const void *of)
{
	const struct report_clocks_row *row = of;
	bool known = row->measured > 0;

	row_text_string(out, "host", row->host);
	row_text_count(out, "compared", row->measured);
	row_text_count(out, "elsewhere", row->elsewhere);
	row_text_number(out, "time_ns", known, (int64_t)row->time_ns);
	row_text_number(out, "offset_ns", known, row->offset_ns);
	row_text_number(out, "bound_ns", known, (int64_t)row->bound_ns);
	row_text_number(out, "round_trip_ns", known, (int64_t)row->round_trip_ns);
	row_text_number(out, "drift_ppb", row->has_drift, row->drift_ppb);
	row_text_number(out, "drift_bound_ppb", row->has_drift, (int64_t)row->drift_bound_ppb);
	row_text_number(out, "realtime_ns", row->has_realtime, row->realtime_ns);
	row_text_number(out, "compared_offset_ns", known, row->compared_offset_ns);
	row_text_number(out, "compared_bound_ns", known, (int64_t)row->compared_bound_ns);
	row_text_count(out, "collectives", row->collectives);
}

int clocks_writer_json(FILE *out, const struct report_clocks *clocks,
		       const struct report_tree *tree)
{
	struct row_text document = {.out = out};
	char line[REPORT_SUMMARY_SIZE];

	json_text_begin(out, tree->title);
	row_text_string(&document, "summary", report_summary_line(tree, line, sizeof(line)));
	row_text_number(&document, "realtime_spread_ns", clocks->nr_unknown < clocks->nr_rows,
			(int64_t)clocks->spread_ns);
	row_text_count(&document, "realtime_unknown", clocks->nr_unknown);
	fputs(",\n", out);
	row_text_json(out, "clocks", write_row, NULL, clocks->rows, clocks->nr_rows,
		      sizeof(*clocks->rows));
	fputs("}\n", out);
	return text_file_flush(out);
}

int clocks_writer_csv(FILE *out, const struct report_clocks *clocks)
{
	row_text_csv(out, write_row, &(struct report_clocks_row){0}, clocks->rows, clocks->nr_rows,
		     sizeof(*clocks->rows));
	return text_file_flush(out);
}
