#include "metrics_summary.h"

#include <stdbool.h>
#include <stdint.h>

#include "report/digest/report_refusal.h"
#include "report/metrics/report_metrics.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"

#define NUMBER_SIZE 32u

void metrics_summary_none(FILE *out, const struct report_tree *tree)
{
	char text[REPORT_REFUSAL_SIZE];
	const char *refusal = report_refusal_metrics(tree, text);

	fprintf(out, "%s: %s\n", tree->is_part ? "no measurement is here" : "nothing was measured",
		refusal ? refusal : "run --metrics sol, or roofline, measures some");
}

void metrics_summary_line(FILE *out, const struct report_tree *tree, const char *prefix)
{
	const struct report_metrics *metrics = tree->metrics;
	uint32_t nr_ranges = 0;
	uint64_t measured = 0;
	char rows[NUMBER_SIZE], count[NUMBER_SIZE];

	if (!metrics)
		return;
	for (uint32_t i = 0; i < metrics->nr_rows; i++) {
		nr_ranges += metrics->rows[i].is_range;
		measured += metrics->rows[i].measured;
	}
	fprintf(out, "%s%s measurement%s of %s, in %s row%s (report --metrics)\n", prefix,
		report_summary_count(measured, count), measured == 1 ? "" : "s",
		nr_ranges == 0                 ? "kernels"
		: nr_ranges < metrics->nr_rows ? "kernels and ranges"
					       : "ranges",
		report_summary_count(metrics->nr_rows, rows), metrics->nr_rows == 1 ? "" : "s");
}
