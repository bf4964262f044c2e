#include "change_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "source_line.h"
#include "weighted_median.h"

#include "report/model/kind_name.h"
#include "report/names/kernel_class.h"

#define NO_LINE "[no line]"

struct builder {
	const struct report_diff *diff;
	const struct source_frameworks *frameworks;
	struct change_table *table;
	uint32_t *row_of; /* by string: its row + 1 */
	uint32_t *seen;   /* by string: the last leaf + 1 that had it in its path */
	uint32_t chain[REPORT_DEPTH_MAX];
};

static void add(struct report_diff_amount *sum, const struct report_diff_amount *amount)
{
	sum->count += amount->count;
	sum->ns += amount->ns;
	sum->bytes += amount->bytes;
}

static struct report_diff_amount after_of(const struct report_leaf *leaf)
{
	return (struct report_diff_amount){leaf->count, leaf->ns, leaf->bytes};
}

/* slot: 0, or the row's place + 1. */
static void add_to(struct builder *builder, uint32_t *slot, const char *name, uint32_t leaf)
{
	const struct report_diff_amount after = after_of(&builder->diff->tree.leaves[leaf]);

	if (!*slot) {
		builder->table->rows[builder->table->nr_rows].name = name;
		*slot = ++builder->table->nr_rows;
	}
	add(&builder->table->rows[*slot - 1].before, &builder->diff->before[leaf]);
	add(&builder->table->rows[*slot - 1].after, &after);
}

static void add_string(struct builder *builder, uint32_t string, const char *name, uint32_t leaf)
{
	add_to(builder, &builder->row_of[string], name, leaf);
}

static void add_frames(struct builder *builder, uint32_t leaf)
{
	const struct report_tree *tree = &builder->diff->tree;
	uint32_t depth = report_tree_path(tree->nodes, tree->leaves[leaf].node, builder->chain);

	for (uint32_t i = 0; i < depth; i++) {
		uint32_t name = tree->nodes[builder->chain[i]].name;

		if (builder->seen[name] == leaf + 1)
			continue;
		builder->seen[name] = leaf + 1;
		add_string(builder, name, tree->strings[name], leaf);
	}
}

static void add_line(struct builder *builder, uint32_t leaf, uint32_t *no_line)
{
	const struct report_tree *tree = &builder->diff->tree;
	uint32_t line = source_line_find(tree, builder->frameworks, tree->leaves[leaf].node,
					 builder->chain);

	if (line == SOURCE_LINE_NONE)
		add_to(builder, no_line, NO_LINE, leaf);
	else
		add_string(builder, line, tree->strings[line], leaf);
}

/* Returns "gemm" of "[GPU_Kernel]gemm"; other leaves have their whole names. */
static const char *bare_name(const char *name)
{
	static const char kernel[] = "[GPU_Kernel]";

	return strncmp(name, kernel, sizeof(kernel) - 1) == 0 && name[sizeof(kernel) - 1]
		       ? name + sizeof(kernel) - 1
		       : name;
}

static void sum_up(struct builder *builder, enum change_by by)
{
	const struct report_tree *tree = &builder->diff->tree;
	uint32_t classes[KERNEL_CLASSES + REPORT_KINDS] = {0}, no_line = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const char *name = tree->strings[leaf->name];
		const struct report_diff_amount after = after_of(leaf);

		add(&builder->table->before, &builder->diff->before[i]);
		add(&builder->table->after, &after);
		if (by == CHANGE_BY_FRAME) {
			add_frames(builder, i);
		} else if (by == CHANGE_BY_LINE) {
			add_line(builder, i, &no_line);
		} else if (by == CHANGE_BY_KERNEL) {
			add_string(builder, leaf->name, bare_name(name), i);
		} else if (leaf->kind == REPORT_KIND_KERNEL) {
			enum kernel_class of = kernel_class_of(bare_name(name));

			add_to(builder, &classes[of], kernel_class_word(of), i);
		} else {
			add_to(builder, &classes[KERNEL_CLASSES + leaf->kind],
			       kind_name_column(leaf->kind), i);
		}
	}
}

/* ---- order */

/* Of frames with equal changes the inner ones come first, as they have less work. */
static int by_change(const void *a, const void *b, void *context)
{
	const struct change_row *x = a, *y = b;
	const double factor = *(const double *)context;
	double of_x = fabs((double)x->after.ns - factor * (double)x->before.ns);
	double of_y = fabs((double)y->after.ns - factor * (double)y->before.ns);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	of_x = (double)x->after.ns + (double)x->before.ns;
	of_y = (double)y->after.ns + (double)y->before.ns;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

int change_table_create(const struct report_diff *diff, enum change_by by,
			const struct source_frameworks *frameworks, double factor,
			struct change_table **table)
{
	struct change_table *made = calloc(1, sizeof(*made));
	struct builder *builder = calloc(1, sizeof(*builder));
	int error = -ENOMEM;

	*table = NULL;
	if (made && builder) {
		const size_t nr_strings = diff->tree.nr_strings + 1ul;

		*builder = (struct builder){.diff = diff, .frameworks = frameworks, .table = made};
		made->rows =
			calloc(nr_strings + KERNEL_CLASSES + REPORT_KINDS, sizeof(*made->rows));
		builder->row_of = calloc(nr_strings, sizeof(*builder->row_of));
		builder->seen = calloc(nr_strings, sizeof(*builder->seen));
		if (made->rows && builder->row_of && builder->seen)
			error = 0;
	}
	if (!error) {
		sum_up(builder, by);
		qsort_r(made->rows, made->nr_rows, sizeof(*made->rows), by_change, &factor);
	}
	if (builder) {
		free(builder->row_of);
		free(builder->seen);
	}
	free(builder);
	if (error)
		change_table_destroy(made);
	else
		*table = made;
	return error;
}

void change_table_destroy(struct change_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table);
}

int change_table_launches(const struct change_table *by_kernel, double *ratio)
{
	struct weighted_value *values = calloc(by_kernel->nr_rows + 1ul, sizeof(*values));
	uint32_t count = 0;

	*ratio = 0;
	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < by_kernel->nr_rows; i++) {
		const struct change_row *row = &by_kernel->rows[i];

		if (row->before.count && row->after.count)
			values[count++] = (struct weighted_value){
				(double)row->after.count / (double)row->before.count,
				(double)row->before.ns + (double)row->after.ns};
	}
	*ratio = weighted_median(values, count);
	free(values);
	return 0;
}
