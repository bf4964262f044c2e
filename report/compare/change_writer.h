/* Writes the changes between two profiles, or two ranks (change_table.h), as a table for people and as JSON. Any
 * thread; the arguments must not change meanwhile. */
#ifndef CHANGE_WRITER_H
#define CHANGE_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "change_table.h"
#include "run_scale.h"
#include "run_verdict.h"

#include "report/writers/text_table.h"

struct report_tree;

/* One side. Texts are clean. */
struct change_side {
	const char *label;   /* "prof.old", "rank 3" */
	const char *summary; /* the closing line of its report; NULL: it has none of its own */
	uint32_t nr_ranks;   /* of the steps or collectives; 0: not known */
	const struct report_tree *tree; /* whose cost is told; NULL: it has none of its own */
};

struct change_report {
	const struct change_table *table;
	struct change_side before, after;
	struct run_scale scale;
	struct check_step step; /* of profiles; zeroed: not known */
	const char *by;         /* "frame", "kernel", "line", "class" */
	const char *heading;    /* of the rows' names; NULL: as by */
	bool has_samples;       /* numbers are those of samples, so that none is a launch */
	/* rows of CHANGE_BY_KERNEL that differ, for the table: frames may do the same with other kernels */
	uint32_t nr_kernels;
};

/* Returns how many rows differ, once times and numbers before are multiplied by factor. */
uint32_t change_writer_count(const struct change_table *table, double factor);

/* top: rows of the table, and of the lists of new and vanished ones; 0: 20. form NULL: lines have no limit. 0; -errno
 * of the failed write; -ENOMEM. */
int change_writer_table(FILE *out, const struct change_report *report, const struct text_form *form,
			uint32_t top);

/* All rows. Numbers per step or collective are null where these are not known and nothing was launched. */
int change_writer_json(FILE *out, const struct change_report *report);

#endif
