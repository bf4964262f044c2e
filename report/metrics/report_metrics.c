#include "report_metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"
#include "proto/kernel_metric.h"
#include "proto/options/metric_options.h"
#include "report/names/clean_text.h"
#include "report/profile/profile.h"

/* A kernel of one process on one device, and its place. */
struct subject {
	uint32_t process_id, device_id, stack_id, name_id;
	uint32_t node;
	const char *kernel;
	bool is_range; /* its launches are the kernels of its measurements */
	uint64_t launches, ns;
};

/* A row of the profile. */
struct cell {
	uint32_t subject; /* index into subjects */
	const char *metric;
	uint64_t count, total_ns, nr_passes;
	double sum, min, max;
};

struct builder {
	const struct profile *profile;
	report_metrics_place *place;
	void *context;
	struct report_metrics *metrics;
	struct subject *subjects; /* owns, as cells; by process, device, stack and name */
	uint32_t nr_subjects;
	struct cell *cells;
	uint32_t nr_cells;
	const char **names; /* owns: of metrics by their string ids; NULL: not needed yet */
};

static int numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
	const struct subject *x = a, *y = b;
	int order = numbers(x->process_id, y->process_id);

	if (!order)
		order = numbers(x->device_id, y->device_id);
	if (!order)
		order = numbers(x->stack_id, y->stack_id);
	return order ? order : numbers(x->name_id, y->name_id);
}

static uint32_t count_cells(const struct roster *roster)
{
	uint32_t all = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		uint32_t nr;

		statistics_table_metrics(roster_process(roster, id)->statistics, &nr);
		all += nr;
	}
	return all;
}

static struct subject subject_of(uint32_t process_id, const struct message_kernel_metric *row)
{
	return (struct subject){.process_id = process_id,
				.device_id = row->device_id,
				.stack_id = row->stack_id,
				.name_id = row->name_id};
}

static void gather_subjects(struct builder *builder)
{
	const struct roster *roster = builder->profile->collection->roster;
	uint32_t nr_all = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		uint32_t nr;
		const struct message_kernel_metric *rows =
			statistics_table_metrics(roster_process(roster, id)->statistics, &nr);

		for (uint32_t i = 0; i < nr; i++)
			builder->subjects[nr_all++] = subject_of(id, &rows[i]);
	}
	qsort(builder->subjects, nr_all, sizeof(*builder->subjects), by_key);
	for (uint32_t i = 0; i < nr_all; i++)
		if (i == 0 || by_key(&builder->subjects[builder->nr_subjects - 1],
				     &builder->subjects[i]) != 0)
			builder->subjects[builder->nr_subjects++] = builder->subjects[i];
}

static struct subject *find(const struct builder *builder, const struct subject *key)
{
	return bsearch(key, builder->subjects, builder->nr_subjects, sizeof(*key), by_key);
}

/* Keeps a text, which it takes. NULL: out of memory. */
static const char *keep(struct report_metrics *metrics, char *text)
{
	if (text)
		metrics->texts[metrics->nr_texts++] = text;
	return text;
}

static int place(struct builder *builder, struct subject *subject)
{
	const struct fold_key key = {
		.process_id = subject->process_id,
		.device_id = subject->device_id,
		.stack_id = subject->stack_id,
		.name_id = subject->name_id,
		.kind = RECORD_GPU_KERNEL,
		.matched = 1,
	};
	const char *kernel;
	int error = builder->place(builder->context, &key, &subject->node, &kernel);

	if (error)
		return error;
	subject->kernel = keep(builder->metrics, strdup(kernel));
	return subject->kernel ? 0 : -ENOMEM;
}

static int name(struct builder *builder, uint32_t string_id, const char **metric)
{
	const struct catalog *catalog = builder->profile->collection->catalog;
	uint32_t size;

	if (string_id > catalog_size(catalog).strings)
		return -EPROTO;
	if (!builder->names[string_id]) {
		const char *text = catalog_string(catalog, string_id, &size);

		builder->names[string_id] = keep(builder->metrics, clean_text_of(text, size));
	}
	*metric = builder->names[string_id];
	return *metric ? 0 : -ENOMEM;
}

/* Ranges have a metric that kernels have not. A range's kernels are in rows of their own, or nowhere. */
static void tell_range(struct subject *subject, const struct cell *cell)
{
	if (strcmp(cell->metric, METRIC_OPTIONS_KERNELS) != 0 || cell->count == 0)
		return;
	subject->is_range = true;
	subject->launches = (uint64_t)(cell->sum * (double)cell->nr_passes + 0.5);
}

static int gather_cells(struct builder *builder)
{
	const struct collection *collection = builder->profile->collection;
	int error = 0;

	for (uint32_t id = 1; id <= roster_size(collection->roster).processes && !error; id++) {
		uint32_t nr;
		const struct message_kernel_metric *rows = statistics_table_metrics(
			roster_process(collection->roster, id)->statistics, &nr);

		for (uint32_t i = 0; i < nr && !error; i++) {
			const struct subject key = subject_of(id, &rows[i]);
			struct cell *cell = &builder->cells[builder->nr_cells++];

			*cell = (struct cell){
				.subject = (uint32_t)(find(builder, &key) - builder->subjects),
				.count = rows[i].count,
				.total_ns = rows[i].total_ns,
				.nr_passes = rows[i].nr_passes,
				.sum = kernel_metric_value(rows[i].sum),
				.min = kernel_metric_value(rows[i].min),
				.max = kernel_metric_value(rows[i].max),
			};
			error = name(builder, rows[i].metric, &cell->metric);
			if (!error)
				tell_range(&builder->subjects[cell->subject], cell);
		}
	}
	return error;
}

/* Kernels of graphs are not measured. */
static int take_total(void *context, const struct fold_row *row)
{
	const struct builder *builder = context;
	const struct subject key = {.process_id = row->key.process_id,
				    .device_id = row->key.device_id,
				    .stack_id = row->key.stack_id,
				    .name_id = row->key.name_id};
	struct subject *subject = row->key.kind == RECORD_GPU_KERNEL && row->key.matched &&
						  row->key.capture_stack_id == RECORD_STACK_NONE
					  ? find(builder, &key)
					  : NULL;

	if (subject && !subject->is_range) {
		subject->launches += row->count;
		subject->ns += row->ns;
	}
	return 0;
}

/* ---- rows */

static int by_row(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const struct cell *x = a, *y = b;
	const struct subject *of_x = &builder->subjects[x->subject],
			     *of_y = &builder->subjects[y->subject];
	int order = numbers(of_x->node, of_y->node);

	if (!order)
		order = strcmp(of_x->kernel, of_y->kernel);
	if (!order)
		order = of_x->is_range - of_y->is_range;
	if (!order)
		order = strcmp(x->metric, y->metric);
	return order ? order : numbers(x->subject, y->subject);
}

static bool is_row(const struct builder *builder, const struct cell *cell,
		   const struct report_metric_row *row)
{
	const struct subject *subject = &builder->subjects[cell->subject];

	return subject->node == row->node && subject->is_range == row->is_range &&
	       strcmp(subject->kernel, row->kernel) == 0;
}

static void add(struct report_metric *metric, const struct cell *cell)
{
	if (cell->count == 0)
		return;
	if (metric->count == 0 || cell->min < metric->min)
		metric->min = cell->min;
	if (cell->max > metric->max)
		metric->max = cell->max;
	metric->count += cell->count;
	metric->sum += cell->sum;
	metric->ns += (double)cell->total_ns / (double)cell->nr_passes;
}

/* Makes the rows of sorted cells. A subject's times count once, with the first of its metrics; its measurements are
 * those of the metric that has most. */
static void make_rows(const struct builder *builder, struct report_metrics *metrics,
		      const struct cell **counted)
{
	for (uint32_t i = 0; i < builder->nr_cells; i++) {
		const struct cell *cell = &builder->cells[i];
		const struct subject *subject = &builder->subjects[cell->subject];
		struct report_metric_row *row = metrics->rows + metrics->nr_rows - 1;

		if (i == 0 || !is_row(builder, cell, row)) {
			row = metrics->rows + metrics->nr_rows++;
			*row = (struct report_metric_row){.node = subject->node,
							  .kernel = subject->kernel,
							  .is_range = subject->is_range,
							  .first = metrics->nr_metrics};
		}
		struct report_metric *metric = metrics->metrics + metrics->nr_metrics - 1;
		if (row->nr == 0 || strcmp(metric->name, cell->metric) != 0) {
			row->nr++;
			metric = metrics->metrics + metrics->nr_metrics++;
			*metric = (struct report_metric){.name = cell->metric};
		}
		add(metric, cell);
		const struct cell *before = counted[cell->subject];

		if (!before || cell->count > before->count) {
			row->measured += cell->count - (before ? before->count : 0);
			row->measured_ns += cell->total_ns - (before ? before->total_ns : 0);
			counted[cell->subject] = cell;
		}
		if (before)
			continue;
		row->launches += subject->launches;
		row->ns += subject->ns;
		row->nr_passes =
			cell->nr_passes > row->nr_passes ? cell->nr_passes : row->nr_passes;
	}
	for (uint32_t i = 0; i < metrics->nr_rows; i++)
		if (metrics->rows[i].is_range)
			metrics->rows[i].ns = metrics->rows[i].measured_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct report_metric_row *x = a, *y = b;
	int order = numbers(y->ns, x->ns);

	return order ? order : numbers(x->first, y->first);
}

static int build(struct builder *builder, struct report_metrics *metrics)
{
	const struct cell **counted;
	int error = 0;

	gather_subjects(builder);
	for (uint32_t i = 0; i < builder->nr_subjects && !error; i++)
		error = place(builder, &builder->subjects[i]);
	if (!error)
		error = gather_cells(builder);
	if (!error)
		error = profile_each_total(builder->profile, take_total, builder);
	if (error)
		return error;
	counted = calloc(builder->nr_subjects, sizeof(*counted));
	if (!counted)
		return -ENOMEM;
	qsort_r(builder->cells, builder->nr_cells, sizeof(*builder->cells), by_row, builder);
	make_rows(builder, metrics, counted);
	free(counted);
	qsort(metrics->rows, metrics->nr_rows, sizeof(*metrics->rows), by_time);
	return 0;
}

/* Each subject has a text, and each metric has one. */
static bool make_room(struct builder *builder, uint32_t nr)
{
	struct report_metrics *metrics = calloc(1, sizeof(*metrics));
	const uint32_t nr_strings = catalog_size(builder->profile->collection->catalog).strings;

	builder->metrics = metrics;
	builder->subjects = calloc(nr, sizeof(*builder->subjects));
	builder->cells = calloc(nr, sizeof(*builder->cells));
	builder->names = calloc(nr_strings + 1ul, sizeof(*builder->names));
	if (!metrics)
		return false;
	metrics->rows = calloc(nr, sizeof(*metrics->rows));
	metrics->metrics = calloc(nr, sizeof(*metrics->metrics));
	metrics->texts = calloc(2ul * nr, sizeof(*metrics->texts));
	return builder->subjects && builder->cells && builder->names && metrics->rows &&
	       metrics->metrics && metrics->texts;
}

int report_metrics_make(const struct profile *profile, report_metrics_place *place_in_tree,
			void *context, struct report_metrics **metrics)
{
	const uint32_t nr = count_cells(profile->collection->roster);
	struct builder builder = {.profile = profile, .place = place_in_tree, .context = context};
	int error = -ENOMEM;

	*metrics = NULL;
	if (nr == 0)
		return 0;
	if (make_room(&builder, nr))
		error = build(&builder, builder.metrics);
	free(builder.subjects);
	free(builder.cells);
	free(builder.names);
	if (error)
		report_metrics_destroy(builder.metrics);
	else
		*metrics = builder.metrics;
	return error;
}

void report_metrics_destroy(struct report_metrics *metrics)
{
	if (!metrics)
		return;
	for (uint32_t i = 0; i < metrics->nr_texts; i++)
		free(metrics->texts[i]);
	free(metrics->texts);
	free(metrics->rows);
	free(metrics->metrics);
	free(metrics);
}
