/* Sums of a tree's kernels by what their instructions waited for: a row for each kernel, of all GPUs and launches. Used
 * by one thread. */
#ifndef STALL_ROWS_H
#define STALL_ROWS_H

#include <stdint.h>

#include "report/model/report_tree.h"

/* A text and its part of a kernel's time; of a kernel without time, of its samples. */
struct stall_part_of {
	const char *text; /* borrowed from the tree; "": there is none */
	double share;     /* 0 to 1 */
};

struct stall_row {
	const char *kernel;          /* borrowed from the tree */
	uint64_t count, ns;          /* samples */
	struct stall_part_of reason; /* the most frequent one but "selected" */
	/* the line with the most, as deep as inlined functions go: "hot.cu:leaf:10"; without lines the offset with the
	 * most, "+0x1a0", where kernels that look alike are one */
	struct stall_part_of line;
};

struct stall_rows {
	struct stall_row *rows; /* owns; by time, the longest first, then by samples and by name */
	uint32_t nr_rows;
};

/* 0; -ENOMEM: *rows is empty. A tree without the plane has no row. */
int stall_rows_init(struct stall_rows *rows, const struct report_tree *tree);
void stall_rows_fini(struct stall_rows *rows);

#endif
