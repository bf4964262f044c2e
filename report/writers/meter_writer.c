#include "meter_writer.h"

#include <inttypes.h>

#include "row_text.h"

#include "report/meter/metered.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u
#define MW_PER_W    1000.0
#define OTHER_WORK  "[other work]"

static const char *const idle_words[] = {
	[METER_IDLE_UNKNOWN] = "not known",
	[METER_IDLE_MEASURED] = "measured",
	[METER_IDLE_FITTED] = "fitted",
};
static const char *const idle_names[] = {
	[METER_IDLE_UNKNOWN] = "unknown",
	[METER_IDLE_MEASURED] = "measured",
	[METER_IDLE_FITTED] = "fitted",
};
static const struct {
	const char *name, *words;
} unfitted[] = {
	[METER_FITTED] = {"none", ""},
	[METER_SEVERAL_GPUS] = {"several_gpus",
				 "a process worked on several GPUs (run --timeline all)"},
	[METER_NO_PIECES] = {"no_pieces",
			      "too little of it is kept one by one (run --timeline all)"},
	[METER_NO_INTERVAL] = {"no_interval", "no work ran between two readings"},
};

static const char *name_of(const struct report_tree *tree,
			   const struct report_meter_kernel *kernel)
{
	return kernel->name ? tree->strings[kernel->name] : OTHER_WORK;
}

static const char *gpu_text(const struct report_meter_row *row, char *text)
{
	if (row->gpu == REPORT_GPU_NONE)
		snprintf(text, NUMBER_SIZE, "GPU?");
	else
		snprintf(text, NUMBER_SIZE, "GPU%" PRId32, row->gpu);
	return text;
}

static const char *watts(uint32_t mw, char *text)
{
	snprintf(text, NUMBER_SIZE, "%.1f W", mw / MW_PER_W);
	return text;
}

static void write_gpus(FILE *out, const struct report_tree *tree, const struct text_form *form)
{
	struct text_table table;
	char text[NUMBER_SIZE];

	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"energy", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"without work", 14, 1, false, 1});
	text_table_column(&table, &(struct text_column){"for work", 14, 1, false, 2});
	text_table_column(&table, &(struct text_column){"not explained", 14, 1, false, 3});
	text_table_column(&table, &(struct text_column){"power without work", 20, 1, false, 4});
	text_table_column(&table, &(struct text_column){"confidence", 10, 1, false, 5});
	text_table_column(&table, &(struct text_column){"error", 7, 1, false, 6});
	text_table_column(&table, &(struct text_column){"device", 0, 2, true, 0});
	for (uint32_t i = 0; i < tree->nr_metered; i++) {
		const struct report_meter_row *row = &tree->energy[i];

		text_table_cell(&table, "%s", report_summary_energy(row->mj, text));
		text_table_cell(&table, "%s", report_summary_energy(row->idle_mj, text));
		text_table_cell(&table, "%s", report_summary_energy(row->work_mj, text));
		text_table_cell(&table, "%s", report_summary_energy(row->rest_mj, text));
		if (row->idle == METER_IDLE_UNKNOWN)
			text_table_cell(&table, "%s", idle_words[METER_IDLE_UNKNOWN]);
		else
			text_table_cell(&table, "%s %s", watts(row->idle_mw, text),
					idle_words[row->idle]);
		text_table_cell(&table, "%s",
				row->idle == METER_IDLE_UNKNOWN
					? "-"
					: meter_confidence_word(row->idle_confidence));
		text_table_cell(&table, "%s",
				row->unfitted ? "-" : report_summary_share(row->residual, 1, text));
		text_table_cell(&table, "%s %s", tree->strings[row->host], gpu_text(row, text));
	}
	text_table_end(&table);
}

static void write_kernels(FILE *out, const struct report_tree *tree,
			  const struct report_meter_row *row, const struct text_form *form,
			  uint32_t top)
{
	struct text_table table;
	char text[NUMBER_SIZE];

	fprintf(out, "\n%s %s", tree->strings[row->host], gpu_text(row, text));
	fprintf(out, row->unfitted ? ": all work counts alike, because %s\n" : "\n",
		unfitted[row->unfitted].words);
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"energy", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"share", 7, 1, false, 2});
	text_table_column(&table, &(struct text_column){"confidence", 10, 1, false, 1});
	text_table_column(&table, &(struct text_column){"added power", 12, 1, false, 3});
	text_table_column(&table, &(struct text_column){"error", 8, 1, false, 4});
	text_table_column(&table, &(struct text_column){"apart", 7, 1, false, 5});
	text_table_column(&table, &(struct text_column){"time", 14, 1, false, 6});
	text_table_column(&table, &(struct text_column){"kernel", 0, 2, true, 0});
	for (uint32_t i = 0; i < row->nr_kernels && i < top; i++) {
		const struct report_meter_kernel *kernel = &row->kernels[i];

		text_table_cell(&table, "%s", report_summary_energy(kernel->mj, text));
		text_table_cell(&table, "%s",
				report_summary_share((double)kernel->mj, (double)row->mj, text));
		text_table_cell(&table, "%s", meter_confidence_word(kernel->confidence));
		text_table_cell(&table, "%s", row->unfitted ? "-" : watts(kernel->mw, text));
		text_table_cell(&table, "%s",
				row->unfitted || kernel->error_mw == UINT32_MAX
					? "-"
					: watts(kernel->error_mw, text));
		text_table_cell(&table, "%s",
				row->unfitted ? "-" : report_summary_share(kernel->apart, 1, text));
		text_table_cell(&table, "%s", report_summary_time(kernel->ns, text));
		text_table_cell(&table, "%s", name_of(tree, kernel));
	}
	text_table_end(&table);
	if (row->lost_ns)
		fprintf(out, "its counter was not known, or began anew, for %s\n",
			report_summary_time(row->lost_ns, text));
}

void meter_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top)
{
	if (tree->nr_metered == 0) {
		fputs("nothing of energy is here: NVML told none of these GPUs\n", out);
		return;
	}
	write_gpus(out, tree, form);
	for (uint32_t i = 0; i < tree->nr_metered && i < top; i++)
		write_kernels(out, tree, &tree->energy[i], form, top);
	if (tree->nr_metered > top)
		fprintf(out, "%" PRIu32 " more GPUs\n", tree->nr_metered - top);
}

/* ---- JSON */

static void write_json_kernels(FILE *out, const struct report_tree *tree,
			       const struct report_meter_row *row)
{
	const char *separator = "{";

	fputs(",\"kernels\":[", out);
	for (uint32_t i = 0; i < row->nr_kernels; i++) {
		const struct report_meter_kernel *kernel = &row->kernels[i];
		struct row_text text = {.out = out};

		fputs(separator, out);
		row_text_string(&text, "kernel", name_of(tree, kernel));
		row_text_count(&text, "ns", kernel->ns);
		row_text_count(&text, "energy_mj", kernel->mj);
		row_text_string(&text, "confidence", meter_confidence_word(kernel->confidence));
		row_text_number(&text, "added_mw", !row->unfitted, kernel->mw);
		row_text_number(&text, "error_mw", !row->unfitted && kernel->error_mw != UINT32_MAX,
				kernel->error_mw);
		if (row->unfitted)
			row_text_number(&text, "apart", false, 0);
		else
			row_text_print(&text, "apart", "%.6f", kernel->apart);
		fputc('}', out);
		separator = ",{";
	}
	fputc(']', out);
}

static void write_row(struct row_text *out, const void *of)
{
	const struct report_tree *tree = out->context;
	const struct report_meter_row *row = of;

	row_text_string(out, "host", tree->strings[row->host]);
	row_text_number(out, "gpu", row->gpu != REPORT_GPU_NONE, row->gpu);
	row_text_count(out, "ns", row->ns);
	row_text_count(out, "energy_mj", row->mj);
	row_text_count(out, "idle_mj", row->idle_mj);
	row_text_count(out, "work_mj", row->work_mj);
	row_text_count(out, "rest_mj", row->rest_mj);
	row_text_count(out, "lost_ns", row->lost_ns);
	row_text_string(out, "idle", idle_names[row->idle]);
	row_text_number(out, "idle_mw", row->idle != METER_IDLE_UNKNOWN, row->idle_mw);
	if (row->idle == METER_IDLE_UNKNOWN)
		row_text_number(out, "idle_confidence", false, 0);
	else
		row_text_string(out, "idle_confidence",
				meter_confidence_word(row->idle_confidence));
	row_text_string(out, "rest_confidence", meter_confidence_word(row->rest_confidence));
	row_text_string(out, "unfitted", unfitted[row->unfitted].name);
	row_text_count(out, "intervals", row->intervals);
	if (row->unfitted)
		row_text_number(out, "error", false, 0);
	else
		row_text_print(out, "error", "%.6f", row->residual);
	write_json_kernels(out->out, tree, row);
}

void meter_writer_json(FILE *out, const struct report_tree *tree)
{
	if (tree->nr_metered == 0)
		return;
	row_text_json(out, "energy", write_row, tree, tree->energy, tree->nr_metered,
		      sizeof(*tree->energy));
	fputs(",\n", out);
}
