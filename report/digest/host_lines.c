#include "host_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/cuda_name.h"

static bool is_own(const struct report_tree *tree, uint32_t name)
{
	const char *text = tree->strings[name];

	if (!*text || *text == '[' || (tree->frameworks && tree->frameworks[name]))
		return false;
	return cuda_name_of(text, strlen(text)) == CUDA_NAME_NONE &&
	       strncmp(text, "nccl", 4) != 0 && strncmp(text, "pnccl", 5) != 0;
}

uint32_t host_lines_of(const struct report_tree *tree, uint32_t node)
{
	for (; node != REPORT_NODE_ROOT; node = tree->nodes[node].parent)
		if (is_own(tree, tree->nodes[node].name))
			return tree->nodes[node].name;
	return 0;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct host_line *x = a, *y = b;
	const struct report_tree *tree = context;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(tree->strings[x->name], tree->strings[y->name]);
}

int host_lines_init(struct host_lines *lines, const struct report_tree *tree, uint32_t plane,
		    int (*wanted)(const void *context, const struct report_leaf *leaf),
		    const void *context)
{
	struct host_line *all = calloc(tree->nr_strings + 1ul, sizeof(*all));

	memset(lines, 0, sizeof(*lines));
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		if (report_plane_of(leaf->kind) != plane || (wanted && !wanted(context, leaf)))
			continue;
		uint32_t name = host_lines_of(tree, leaf->node);
		lines->ns += leaf->ns;
		if (!name)
			continue;
		all[name].name = name;
		all[name].ns += leaf->ns;
		all[name].count += leaf->count;
	}
	for (uint32_t i = 0; i < tree->nr_strings; i++)
		if (all[i].count)
			all[lines->nr_lines++] = all[i];
	qsort_r(all, lines->nr_lines, sizeof(*all), by_time, (void *)(uintptr_t)tree);
	lines->lines = all;
	return 0;
}

void host_lines_fini(struct host_lines *lines)
{
	free(lines->lines);
	memset(lines, 0, sizeof(*lines));
}
