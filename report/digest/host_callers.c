#include "host_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/source_name.h"

#define CHAIN_MOST 64u /* helpers that call one another; more are a cycle */
#define SEVERAL    UINT32_MAX
#define MINOR_PART 20u

/* What is known of the stacks' frames while they are counted. */
struct nodes {
	uint64_t *weight; /* below; 0: no leaf of the plane */
	bool *is_wanted;  /* some leaf below is wanted */
	/* the nearest frame of the program's own, from this one outward; below lines only lines count */
	uint32_t *nearest;
};

static void join(uint32_t *only, uint32_t name)
{
	*only = *only == 0 || *only == name ? name : SEVERAL;
}

static void weigh_nodes(const struct report_tree *tree, uint32_t plane, host_lines_wanted *wanted,
			const void *context, struct nodes *nodes)
{
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		if (report_plane_of(leaf->kind) != plane)
			continue;
		nodes->weight[leaf->node] += leaf->ns ? leaf->ns : leaf->count;
		nodes->is_wanted[leaf->node] |= !wanted || wanted(context, leaf);
	}
	for (uint32_t i = tree->nr_nodes; i-- > 1;) {
		nodes->weight[tree->nodes[i].parent] += nodes->weight[i];
		nodes->is_wanted[tree->nodes[i].parent] |= nodes->is_wanted[i];
	}
}

static void find_nearest(const struct host_callers *callers, const struct report_tree *tree,
			 const bool *is_own, struct nodes *nodes)
{
	for (uint32_t i = 1; i < tree->nr_nodes; i++) {
		const uint32_t name = tree->nodes[i].name;
		const uint32_t outer = nodes->nearest[tree->nodes[i].parent];
		const bool is_below_line = callers->lines[tree->nodes[outer].name].has_line;

		nodes->nearest[i] =
			is_own[name] && (callers->lines[name].has_line || !is_below_line) ? i
											  : outer;
	}
}

/* Takes a line that calls itself for one. */
static void find_calls(struct host_callers *callers, const struct report_tree *tree, uint32_t plane,
		       const struct nodes *nodes)
{
	for (uint32_t i = 1; i < tree->nr_nodes; i++) {
		const uint32_t name = tree->nodes[i].name;
		const uint32_t outer = nodes->nearest[tree->nodes[i].parent];

		if (!nodes->weight[i] || nodes->nearest[i] != i)
			continue;
		callers->lines[name].is_used = true;
		if (tree->nodes[outer].name == name)
			continue;
		callers->lines[name].weight += nodes->weight[i];
		if (outer == REPORT_NODE_ROOT) {
			callers->lines[name].outer = SEVERAL;
			if (nodes->is_wanted[i])
				callers->lines[name].asker = SEVERAL;
			continue;
		}
		if (nodes->is_wanted[i])
			join(&callers->lines[name].asker, tree->nodes[outer].name);
		join(&callers->lines[name].outer, tree->nodes[outer].name);
		join(&callers->lines[tree->nodes[outer].name].inner, name);
	}
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const uint32_t node = nodes->nearest[tree->leaves[i].node];

		if (report_plane_of(tree->leaves[i].kind) == plane)
			callers->lines[tree->nodes[node].name].inner = SEVERAL;
	}
}

/* ---- lines of one function */

struct named {
	const char *text;
	struct host_caller *line;
};

static size_t function_size(const struct named *named)
{
	return named->line->has_line ? (size_t)(strrchr(named->text, ':') - named->text)
				     : strlen(named->text);
}

static bool is_same_function(const struct named *a, const struct named *b)
{
	const size_t size = function_size(a);

	return size == function_size(b) && memcmp(a->text, b->text, size) == 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

static void compare_lines(const struct named *names, uint32_t count)
{
	uint64_t whole = 0;

	for (uint32_t i = 0; i < count; i++)
		whole += names[i].line->weight;
	for (uint32_t i = 0; i < count; i++) {
		names[i].line->has_sibling = count > 1;
		names[i].line->is_minor = whole - names[i].line->weight > whole / MINOR_PART;
	}
}

/* Equal beginnings stand together in the order of the texts. */
static int find_siblings(struct host_callers *callers, const struct report_tree *tree)
{
	struct named *names = calloc(callers->nr + 1ul, sizeof(*names));
	uint32_t count = 0;

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < callers->nr; i++)
		if (callers->lines[i].is_used)
			names[count++] = (struct named){tree->strings[i], &callers->lines[i]};
	qsort(names, count, sizeof(*names), by_text);
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && is_same_function(&names[i], &names[end]); end++)
			;
		compare_lines(&names[i], end - i);
	}
	free(names);
	return 0;
}

/* ---- the whole */

int host_callers_init(struct host_callers *callers, const struct report_tree *tree, uint32_t plane,
		      const bool *is_own, host_lines_wanted *wanted, const void *context)
{
	struct nodes nodes = {
		.weight = calloc(tree->nr_nodes + 1ul, sizeof(*nodes.weight)),
		.is_wanted = calloc(tree->nr_nodes + 1ul, sizeof(*nodes.is_wanted)),
		.nearest = calloc(tree->nr_nodes + 1ul, sizeof(*nodes.nearest)),
	};
	int error = -ENOMEM;

	callers->nr = tree->nr_strings;
	callers->lines = calloc(tree->nr_strings + 1ul, sizeof(*callers->lines));
	if (nodes.weight && nodes.is_wanted && nodes.nearest && callers->lines) {
		for (uint32_t i = 0; i < tree->nr_strings; i++)
			callers->lines[i].has_line = source_name_has_line(tree->strings[i]);
		weigh_nodes(tree, plane, wanted, context, &nodes);
		find_nearest(callers, tree, is_own, &nodes);
		find_calls(callers, tree, plane, &nodes);
		error = find_siblings(callers, tree);
	}
	free(nodes.weight);
	free(nodes.is_wanted);
	free(nodes.nearest);
	if (error)
		host_callers_fini(callers);
	return error;
}

void host_callers_fini(struct host_callers *callers)
{
	free(callers->lines);
	memset(callers, 0, sizeof(*callers));
}

uint32_t host_callers_of(const struct host_callers *callers, uint32_t line)
{
	if (callers->lines[line].is_minor)
		return 0;
	for (uint32_t i = 0; i < CHAIN_MOST; i++) {
		const bool has_several = callers->lines[line].outer == SEVERAL;
		const uint32_t name = callers->lines[line].asker;

		if (name == 0 || name == SEVERAL)
			return 0;
		if (has_several)
			return name;
		const struct host_caller *caller = &callers->lines[name];
		if (caller->has_sibling || (caller->inner == SEVERAL && !caller->has_line))
			return name;
		line = name;
	}
	return 0;
}
