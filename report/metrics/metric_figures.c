#include "metric_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/options/metric_options.h"

/* The counter's peak is that of sparse matrices, which is twice as much (1,081,344 a cycle on an H200, whose data sheet
 * has 1,979 TFLOP/s with sparsity at 1.83 GHz). */
#define SPARSITY 2.0
#define SHORT_NS 1e6 /* below, the 0.05 ms of a measurement are 5 % and more */

static const struct report_metric *find(const struct report_metrics *metrics,
					const struct report_metric_row *row, const char *name)
{
	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &metrics->metrics[row->first + i];

		if (strcmp(metric->name, name) == 0)
			return metric;
	}
	return NULL;
}

static double mean(const struct report_metric *metric)
{
	return metric && metric->count ? metric->sum / (double)metric->count : NAN;
}

/* In a nanosecond of the launches in which it was counted. */
static double rate(const struct report_metric *metric)
{
	return metric && metric->count ? metric->sum / metric->ns : NAN;
}

#define OPERATIONS "sm__ops_path_tensor_src_"
#define SUM        ".sum"

/* The length of the name before its ending, if the metric counts operations on floating numbers; else 0. */
static size_t operations_size(const char *name)
{
	const size_t size = strlen(name);

	if (strncmp(name, OPERATIONS, sizeof(OPERATIONS) - 1) != 0 ||
	    strncmp(name + sizeof(OPERATIONS) - 1, "int", 3) == 0 ||
	    strcmp(name + size - (sizeof(SUM) - 1), SUM) != 0)
		return 0;
	return size - (sizeof(SUM) - 1);
}

/* Returns whether another metric of the row has these operations, too: "…fp8" has those of "…fp8_sparsity_off". */
static bool is_part(const struct report_metrics *metrics, const struct report_metric_row *row,
		    const char *name)
{
	for (uint32_t i = 0; i < row->nr; i++) {
		const char *other = metrics->metrics[row->first + i].name;
		const size_t size = operations_size(other);

		if (size && strncmp(name, other, size) == 0 && name[size] == '_')
			return true;
	}
	return false;
}

/* The most operations of a cycle, by the same counter. */
static double peak_of(const struct report_metrics *metrics, const struct report_metric_row *row,
		      const char *counter)
{
	char name[METRIC_OPTIONS_NAME + sizeof(".peak_sustained")];

	if (strstr(counter, "_sparsity_") || strstr(counter, "_src_fp64"))
		return NAN;
	snprintf(name, sizeof(name), "%s.peak_sustained", counter);
	return mean(find(metrics, row, name)) / SPARSITY;
}

/* The operations of tensor cores. */
struct operations {
	double count, per_ns; /* of a launch */
	/* the most of a cycle, in this mix of types: each takes its part of the cores' time */
	double peak;
};

static struct operations operations_of(const struct report_metrics *metrics,
				       const struct report_metric_row *row)
{
	struct operations all = {NAN, NAN, NAN};
	double cycles = 0, most = 0;

	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &metrics->metrics[row->first + i];

		if (!operations_size(metric->name) || is_part(metrics, row, metric->name))
			continue;
		const double peak = peak_of(metrics, row, metric->name);
		all.count = (isnan(all.count) ? 0 : all.count) + mean(metric);
		all.per_ns = (isnan(all.per_ns) ? 0 : all.per_ns) + rate(metric);
		cycles += rate(metric) / peak;
		most = fmax(most, peak);
	}
	if (!isnan(all.per_ns) && !isnan(cycles))
		all.peak = cycles > 0 ? all.per_ns / cycles : most;
	return all;
}

const char *metric_figures_type(const struct report_metrics *metrics,
				char text[METRIC_FIGURES_TYPE])
{
	*text = '\0';
	for (uint32_t i = 0; i < metrics->nr_metrics; i++) {
		const char *name = metrics->metrics[i].name;
		char type[METRIC_FIGURES_TYPE];

		if (!operations_size(name))
			continue;
		snprintf(type, sizeof(type), "%.*s",
			 (int)strcspn(name + sizeof(OPERATIONS) - 1, "_."),
			 name + sizeof(OPERATIONS) - 1);
		if (*text && strcmp(text, type) != 0)
			return "all types";
		memcpy(text, type, sizeof(type));
	}
	return text;
}

static bool ends(const char *name, const char *end)
{
	const size_t size = strlen(name), end_size = strlen(end);

	return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/* Elapsed cycles in a second are a clock: both have the measurement's time. */
bool metric_figures_are_low(const struct report_metric *metric)
{
	const bool is_rate =
		ends(metric->name, "_elapsed") ||
		(ends(metric->name, ".per_second") && !strstr(metric->name, "__cycles_elapsed."));

	return is_rate && metric->ns < SHORT_NS * (double)metric->count;
}

struct metric_figures metric_figures_of(const struct report_metrics *metrics,
					const struct report_metric_row *row)
{
#define MEAN(name) mean(find(metrics, row, name))
#define RATE(name) rate(find(metrics, row, name))
	const double split = MEAN("dram__bytes_read.sum") + MEAN("dram__bytes_write.sum");
	const double bytes = isnan(split) ? MEAN("dram__bytes.sum") : split;
	const struct operations flops = operations_of(metrics, row);
	const struct metric_figures figures = {
		.bytes_per_ns =
			isnan(split) ? RATE("dram__bytes.sum")
				     : RATE("dram__bytes_read.sum") + RATE("dram__bytes_write.sum"),
		.bytes_peak_per_ns = MEAN("dram__bytes.sum.peak_sustained") *
				     MEAN("dram__cycles_elapsed.avg.per_second") / 1e9,
		.flops_per_ns = flops.per_ns,
		.flops_peak_per_ns = flops.peak * MEAN("sm__cycles_elapsed.avg.per_second") / 1e9,
		.flops_per_byte = bytes > 0 ? flops.count / bytes : NAN,
	};
#undef MEAN
#undef RATE

	return figures;
}
