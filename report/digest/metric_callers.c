#include "metric_callers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_lines.h"

#include "report/metrics/report_metrics.h"
#include "report/model/report_plane.h"
#include "report/model/report_tree.h"

/* Returns the frame so many calls out of a node; REPORT_NODE_ROOT: there are fewer. */
static uint32_t outer(const struct report_tree *tree, uint32_t node, uint32_t calls)
{
	while (calls-- && node != REPORT_NODE_ROOT)
		node = tree->nodes[node].parent;
	return node;
}

/* Compares two stacks from the call outward. *calls: so far out they differ. 0: both are one. */
static int by_callers(const struct report_tree *tree, uint32_t a, uint32_t b, uint32_t *calls)
{
	for (*calls = 1; a != b; ++*calls) {
		a = outer(tree, a, 1);
		b = outer(tree, b, 1);
		if (a == REPORT_NODE_ROOT || b == REPORT_NODE_ROOT)
			return (b == REPORT_NODE_ROOT) - (a == REPORT_NODE_ROOT);
		if (tree->nodes[a].name != tree->nodes[b].name)
			return tree->nodes[a].name < tree->nodes[b].name ? -1 : 1;
	}
	return 0;
}

struct naming {
	const struct report_tree *tree;
	const struct host_line_name *names; /* by row */
};

/* Rows of one name and one line are neighbours. */
static int by_name(const struct naming *naming, uint32_t a, uint32_t b)
{
	const struct report_metric_row *x = &naming->tree->metrics->rows[a];
	const struct report_metric_row *y = &naming->tree->metrics->rows[b];
	const struct host_line_name *of_x = &naming->names[a], *of_y = &naming->names[b];
	const int order = strcmp(x->kernel, y->kernel);

	if (order || x->is_range != y->is_range)
		return order ? order : x->is_range - y->is_range;
	if (of_x->line != of_y->line)
		return of_x->line < of_y->line ? -1 : 1;
	return (of_x->caller > of_y->caller) - (of_x->caller < of_y->caller);
}

static int by_row(const void *a, const void *b, void *context)
{
	const struct naming *naming = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct report_metric_row *rows = naming->tree->metrics->rows;
	const int order = by_name(naming, x, y);
	uint32_t calls;

	return order ? order : by_callers(naming->tree, rows[x].node, rows[y].node, &calls);
}

/* Takes from the rows before, or from those behind, how far out the nearest other stack of a name and line differs. */
static void take_neighbours(const struct naming *naming, const uint32_t *order, bool behind,
			    uint32_t *telling)
{
	const struct report_metric_row *rows = naming->tree->metrics->rows;
	const uint32_t nr = naming->tree->metrics->nr_rows;
	uint32_t nearest = 0;

	for (uint32_t i = 1; i < nr; i++) {
		const uint32_t other = order[behind ? nr - i : i - 1];
		const uint32_t row = order[behind ? nr - 1 - i : i];
		uint32_t calls;

		if (by_name(naming, other, row) != 0)
			nearest = 0;
		else if (by_callers(naming->tree, rows[other].node, rows[row].node, &calls) != 0)
			nearest = calls;
		if (nearest > telling[row])
			telling[row] = nearest;
	}
}

/* Returns for each row how many calls out of its own the frame is that tells it from others of its name and line; 0: no
 * other stack has both. NULL: no memory. The caller owns it. */
static uint32_t *find_telling(const struct naming *naming)
{
	const uint32_t nr = naming->tree->metrics->nr_rows;
	uint32_t *order = calloc(nr + 1ul, sizeof(*order));
	uint32_t *telling = order ? calloc(nr + 1ul, sizeof(*telling)) : NULL;

	if (telling) {
		for (uint32_t i = 0; i < nr; i++)
			order[i] = i;
		qsort_r(order, nr, sizeof(*order), by_row, (void *)naming);
		take_neighbours(naming, order, false, telling);
		take_neighbours(naming, order, true, telling);
	}
	free(order);
	return telling;
}

/* Names the lines of rows by those of leaves below their nodes, so that both have the same callers. */
static void take_leaves(const struct report_tree *tree, const struct host_line_name *leaves,
			const uint32_t *row_of, struct host_line_name *names)
{
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		for (uint32_t node = tree->leaves[i].node;
		     leaves[i].line && node != REPORT_NODE_ROOT; node = tree->nodes[node].parent) {
			struct host_line_name *name = &names[row_of[node]];

			if (name->line == leaves[i].line && !name->caller)
				name->caller = leaves[i].caller;
		}
}

/* names: by row, zeroed, with room for one more. row_of: by node, zeroed. */
static int name_rows(const struct report_tree *tree, uint32_t *row_of, struct host_line_name *names)
{
	const struct report_metrics *metrics = tree->metrics;
	struct host_line_name *leaves = calloc(tree->nr_leaves + 1ul, sizeof(*leaves));
	int error = leaves ? host_lines_names(tree, REPORT_PLANE_GPU, leaves) : -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		row_of[i] = metrics->nr_rows;
	for (uint32_t i = metrics->nr_rows; i--;) {
		names[i].line = host_lines_of(tree, metrics->rows[i].node);
		row_of[metrics->rows[i].node] = i;
	}
	if (!error)
		take_leaves(tree, leaves, row_of, names);
	/* Several rows may have one node. */
	for (uint32_t i = 0; i < metrics->nr_rows; i++)
		names[i].caller = names[row_of[metrics->rows[i].node]].caller;
	free(leaves);
	return error;
}

/* calls: as of find_telling(). */
static char *text_of(const struct report_tree *tree, uint32_t node,
		     const struct host_line_name *name, uint32_t calls)
{
	const uint32_t line = name->line ? name->line : tree->nodes[node].name;
	const uint32_t caller = name->caller, far = outer(tree, node, calls);
	const uint32_t telling = calls && far != REPORT_NODE_ROOT ? tree->nodes[far].name : 0;
	char *text;

	if (asprintf(&text, "%s%s%s%s%s", telling && telling != line ? tree->strings[telling] : "",
		     telling && telling != line ? " > … > " : "",
		     caller ? tree->strings[caller] : "", caller ? " > " : "",
		     tree->strings[line]) < 0)
		return NULL;
	return text;
}

int metric_callers_init(struct metric_callers *callers, const struct report_tree *tree)
{
	const uint32_t nr = tree->metrics ? tree->metrics->nr_rows : 0;
	struct host_line_name *names = calloc(nr + 1ul, sizeof(*names));
	uint32_t *row_of = calloc(tree->nr_nodes + 1ul, sizeof(*row_of));

	*callers = (struct metric_callers){calloc(nr + 1ul, sizeof(char *)), nr};
	int error = names && row_of && callers->texts ? 0 : -ENOMEM;
	uint32_t *telling = NULL;
	if (!error && nr)
		error = name_rows(tree, row_of, names);
	if (!error && nr) {
		telling = find_telling(&(struct naming){tree, names});
		error = telling ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < nr && !error; i++) {
		callers->texts[i] =
			text_of(tree, tree->metrics->rows[i].node, &names[i], telling[i]);
		error = callers->texts[i] ? 0 : -ENOMEM;
	}
	free(telling);
	free(names);
	free(row_of);
	if (error)
		metric_callers_fini(callers);
	return error;
}

void metric_callers_fini(struct metric_callers *callers)
{
	for (uint32_t i = 0; i < callers->nr && callers->texts; i++)
		free(callers->texts[i]);
	free(callers->texts);
	*callers = (struct metric_callers){0};
}
