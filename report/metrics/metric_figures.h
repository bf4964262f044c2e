/* What the metrics of a measured kernel say: how fast it moved data and computed, and what its GPU reaches at most. A
 * figure whose metrics were not asked for is NAN. Times are those of the launches' records, since
 * gpu__time_duration has 0.05 ms more (seen on an H200, CUPTI 13.0). Pure. */
#ifndef METRIC_FIGURES_H
#define METRIC_FIGURES_H

#include <stdbool.h>

#include "report_metrics.h"

struct metric_figures {
	double bytes_per_ns, bytes_peak_per_ns; /* of DRAM, read and written: GB/s */
	double flops_per_ns,
		flops_peak_per_ns; /* of tensor cores: GFLOP/s, of the types that were asked for,
				   * integers left out. The peak is without sparsity, and of several types that
				   * of their mix: they share the cores' time */
	double flops_per_byte;
};

#define METRIC_FIGURES_TYPE 12u /* bytes; longer names are cut */

/* Returns the type of numbers whose operations the rows' figures count: one such as "bf16", "all types" if there are
 * several, "" if there is none. Borrowed for as long as the text. */
const char *metric_figures_type(const struct report_metrics *metrics,
				char text[METRIC_FIGURES_TYPE]);

/* Returns whether a metric's value is too low: it is a rate over elapsed time, and the launches are so short that the
 * measurement's own time counts. */
bool metric_figures_are_low(const struct report_metric *metric);

struct metric_figures metric_figures_of(const struct report_metrics *metrics,
					const struct report_metric_row *row);

#endif
