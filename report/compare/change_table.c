#include "change_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_line.h"
#include "weighted_median.h"

#include "base/array.h"
#include "base/memory_text.h"
#include "report/model/kind_name.h"
#include "report/names/kernel_class.h"

#define CHAIN_SHOWN                                                                                \
	4u /* frames of a chain whose names are shown; of longer ones the first and the last two */
#define NO_LINE "[no line]"

struct builder {
	const struct report_diff *diff;
	const struct source_frameworks *frameworks;
	struct change_table *table;
	uint32_t *row_of; /* by string: its row + 1 */
	uint32_t *seen;   /* by string: the last leaf + 1 that had it in its path */
	bool *has_caller; /* by string: its row's caller is decided */
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

/* caller 0: there is none. Once there were two, or none, it stays so. */
static void set_caller(struct builder *builder, uint32_t name, uint32_t caller)
{
	const char *const *strings = builder->diff->tree.strings;
	struct change_row *row = &builder->table->rows[builder->row_of[name] - 1];

	if (caller == name)
		return;
	if (!builder->has_caller[name])
		row->caller = caller ? strings[caller] : NULL;
	else if (row->caller && (!caller || row->caller != strings[caller]))
		row->caller = NULL;
	builder->has_caller[name] = true;
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
	for (uint32_t i = 0; i < depth; i++)
		set_caller(builder, tree->nodes[builder->chain[i]].name,
			   i + 1 < depth ? tree->nodes[builder->chain[i + 1]].name : 0);
}

/* Returns "gemm" of "[GPU_Kernel]gemm"; other leaves have their whole names. */
static const char *bare_name(const char *name)
{
	static const char kernel[] = "[GPU_Kernel]";

	return strncmp(name, kernel, sizeof(kernel) - 1) == 0 && name[sizeof(kernel) - 1]
		       ? name + sizeof(kernel) - 1
		       : name;
}

/* A stall and its kernel. */
struct stall {
	const char *kernel, *reason;
	uint32_t leaf;
};

static int by_stall(const void *a, const void *b)
{
	const struct stall *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : strcmp(x->reason, y->reason);
}

/* Returns the name of the kernel to which a leaf belongs, whose lines may lie between; "": there is none. */
static const char *kernel_of(const struct report_tree *tree, uint32_t leaf)
{
	for (uint32_t i = tree->leaves[leaf].node; i != REPORT_NODE_ROOT;
	     i = tree->nodes[i].parent) {
		const char *name = tree->strings[tree->nodes[i].name];

		if (bare_name(name) != name)
			return bare_name(name);
	}
	return "";
}

/* Adds the row of some leaves of one kernel and one reason. */
static int add_stall(struct builder *builder, const struct stall *stalls, uint32_t count)
{
	uint32_t row = 0;
	char *name;

	if (asprintf(&name, "%s%s%s", stalls->kernel, *stalls->kernel ? " > " : "",
		     stalls->reason) < 0)
		return -ENOMEM;
	builder->table->made[builder->table->nr_made++] = name;
	for (uint32_t i = 0; i < count; i++)
		add_to(builder, &row, name, stalls[i].leaf);
	return 0;
}

/* A kernel has as much of all reasons as it took time, so only its single ones tell a change. */
static int add_stalls(struct builder *builder)
{
	const struct report_tree *tree = &builder->diff->tree;
	struct stall *stalls = calloc(tree->nr_leaves + 1ul, sizeof(*stalls));
	uint32_t nr = 0;
	int error = stalls ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++)
		if (tree->leaves[i].kind == REPORT_KIND_STALL)
			stalls[nr++] = (struct stall){kernel_of(tree, i),
						      tree->strings[tree->leaves[i].name], i};
	if (!error)
		qsort(stalls, nr, sizeof(*stalls), by_stall);
	for (uint32_t i = 0, end; i < nr && !error; i = end) {
		for (end = i + 1; end < nr && by_stall(&stalls[i], &stalls[end]) == 0; end++)
			;
		error = add_stall(builder, &stalls[i], end - i);
	}
	free(stalls);
	return error;
}

/* A leaf and its line. */
struct launch {
	struct source_line line;
	uint32_t leaf;
};

static int by_line(const void *a, const void *b)
{
	return source_line_compare(&((const struct launch *)a)->line,
				   &((const struct launch *)b)->line);
}

/* Adds the row of some launches by one line. */
static int add_line(struct builder *builder, const struct launch *launches, uint32_t count)
{
	const char *name = NO_LINE;
	uint32_t row = 0;

	if (launches->line.line != SOURCE_LINE_NONE) {
		char *text = source_line_text(&builder->diff->tree, &launches->line);

		if (!text)
			return -ENOMEM;
		builder->table->made[builder->table->nr_made++] = text;
		name = text;
	}
	for (uint32_t i = 0; i < count; i++)
		add_to(builder, &row, name, launches[i].leaf);
	return 0;
}

/* Which line is a helper's depends on the work of both sides. */
static int find_lines(struct builder *builder, struct source_line **lines)
{
	struct report_tree tree = builder->diff->tree;
	struct report_leaf *leaves = calloc(tree.nr_leaves + 1ul, sizeof(*leaves));
	int error = -ENOMEM;

	for (uint32_t i = 0; leaves && i < tree.nr_leaves; i++) {
		leaves[i] = tree.leaves[i];
		leaves[i].count += builder->diff->before[i].count;
		leaves[i].ns += builder->diff->before[i].ns;
	}
	tree.leaves = leaves;
	if (leaves)
		error = source_line_find_all(&tree, builder->frameworks, lines);
	free(leaves);
	return error;
}

static int add_lines(struct builder *builder)
{
	const uint32_t nr = builder->diff->tree.nr_leaves;
	struct launch *launches = calloc(nr + 1ul, sizeof(*launches));
	struct source_line *lines = NULL;
	int error = launches ? find_lines(builder, &lines) : -ENOMEM;

	for (uint32_t i = 0; i < nr && !error; i++)
		launches[i] = (struct launch){lines[i], i};
	if (!error)
		qsort(launches, nr, sizeof(*launches), by_line);
	for (uint32_t i = 0, end; i < nr && !error; i = end) {
		for (end = i + 1; end < nr && by_line(&launches[i], &launches[end]) == 0; end++)
			;
		error = add_line(builder, &launches[i], end - i);
	}
	free(lines);
	free(launches);
	return error;
}

static void sum_up(struct builder *builder, enum change_by by)
{
	const struct report_tree *tree = &builder->diff->tree;
	uint32_t classes[KERNEL_CLASSES + REPORT_KINDS] = {0};

	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const char *name = tree->strings[leaf->name];
		const struct report_diff_amount after = after_of(leaf);

		add(&builder->table->before, &builder->diff->before[i]);
		add(&builder->table->after, &after);
		if (by == CHANGE_BY_FRAME) {
			add_frames(builder, i);
		} else if (by == CHANGE_BY_KERNEL && leaf->kind != REPORT_KIND_STALL) {
			add_string(builder, leaf->name, bare_name(name), i);
			builder->table->rows[builder->row_of[leaf->name] - 1].is_kernel =
				leaf->kind == REPORT_KIND_KERNEL;
		} else if (by == CHANGE_BY_CLASS && leaf->kind == REPORT_KIND_KERNEL) {
			enum kernel_class of = kernel_class_of(bare_name(name));

			add_to(builder, &classes[of], kernel_class_word(of), i);
		} else if (by == CHANGE_BY_CLASS && leaf->kind == REPORT_KIND_STALL) {
			add_string(builder, leaf->name, name, i);
		} else if (by == CHANGE_BY_CLASS) {
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
		const size_t room =
			nr_strings + diff->tree.nr_leaves + KERNEL_CLASSES + REPORT_KINDS;

		*builder = (struct builder){.diff = diff, .frameworks = frameworks, .table = made};
		made->rows = calloc(room, sizeof(*made->rows));
		made->made = calloc(2 * room, sizeof(*made->made));
		builder->row_of = calloc(nr_strings, sizeof(*builder->row_of));
		builder->seen = calloc(nr_strings, sizeof(*builder->seen));
		builder->has_caller = calloc(nr_strings, sizeof(*builder->has_caller));
		if (made->rows && made->made && builder->row_of && builder->seen &&
		    builder->has_caller)
			error = by == CHANGE_BY_LINE     ? add_lines(builder)
				: by == CHANGE_BY_KERNEL ? add_stalls(builder)
							 : 0;
	}
	if (!error) {
		sum_up(builder, by);
		qsort_r(made->rows, made->nr_rows, sizeof(*made->rows), by_change, &factor);
	}
	if (builder) {
		free(builder->row_of);
		free(builder->seen);
		free(builder->has_caller);
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
	array_free_texts(table->made, table->nr_made);
	free(table);
}

/* ---- chains */

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct change_row *const *)a)->name,
		      (*(const struct change_row *const *)b)->name);
}

static int by_key(const void *key, const void *place)
{
	return strcmp(key, (*(const struct change_row *const *)place)->name);
}

static bool amounts_equal(const struct report_diff_amount *a, const struct report_diff_amount *b)
{
	return a->count == b->count && a->ns == b->ns && a->bytes == b->bytes;
}

/* Finds the row of the caller that has no work but this one's. NULL: there is none. */
static struct change_row *caller_of(const struct change_row *row, struct change_row **names,
				    uint32_t count)
{
	struct change_row **found =
		row->caller ? bsearch(row->caller, names, count, sizeof(*names), by_key) : NULL;

	return found && *found != row && amounts_equal(&(*found)->before, &row->before) &&
			       amounts_equal(&(*found)->after, &row->after)
		       ? *found
		       : NULL;
}

/* Names the chain that ends with chain[0], its innermost row. NULL: out of memory. */
static char *name_chain(struct change_row *const *chain, uint32_t length)
{
	struct memory_text memory;
	char *text;
	size_t size;

	if (memory_text_open(&memory))
		return NULL;
	for (uint32_t i = length; i > 0; i--) {
		if (length > CHAIN_SHOWN && i == length - 1) {
			fprintf(memory.out, "%" PRIu32 " more > ", length - CHAIN_SHOWN + 1);
			i = CHAIN_SHOWN - 2;
		}
		fprintf(memory.out, "%s%s", chain[i - 1]->name, i > 1 ? " > " : "");
	}
	return memory_text_take(&memory, &text, &size) ? NULL : text;
}

/* Gives the chain's innermost row its name, and leaves the others without one. */
static int fold_chain(struct change_table *table, struct change_row **chain, uint32_t length)
{
	char *name = name_chain(chain, length);

	if (!name)
		return -ENOMEM;
	table->made[table->nr_made++] = name;
	chain[0]->name = name;
	for (uint32_t i = 1; i < length; i++)
		chain[i]->name = NULL;
	return 0;
}

int change_table_fold(struct change_table *table)
{
	const uint32_t count = table->nr_rows;
	struct change_row **names = calloc(count + 1ul, sizeof(*names));
	struct change_row **chain = calloc(count + 1ul, sizeof(*chain));
	bool *is_inner = calloc(count + 1ul, sizeof(*is_inner));
	struct change_row **callers = calloc(count + 1ul, sizeof(*callers));
	int error = names && chain && is_inner && callers ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++)
		names[i] = &table->rows[i];
	if (!error)
		qsort(names, count, sizeof(*names), by_name);
	for (uint32_t i = 0; i < count && !error; i++)
		callers[i] = caller_of(&table->rows[i], names, count);
	for (uint32_t i = 0; i < count && !error; i++)
		if (callers[i])
			is_inner[callers[i] - table->rows] = true;
	for (uint32_t i = 0; i < count && !error; i++) {
		uint32_t length = 0;

		/* Two rows that call one another have no innermost one, and stay. */
		if (is_inner[i] || !callers[i])
			continue;
		for (struct change_row *row = &table->rows[i]; row && row->name && length < count;
		     row = callers[row - table->rows])
			chain[length++] = row;
		error = length > 1 ? fold_chain(table, chain, length) : 0;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count && !error; i++)
		if (table->rows[i].name)
			table->rows[kept++] = table->rows[i];
	table->nr_rows = error ? count : kept;
	free(names);
	free(chain);
	free(is_inner);
	free(callers);
	return error;
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

		if (row->is_kernel && row->before.count && row->after.count)
			values[count++] = (struct weighted_value){
				(double)row->after.count / (double)row->before.count,
				(double)row->before.ns + (double)row->after.ns};
	}
	*ratio = weighted_median(values, count);
	free(values);
	return 0;
}
