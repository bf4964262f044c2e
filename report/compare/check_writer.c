#include "check_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "markdown_text.h"

#include "report/model/report_summary.h"
#include "report/writers/json_text.h"
#include "report/writers/text_file.h"

#define NUMBER_SIZE 32u

static const char *const kind_names[] = {
	[RUN_KIND_ALL] = "all",
	[RUN_KIND_KERNEL] = "kernel",
	[RUN_KIND_COPIES] = "copies",
};

static uint32_t nr_runs(const struct check_report *report)
{
	return report->question->nr_before + report->question->nr_after;
}

static const char *time_text(double ns, char text[static NUMBER_SIZE])
{
	if (ns > 0 && ns < 0x1p63)
		return report_summary_time((uint64_t)llround(ns), text);
	snprintf(text, NUMBER_SIZE, "-");
	return text;
}

/* ---- text */

static void begin_rows(struct text_table *table, FILE *out, const struct check_report *report,
		       const struct text_form *form)
{
	static const char *const headings[][2] = {
		[RUN_MARKS] = {"before/step", "after/step"},
		[RUN_STEPS] = {"before/step", "after/step"},
		[RUN_COLLECTIVES] = {"before/collective", "after/collective"},
		[RUN_LAUNCHES] = {"before", "after"},
		[RUN_WHOLE] = {"before", "after"},
	};
	static const char *const scaled[2] = {"scaled before", "scaled after"};
	const char *const *times = report->result->scaled ? scaled : headings[report->result->unit];
	const struct text_column columns[] = {
		{"change", 10, 0, false, 0},      {"from", 10, 1, false, 4},
		{"to", 10, 1, false, 3},          {"launches", 10, 1, false, 2},
		{"duration", 10, 1, false, 1},    {"resolves", 10, 1, false, 8},
		{"share after", 11, 1, false, 5}, {times[0], 11, 1, false, 7},
		{times[1], 11, 1, false, 6},      {"noise of", 8, 2, true, 9},
		{"verdict", 10, 2, true, 0},      {"kernel", 0, 2, true, 0},
	};

	text_table_begin(table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(table, &columns[i]);
}

static void add_row(struct text_table *table, const struct check_row *row)
{
	char texts[9][NUMBER_SIZE];
	const char *cells[] = {
		check_words_percent(row->change, texts[0]),
		check_words_percent(row->low, texts[1]),
		check_words_percent(row->high, texts[2]),
		check_words_percent(row->count_change, texts[3]),
		check_words_percent(row->duration_change, texts[4]),
		check_words_percent(row->resolves, texts[5]) + (*texts[5] == '+'),
		check_words_percent(row->share_after, texts[6]) + (*texts[6] == '+'),
		time_text(row->before_ns, texts[7]),
		time_text(row->after_ns, texts[8]),
		check_source_name(row->source),
		check_state_name(row->state),
		row->name,
	};

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		text_table_cell(table, "%s", cells[i]);
}

static int write_text(FILE *out, const struct check_report *report, const struct text_form *form)
{
	char words[CHECK_WORDS_SIZE];
	struct text_table table;

	for (uint32_t i = 0; i < nr_runs(report); i++)
		fprintf(out, "%-9s %s\n", i < report->question->nr_before ? "baseline" : "profile",
			report->labels[i]);
	fprintf(out, "%s\n", check_words_verdict(report, words, sizeof(words)));
	if (*check_words_step(report, words, sizeof(words)))
		fprintf(out, "%s\n", words);
	fputc('\n', out);
	begin_rows(&table, out, report, form);
	for (uint32_t i = 0; i < report->result->nr_rows; i++)
		add_row(&table, &report->result->rows[i]);
	int result = text_table_end(&table);
	fputc('\n', out);
	check_words_notes(out, report);
	return result;
}

/* ---- JSON */

static void write_json_row(FILE *out, const struct check_row *row)
{
	fputc('{', out);
	json_text_member(out, "kind", kind_names[row->kind]);
	json_text_member(out, "name", row->name);
	json_text_number(out, "share", 9, row->share_after);
	json_text_number(out, "before_ns", 17, row->before_ns);
	json_text_number(out, "after_ns", 17, row->after_ns);
	json_text_number(out, "change", 9, row->change);
	json_text_number(out, "low", 9, row->low);
	json_text_number(out, "high", 9, row->high);
	json_text_number(out, "count_change", 9, row->count_change);
	json_text_number(out, "duration_change", 9, row->duration_change);
	json_text_number(out, "clock_change", 9, NAN);
	json_text_number(out, "resolves", 9, row->resolves);
	if (row->line)
		json_text_member(out, "line", row->line);
	else
		fputs("\"line\":null,", out);
	json_text_number(out, "line_part", 9, row->line ? row->line_part : NAN);
	json_text_member(out, "noise_of", check_source_name(row->source));
	fprintf(out, "\"verdict\":\"%s\"}", check_state_name(row->state));
}

void check_writer_step(FILE *out, const struct check_step *step)
{
	if (!step->is_known) {
		fputs("\"step\":null,", out);
		return;
	}
	fputs("\n\"step\":{", out);
	json_text_number(out, "before_ns", 17, step->before_ns);
	json_text_number(out, "after_ns", 17, step->after_ns);
	json_text_number(out, "change", 9, step->change);
	json_text_number(out, "low", 9, step->low);
	json_text_number(out, "high", 9, step->high);
	json_text_number(out, "kernels_ns", 17, step->kernels_ns);
	json_text_number(out, "idle_ns", 17, step->idle_ns);
	if (step->line)
		json_text_member(out, "line", step->line);
	else
		fputs("\"line\":null,", out);
	json_text_member(out, "noise_of", check_source_name(step->source));
	fprintf(out, "\"verdict\":\"%s\"},", check_state_name(step->state));
}

static int write_json(FILE *out, const struct check_report *report)
{
	const struct check_result *result = report->result;

	json_text_schema(out);
	json_text_member(out, "verdict", check_state_name(result->verdict));
	fprintf(out, "\"complete\":%s,\"other_gpus\":%s,\"other_size\":%s,",
		result->lossy ? "false" : "true", result->other_gpus ? "true" : "false",
		result->other_size ? "true" : "false");
	json_text_member(out, "unit", run_unit_name(result->unit));
	json_text_number(out, "max_regress", 9, report->question->max_regress);
	json_text_number(out, "min_share", 9, report->question->min_share);
	json_text_number(out, "alike", 9, result->alike != 0 ? result->alike : NAN);
	check_writer_step(out, &result->step);
	fputs("\n\"runs\":[", out);
	for (uint32_t i = 0; i < nr_runs(report); i++) {
		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "label", report->labels[i]);
		json_text_member(out, "summary", report->question->runs[i]->summary);
		fprintf(out, "\"baseline\":%s,\"ranks\":%" PRIu32 ",\"gpus\":%" PRIu32 "}",
			i < report->question->nr_before ? "true" : "false",
			run_work_ranks(report->question->runs[i], result->unit),
			report->question->runs[i]->nr_gpus);
	}
	fputs("],\n\"rows\":[", out);
	for (uint32_t i = 0; i < result->nr_rows; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_json_row(out, &result->rows[i]);
	}
	fputs("]}\n", out);
	return 0;
}

/* ---- Markdown */

/* Writes each line of the notes as an item of a list. */
static int write_items(FILE *out, const struct check_report *report)
{
	char *notes = NULL, *rest;
	size_t size;
	FILE *lines = open_memstream(&notes, &size);

	if (!lines)
		return -errno;
	check_words_notes(lines, report);
	if (fclose(lines) == EOF) {
		free(notes);
		return -ENOMEM;
	}
	for (char *line = strtok_r(notes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		fputs("- ", out);
		markdown_text_write(out, line);
		fputc('\n', out);
	}
	free(notes);
	return 0;
}

static int write_markdown(FILE *out, const struct check_report *report)
{
	char words[CHECK_WORDS_SIZE], texts[6][NUMBER_SIZE];

	fprintf(out, "### GPU time: %s\n\n", check_words_verdict(report, words, sizeof(words)));
	if (*check_words_step(report, words, sizeof(words))) {
		markdown_text_write(out, words);
		fputs("\n\n", out);
	}
	fputs("| verdict | kernel | change | from | to | launches | duration | share after |\n"
	      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
	      out);
	for (uint32_t i = 0; i < report->result->nr_rows; i++) {
		const struct check_row *row = &report->result->rows[i];

		fprintf(out, "| %s | ", check_state_name(row->state));
		if (row->kind == RUN_KIND_ALL)
			fputs(row->name, out);
		else
			markdown_text_code(out, row->name);
		fprintf(out, " | %s | %s | %s | %s | %s | %s |\n",
			check_words_percent(row->change, texts[0]),
			check_words_percent(row->low, texts[1]),
			check_words_percent(row->high, texts[2]),
			check_words_percent(row->count_change, texts[3]),
			check_words_percent(row->duration_change, texts[4]),
			check_words_percent(row->share_after, texts[5]) + (*texts[5] == '+'));
	}
	fputc('\n', out);
	return write_items(out, report);
}

/* ---- JUnit */

static void write_xml(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
}

static void write_case(FILE *out, const struct check_row *row)
{
	static const char *const elements[CHECK_STATES] = {
		[CHECK_REGRESSED] = "failure",  [CHECK_NOISY] = "error",
		[CHECK_NEW] = "skipped",        [CHECK_VANISHED] = "skipped",
		[CHECK_NOT_JUDGED] = "skipped",
	};
	char words[CHECK_WORDS_SIZE];
	const char *element = elements[row->state];

	fprintf(out, "    <testcase classname=\"flamegrid.check.%s\" name=\"",
		kind_names[row->kind]);
	write_xml(out, row->name);
	if (!element) {
		fputs("\"/>\n", out);
		return;
	}
	fprintf(out, "\"><%s message=\"%s: ", element, check_state_name(row->state));
	write_xml(out, check_words_row(row, words, sizeof(words)));
	fputs("\"/></testcase>\n", out);
}

static void write_step_case(FILE *out, const struct check_report *report)
{
	char words[CHECK_WORDS_SIZE];

	if (!*check_words_step(report, words, sizeof(words)))
		return;
	fputs("    <testcase classname=\"flamegrid.check\" name=\"time of a step\"", out);
	if (report->result->step.state == CHECK_REGRESSED) {
		fputs("><failure message=\"regressed: ", out);
		write_xml(out, words);
		fputs("\"/></testcase>\n", out);
	} else if (report->result->step.is_doubtful) {
		fputs("><error message=\"too noisy: ", out);
		write_xml(out, words);
		fputs("\"/></testcase>\n", out);
	} else if (check_words_is_open(&report->result->step)) {
		fputs("><skipped message=\"", out);
		write_xml(out, words);
		fputs("\"/></testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
}

/* Returns whether rows cannot tell, whatever they say. */
static bool is_unlike(const struct check_result *result)
{
	return result->lossy || result->unclear || result->other_size;
}

static int write_junit(FILE *out, const struct check_report *report)
{
	const struct check_result *result = report->result;
	char words[CHECK_WORDS_SIZE];
	uint32_t nr_skipped = check_words_is_open(&result->step) && !result->step.is_doubtful;

	for (uint32_t i = 0; i < result->nr_rows; i++)
		nr_skipped += result->rows[i].state > CHECK_NOISY;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"  <testsuite name=\"flamegrid check\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32
		"\" errors=\"%" PRIu32 "\" skipped=\"%" PRIu32 "\">\n",
		result->nr_rows + 1 + (result->step.is_known || result->step.is_doubtful),
		result->nr_regressed + (result->step.state == CHECK_REGRESSED),
		result->nr_noisy + is_unlike(result) + result->step.is_doubtful, nr_skipped);
	fputs("    <testcase classname=\"flamegrid.check\" name=\"profiles can be compared\"", out);
	if (is_unlike(result)) {
		fputs("><error message=\"", out);
		write_xml(out, check_words_verdict(report, words, sizeof(words)));
		fputs("\"/></testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
	write_step_case(out, report);
	for (uint32_t i = 0; i < result->nr_rows; i++)
		write_case(out, &result->rows[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return 0;
}

int check_writer_write(FILE *out, const struct check_report *report, enum check_format format,
		       const struct text_form *form)
{
	static int (*const writers[])(FILE * out, const struct check_report *report) = {
		[CHECK_JSON] = write_json,
		[CHECK_MARKDOWN] = write_markdown,
		[CHECK_JUNIT] = write_junit,
	};
	const int result =
		format == CHECK_TEXT ? write_text(out, report, form) : writers[format](out, report);

	return result < 0 ? result : text_file_flush(out);
}
