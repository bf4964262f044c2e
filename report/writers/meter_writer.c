#include "meter_writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/meter/metered.h"
#include "report/model/report_summary.h"

#define PER_K        1000.0
#define NS_PER_S     1e9
#define BYTES_PER_GB 1e9
#define OTHER_WORK   "[other work]"

static const char *const idle_words[] = {
	[METER_IDLE_UNKNOWN] = "not known",
	[METER_IDLE_MEASURED] = "measured",
	[METER_IDLE_FITTED] = "fitted",
	[METER_IDLE_NONE] = "none",
};
static const char *const idle_names[] = {
	[METER_IDLE_UNKNOWN] = "unknown",
	[METER_IDLE_MEASURED] = "measured",
	[METER_IDLE_FITTED] = "fitted",
	[METER_IDLE_NONE] = "none",
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

static bool is_energy(const struct report_tree *tree)
{
	return tree->planes & 1u << REPORT_PLANE_ENERGY;
}

static const char *name_of(const struct report_tree *tree, const struct report_meter_class *class)
{
	return class->name ? tree->strings[class->name] : OTHER_WORK;
}

static const char *gpu_text(const struct report_metered_gpu *gpu, char *text)
{
	if (gpu->gpu == REPORT_GPU_NONE)
		snprintf(text, METER_TEXT_SIZE, "GPU?");
	else
		snprintf(text, METER_TEXT_SIZE, "GPU%" PRId32, gpu->gpu);
	return text;
}

const char *meter_writer_amount(enum meter meter, uint64_t amount, char *text)
{
	switch (meter_unit(meter)) {
	case METER_MJ:
		return report_summary_energy(amount, text);
	case METER_NS:
		return report_summary_time(amount, text);
	case METER_BYTES:
		break;
	}
	return report_summary_bytes(amount, text);
}

/* Writes an amount in a second: "70.0 W", "91.2%", "112.4 GB/s". */
static const char *rate_text(enum meter meter, double rate, char *text)
{
	switch (meter_unit(meter)) {
	case METER_MJ:
		snprintf(text, METER_TEXT_SIZE, "%.1f W", rate / PER_K);
		return text;
	case METER_NS:
		snprintf(text, METER_TEXT_SIZE, "%.1f%%", 100 * rate / NS_PER_S);
		return text;
	case METER_BYTES:
		break;
	}
	snprintf(text, METER_TEXT_SIZE, "%.1f GB/s", rate / BYTES_PER_GB);
	return text;
}

/* ---- tables */

static void write_meter(struct text_table *table, const struct report_tree *tree,
			const struct report_metered_gpu *gpu, enum meter meter)
{
	const struct report_meter *row = &gpu->meters[meter];
	char text[METER_TEXT_SIZE];

	text_table_cell(table, "%s", meter_writer_amount(meter, row->amount, text));
	text_table_cell(table, "%s", meter_writer_amount(meter, row->idle, text));
	text_table_cell(table, "%s", meter_writer_amount(meter, row->work, text));
	text_table_cell(table, "%s", meter_writer_amount(meter, row->rest, text));
	if (row->idle_kind == METER_IDLE_UNKNOWN || row->idle_kind == METER_IDLE_NONE)
		text_table_cell(table, "%s", idle_words[row->idle_kind]);
	else
		text_table_cell(table, "%s %s", rate_text(meter, (double)row->idle_rate, text),
				idle_words[row->idle_kind]);
	text_table_cell(table, "%s",
			row->idle_kind == METER_IDLE_UNKNOWN
				? "-"
				: meter_confidence_word(row->idle_confidence));
	text_table_cell(table, "%s",
			row->unfitted ? "-" : report_summary_share(row->residual, 1, text));
	if (!is_energy(tree))
		text_table_cell(table, "%s", meter_label(meter));
	text_table_cell(table, "%s %s", tree->strings[gpu->host], gpu_text(gpu, text));
}

static void write_gpus(FILE *out, const struct report_tree *tree, const struct text_form *form)
{
	struct text_table table;

	text_table_begin(&table, out, form);
	text_table_column(
		&table, &(struct text_column){is_energy(tree) ? "energy" : "all", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"without work", 14, 1, false, 1});
	text_table_column(&table, &(struct text_column){"for work", 14, 1, false, 2});
	text_table_column(&table, &(struct text_column){"not explained", 14, 1, false, 3});
	text_table_column(&table, &(struct text_column){is_energy(tree) ? "power without work"
									: "rate without work",
							20, 1, false, 4});
	text_table_column(&table, &(struct text_column){"confidence", 10, 1, false, 5});
	text_table_column(&table, &(struct text_column){"error", 7, 1, false, 6});
	if (!is_energy(tree))
		text_table_column(&table, &(struct text_column){"of", 12, 2, true, 0});
	text_table_column(&table, &(struct text_column){"device", 0, 2, true, 0});
	for (uint32_t i = 0; i < tree->nr_metered; i++)
		for (uint32_t meter = 0; meter < METERS; meter++)
			if (tree->metered[i].meters[meter].ns)
				write_meter(&table, tree, &tree->metered[i], (enum meter)meter);
	text_table_end(&table);
}

static void write_energy(FILE *out, const struct report_tree *tree,
			 const struct report_metered_gpu *gpu, const struct text_form *form,
			 uint32_t top)
{
	const struct report_meter *meter = &gpu->meters[METER_ENERGY];
	struct text_table table;
	char text[METER_TEXT_SIZE];

	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"energy", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"share", 7, 1, false, 2});
	text_table_column(&table, &(struct text_column){"confidence", 10, 1, false, 1});
	text_table_column(&table, &(struct text_column){"added power", 12, 1, false, 3});
	text_table_column(&table, &(struct text_column){"error", 8, 1, false, 4});
	text_table_column(&table, &(struct text_column){"apart", 7, 1, false, 5});
	text_table_column(&table, &(struct text_column){"time", 14, 1, false, 6});
	text_table_column(&table, &(struct text_column){"kernel", 0, 2, true, 0});
	for (uint32_t i = 0; i < gpu->nr_classes && i < top; i++) {
		const struct report_meter_class *class = &gpu->classes[i];
		const struct report_meter_value *value = &class->values[METER_ENERGY];

		text_table_cell(&table, "%s", report_summary_energy(value->amount, text));
		text_table_cell(
			&table, "%s",
			report_summary_share((double)value->amount, (double)meter->amount, text));
		text_table_cell(&table, "%s", meter_confidence_word(value->confidence));
		text_table_cell(
			&table, "%s",
			meter->unfitted ? "-" : rate_text(METER_ENERGY, (double)value->rate, text));
		text_table_cell(&table, "%s",
				meter->unfitted || value->error_rate == METER_RATE_UNKNOWN
					? "-"
					: rate_text(METER_ENERGY, (double)value->error_rate, text));
		text_table_cell(&table, "%s",
				meter->unfitted ? "-"
						: report_summary_share(value->apart, 1, text));
		text_table_cell(&table, "%s", report_summary_time(class->ns, text));
		text_table_cell(&table, "%s", name_of(tree, class));
	}
	text_table_end(&table);
}

/* Returns an amount in a second of the class. What was fitted is of the time between readings alone, and amounts are
 * too: the class may have run before the first one. */
static double mean_of(const struct report_meter *meter, const struct report_meter_class *class,
		      const struct report_meter_value *value)
{
	return meter->unfitted ? (double)value->amount * NS_PER_S / (double)class->ns
			       : (double)value->rate;
}

/* A mean of the class's time, and how sure it is. */
static void write_mean(struct text_table *table, const struct report_metered_gpu *gpu,
		       enum meter meter, const struct report_meter_class *class)
{
	const struct report_meter_value *value = &class->values[meter];
	char text[METER_TEXT_SIZE];

	if (gpu->meters[meter].ns == 0 || class->ns == 0)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%s %s",
				rate_text(meter, mean_of(&gpu->meters[meter], class, value), text),
				meter_confidence_word(value->confidence));
}

static void write_use(FILE *out, const struct report_tree *tree,
		      const struct report_metered_gpu *gpu, const struct text_form *form,
		      uint32_t top)
{
	struct text_table table;
	char text[METER_TEXT_SIZE];

	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"time", 14, 0, false, 0});
	for (uint32_t meter = METER_SM; meter < METERS; meter++)
		text_table_column(
			&table,
			&(struct text_column){meter_label((enum meter)meter),
					      meter_unit((enum meter)meter) == METER_NS ? 13 : 18,
					      1, false, meter});
	text_table_column(&table, &(struct text_column){"kernel", 0, 2, true, 0});
	for (uint32_t i = 0; i < gpu->nr_classes && i < top; i++) {
		const struct report_meter_class *class = &gpu->classes[i];

		text_table_cell(&table, "%s", report_summary_time(class->ns, text));
		for (uint32_t meter = METER_SM; meter < METERS; meter++)
			write_mean(&table, gpu, (enum meter)meter, class);
		text_table_cell(&table, "%s", name_of(tree, class));
	}
	text_table_end(&table);
}

/* All meters have the same work, so one reason holds for them all. */
static enum meter_unfitted reason_of(const struct report_metered_gpu *gpu)
{
	for (uint32_t i = 0; i < METERS; i++)
		if (gpu->meters[i].ns && gpu->meters[i].unfitted)
			return gpu->meters[i].unfitted;
	return METER_FITTED;
}

/* Says which uses were fitted over samples of counters. All of those have the same samples. */
static void write_samples(FILE *out, const struct report_metered_gpu *gpu)
{
	const char *separator = "fitted over samples of counters: ";
	uint64_t sample_ns = 0;
	char text[METER_TEXT_SIZE];

	for (uint32_t i = METER_SM; i < METERS; i++) {
		if (!gpu->meters[i].sample_ns)
			continue;
		fprintf(out, "%s%s", separator, meter_label((enum meter)i));
		separator = ", ";
		sample_ns = gpu->meters[i].sample_ns;
	}
	if (sample_ns)
		fprintf(out, "; one is %s long\n", report_summary_time(sample_ns, text));
}

void meter_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			uint32_t top)
{
	char text[METER_TEXT_SIZE];

	if (tree->nr_metered == 0) {
		fprintf(out, "nothing of %s is here: NVML told none of these GPUs\n",
			is_energy(tree) ? "energy" : "use");
		return;
	}
	write_gpus(out, tree, form);
	for (uint32_t i = 0; i < tree->nr_metered && i < top; i++) {
		const struct report_metered_gpu *gpu = &tree->metered[i];
		const enum meter_unfitted reason = reason_of(gpu);

		fprintf(out, "\n%s %s", tree->strings[gpu->host], gpu_text(gpu, text));
		fprintf(out, reason ? ": all work counts alike, because %s\n" : "\n",
			unfitted[reason].words);
		if (is_energy(tree))
			write_energy(out, tree, gpu, form, top);
		else
			write_use(out, tree, gpu, form, top);
		write_samples(out, gpu);
		if (gpu->meters[METER_ENERGY].lost_ns)
			fprintf(out, "its counter was not known, or began anew, for %s\n",
				report_summary_time(gpu->meters[METER_ENERGY].lost_ns, text));
	}
	if (tree->nr_metered > top)
		fprintf(out, "%" PRIu32 " more GPUs\n", tree->nr_metered - top);
}

/* ---- JSON */

static void write_confidence(struct row_text *out, const char *name, bool known,
			     enum meter_confidence confidence)
{
	if (known)
		row_text_string(out, name, meter_confidence_word(confidence));
	else
		row_text_number(out, name, false, 0);
}

static void write_share(struct row_text *out, const char *name, bool known, double share)
{
	if (known)
		row_text_print(out, name, "%.6f", share);
	else
		row_text_number(out, name, false, 0);
}

static void write_energy_kernels(FILE *out, const struct report_tree *tree,
				 const struct report_metered_gpu *gpu)
{
	const bool is_fitted = !gpu->meters[METER_ENERGY].unfitted;
	const char *separator = "{";

	fputs(",\"kernels\":[", out);
	for (uint32_t i = 0; i < gpu->nr_classes; i++) {
		const struct report_meter_class *class = &gpu->classes[i];
		const struct report_meter_value *value = &class->values[METER_ENERGY];
		struct row_text text = {.out = out};

		fputs(separator, out);
		row_text_string(&text, "kernel", name_of(tree, class));
		row_text_count(&text, "ns", class->ns);
		row_text_count(&text, "energy_mj", value->amount);
		row_text_string(&text, "confidence", meter_confidence_word(value->confidence));
		row_text_number(&text, "added_mw", is_fitted, (int64_t)value->rate);
		row_text_number(&text, "error_mw",
				is_fitted && value->error_rate != METER_RATE_UNKNOWN,
				(int64_t)value->error_rate);
		write_share(&text, "apart", is_fitted, value->apart);
		fputc('}', out);
		separator = ",{";
	}
	fputc(']', out);
}

static void write_energy_row(struct row_text *out, const void *of)
{
	const struct report_tree *tree = out->context;
	const struct report_metered_gpu *gpu = of;
	const struct report_meter *row = &gpu->meters[METER_ENERGY];
	const bool has_idle = row->idle_kind != METER_IDLE_UNKNOWN;

	row_text_string(out, "host", tree->strings[gpu->host]);
	row_text_number(out, "gpu", gpu->gpu != REPORT_GPU_NONE, gpu->gpu);
	row_text_count(out, "ns", row->ns);
	row_text_count(out, "energy_mj", row->amount);
	row_text_count(out, "idle_mj", row->idle);
	row_text_count(out, "work_mj", row->work);
	row_text_count(out, "rest_mj", row->rest);
	row_text_count(out, "lost_ns", row->lost_ns);
	row_text_string(out, "idle", idle_names[row->idle_kind]);
	row_text_number(out, "idle_mw", has_idle, (int64_t)row->idle_rate);
	write_confidence(out, "idle_confidence", has_idle, row->idle_confidence);
	row_text_string(out, "rest_confidence", meter_confidence_word(row->rest_confidence));
	row_text_string(out, "unfitted", unfitted[row->unfitted].name);
	row_text_count(out, "intervals", row->intervals);
	write_share(out, "error", !row->unfitted, row->residual);
	write_energy_kernels(out->out, tree, gpu);
}

static void write_value(struct row_text *out, const struct report_metered_gpu *gpu, uint32_t meter,
			const struct report_meter_class *class)
{
	const struct report_meter_value *value = &class->values[meter];
	const bool is_fitted = !gpu->meters[meter].unfitted;
	struct row_text text = {.out = out->out};

	row_text_field(out, meter_name((enum meter)meter));
	fputc('{', out->out);
	row_text_count(&text, "amount", value->amount);
	row_text_string(&text, "confidence", meter_confidence_word(value->confidence));
	row_text_number(&text, "added_per_second", is_fitted, (int64_t)value->rate);
	row_text_number(&text, "error_per_second",
			is_fitted && value->error_rate != METER_RATE_UNKNOWN,
			(int64_t)value->error_rate);
	write_share(&text, "apart", is_fitted, value->apart);
	fputc('}', out->out);
}

static void write_use_kernels(FILE *out, const struct report_tree *tree,
			      const struct report_metered_gpu *gpu)
{
	const char *separator = "{";

	fputs(",\"kernels\":[", out);
	for (uint32_t i = 0; i < gpu->nr_classes; i++) {
		struct row_text text = {.out = out};

		fputs(separator, out);
		row_text_string(&text, "kernel", name_of(tree, &gpu->classes[i]));
		row_text_count(&text, "ns", gpu->classes[i].ns);
		for (uint32_t meter = METER_SM; meter < METERS; meter++)
			if (gpu->meters[meter].ns)
				write_value(&text, gpu, meter, &gpu->classes[i]);
		fputc('}', out);
		separator = ",{";
	}
	fputc(']', out);
}

static void write_use_meter(struct row_text *out, const struct report_metered_gpu *gpu,
			    uint32_t meter)
{
	const struct report_meter *row = &gpu->meters[meter];
	const bool has_idle = row->idle_kind != METER_IDLE_UNKNOWN;
	struct row_text text = {.out = out->out};

	row_text_field(out, meter_name((enum meter)meter));
	fputc('{', out->out);
	row_text_count(&text, "ns", row->ns);
	row_text_count(&text, "amount", row->amount);
	row_text_count(&text, "idle", row->idle);
	row_text_count(&text, "work", row->work);
	row_text_count(&text, "rest", row->rest);
	row_text_string(&text, "idle_kind", idle_names[row->idle_kind]);
	row_text_number(&text, "idle_per_second", has_idle, (int64_t)row->idle_rate);
	write_confidence(&text, "idle_confidence", has_idle, row->idle_confidence);
	row_text_string(&text, "rest_confidence", meter_confidence_word(row->rest_confidence));
	row_text_string(&text, "unfitted", unfitted[row->unfitted].name);
	row_text_count(&text, "intervals", row->intervals);
	row_text_number(&text, "sample_ns", row->sample_ns > 0, (int64_t)row->sample_ns);
	write_share(&text, "error", !row->unfitted, row->residual);
	fputc('}', out->out);
}

static void write_use_row(struct row_text *out, const void *of)
{
	const struct report_tree *tree = out->context;
	const struct report_metered_gpu *gpu = of;

	row_text_string(out, "host", tree->strings[gpu->host]);
	row_text_number(out, "gpu", gpu->gpu != REPORT_GPU_NONE, gpu->gpu);
	for (uint32_t meter = METER_SM; meter < METERS; meter++)
		if (gpu->meters[meter].ns)
			write_use_meter(out, gpu, meter);
	write_use_kernels(out->out, tree, gpu);
}

void meter_writer_json(FILE *out, const struct report_tree *tree)
{
	if (tree->nr_metered == 0)
		return;
	row_text_json(out, is_energy(tree) ? "energy" : "use",
		      is_energy(tree) ? write_energy_row : write_use_row, tree, tree->metered,
		      tree->nr_metered, sizeof(*tree->metered));
	fputs(",\n", out);
}

void meter_writer_leaf(struct row_text *out, const struct report_tree *tree,
		       const struct report_leaf *leaf)
{
	const uint32_t meters = report_planes_meters(tree->planes);
	char name[METER_TEXT_SIZE];

	for (uint32_t i = 0; i < METERS; i++) {
		const bool is_known = leaf->metered & 1u << i;

		if (!(meters & 1u << i))
			continue;
		row_text_number(out, meter_member((enum meter)i), is_known,
				(int64_t)leaf->amounts[i]);
		snprintf(name, sizeof(name), "%s_confidence", meter_name((enum meter)i));
		write_confidence(out, name, is_known, (enum meter_confidence)leaf->confidence[i]);
	}
}
