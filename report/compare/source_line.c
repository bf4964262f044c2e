#include "source_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
#include "report/digest/host_lines.h"
#include "report/names/source_name.h"

/* Returns the innermost frame with a number on the path of a node, where no such frame is the program's own. */
static uint32_t framework_line(const struct report_tree *tree, uint32_t node)
{
	for (; node != REPORT_NODE_ROOT; node = tree->nodes[node].parent) {
		const uint32_t name = tree->nodes[node].name;

		if (source_name_has_line(tree->strings[name]))
			return name;
	}
	return SOURCE_LINE_NONE;
}

static struct source_line make_line(const struct report_tree *tree, uint32_t node,
				    const struct host_line_name *own)
{
	if (own->line && source_name_has_line(tree->strings[own->line]))
		return (struct source_line){own->line, own->caller};
	const uint32_t line = framework_line(tree, node);
	if (line != SOURCE_LINE_NONE)
		return (struct source_line){line, 0};
	return own->line ? (struct source_line){own->line, own->caller}
			 : (struct source_line){SOURCE_LINE_NONE, 0};
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
	struct host_line_name *names = calloc(tree->nr_leaves + 1ul, sizeof(*names));
	int error = -ENOMEM;

	*lines = calloc(tree->nr_leaves + 1ul, sizeof(**lines));
	if (of_frameworks && names && *lines)
		error = find_names(&copy, names);
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++)
		(*lines)[i] = make_line(tree, tree->leaves[i].node, &names[i]);
	if (error) {
		free(*lines);
		*lines = NULL;
	}
	free(names);
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
