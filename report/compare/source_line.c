#include "source_line.h"

#include "report/digest/host_lines.h"
#include "report/names/source_name.h"

uint32_t source_line_find(const struct report_tree *tree,
			  const struct source_frameworks *frameworks, uint32_t node,
			  uint32_t chain[static REPORT_DEPTH_MAX])
{
	uint32_t depth = report_tree_path(tree->nodes, node, chain);
	uint32_t innermost = SOURCE_LINE_NONE, function = SOURCE_LINE_NONE;

	for (uint32_t i = 0; i < depth; i++) {
		uint32_t name = tree->nodes[chain[i]].name;
		const bool is_framework = name < frameworks->nr && frameworks->is_framework[name];

		if (!source_name_has_line(tree->strings[name])) {
			if (function == SOURCE_LINE_NONE && !is_framework &&
			    host_lines_is_own(tree->strings[name]))
				function = name;
			continue;
		}
		if (!is_framework)
			return name;
		if (innermost == SOURCE_LINE_NONE)
			innermost = name;
	}
	return innermost != SOURCE_LINE_NONE ? innermost : function;
}
