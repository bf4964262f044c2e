/* The changes between the two sides of a difference (report_diff.h), summed by frame, kernel, source line or class of
 * work. Used by one thread; immutable once made. */
#ifndef CHANGE_TABLE_H
#define CHANGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "source_line.h"

#include "report/model/report_diff.h"

enum change_by {
	/* All work below a frame, in whatever stack, and once where a function calls itself. So rows do not add up. */
	CHANGE_BY_FRAME,
	CHANGE_BY_KERNEL, /* kernels, and copies and memsets by their kind; reasons of stalls, each in its kernel */
	CHANGE_BY_LINE, /* the line that launches (source_line.h), of a helper's line with its caller */
	CHANGE_BY_CLASS, /* kernel_class.h; reasons of stalls, of all kernels together */
};

struct change_row {
	const char *name; /* borrowed from the difference, or from made */
	/* of a frame; the name of its only caller, as the difference has it; NULL: there are several, or none */
	const char *caller;
	struct report_diff_amount before, after;
	bool is_kernel; /* of CHANGE_BY_KERNEL: no copy, memset, or work of another plane */
};

struct change_table {
	struct change_row *
		rows; /* owns; the greatest change of time first, then the least time, then by name */
	uint32_t nr_rows;
	char **made; /* owns; with room for twice as many as rows may be */
	uint32_t nr_made;
	struct report_diff_amount before, after; /* of all leaves */
};

/* frameworks: by string of the tree from which the difference was made. factor: times before count so much in the order
 * of the rows; the rows themselves are as they are. The difference is borrowed until destroy. 0 or -ENOMEM; on error
 * *table is NULL. */
int change_table_create(const struct report_diff *diff, enum change_by by,
			const struct source_frameworks *frameworks, double factor,
			struct change_table **table);
void change_table_destroy(struct change_table *table); /* accepts NULL */

/* Makes one row of each chain of frames that have the same work, as each of them calls nothing but the next: "main >
 * step > linear". Of long chains the middle is a number. 0 or -ENOMEM. */
int change_table_fold(struct change_table *table);

/* Returns how often kernels were launched after, for each time before: the median over the kernels of both sides,
 * weighted by time. A kernel that is launched more often in each step changes it little. 0: no kernel is in both, as of
 * planes without kernels. -ENOMEM: *ratio is 0. by_kernel: a table of CHANGE_BY_KERNEL. */
int change_table_launches(const struct change_table *by_kernel, double *ratio);

#endif
