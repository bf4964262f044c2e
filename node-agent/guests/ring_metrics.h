/* Turns a guest's measured kernels and ranges into rows of statistics: its numbers of metrics, names and stacks become
 * the agent's ids. Everything is bounded, whatever the ring holds. Part of the ring source; single-threaded. */
#ifndef RING_METRICS_H
#define RING_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "ring_outputs.h"

#include "proto/definition.h"

#define RING_METRICS_NAME_MAX 256u /* bytes of a metric's name */

struct stack_resolver;

/* Embedded; zeroed memory knows no metric. */
struct ring_metrics {
	uint32_t names[DEFINITION_METRICS_MAX]; /* string ids; STRING_NONE: not defined */
};

/* Takes a definition of a metric, and notes that the process was to measure (metric_notice.h). Only the first of a
 * number counts. 0; -EINVAL: no guest writes this; -ENOMEM, or the dictionary's -ENOSPC: the metric is not defined. */
int ring_metrics_name(struct ring_metrics *metrics, const struct ring_outputs *outputs,
		      const struct definition_metric *head, const char *name, size_t size);

/* Takes the sums of a kernel or a range: head, and size bytes behind it. name_id: its string id. Metrics that are
 * defined and have no sum get a row without measurements. Rows without room are counted (LEDGER_STATISTIC_LOST). 0;
 * -EINVAL: no guest writes this; -ENOMEM. On an error, the sums before the one with the error were taken. */
int ring_metrics_add(struct ring_metrics *metrics, const struct ring_outputs *outputs,
		     struct stack_resolver *stacks, const struct definition_kernel_metrics *head,
		     uint32_t name_id, const void *sums, size_t size);

#endif
