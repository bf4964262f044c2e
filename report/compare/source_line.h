/* Finds the source line that launches: the innermost frame with a number that is no framework's; else the innermost one
 * with a number; else, of programs without debug information, the innermost function of their own (host_lines.h). Any
 * thread. */
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

/* Returns the string with the line's name, "train.py:step:41", or of its function, of a node's path;
 * SOURCE_LINE_NONE: there is none. chain is room to work in. */
uint32_t source_line_find(const struct report_tree *tree,
			  const struct source_frameworks *frameworks, uint32_t node,
			  uint32_t chain[static REPORT_DEPTH_MAX]);

#endif
