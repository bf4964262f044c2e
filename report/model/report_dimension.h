/* The dimensions by which stacks can be split, with frames such as "job 4711", "node01", "rank3", "GPU0", "context1",
 * "stream7", "thread1234", "[step] prefill" at the root. Any thread. */
#ifndef REPORT_DIMENSION_H
#define REPORT_DIMENSION_H

#include <stddef.h>
#include <stdint.h>

#include "report_tree.h"

enum report_dimension {
	REPORT_BY_HOST = 0,
	REPORT_BY_RANK = 1,
	REPORT_BY_GPU = 2,
	REPORT_BY_CONTEXT = 3,
	REPORT_BY_STREAM = 4,
	REPORT_BY_THREAD = 5,
	REPORT_BY_JOB = 6,
	REPORT_BY_STEP = 7, /* of a tree that has them (report_options.steps) */
	REPORT_DIMENSIONS,
};

/* Zeroed: no dimension. */
struct report_by {
	uint32_t nr_dimensions;
	/* outermost first, each at most once */
	enum report_dimension dimensions[REPORT_DIMENSIONS];
};

/* Reads a list such as "host,rank"; "" is no dimension. 0; -EINVAL: a word is not known or comes twice, and *by is
 * empty. */
int report_by_parse(const char *words, struct report_by *by);

/* Returns its word in such a list. */
const char *report_dimension_word(enum report_dimension dimension);

/* Returns one number that stands for the leaf's value in that dimension. */
uint32_t report_dimension_value(const struct report_leaf *leaf, enum report_dimension dimension);

/* Returns the frame of that value. A value that is not known is "job?", "rank?", "GPU?" or "thread?"; host threads have
 * "no GPU", "no context" and "no stream"; work of no step has "[step] other". Borrowed until the tree or text goes. */
const char *report_dimension_frame(const struct report_tree *tree, enum report_dimension dimension,
				   uint32_t value, char *text, size_t size);

#endif
