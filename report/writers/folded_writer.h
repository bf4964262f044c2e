/* Folded stacks: root first, ';' between frames, a space, an integer; one line a path, sorted by
 * their bytes. Any thread; the tree must not change meanwhile. */
#ifndef FOLDED_WRITER_H
#define FOLDED_WRITER_H

#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

enum folded_weight {
	FOLDED_TIME = 0,
	FOLDED_COUNT = 1,
	FOLDED_BYTES = 2,
};

enum folded_unit {
	FOLDED_US = 0,
	FOLDED_NS = 1,
};

struct folded_options {
	enum folded_weight weight;
	enum folded_unit unit; /* of FOLDED_TIME */
	struct report_by by;
};

/* Sums exactly (in ns), then rounds each line once to the unit, half up. A line whose exact weight is 0 is left out (a
 * kernel moves no bytes; but a page fault of unified memory, which has no duration, stays as 0); one that only rounds
 * to 0 stays as 0, because the path was there. So in microseconds the lines add up to the total but for half a
 * microsecond a line; in ns, counts and bytes exactly. options NULL: everything 0. 0; -ENOMEM: nothing was written;
 * -ENOSPC, -EIO …: out did not take everything. */
int folded_writer_write(FILE *out, const struct report_tree *tree,
			const struct folded_options *options);

#endif
