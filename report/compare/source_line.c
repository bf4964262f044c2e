#include "source_line.h"

#include <string.h>

/* Returns whether a frame's name ends in ":41". */
static bool has_line(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon > name && colon[-1] != ':' && colon[1] &&
	       colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

uint32_t source_line_find(const struct report_tree *tree,
			  const struct source_frameworks *frameworks, uint32_t node,
			  uint32_t chain[static REPORT_DEPTH_MAX])
{
	uint32_t depth = report_tree_path(tree->nodes, node, chain);
	uint32_t innermost = SOURCE_LINE_NONE;

	for (uint32_t i = 0; i < depth; i++) {
		uint32_t name = tree->nodes[chain[i]].name;

		if (!has_line(tree->strings[name]))
			continue;
		if (name >= frameworks->nr || !frameworks->is_framework[name])
			return name;
		if (innermost == SOURCE_LINE_NONE)
			innermost = name;
	}
	return innermost;
}
