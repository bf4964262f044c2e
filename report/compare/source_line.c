#include "source_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
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

/* The tree with the frameworks that are known of it. The caller owns what it gets (free()); NULL: out of memory. */
static uint32_t *set_frameworks(struct report_tree *tree,
				const struct source_frameworks *frameworks)
{
	uint32_t *names = calloc(tree->nr_strings + 1ul, sizeof(*names));

	for (uint32_t i = 0; names && i < tree->nr_strings && i < frameworks->nr; i++)
		names[i] = frameworks->is_framework[i];
	tree->frameworks = names;
	return names;
}

static int find_names(const struct report_tree *tree, struct host_line_name *names)
{
	uint32_t planes = 0;
	int error = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		planes |= 1u << report_plane_of(tree->leaves[i].kind);
	for (uint32_t i = 0; i < REPORT_PLANES && !error; i++)
		if (planes & 1u << i)
			error = host_lines_names(tree, i, names);
	return error;
}

int source_line_find_all(const struct report_tree *tree, const struct source_frameworks *frameworks,
			 struct source_line **lines)
{
	struct report_tree copy = *tree;
	uint32_t *of_frameworks = set_frameworks(&copy, frameworks);
	uint32_t *chain = malloc(REPORT_DEPTH_MAX * sizeof(*chain));
	struct host_line_name *names = calloc(tree->nr_leaves + 1ul, sizeof(*names));
	int error = -ENOMEM;

	*lines = calloc(tree->nr_leaves + 1ul, sizeof(**lines));
	if (of_frameworks && chain && names && *lines)
		error = find_names(&copy, names);
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		const uint32_t line =
			source_line_find(tree, frameworks, tree->leaves[i].node, chain);

		(*lines)[i] =
			(struct source_line){line, line == names[i].line ? names[i].caller : 0};
	}
	if (error) {
		free(*lines);
		*lines = NULL;
	}
	free(names);
	free(chain);
	free(of_frameworks);
	return error;
}

int source_line_compare(const struct source_line *a, const struct source_line *b)
{
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->caller > b->caller) - (a->caller < b->caller);
}

char *source_line_text(const struct report_tree *tree, const struct source_line *line)
{
	return line->caller ? text_print("%s > %s", tree->strings[line->caller],
					 tree->strings[line->line])
			    : strdup(tree->strings[line->line]);
}
