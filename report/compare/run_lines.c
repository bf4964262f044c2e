#include "run_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run_item.h"
#include "source_line.h"

#include "report/model/report_tree.h"

/* The time of an item that a line launches. */
struct line {
	uint32_t item;
	struct source_line name;
	uint64_t ns;
};

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return source_line_compare(&x->name, &y->name);
}

static int by_name(const void *a, const void *b)
{
	return run_item_order(*(const struct run_item *const *)a,
			      *(const struct run_item *const *)b);
}

/* Returns the item of "[GPU0_Kernel]gemm"; 0: there is none. Only kernels have lines. */
static uint32_t item_of(const struct run_work *work, const char *leaf)
{
	char *end = strchr(leaf, ']');
	const struct run_item like = {.kind = RUN_KIND_KERNEL, .name = end ? end + 1 : NULL};
	const struct run_item *key = &like, *const *found = NULL;

	if (end)
		found = bsearch(&key, work->by_name, work->nr_items, sizeof(*work->by_name),
				by_name);
	return found ? (uint32_t)(*found - work->items) : 0;
}

static int set_line(struct run_work *work, const struct report_tree *tree, const struct line *line)
{
	struct run_item *item = &work->items[line->item];

	if (line->ns <= item->line_ns)
		return 0;
	free(item->line);
	item->line = source_line_text(tree, &line->name);
	item->line_ns = line->ns;
	return item->line ? 0 : -ENOMEM;
}

static int set_lines(struct run_work *work, const struct report_tree *tree, struct line *lines,
		     uint32_t count)
{
	int error = 0;

	if (count)
		qsort(lines, count, sizeof(*lines), by_line);
	for (uint32_t i = 0, end; i < count && !error; i = end) {
		for (end = i + 1; end < count && by_line(&lines[i], &lines[end]) == 0; end++)
			lines[i].ns += lines[end].ns;
		error = set_line(work, tree, &lines[i]);
	}
	return error;
}

int run_lines_find(const struct report_tree *tree, struct run_work *work)
{
	bool *is_framework = calloc(tree->nr_strings + 1ul, sizeof(*is_framework));
	struct source_line *names = NULL;
	uint32_t count = 0;
	struct line *lines = calloc(tree->nr_leaves + 1ul, sizeof(*lines));
	const struct source_frameworks frameworks = {is_framework, tree->nr_strings};
	int error = is_framework && lines ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_strings && !error && tree->frameworks; i++)
		is_framework[i] = tree->frameworks[i] != 0;
	if (!error)
		error = source_line_find_all(tree, &frameworks, &names);
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const struct line line = {.item = leaf->kind == REPORT_KIND_KERNEL
							  ? item_of(work, tree->strings[leaf->name])
							  : 0,
					  .name = names[i],
					  .ns = leaf->ns};

		if (line.item && line.name.line != SOURCE_LINE_NONE)
			lines[count++] = line;
	}
	if (!error)
		error = set_lines(work, tree, lines, count);
	free(is_framework);
	free(names);
	free(lines);
	return error;
}
