/* What launches of kernels, or ranges, were measured by (run --metrics): a row for each launch stack and name, over all
 * processes and GPUs. Part of report_build; used by one thread. */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct fold_key;
struct profile;

/* One metric of a row, over its measurements. */
struct report_metric {
	const char *name; /* "dram__bytes_read.sum" */
	uint64_t count;   /* 0: all its values were no numbers, and the others are 0 */
	double sum, min, max;
	/* the time of one launch, or range, of each of these measurements, together. A measurement of several passes
	 * has that of its launches' mean. */
	double ns;
};

struct report_metric_row {
	uint32_t node;      /* of the tree: the innermost frame of the launch stack */
	const char *kernel; /* "gemm"; or the range's name */
	uint64_t
		launches; /* all, measured or not; not those of graphs; of a range: its kernels that were measured */
	uint64_t ns; /* of these; of a range: from its first kernel's begin to the last one's end */
	uint64_t measured; /* measurements; a metric may have fewer */
	/* launches of one measurement: above 1 its parts are of different launches. Processes may differ: the most */
	uint64_t nr_passes;
	uint64_t measured_ns; /* of the measured launches, or ranges */
	uint32_t first, nr;   /* of report_metrics.metrics */
	bool is_range;        /* a range of the program (--ranges) */
};

struct report_metrics {
	struct report_metric_row *rows; /* owns, as metrics; by ns, the longest first */
	uint32_t nr_rows;
	struct report_metric *metrics; /* within a row by their names */
	uint32_t nr_metrics;
	char **texts; /* owns, with the texts that the others borrow */
	uint32_t nr_texts;
};

/* Finds a kernel's place in the tree, and its name, which is borrowed until the next call. 0 or -errno. */
typedef int report_metrics_place(void *context, const struct fold_key *key, uint32_t *node,
				 const char **kernel);

/* Makes the rows of a profile; none was measured: *metrics is NULL. 0; -EPROTO: the profile names what it does not
 * hold; -ENOMEM; or an error of place(). On error *metrics is NULL. */
int report_metrics_make(const struct profile *profile, report_metrics_place *place, void *context,
			struct report_metrics **metrics);
void report_metrics_destroy(struct report_metrics *metrics); /* accepts NULL */

#endif
