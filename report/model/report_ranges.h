/* Sums GPU work by NVTX range: each range that leads a path, with all work under it. Used by one thread. */
#ifndef REPORT_RANGES_H
#define REPORT_RANGES_H

#include <stdint.h>

#include "report_tree.h"

struct report_range {
	char *label;        /* owns; "epoch 3 > forward" */
	uint32_t depth;     /* number of nested ranges */
	uint64_t count, ns; /* of GPU work, including inner ranges */
};

struct report_ranges {
	struct report_range *ranges; /* owns; by time, the longest first, then by label */
	uint32_t nr_ranges;
};

/* 0; -ENOMEM: *ranges is empty. */
int report_ranges_init(struct report_ranges *ranges, const struct report_tree *tree);
void report_ranges_fini(struct report_ranges *ranges);

#endif
