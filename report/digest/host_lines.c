#include "host_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
#include "report/names/cuda_name.h"
#include "report/names/source_name.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Functions of the kernel end in "_[k]". An address in a library, or in a GPU's code, says nothing to a reader. */
static bool is_of_system(const char *text)
{
	const size_t size = strlen(text);
	const char *library = strstr(text, ".so");

	return begins(text, "+0x") || (size > 4 && strcmp(text + size - 4, "_[k]") == 0) ||
	       begins(text, "__vdso_") || (library && strstr(library, "+0x"));
}

bool host_lines_is_own(const char *name)
{
	return *name && *name != '[' && cuda_name_of(name, strlen(name)) == CUDA_NAME_NONE &&
	       !begins(name, "nccl") && !begins(name, "pnccl") && !is_of_system(name);
}

bool host_lines_take(struct host_frame *frame, uint32_t node, const char *name)
{
	if (frame->has_line)
		return false;
	if (!host_lines_is_own(name))
		return true;
	frame->has_line = source_name_has_line(name);
	if (frame->has_line || !frame->is_found)
		frame->node = node;
	frame->is_found = true;
	return !frame->has_line;
}

static bool is_frameworks(const struct report_tree *tree, uint32_t name)
{
	return tree->frameworks && tree->frameworks[name];
}

/* Returns the program's own frame on the path of a node, from this one outward. REPORT_NODE_ROOT: there is none. */
static uint32_t own_node(const struct report_tree *tree, uint32_t node)
{
	struct host_frame frame = {.node = REPORT_NODE_ROOT};

	for (; node != REPORT_NODE_ROOT; node = tree->nodes[node].parent) {
		const uint32_t name = tree->nodes[node].name;

		if (!is_frameworks(tree, name) &&
		    !host_lines_take(&frame, node, tree->strings[name]))
			break;
	}
	return frame.node;
}

static uint32_t name_at(const struct report_tree *tree, uint32_t node)
{
	return node == REPORT_NODE_ROOT ? 0 : tree->nodes[node].name;
}

uint32_t host_lines_of(const struct report_tree *tree, uint32_t node)
{
	return name_at(tree, own_node(tree, node));
}

static int by_time(const void *a, const void *b)
{
	const struct host_line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->text, y->text);
}

int host_lines_init(struct host_lines *lines, const struct report_tree *tree, uint32_t plane,
		    host_lines_wanted *wanted, const void *context)
{
	struct host_line *all = calloc(tree->nr_strings + 1ul, sizeof(*all));

	memset(lines, 0, sizeof(*lines));
	if (!all)
		return -ENOMEM;
	lines->wanted = wanted;
	lines->context = context;
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		if (report_plane_of(leaf->kind) != plane || (wanted && !wanted(context, leaf)))
			continue;
		uint32_t name = host_lines_of(tree, leaf->node);
		lines->ns += leaf->ns;
		if (!name)
			continue;
		all[name].name = name;
		all[name].text = tree->strings[name];
		all[name].ns += leaf->ns;
		all[name].count += leaf->count;
	}
	for (uint32_t i = 0; i < tree->nr_strings; i++)
		if (all[i].count)
			all[lines->nr_lines++] = all[i];
	qsort(all, lines->nr_lines, sizeof(*all), by_time);
	lines->lines = all;
	return 0;
}

/* ---- helpers */

/* Gives a line of a helper the text of its caller, too. Lines that are divided have theirs. */
static int name_callers(struct host_lines *lines, const struct report_tree *tree,
			const struct host_callers *callers)
{
	const size_t room = lines->nr_texts + lines->nr_lines + 1ul;
	char **texts = realloc(lines->texts, room * sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	lines->texts = texts;
	for (uint32_t i = 0; i < lines->nr_lines; i++) {
		struct host_line *line = &lines->lines[i];
		const uint32_t caller = host_callers_of(callers, line->name);

		if (!caller || line->text != tree->strings[line->name])
			continue;
		char *text = text_print("%s > %s", tree->strings[caller], line->text);
		if (!text)
			return -ENOMEM;
		lines->texts[lines->nr_texts++] = text;
		line->text = text;
	}
	return 0;
}

static int callers_init(struct host_callers *callers, const struct report_tree *tree,
			uint32_t plane, host_lines_wanted *wanted, const void *context)
{
	bool *owns = calloc(tree->nr_strings + 1ul, sizeof(*owns));

	*callers = (struct host_callers){0};
	if (!owns)
		return -ENOMEM;
	for (uint32_t i = 1; i < tree->nr_strings; i++)
		owns[i] = !is_frameworks(tree, i) && host_lines_is_own(tree->strings[i]);
	int error = host_callers_init(callers, tree, plane, owns, wanted, context);
	free(owns);
	return error;
}

int host_lines_callers_init(struct host_callers *callers, const struct report_tree *tree,
			    uint32_t plane)
{
	return callers_init(callers, tree, plane, NULL, NULL);
}

int host_lines_add_callers(struct host_lines *lines, const struct report_tree *tree, uint32_t plane)
{
	struct host_callers callers;
	int error = callers_init(&callers, tree, plane, lines->wanted, lines->context);

	if (error)
		return error;
	error = name_callers(lines, tree, &callers);
	host_callers_fini(&callers);
	return error;
}

/* ---- dividing */

/* A leaf under the line that is divided. */
struct piece {
	const struct report_leaf *leaf;
	uint32_t node;   /* the caller that was looked at last; REPORT_NODE_ROOT: there is none */
	uint32_t caller; /* its name, where it divides; 0: none does */
};

static bool has_most(const struct host_lines *lines, uint64_t ns)
{
	return ns > lines->ns / 2;
}

/* Goes one caller outward from each piece. sums is zeroed, by string. Pieces that still have more than half together
 * come first. Returns their number. */
static uint32_t go_outward(const struct host_lines *lines, const struct report_tree *tree,
			   struct piece *pieces, uint32_t count, uint64_t *sums)
{
	uint64_t whole = 0;
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct piece *piece = &pieces[i];

		/* A line that calls itself is one. */
		do
			piece->node = own_node(tree, tree->nodes[piece->node].parent);
		while (name_at(tree, piece->node) == lines->lines[0].name);
		sums[name_at(tree, piece->node)] += piece->leaf->ns;
		whole += piece->leaf->ns;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t name = name_at(tree, pieces[i].node);

		if (name == 0)
			continue;
		if (sums[name] < whole)
			pieces[i].caller = name;
		if (!has_most(lines, sums[name]))
			continue;
		const struct piece swap = pieces[i];
		pieces[i] = pieces[left];
		pieces[left++] = swap;
	}
	return left;
}

/* Adds a row for each caller of the pieces, after the others, in place of the whole line. */
static int add_parts(struct host_lines *lines, const struct report_tree *tree,
		     const struct piece *pieces, uint32_t count, struct host_line *parts)
{
	const uint32_t line = lines->lines[0].name;

	memset(parts, 0, tree->nr_strings * sizeof(*parts));
	for (uint32_t i = 0; i < count; i++) {
		parts[pieces[i].caller].ns += pieces[i].leaf->ns;
		parts[pieces[i].caller].count += pieces[i].leaf->count;
	}
	lines->texts = calloc(tree->nr_strings, sizeof(*lines->texts));
	lines->lines[0] = lines->lines[--lines->nr_lines];
	for (uint32_t i = 0; lines->texts && i < tree->nr_strings; i++) {
		struct host_line *row = &lines->lines[lines->nr_lines];
		char *text;

		if (!parts[i].count)
			continue;
		text = i ? text_print("%s > %s", tree->strings[i], tree->strings[line]) : NULL;
		if (i && !text)
			return -ENOMEM;
		if (text)
			lines->texts[lines->nr_texts++] = text;
		*row = (struct host_line){line, text ? text : tree->strings[line], parts[i].count,
					  parts[i].ns};
		lines->nr_lines++;
	}
	return lines->texts ? 0 : -ENOMEM;
}

static int divide(struct host_lines *lines, const struct report_tree *tree, struct piece *pieces,
		  uint32_t count)
{
	const size_t nr = tree->nr_strings + 1ul;
	struct host_line *rows = realloc(lines->lines, 2 * nr * sizeof(*rows));
	struct host_line *parts = calloc(nr, sizeof(*parts));
	uint64_t *sums = calloc(nr, sizeof(*sums));
	int error = -ENOMEM;

	if (rows)
		lines->lines = rows;
	if (rows && parts && sums) {
		for (uint32_t left = count; left;) {
			memset(sums, 0, nr * sizeof(*sums));
			left = go_outward(lines, tree, pieces, left, sums);
		}
		error = add_parts(lines, tree, pieces, count, parts);
		qsort(rows, lines->nr_lines, sizeof(*rows), by_time);
	}
	free(parts);
	free(sums);
	return error;
}

/* names: NULL, or by leaf; those of the pieces become known. */
static int divide_first(struct host_lines *lines, const struct report_tree *tree, uint32_t plane,
			host_lines_wanted *wanted, const void *context,
			struct host_line_name *names)
{
	struct piece *pieces = malloc((tree->nr_leaves + 1ul) * sizeof(*pieces));
	uint32_t count = 0;

	for (uint32_t i = 0; pieces && i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const uint32_t node = own_node(tree, leaf->node);

		if (report_plane_of(leaf->kind) == plane && (!wanted || wanted(context, leaf)) &&
		    node != REPORT_NODE_ROOT && tree->nodes[node].name == lines->lines[0].name)
			pieces[count++] = (struct piece){leaf, node, 0};
	}
	int error = pieces ? divide(lines, tree, pieces, count) : -ENOMEM;
	for (uint32_t i = 0; i < count && names && !error; i++)
		names[pieces[i].leaf - tree->leaves].caller = pieces[i].caller;
	free(pieces);
	return error;
}

int host_lines_init_divided(struct host_lines *lines, const struct report_tree *tree,
			    uint32_t plane, host_lines_wanted *wanted, const void *context)
{
	int error = host_lines_init(lines, tree, plane, wanted, context);

	if (!error && lines->nr_lines && has_most(lines, lines->lines[0].ns))
		error = divide_first(lines, tree, plane, wanted, context, NULL);
	if (!error && lines->nr_lines)
		error = host_lines_add_callers(lines, tree, plane);
	if (error)
		host_lines_fini(lines);
	return error;
}

void host_lines_fini(struct host_lines *lines)
{
	for (uint32_t i = 0; i < lines->nr_texts; i++)
		free(lines->texts[i]);
	free(lines->texts);
	free(lines->lines);
	memset(lines, 0, sizeof(*lines));
}

int host_lines_names(const struct report_tree *tree, uint32_t plane, struct host_line_name *names)
{
	struct host_callers callers = {0};
	struct host_lines lines;
	int error = host_lines_init(&lines, tree, plane, NULL, NULL);

	if (!error && lines.nr_lines && has_most(&lines, lines.lines[0].ns))
		error = divide_first(&lines, tree, plane, NULL, NULL, names);
	if (!error)
		error = host_lines_callers_init(&callers, tree, plane);
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		if (report_plane_of(tree->leaves[i].kind) != plane)
			continue;
		names[i].line = host_lines_of(tree, tree->leaves[i].node);
		if (names[i].line && !names[i].caller)
			names[i].caller = host_callers_of(&callers, names[i].line);
	}
	host_callers_fini(&callers);
	host_lines_fini(&lines);
	return error;
}
