/* Finds the source line that launches: the program's own (host_lines.h). A framework's innermost frame with a number
 * goes before a frame of the program's without one. Any thread. */
#ifndef SOURCE_LINE_H
#define SOURCE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/report_tree.h"

#define SOURCE_LINE_NONE UINT32_MAX

/* Tells which names are frameworks' frames, by string. Zeroed: none. */
struct source_frameworks {
	const bool *is_framework;
	uint32_t nr; /* strings that is_framework has */
};

/* Strings of the line of a leaf, and of the caller that a table names before it (host_lines.h). */
struct source_line {
	uint32_t line;   /* SOURCE_LINE_NONE: there is none */
	uint32_t caller; /* 0: it is none of a helper */
};

/* Finds the lines of all leaves. *lines: by leaf; the caller owns it (free()). 0 or -ENOMEM; on error it is NULL. */
int source_line_find_all(const struct report_tree *tree, const struct source_frameworks *frameworks,
			 struct source_line **lines);

/* Orders lines by their strings, for qsort(). */
int source_line_compare(const struct source_line *a, const struct source_line *b);

/* Returns "fit.py:norm:18 > gpu.py:launch:21", or the line alone, which is not SOURCE_LINE_NONE. The caller owns it
 * (free()). NULL: out of memory. */
char *source_line_text(const struct report_tree *tree, const struct source_line *line);

#endif
