#include "metrics_summary.h"

#include <stdbool.h>
#include <stdint.h>

#include "proto/metric_notice.h"
#include "report/metrics/report_metrics.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"

#define NUMBER_SIZE 32u

void metrics_summary_none(FILE *out, const struct report_tree *tree)
{
	static const enum ledger_reason reasons[] = {LEDGER_METRIC_LOST, LEDGER_METRIC_SHARED,
						     LEDGER_METRIC_REFUSED};
	const struct report_loss *most = NULL;
	char text[NUMBER_SIZE];

	fputs("nothing was measured: ", out);
	for (uint32_t i = 0; i < tree->nr_notices; i++) {
		const char *notice = tree->strings[tree->notices[i].text];

		if (metric_notice_is_refusal(notice)) {
			fprintf(out, "%s\n", notice);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		const struct report_loss *loss = report_summary_loss(tree, reasons[i]);

		if (loss && (!most || loss->count > most->count))
			most = loss;
	}
	if (most) {
		fprintf(out, "%s: %s (docs/data-loss.md)\n", tree->strings[most->text],
			report_summary_count(most->count, text));
		return;
	}
	fputs(tree->was_to_measure
		      ? "--kernels or --ranges matches no name in this run; or its launches are "
			"such as are never measured, or too few for the passes "
			"(docs/metrics.md); or the program was killed. --kernels takes mangled "
			"names (report --demangle none); names of ranges have their digits, or # "
			"for "
			"them, as run --nvtx-digits says\n"
		      : "run --metrics sol, or roofline, measures some\n",
	      out);
}

void metrics_summary_line(FILE *out, const struct report_tree *tree, const char *prefix)
{
	const struct report_metrics *metrics = tree->metrics;
	uint32_t nr_ranges = 0;
	uint64_t measured = 0;
	char rows[NUMBER_SIZE], count[NUMBER_SIZE];

	if (!metrics && !tree->was_to_measure)
		return;
	fputs(prefix, out);
	if (!metrics) {
		metrics_summary_none(out, tree);
		return;
	}
	for (uint32_t i = 0; i < metrics->nr_rows; i++) {
		nr_ranges += metrics->rows[i].is_range;
		measured += metrics->rows[i].measured;
	}
	fprintf(out, "%s measurements of %s, in %s rows (report --metrics)\n",
		report_summary_count(measured, count),
		nr_ranges == 0                 ? "kernels"
		: nr_ranges < metrics->nr_rows ? "kernels and ranges"
					       : "ranges",
		report_summary_count(metrics->nr_rows, rows));
}
