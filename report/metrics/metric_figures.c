#include "metric_figures.h"

#include <math.h>
#include <string.h>

/* The counter's peak is that of sparse matrices, which is twice as much (1,081,344 a cycle on an H200, whose data sheet
 * has 1,979 TFLOP/s with sparsity at 1.83 GHz). */
#define SPARSITY 2.0

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

/* The metrics that operations of tensor cores are counted by. */
static double operations(const struct report_metrics *metrics, const struct report_metric_row *row)
{
	static const char before[] = "sm__ops_path_tensor_src_", behind[] = ".sum";
	double sum = NAN;

	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &metrics->metrics[row->first + i];
		const char *name = metric->name;
		const size_t size = strlen(name);

		if (strncmp(name, before, sizeof(before) - 1) == 0 &&
		    strcmp(name + size - (sizeof(behind) - 1), behind) == 0)
			sum = (isnan(sum) ? 0 : sum) + mean(metric);
	}
	return sum;
}

struct metric_figures metric_figures_of(const struct report_metrics *metrics,
					const struct report_metric_row *row)
{
#define MEAN(name) mean(find(metrics, row, name))
	const double ns = row->measured && row->nr_passes
				  ? (double)row->measured_ns /
					    ((double)row->measured * (double)row->nr_passes)
				  : NAN;
	const double split = MEAN("dram__bytes_read.sum") + MEAN("dram__bytes_write.sum");
	const double bytes = isnan(split) ? MEAN("dram__bytes.sum") : split;
	const double flops = operations(metrics, row);
	const struct metric_figures figures = {
		.bytes_per_ns = bytes / ns,
		.bytes_peak_per_ns = MEAN("dram__bytes.sum.peak_sustained") *
				     MEAN("dram__cycles_elapsed.avg.per_second") / 1e9,
		.flops_per_ns = flops / ns,
		.flops_peak_per_ns =
			MEAN("sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained") /
			SPARSITY * MEAN("sm__cycles_elapsed.avg.per_second") / 1e9,
		.flops_per_byte = bytes > 0 ? flops / bytes : NAN,
	};
#undef MEAN

	return figures;
}
