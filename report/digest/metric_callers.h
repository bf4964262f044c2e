/* Names what launched a measured kernel or range (report/metrics/report_metrics.h) as the table of GPU work names the
 * program's lines (host_lines.h): "train.py:main:20 > train.py:forward:9". Used by one thread. */
#ifndef METRIC_CALLERS_H
#define METRIC_CALLERS_H

#include <stdint.h>

struct report_tree;

struct metric_callers {
	/* owns; by row. Rows of one name and one line have the frame that tells them apart before it, too:
	 * "[NVTX]inner > … > launch" */
	char **texts;
	uint32_t nr;
};

/* A tree without metrics has none. 0; -ENOMEM: *callers is empty. Call fini() in either case. */
int metric_callers_init(struct metric_callers *callers, const struct report_tree *tree);
void metric_callers_fini(struct metric_callers *callers);

#endif
