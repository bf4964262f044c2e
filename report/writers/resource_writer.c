#include "resource_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/digest/report_refusal.h"
#include "report/model/report_summary.h"
#include "report/resource/resource_confidence.h"
#include "report/resource/resource_usage.h"

#define PER_K        1000.0
#define NS_PER_S     1e9
#define BYTES_PER_GB 1e9
#define OTHER_WORK   "[other work]"
#define APART_NOTED                                                                                \
	0.01 /* energy is less by so much than power and time make: people would ask why */

struct term {
	const char *name;  /* in JSON */
	const char *words; /* in tables */
};

static const struct term idle_kinds[] = {
	[RESOURCE_IDLE_UNKNOWN] = {"unknown", "not known"},
	[RESOURCE_IDLE_MEASURED] = {"measured", "measured"},
	[RESOURCE_IDLE_FITTED] = {"fitted", "fitted"},
	[RESOURCE_IDLE_NONE] = {"none", "none"},
};
static const struct term unfitted[] = {
	[RESOURCE_FITTED] = {"none", ""},
	[RESOURCE_SEVERAL_GPUS] = {"several_gpus",
				   "a process worked on several GPUs (run --timeline all)"},
	[RESOURCE_NO_PIECES] = {"no_pieces",
				"too little of it is kept one by one (run --timeline all)"},
	[RESOURCE_NO_INTERVAL] = {"no_interval",
				  "no work took 1 % of the time between two readings"},
};

static bool is_energy(const struct report_tree *tree)
{
	return tree->planes & 1u << REPORT_PLANE_ENERGY;
}

static const char *name_of(const struct report_tree *tree,
			   const struct report_resource_class *class)
{
	return class->name ? tree->strings[class->name] : OTHER_WORK;
}

static const char *gpu_text(const struct report_gpu_usage *gpu, char *text)
{
	if (gpu->gpu == REPORT_GPU_NONE)
		snprintf(text, RESOURCE_TEXT_SIZE, "GPU?");
	else
		snprintf(text, RESOURCE_TEXT_SIZE, "GPU%" PRId32, gpu->gpu);
	return text;
}

const char *resource_writer_amount(enum resource resource, uint64_t amount, char *text)
{
	switch (resource_unit(resource)) {
	case RESOURCE_MJ:
		return report_summary_energy(amount, text);
	case RESOURCE_NS:
		return report_summary_time(amount, text);
	case RESOURCE_BYTES:
		break;
	}
	return report_summary_bytes(amount, text);
}

/* Writes an amount in a second: "70.0 W", "91.2%", "112.4 GB/s". A use above all by no more than the error of a sure
 * fit is all; one further above is no figure. */
static const char *rate_text(enum resource resource, double rate, char *text)
{
	switch (resource_unit(resource)) {
	case RESOURCE_MJ:
		snprintf(text, RESOURCE_TEXT_SIZE, "%.1f W", rate / PER_K);
		return text;
	case RESOURCE_NS:
		if (resource_confidence_is_above(resource, rate))
			snprintf(text, RESOURCE_TEXT_SIZE, ">100%%");
		else
			snprintf(text, RESOURCE_TEXT_SIZE, "%.1f%%",
				 100 * fmin(rate / NS_PER_S, 1));
		return text;
	case RESOURCE_BYTES:
		break;
	}
	snprintf(text, RESOURCE_TEXT_SIZE, "%.1f GB/s", rate / BYTES_PER_GB);
	return text;
}

/* Returns whether a fit tells work from idle: else it explains all by work, so what it misses says nothing. */
static bool has_error(const struct report_resource *row)
{
	return !row->unfitted && row->idle_kind != RESOURCE_IDLE_UNKNOWN;
}

/* ---- tables */

static void write_resource(struct text_table *table, const struct report_tree *tree,
			   const struct report_gpu_usage *gpu, enum resource resource)
{
	const struct report_resource *row = &gpu->resources[resource];
	char text[RESOURCE_TEXT_SIZE];

	text_table_cell(table, "%s", resource_writer_amount(resource, row->amount, text));
	text_table_cell(table, "%s",
			row->idle_kind == RESOURCE_IDLE_UNKNOWN
				? "-"
				: resource_writer_amount(resource, row->idle, text));
	text_table_cell(table, "%s", resource_writer_amount(resource, row->work, text));
	text_table_cell(table, "%s", resource_writer_amount(resource, row->rest, text));
	if (row->idle_kind == RESOURCE_IDLE_UNKNOWN || row->idle_kind == RESOURCE_IDLE_NONE)
		text_table_cell(table, "%s", idle_kinds[row->idle_kind].words);
	else
		text_table_cell(table, "%s %s", rate_text(resource, (double)row->idle_rate, text),
				idle_kinds[row->idle_kind].words);
	text_table_cell(table, "%s",
			row->idle_kind == RESOURCE_IDLE_UNKNOWN
				? "-"
				: resource_confidence_word(row->idle_confidence));
	text_table_cell(table, "%s",
			has_error(row) ? report_summary_share(row->residual, 1, text) : "-");
	if (!is_energy(tree))
		text_table_cell(table, "%s", resource_label(resource));
	text_table_cell(table, "%s %s", tree->strings[gpu->host], gpu_text(gpu, text));
}

static int write_gpus(FILE *out, const struct report_tree *tree, const struct text_form *form)
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
	for (uint32_t i = 0; i < tree->nr_usage; i++)
		for (uint32_t resource = 0; resource < RESOURCES; resource++)
			if (tree->usage[i].resources[resource].ns)
				write_resource(&table, tree, &tree->usage[i],
					       (enum resource)resource);
	return text_table_end(&table);
}

static int write_energy(FILE *out, const struct report_tree *tree,
			const struct report_gpu_usage *gpu, const struct text_form *form,
			uint32_t top)
{
	const struct report_resource *resource = &gpu->resources[RESOURCE_ENERGY];
	struct text_table table;
	char text[RESOURCE_TEXT_SIZE];

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
		const struct report_resource_class *class = &gpu->classes[i];
		const struct report_resource_value *value = &class->values[RESOURCE_ENERGY];

		text_table_cell(&table, "%s", report_summary_energy(value->amount, text));
		text_table_cell(&table, "%s",
				report_summary_share((double)value->amount,
						     (double)resource->amount, text));
		text_table_cell(&table, "%s", resource_confidence_word(value->confidence));
		text_table_cell(&table, "%s",
				resource->unfitted
					? "-"
					: rate_text(RESOURCE_ENERGY, (double)value->rate, text));
		text_table_cell(
			&table, "%s",
			has_error(resource) && value->error_rate != RESOURCE_RATE_UNKNOWN
				? rate_text(RESOURCE_ENERGY, (double)value->error_rate, text)
				: "-");
		text_table_cell(&table, "%s",
				resource->unfitted ? "-"
						   : report_summary_share(value->apart, 1, text));
		text_table_cell(&table, "%s", report_summary_time(class->ns, text));
		text_table_cell(&table, "%s", name_of(tree, class));
	}
	return text_table_end(&table);
}

/* Returns an amount in a second of the class. What was fitted is of the time between readings alone, and amounts are
 * too: the class may have run before the first one. */
static double mean_of(const struct report_resource *resource,
		      const struct report_resource_class *class,
		      const struct report_resource_value *value)
{
	return resource->unfitted ? (double)value->amount * NS_PER_S / (double)class->ns
				  : (double)value->rate;
}

/* A mean of the class's time, and how sure it is. */
static void write_mean(struct text_table *table, const struct report_gpu_usage *gpu,
		       enum resource resource, const struct report_resource_class *class)
{
	const struct report_resource_value *value = &class->values[resource];
	char text[RESOURCE_TEXT_SIZE];

	if (gpu->resources[resource].ns == 0 || class->ns == 0)
		text_table_cell(table, "-");
	else
		text_table_cell(
			table, "%s %s",
			rate_text(resource, mean_of(&gpu->resources[resource], class, value), text),
			resource_confidence_word(value->confidence));
}

static int write_use(FILE *out, const struct report_tree *tree, const struct report_gpu_usage *gpu,
		     const struct text_form *form, uint32_t top)
{
	struct text_table table;
	char text[RESOURCE_TEXT_SIZE];

	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"time", 14, 0, false, 0});
	for (uint32_t resource = RESOURCE_SM; resource < RESOURCES; resource++)
		text_table_column(
			&table,
			&(struct text_column){
				resource_label((enum resource)resource),
				resource_unit((enum resource)resource) == RESOURCE_NS ? 13 : 18, 1,
				false, resource});
	text_table_column(&table, &(struct text_column){"kernel", 0, 2, true, 0});
	for (uint32_t i = 0; i < gpu->nr_classes && i < top; i++) {
		const struct report_resource_class *class = &gpu->classes[i];

		text_table_cell(&table, "%s", report_summary_time(class->ns, text));
		for (uint32_t resource = RESOURCE_SM; resource < RESOURCES; resource++)
			write_mean(&table, gpu, (enum resource)resource, class);
		text_table_cell(&table, "%s", name_of(tree, class));
	}
	return text_table_end(&table);
}

/* Says of the table of energy what its figures do not say of one another. */
static void write_energy_notes(FILE *out, const struct report_gpu_usage *gpu, uint32_t top)
{
	const struct report_resource *row = &gpu->resources[RESOURCE_ENERGY];
	bool is_less = false;

	for (uint32_t i = 0; i < gpu->nr_classes && i < top && !row->unfitted; i++) {
		const struct report_resource_value *value =
			&gpu->classes[i].values[RESOURCE_ENERGY];
		const double all = (double)value->rate * (double)gpu->classes[i].ns / NS_PER_S;

		is_less |= (double)value->amount < all * (1 - APART_NOTED);
	}
	if (is_less)
		fputs("energy is that between readings, time that of all work: so energy is less "
		      "than "
		      "added power for this time\n",
		      out);
	if (!row->unfitted && row->idle_kind == RESOURCE_IDLE_UNKNOWN)
		fputs("the power without work is not known, so the added power has it, too\n", out);
}

static void write_use_notes(FILE *out, const struct report_gpu_usage *gpu, uint32_t top)
{
	bool is_above = false;

	for (uint32_t i = 0; i < gpu->nr_classes && i < top; i++)
		for (uint32_t resource = RESOURCE_SM; resource < RESOURCES; resource++)
			is_above |= gpu->resources[resource].ns && gpu->classes[i].ns &&
				    resource_confidence_is_above(
					    (enum resource)resource,
					    mean_of(&gpu->resources[resource], &gpu->classes[i],
						    &gpu->classes[i].values[resource]));
	if (is_above)
		fputs(">100%: counters say more than this work can use, as where another program "
		      "uses the GPU, too\n",
		      out);
}

/* All resources have the same work, so one reason holds for them all. */
static enum resource_unfitted reason_of(const struct report_gpu_usage *gpu)
{
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (gpu->resources[i].ns && gpu->resources[i].unfitted)
			return gpu->resources[i].unfitted;
	return RESOURCE_FITTED;
}

/* Says which uses were fitted over samples of counters. All of those have the same samples. */
static void write_samples(FILE *out, const struct report_gpu_usage *gpu)
{
	const char *separator = "fitted over samples of counters: ";
	uint64_t sample_ns = 0;
	char text[RESOURCE_TEXT_SIZE];

	for (uint32_t i = RESOURCE_SM; i < RESOURCES; i++) {
		if (!gpu->resources[i].sample_ns)
			continue;
		fprintf(out, "%s%s", separator, resource_label((enum resource)i));
		separator = ", ";
		sample_ns = gpu->resources[i].sample_ns;
	}
	if (sample_ns)
		fprintf(out, "; one is %s long\n", report_summary_time(sample_ns, text));
	for (uint32_t i = RESOURCE_SM; i < RESOURCES; i++)
		if (gpu->resources[i].sample_mismatch > RESOURCE_MISMATCH)
			fprintf(out,
				"%s: samples and NVML's readings differ by %s, so confidence is "
				"low\n",
				resource_label((enum resource)i),
				report_summary_share(gpu->resources[i].sample_mismatch, 1, text));
}

int resource_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			  uint32_t top)
{
	char text[RESOURCE_TEXT_SIZE], refusal[REPORT_REFUSAL_SIZE];

	if (tree->nr_usage == 0) {
		const enum report_plane plane =
			is_energy(tree) ? REPORT_PLANE_ENERGY : REPORT_PLANE_USE;

		fprintf(out, "nothing of %s is here: %s\n", report_plane_name(plane),
			report_refusal_plane(tree, plane, refusal));
		return 0;
	}
	int error = write_gpus(out, tree, form);
	for (uint32_t i = 0; i < tree->nr_usage && i < top && !error; i++) {
		const struct report_gpu_usage *gpu = &tree->usage[i];
		const enum resource_unfitted reason = reason_of(gpu);

		fprintf(out, "\n%s %s", tree->strings[gpu->host], gpu_text(gpu, text));
		fprintf(out, reason ? ": all work counts alike, because %s\n" : "\n",
			unfitted[reason].words);
		error = is_energy(tree) ? write_energy(out, tree, gpu, form, top)
					: write_use(out, tree, gpu, form, top);
		if (is_energy(tree))
			write_energy_notes(out, gpu, top);
		else
			write_use_notes(out, gpu, top);
		write_samples(out, gpu);
		if (gpu->resources[RESOURCE_ENERGY].lost_ns)
			fprintf(out, "its counter was not known, or began anew, for %s\n",
				report_summary_time(gpu->resources[RESOURCE_ENERGY].lost_ns, text));
	}
	if (tree->nr_usage > top)
		fprintf(out, "%" PRIu32 " more GPUs\n", tree->nr_usage - top);
	return error;
}

/* ---- JSON */

static void write_confidence(struct row_text *out, const char *name, bool known,
			     enum resource_confidence confidence)
{
	if (known)
		row_text_string(out, name, resource_confidence_word(confidence));
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

static void write_value(struct row_text *out, const struct report_gpu_usage *gpu, uint32_t resource,
			const struct report_resource_class *class)
{
	const struct report_resource_value *value = &class->values[resource];
	const bool is_fitted = !gpu->resources[resource].unfitted;
	struct row_text text = {.out = out->out};

	row_text_field(out, resource_name((enum resource)resource));
	fputc('{', out->out);
	row_text_count(&text, "amount", value->amount);
	row_text_string(&text, "confidence", resource_confidence_word(value->confidence));
	row_text_number(&text, "added_per_second", is_fitted, (int64_t)value->rate);
	row_text_number(&text, "error_per_second",
			has_error(&gpu->resources[resource]) &&
				value->error_rate != RESOURCE_RATE_UNKNOWN,
			(int64_t)value->error_rate);
	write_share(&text, "apart", is_fitted, value->apart);
	fputc('}', out->out);
}

static void write_kernels(FILE *out, const struct report_tree *tree,
			  const struct report_gpu_usage *gpu)
{
	const char *separator = "{";

	fputs(",\"kernels\":[", out);
	for (uint32_t i = 0; i < gpu->nr_classes; i++) {
		struct row_text text = {.out = out};

		fputs(separator, out);
		row_text_string(&text, "kernel", name_of(tree, &gpu->classes[i]));
		row_text_count(&text, "ns", gpu->classes[i].ns);
		for (uint32_t resource = 0; resource < RESOURCES; resource++)
			if (gpu->resources[resource].ns)
				write_value(&text, gpu, resource, &gpu->classes[i]);
		fputc('}', out);
		separator = ",{";
	}
	fputc(']', out);
}

static void write_sum(struct row_text *out, const struct report_gpu_usage *gpu, uint32_t resource)
{
	const struct report_resource *row = &gpu->resources[resource];
	const bool has_idle = row->idle_kind != RESOURCE_IDLE_UNKNOWN;
	struct row_text text = {.out = out->out};

	row_text_field(out, resource_name((enum resource)resource));
	fputc('{', out->out);
	row_text_count(&text, "ns", row->ns);
	row_text_count(&text, "amount", row->amount);
	row_text_count(&text, "idle", row->idle);
	row_text_count(&text, "work", row->work);
	row_text_count(&text, "rest", row->rest);
	row_text_count(&text, "lost_ns", row->lost_ns);
	row_text_string(&text, "idle_kind", idle_kinds[row->idle_kind].name);
	row_text_number(&text, "idle_per_second", has_idle, (int64_t)row->idle_rate);
	write_confidence(&text, "idle_confidence", has_idle, row->idle_confidence);
	row_text_string(&text, "rest_confidence", resource_confidence_word(row->rest_confidence));
	row_text_string(&text, "unfitted", unfitted[row->unfitted].name);
	row_text_count(&text, "intervals", row->intervals);
	row_text_number(&text, "sample_ns", row->sample_ns > 0, (int64_t)row->sample_ns);
	write_share(&text, "sample_mismatch", row->sample_ns > 0, row->sample_mismatch);
	write_share(&text, "error", has_error(row), row->residual);
	fputc('}', out->out);
}

static void write_gpu(struct row_text *out, const void *of)
{
	const struct report_tree *tree = out->context;
	const struct report_gpu_usage *gpu = of;

	row_text_string(out, "host", tree->strings[gpu->host]);
	row_text_number(out, "gpu", gpu->gpu != REPORT_GPU_NONE, gpu->gpu);
	for (uint32_t resource = 0; resource < RESOURCES; resource++)
		if (gpu->resources[resource].ns)
			write_sum(out, gpu, resource);
	write_kernels(out->out, tree, gpu);
}

void resource_writer_json(FILE *out, const struct report_tree *tree)
{
	if (tree->nr_usage == 0)
		return;
	row_text_json(out, "resources", write_gpu, tree, tree->usage, tree->nr_usage,
		      sizeof(*tree->usage));
	fputs(",\n", out);
}

void resource_writer_leaf(struct row_text *out, const struct report_tree *tree,
			  const struct report_leaf *leaf)
{
	const uint32_t resources = report_planes_resources(tree->planes);
	char name[RESOURCE_TEXT_SIZE];

	for (uint32_t i = 0; i < RESOURCES; i++) {
		const bool is_known = leaf->resources & 1u << i;

		if (!(resources & 1u << i))
			continue;
		row_text_number(out, resource_member((enum resource)i), is_known,
				(int64_t)leaf->amounts[i]);
		snprintf(name, sizeof(name), "%s_confidence", resource_name((enum resource)i));
		write_confidence(out, name, is_known,
				 (enum resource_confidence)leaf->confidence[i]);
	}
}
