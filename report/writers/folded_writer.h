/* Writes folded stacks: frames from the root on with ';' between them, a space, an integer; a line for each path,
 * sorted by its bytes. Any thread; the tree must not change meanwhile. */
#ifndef FOLDED_WRITER_H
#define FOLDED_WRITER_H

#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

enum folded_weight {
	FOLDED_TIME = 0,
	FOLDED_COUNT = 1,
	FOLDED_BYTES = 2,
	FOLDED_RESOURCE =
		3, /* the first of RESOURCES (report/resource/resource.h), of planes of resources alone */
	FOLDED_ENERGY = FOLDED_RESOURCE + RESOURCE_ENERGY,
	FOLDED_WEIGHTS = FOLDED_RESOURCE + RESOURCES,
};

enum folded_unit {
	FOLDED_NS = 0,
	FOLDED_US = 1,
};

struct folded_options {
	enum folded_weight weight;
	enum folded_unit unit; /* of FOLDED_TIME */
	struct report_by by;
};

/* Sums exactly (in ns), then rounds each line once to the unit, half up. So in microseconds the lines add up to the
 * total, give or take half a microsecond a line; in ns, counts and bytes they add up exactly.
 * Amounts of resources are estimates: behind a leaf's frame stands " (medium)" or " (low)" if it is not sure.
 * A line whose exact weight is 0 is left out, as a kernel moves no bytes; but a page fault of unified memory, which
 * has no duration, stays as 0. A line that only rounds to 0 stays as 0, because the path was there.
 * options NULL: everything is 0. 0; -ENOMEM: nothing was written; -ENOSPC, -EIO …: out did not take everything. */
int folded_writer_write(FILE *out, const struct report_tree *tree,
			const struct folded_options *options);

/* Returns how a byte of a frame is written where ';' separates frames; NULL: as it is. */
static inline const char *folded_writer_escape(char byte)
{
	return byte == ';' ? "\\x3b" : byte == '\\' ? "\\x5c" : NULL;
}

/* Writes the name of a frame, with "\x3b" for ';' and "\x5c" for '\', as "\" begins an escape. */
void folded_writer_frame(FILE *out, const char *text);

/* Writes the path of a node, from the outside in, with ';' behind each frame. */
void folded_writer_path(FILE *out, const struct report_tree *tree, uint32_t node);

/* Returns a weight in the unit of its lines. */
uint64_t folded_writer_round(uint64_t weight, const struct folded_options *options);

#endif
