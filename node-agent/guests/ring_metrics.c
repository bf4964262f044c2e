#include "ring_metrics.h"

#include <errno.h>
#include <string.h>

#include "stack_resolver.h"

#include "proto/kernel_metric.h"
#include "proto/metric_notice.h"
#include "proto/record.h"

int ring_metrics_name(struct ring_metrics *metrics, const struct ring_outputs *outputs,
		      const struct definition_metric *head, const char *name, size_t size)
{
	if (head->index >= DEFINITION_METRICS_MAX || size == 0 || size > RING_METRICS_NAME_MAX)
		return -EINVAL;
	/* A hostile guest could define it without end. */
	if (metrics->names[head->index] != STRING_NONE)
		return 0;
	const int r = process_description_add_notice(outputs->description, METRIC_NOTICE,
						     strlen(METRIC_NOTICE));
	if (r < 0)
		return r;
	return string_dictionary_intern(outputs->strings, name, (uint32_t)size,
					&metrics->names[head->index]);
}

static bool makes_sense(const struct ring_metrics *metrics, const struct definition_metric_sum *sum)
{
	return sum->index < DEFINITION_METRICS_MAX && metrics->names[sum->index] != STRING_NONE &&
	       kernel_metric_is_valid(sum->sum) && kernel_metric_is_valid(sum->min) &&
	       kernel_metric_is_valid(sum->max) && sum->min <= sum->max;
}

static int take(const struct ring_outputs *outputs, const struct message_kernel_metric *row)
{
	int r = process_statistics_take_metric(outputs->statistics, row);

	if (r == -ENOSPC) {
		process_ledger_count(outputs->ledger, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST, 1);
		r = 0;
	}
	return r;
}

static int add(const struct ring_outputs *outputs, struct message_kernel_metric *row,
	       const struct ring_metrics *metrics, const struct definition_metric_sum *sum)
{
	row->metric = metrics->names[sum->index];
	row->sum = kernel_metric_bits(sum->sum);
	row->min = kernel_metric_bits(sum->min);
	row->max = kernel_metric_bits(sum->max);
	return take(outputs, row);
}

/* Adds a row without a measurement for each metric of the run that has no number, so that reports know of it. */
static int add_missing(const struct ring_outputs *outputs, struct message_kernel_metric *row,
		       const struct ring_metrics *metrics, uint64_t known)
{
	int r = 0;

	row->count = row->total_ns = row->sum = row->min = row->max = 0;
	for (uint32_t i = 0; i < DEFINITION_METRICS_MAX && r == 0; i++) {
		row->metric = metrics->names[i];
		if (row->metric != STRING_NONE && !(known >> i & 1))
			r = take(outputs, row);
	}
	return r;
}

int ring_metrics_add(struct ring_metrics *metrics, const struct ring_outputs *outputs,
		     struct stack_resolver *stacks, const struct definition_kernel_metrics *head,
		     uint32_t name_id, const void *sums, size_t size)
{
	struct message_kernel_metric row = {
		.device_id = head->device_id,
		.name_id = name_id,
		.nr_passes = head->nr_passes,
		.count = head->count,
		.total_ns = head->total_ns,
	};
	struct definition_metric_sum sum;
	uint64_t known = 0; /* 1 << number of each metric with a number */

	if (head->nr_sums > size / sizeof(sum) || head->device_id >= RECORD_DEVICES_MAX ||
	    head->nr_passes == 0 || head->count == 0 || head->cbid > UINT16_MAX)
		return -EINVAL;
	if (!outputs->statistics)
		return 0;
	int r = stack_resolver_node(stacks, head->stack_id, head->cbid, &row.stack_id);
	for (uint32_t i = 0; i < head->nr_sums && r == 0; i++) {
		memcpy(&sum, (const uint8_t *)sums + i * sizeof(sum), sizeof(sum));
		row.count = head->count - sum.missing;
		row.total_ns =
			(uint64_t)((unsigned __int128)head->total_ns * row.count / head->count);
		r = makes_sense(metrics, &sum) && sum.missing < head->count
			    ? add(outputs, &row, metrics, &sum)
			    : -EINVAL;
		if (r == 0)
			known |= 1ull << sum.index;
	}
	return r ? r : add_missing(outputs, &row, metrics, known);
}
