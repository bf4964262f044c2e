#include "metric_sums.h"

#include <string.h>
#include <sys/mman.h>

#include "inject/base/definition_writer.h"
#include "proto/kernel_metric.h"

#define SLOTS (2 * METRIC_SUMS_MAX)

struct row {
	struct metric_subject subject;
	uint64_t count, total_ns;
	bool changed;
	struct {
		uint64_t count;
		double sum, min, max;
	} of[DEFINITION_METRICS_MAX];
};

struct metric_sums {
	const char (*names)[METRIC_OPTIONS_NAME];
	uint32_t nr_names, nr_defined, nr_rows;
	uint32_t slots[SLOTS]; /* number + 1 */
	struct row rows[METRIC_SUMS_MAX];
	struct definition_metric_sum
		defined[DEFINITION_METRICS_MAX]; /* of the row that is defined now */
};

struct metric_sums *metric_sums_create(const char (*names)[METRIC_OPTIONS_NAME], uint32_t nr_names)
{
	struct metric_sums *sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sums == MAP_FAILED)
		return NULL;
	sums->names = names;
	sums->nr_names = nr_names;
	return sums;
}

void metric_sums_destroy(struct metric_sums *sums)
{
	if (sums)
		munmap(sums, sizeof(*sums));
}

static uint32_t hash_of(const struct metric_subject *subject)
{
	uint64_t hash = subject->stack_id * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 29 ^ subject->name_id) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(hash >> 32) ^ subject->device_id;
}

static struct row *find(struct metric_sums *sums, const struct metric_subject *subject)
{
	uint32_t i = hash_of(subject) & (SLOTS - 1);

	for (; sums->slots[i]; i = (i + 1) & (SLOTS - 1)) {
		struct row *row = &sums->rows[sums->slots[i] - 1];

		if (row->subject.device_id == subject->device_id &&
		    row->subject.stack_id == subject->stack_id &&
		    row->subject.name_id == subject->name_id)
			return row;
	}
	if (sums->nr_rows == METRIC_SUMS_MAX)
		return NULL;
	sums->rows[sums->nr_rows].subject = *subject;
	sums->slots[i] = ++sums->nr_rows;
	return &sums->rows[sums->nr_rows - 1];
}

bool metric_sums_add(struct metric_sums *sums, const struct metric_subject *subject,
		     uint64_t total_ns, const uint32_t *numbers, const double *values,
		     uint32_t nr_values)
{
	struct row *row = find(sums, subject);

	if (!row)
		return false;
	row->count++;
	row->total_ns += total_ns;
	row->changed = true;
	for (uint32_t i = 0; i < nr_values; i++) {
		const double value = values[i];
		const uint32_t k = numbers[i];

		if (!kernel_metric_is_valid(value) ||
		    !kernel_metric_is_valid(row->of[k].sum + value))
			continue;
		if (row->of[k].count == 0 || value < row->of[k].min)
			row->of[k].min = value;
		if (value > row->of[k].max)
			row->of[k].max = value;
		row->of[k].sum += value;
		row->of[k].count++;
	}
	return true;
}

static void define_names(struct metric_sums *sums, struct definition_writer *writer)
{
	for (; sums->nr_defined < sums->nr_names; sums->nr_defined++) {
		const char *name = sums->names[sums->nr_defined];
		const struct definition_metric head = {.index = sums->nr_defined};

		if (!definition_writer_put(writer, DEFINITION_METRIC, &head, sizeof(head), name,
					   (uint32_t)strlen(name)))
			return;
	}
}

static bool define(struct metric_sums *sums, const struct row *row,
		   struct definition_writer *writer)
{
	struct definition_metric_sum *all = sums->defined;
	struct definition_kernel_metrics head = {
		.device_id = row->subject.device_id,
		.stack_id = row->subject.stack_id,
		.name_id = row->subject.name_id,
		.cbid = row->subject.cbid,
		.nr_passes = row->subject.nr_passes,
		.count = row->count,
		.total_ns = row->total_ns,
	};

	for (uint32_t k = 0; k < sums->nr_names; k++)
		if (row->of[k].count)
			all[head.nr_sums++] = (struct definition_metric_sum){
				.index = k,
				.missing = (uint32_t)(row->count - row->of[k].count),
				.sum = row->of[k].sum,
				.min = row->of[k].min,
				.max = row->of[k].max,
			};
	return definition_writer_put(writer, DEFINITION_KERNEL_METRICS, &head, sizeof(head), all,
				     head.nr_sums * (uint32_t)sizeof(all[0]));
}

uint32_t metric_sums_define(struct metric_sums *sums, struct definition_writer *writer)
{
	uint32_t left = 0;

	define_names(sums, writer);
	for (uint32_t i = 0; i < sums->nr_rows; i++) {
		struct row *row = &sums->rows[i];

		if (!row->changed)
			continue;
		row->changed = sums->nr_defined < sums->nr_names || !define(sums, row, writer);
		left += row->changed;
	}
	return left;
}
