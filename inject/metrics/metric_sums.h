/* Adds up what launches and ranges were measured by, for each name and launch stack, and defines the sums. One thread
 * at a time. Memory is from mmap(). */
#ifndef METRIC_SUMS_H
#define METRIC_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/definition.h"
#include "proto/options/metric_options.h"

#define METRIC_SUMS_MAX 16384u /* kernels, or ranges, and stacks of one process */

struct definition_writer;
struct metric_sums;

/* A measured kernel, or range. */
struct metric_subject {
	uint32_t device_id, stack_id, name_id, cbid, nr_passes;
	bool is_range;
	uint32_t kernels_metric; /* of a range: the metric that is the number of its kernels */
};

/* names: of all metrics, borrowed for good. NULL: out of memory. */
struct metric_sums *metric_sums_create(const char (*names)[METRIC_OPTIONS_NAME], uint32_t nr_names);
void metric_sums_destroy(struct metric_sums *sums); /* accepts NULL */

/* Adds a measurement. numbers[i]: the metric that values[i] is of. Values that are not finite, or below 0, are left
 * out, and count as missing. Returns false if it is a new subject and there is no room. */
bool metric_sums_add(struct metric_sums *sums, const struct metric_subject *subject,
		     uint64_t total_ns, const uint32_t *numbers, const double *values,
		     uint32_t nr_values);

/* Defines what was added since the last call. Returns the number of subjects that found no room in the definition lane;
 * the next call tries again. */
uint32_t metric_sums_define(struct metric_sums *sums, struct definition_writer *writer);

#endif
