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

/* Returns how many calls out of their own two rows of a name differ. */
static uint32_t distance(const struct report_tree *tree, uint32_t a, uint32_t b)
{
	uint32_t calls = 1;

	a = outer(tree, a, 1);
	b = outer(tree, b, 1);
	for (; a != REPORT_NODE_ROOT && b != REPORT_NODE_ROOT; calls++) {
		if (tree->nodes[a].name != tree->nodes[b].name)
			break;
		a = tree->nodes[a].parent;
		b = tree->nodes[b].parent;
	}
	return calls;
}

static bool has_same_name(const struct report_metric_row *a, const struct report_metric_row *b)
{
	return a->is_range == b->is_range && strcmp(a->kernel, b->kernel) == 0;
}

static bool has_same_line(const struct host_line_name *a, const struct host_line_name *b)
{
	return a->line == b->line && a->caller == b->caller;
}

/* Returns the string of the frame that tells a row from others of its name and line; 0: there is none. */
static uint32_t telling_frame(const struct report_tree *tree, const struct host_line_name *names,
			      uint32_t row)
{
	const struct report_metric_row *rows = tree->metrics->rows;
	uint32_t calls = 0;

	for (uint32_t i = 0; i < tree->metrics->nr_rows; i++) {
		if (i == row || !has_same_name(&rows[i], &rows[row]) ||
		    !has_same_line(&names[i], &names[row]))
			continue;
		const uint32_t apart = distance(tree, rows[row].node, rows[i].node);

		calls = apart > calls ? apart : calls;
	}
	const uint32_t node = outer(tree, rows[row].node, calls);
	return calls && node != REPORT_NODE_ROOT ? tree->nodes[node].name : 0;
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

static char *text_of(const struct report_tree *tree, const struct host_line_name *names,
		     uint32_t row)
{
	const struct report_metric_row *of = &tree->metrics->rows[row];
	const uint32_t line = names[row].line ? names[row].line : tree->nodes[of->node].name;
	const uint32_t caller = names[row].caller, telling = telling_frame(tree, names, row);
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
	if (!error && nr)
		error = name_rows(tree, row_of, names);
	for (uint32_t i = 0; i < nr && !error; i++) {
		callers->texts[i] = text_of(tree, names, i);
		error = callers->texts[i] ? 0 : -ENOMEM;
	}
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
