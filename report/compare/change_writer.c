#include "change_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "check_writer.h"
#include "run_step.h"

#include "report/model/report_summary.h"
#include "report/model/report_tree.h"
#include "report/writers/json_text.h"
#include "report/writers/json_writer.h"
#include "report/writers/text_file.h"

#define TOP_USUAL 20u
#define TEXT_SIZE 64u
#define TIME_SIZE 48u

static double change_by(const struct change_row *row, double factor)
{
	return (double)row->after.ns - factor * (double)row->before.ns;
}

static double change_of(const struct change_report *report, const struct change_row *row)
{
	return change_by(row, report->scale.factor);
}

static bool is_new(const struct change_row *row)
{
	return row->before.ns == 0 && row->before.count == 0;
}

static bool is_gone(const struct change_row *row)
{
	return row->after.ns == 0 && row->after.count == 0;
}

static bool is_by_launch(const struct change_report *report)
{
	return report->scale.unit == RUN_LAUNCHES || report->scale.unit == RUN_WHOLE;
}

/* Returns whether parts of the run are known: steps, collectives or launches. */
static bool has_parts(const struct change_report *report)
{
	return !report->has_samples || !is_by_launch(report);
}

/* Returns the time of a step, a collective, or one launch; NAN: there is none. */
static double part_of(const struct change_report *report, const struct report_diff_amount *amount,
		      double units)
{
	if (!has_parts(report))
		return NAN;
	if (is_by_launch(report))
		return amount->count ? (double)amount->ns / (double)amount->count : NAN;
	return (double)amount->ns / units;
}

static double part_before(const struct change_report *report,
			  const struct report_diff_amount *amount)
{
	return part_of(report, amount, report->scale.before);
}

static double part_after(const struct change_report *report,
			 const struct report_diff_amount *amount)
{
	return part_of(report, amount, report->scale.before * report->scale.factor);
}

/* ---- table */

static const char *time_text(double ns, char text[static TIME_SIZE])
{
	if (!(ns < 0x1p63))
		snprintf(text, TIME_SIZE, "-");
	else
		report_summary_time((uint64_t)llround(ns < 0 ? 0 : ns), text);
	return text;
}

static const char *signed_text(double ns, char text[static TEXT_SIZE])
{
	*text = ns < 0 ? '-' : '+';
	time_text(fabs(ns), text + 1);
	return text;
}

/* factor: how much longer the side after is. */
static const char *relative_text(double before, double after, double factor,
				 char text[static TEXT_SIZE])
{
	if (before > 0 && factor > 0)
		snprintf(text, TEXT_SIZE, "%+.2f %%", 100 * (after / (before * factor) - 1));
	else
		snprintf(text, TEXT_SIZE, "%s", after > 0 ? "new" : "-");
	return text;
}

/* Returns whether a column has the time of a part of the run. */
static bool is_part(size_t column)
{
	return column == 4 || column == 5;
}

static void add_row(struct text_table *table, const struct change_report *report,
		    const struct change_row *row)
{
	char texts[7][TEXT_SIZE];
	const struct run_scale *scale = &report->scale;
	const char *cells[] = {
		signed_text(change_of(report, row), texts[0]),
		is_gone(row) ? "gone"
			     : relative_text((double)row->before.ns, (double)row->after.ns,
					     scale->factor, texts[1]),
		time_text((double)row->before.ns, texts[2]),
		time_text((double)row->after.ns, texts[3]),
		time_text(part_before(report, &row->before), texts[4]),
		time_text(part_after(report, &row->after), texts[5]),
		is_gone(row) ? "gone"
			     : relative_text((double)row->before.count, (double)row->after.count,
					     scale->factor, texts[6]),
		row->name,
	};

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		if (has_parts(report) || !is_part(i))
			text_table_cell(table, "%s", cells[i]);
}

/* Sums of whole runs are left out first: where runs have different lengths, they do not compare. */
static void begin_rows(struct text_table *table, FILE *out, const struct change_report *report,
		       const struct text_form *form, char headings[static 2][TEXT_SIZE])
{
	const char *unit =
		run_unit_name(report->scale.unit == RUN_WHOLE ? RUN_LAUNCHES : report->scale.unit);

	const char *count = report->has_samples ? "sample change" : "count change";

	snprintf(headings[0], TEXT_SIZE, "before/%s", unit);
	snprintf(headings[1], TEXT_SIZE, "after/%s", unit);
	const struct text_column columns[] = {
		{"change", 12, 0, false, 0},
		{"relative", 10, 1, false, 0},
		{"before", 11, 1, false, 5},
		{"after", 11, 1, false, 4},
		{headings[0], 17, 1, false, 3},
		{headings[1], 17, 1, false, 2},
		{count, report->has_samples ? 13 : 12, 1, false, 1},
		{report->heading ? report->heading : report->by, 0, 2, true, 0},
	};

	text_table_begin(table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (has_parts(report) || !is_part(i))
			text_table_column(table, &columns[i]);
}

static void write_side(FILE *out, const struct change_report *report, const char *word,
		       const struct change_side *side, double units)
{
	fprintf(out, "%-7s %s", word, side->label);
	if (report->scale.unit <= RUN_COLLECTIVES && side->nr_ranks)
		fprintf(out, ": %" PRIu32 " rank%s with %.0f %ss each", side->nr_ranks,
			side->nr_ranks == 1 ? "" : "s", units / side->nr_ranks,
			run_unit_name(report->scale.unit));
	fputc('\n', out);
	if (side->summary)
		fprintf(out, "        %s\n", side->summary);
	if (side->tree)
		report_summary_cost(out, side->tree, "        ");
}

static void write_scale(FILE *out, const struct run_scale *scale)
{
	if (scale->factor == 1)
		return;
	fprintf(out,
		"The run after made %.4f times as many %s%s. Changes compare it with the times "
		"before, multiplied by that.\n",
		scale->factor, run_unit_name(scale->unit),
		scale->unit == RUN_LAUNCHES ? "es" : "s");
}

/* Returns whether nothing is to be seen of a change. */
static bool is_alike(const struct change_row *row, double factor)
{
	return fabs(change_by(row, factor)) < 0.5 &&
	       fabs((double)row->before.count * factor - (double)row->after.count) < 0.5;
}

uint32_t change_writer_count(const struct change_table *table, double factor)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr_rows; i++)
		nr += !is_alike(&table->rows[i], factor);
	return nr;
}

/* Adds the rows of a table that differ. Returns how many there are. */
static uint32_t add_rows(struct text_table *table, const struct change_report *report,
			 uint32_t most)
{
	const struct change_table *changes = report->table;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < changes->nr_rows; i++)
		if (!is_alike(&changes->rows[i], report->scale.factor) && nr++ < most)
			add_row(table, report, &changes->rows[i]);
	return nr;
}

/* Says what the table leaves out. */
static void write_left_out(FILE *out, const struct change_report *report, bool is_wide,
			   uint32_t nr_differ, uint32_t most)
{
	const uint32_t nr_alike = report->table->nr_rows - nr_differ;
	const char *indent = is_wide ? "                                     " : "";

	if (nr_differ > most)
		fprintf(out, "%s%" PRIu32 " more rows (--top)\n", indent, nr_differ - most);
	if (nr_differ && nr_alike)
		fprintf(out, "%s%" PRIu32 " row%s without a difference\n", indent, nr_alike,
			nr_alike == 1 ? "" : "s");
	if (nr_differ)
		return;
	fprintf(out, "no difference by %s: %" PRIu32 " row%s", report->by, nr_alike,
		nr_alike == 1 ? "" : "s");
	if (report->nr_kernels)
		fprintf(out, ", but %" PRIu32 " row%s by kernel (--by kernel)", report->nr_kernels,
			report->nr_kernels == 1 ? " differs" : "s differ");
	putc('\n', out);
}

/* Lists the rows of which only one side has something. */
static void write_list(FILE *out, const struct change_report *report, bool after, uint32_t top)
{
	const struct change_table *table = report->table;
	char time[TEXT_SIZE];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr_rows; i++) {
		const struct change_row *row = &table->rows[i];

		if (!(after ? is_new(row) : is_gone(row)))
			continue;
		if (nr == 0)
			fprintf(out, "\n%s:\n", after ? "New" : "Vanished");
		if (nr++ < top)
			fprintf(out, "%12s  %s\n",
				time_text((double)(after ? row->after.ns : row->before.ns), time),
				row->name);
	}
	if (nr > top)
		fprintf(out, "              and %" PRIu32 " more\n", nr - top);
}

int change_writer_table(FILE *out, const struct change_report *report, const struct text_form *form,
			uint32_t top)
{
	const struct change_table *table = report->table;
	const struct change_row whole = {
		.name = "all", .before = table->before, .after = table->after};
	char headings[2][TEXT_SIZE], step[REPORT_SUMMARY_SIZE];
	struct text_table rows;
	uint32_t most = top ? top : TOP_USUAL;

	write_side(out, report, "before", &report->before, report->scale.before);
	write_side(out, report, "after", &report->after, report->scale.after);
	if (report->step.is_known)
		fprintf(out, "%s\n", run_step_text(&report->step, step, sizeof(step)));
	write_scale(out, &report->scale);
	fputc('\n', out);
	begin_rows(&rows, out, report, form, headings);
	add_row(&rows, report, &whole);
	const uint32_t nr_differ = add_rows(&rows, report, most);
	int result = text_table_end(&rows);
	write_left_out(out, report, !(form && form->columns), nr_differ, most);
	write_list(out, report, true, most);
	write_list(out, report, false, most);
	return result < 0 ? result : text_file_flush(out);
}

/* ---- JSON */

static void write_amount(FILE *out, const char *name, const struct report_diff_amount *amount,
			 double part)
{
	fprintf(out, "\"%s\":{\"count\":%" PRIu64 ",\"ns\":%" PRIu64 ",", name, amount->count,
		amount->ns);
	json_text_number(out, "unit_ns", 17, part);
	fprintf(out, "\"bytes\":%" PRIu64 "},", amount->bytes);
}

static void write_object(FILE *out, const struct change_report *report,
			 const struct change_row *row)
{
	const struct run_scale *scale = &report->scale;
	const double before = scale->factor * (double)row->before.ns;

	fputc('{', out);
	json_text_member(out, "name", row->name);
	write_amount(out, "before", &row->before, part_before(report, &row->before));
	write_amount(out, "after", &row->after, part_after(report, &row->after));
	json_text_number(out, "change_ns", 17, change_of(report, row));
	json_text_number(out, "relative", 17, before > 0 ? change_of(report, row) / before : NAN);
	fprintf(out, "\"state\":\"%s\"}", is_new(row) ? "new" : is_gone(row) ? "vanished" : "both");
}

static void write_json_side(FILE *out, const char *name, const struct change_side *side,
			    const struct change_report *report, double units)
{
	fprintf(out, "\"%s\":{", name);
	json_text_member(out, "label", side->label);
	if (side->summary)
		json_text_member(out, "summary", side->summary);
	else
		fputs("\"summary\":null,", out);
	if (side->tree)
		json_writer_cost(out, &side->tree->cost);
	else
		fputs("\"cost\":null,", out);
	json_text_number(out, "units", 17, report->scale.unit <= RUN_COLLECTIVES ? units : NAN);
	fprintf(out, "\"ranks\":%" PRIu32 "},\n", side->nr_ranks);
}

int change_writer_json(FILE *out, const struct change_report *report)
{
	const struct change_table *table = report->table;
	const struct change_row whole = {
		.name = "all", .before = table->before, .after = table->after};

	json_text_schema(out);
	json_text_member(out, "by", report->by);
	json_text_member(out, "unit", run_unit_name(report->scale.unit));
	json_text_number(out, "factor", 17, report->scale.factor);
	check_writer_step(out, &report->step);
	write_json_side(out, "before", &report->before, report, report->scale.before);
	write_json_side(out, "after", &report->after, report, report->scale.after);
	fputs("\"all\":", out);
	write_object(out, report, &whole);
	fputs(",\n\"rows\":[", out);
	for (uint32_t i = 0; i < table->nr_rows; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_object(out, report, &table->rows[i]);
	}
	fputs("]}\n", out);
	return text_file_flush(out);
}
