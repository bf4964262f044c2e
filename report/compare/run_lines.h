/* The source lines that launch each kernel of a run, and which of them explains that a kernel takes longer than in
 * another. Part of run_work and run_check; used by one thread. */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include <stdint.h>

struct report_tree;
struct run_item;
struct run_work;

/* One kernel in all runs of a question, those before first. */
struct run_lines_question {
	const struct run_item *const *items; /* by run; NULL: the run has none */
	const double *units;                 /* by run: how long it is */
	uint32_t nr_before, nr_after;
};

/* Sets the lines of all items, which are in the order of their names (by_name). 0 or -ENOMEM. */
int run_lines_find(const struct report_tree *tree, struct run_work *work);

/* Returns the line of the function that has most of what the runs after take more; of its lines it is the one that grew
 * most. *part: what that function has of it, from 0 to 1. NULL: nothing grew, or no line is known. Borrowed from the
 * last run that has the item. */
const char *run_lines_grown(const struct run_lines_question *question, double *part);

#endif
