/* What stacks can be split by: frames such as "node01", "rank3", "GPU0", "context1", "stream7", "thread1234" at
 * the root. Any thread. */
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
	REPORT_DIMENSIONS,
};

/* Zeroed: none. */
struct report_by {
	uint32_t nr_dimensions;
	/* outermost first, each at most once */
	enum report_dimension dimensions[REPORT_DIMENSIONS];
};

/* "host,rank": 0; -EINVAL: a word that is none, or twice; *by is then empty. "" is none. */
int report_by_parse(const char *words, struct report_by *by);

/* One number that stands for the leaf's value in that dimension. */
uint32_t report_dimension_value(const struct report_leaf *leaf, enum report_dimension dimension);

/* The frame of that value; what is not known is "rank?", "GPU?", "thread?", and of host
 * threads "no GPU", "no context", "no stream". Borrowed until the tree
 * or text goes. */
const char *report_dimension_frame(const struct report_tree *tree, enum report_dimension dimension,
				   uint32_t value, char *text, size_t size);

#endif
