/* What the metrics of a measured kernel say: how fast it moved data and computed, and what its GPU reaches at most. A
 * figure whose metrics were not asked for is NAN. Times are those of the launches' records, since
 * gpu__time_duration has 0.05 ms more (seen on an H200, CUPTI 13.0). Pure. */
#ifndef METRIC_FIGURES_H
#define METRIC_FIGURES_H

#include "report_metrics.h"

struct metric_figures {
	double bytes_per_ns, bytes_peak_per_ns; /* of DRAM, read and written: GB/s */
	double flops_per_ns,
		flops_peak_per_ns; /* of tensor cores: GFLOP/s, of the types that were asked for,
				   * integers left out. The peak is that of one type alone, without sparsity */
	double flops_per_byte;
};

struct metric_figures metric_figures_of(const struct report_metrics *metrics,
					const struct report_metric_row *row);

#endif
