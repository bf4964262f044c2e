#include "top_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- sets of keys */

/* The place of the key, or the one where it belongs. */
static uint32_t place_of(const struct top_keys *keys, uint64_t key)
{
	uint32_t low = 0, high = keys->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (keys->keys[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool top_keys_has(const struct top_keys *keys, uint64_t key)
{
	const uint32_t at = place_of(keys, key);

	return at < keys->count && keys->keys[at] == key;
}

int top_keys_add(struct top_keys *keys, uint64_t key)
{
	const uint32_t at = place_of(keys, key);

	if (at < keys->count && keys->keys[at] == key)
		return 0;
	if (array_reserve(&keys->keys, &keys->room, keys->count + 1ull, sizeof(*keys->keys)))
		return -ENOMEM;
	memmove(keys->keys + at + 1, keys->keys + at, (keys->count - at) * sizeof(*keys->keys));
	keys->keys[at] = key;
	keys->count++;
	return 0;
}

void top_keys_remove(struct top_keys *keys, uint64_t key)
{
	const uint32_t at = place_of(keys, key);

	if (at == keys->count || keys->keys[at] != key)
		return;
	keys->count--;
	memmove(keys->keys + at, keys->keys + at + 1, (keys->count - at) * sizeof(*keys->keys));
}

/* ---- rows */

void top_rows_fini(struct top_rows *rows)
{
	free(rows->open.keys);
	free(rows->full.keys);
	free(rows->rows);
	*rows = (struct top_rows){.nr_rows = 0};
}

/* A child of a node, to be put in order. */
struct child {
	uint32_t node, at; /* at: its place in the tree's own order */
	double value;      /* by which it is ordered; below 0: not known */
};

static int in_order(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	const int order = (x->value < y->value) - (x->value > y->value);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static double value_of(const struct top_rows *rows, const struct top_node *node, uint32_t at)
{
	const bool by_name = rows->column == TOP_COLUMN_NAME;
	double value = by_name && node->level == TOP_KERNEL
			       ? top_figures_value(node, TOP_COLUMN_BUSY, rows->totals)
		       : by_name ? 1 / (1 + (double)at)
				 : top_figures_value(node, rows->column, rows->totals);

	/* What is not known stays at the end. */
	return rows->is_reversed && value >= 0 ? 1 / (1 + value) : value;
}

/* Children of one level, in the order in which they are shown; the caller owns *children. */
static int gather(const struct top_rows *rows, const struct top_sums *sums, uint32_t parent,
		  enum top_level level, struct child **children, uint32_t *count)
{
	*count = 0;
	*children = NULL;
	for (uint32_t i = sums->nodes[parent].first; i != TOP_SUMS_NONE; i = sums->nodes[i].next) {
		const struct child child = {
			.node = i, .at = *count, .value = value_of(rows, &sums->nodes[i], *count)};

		if (sums->nodes[i].level == level &&
		    array_append(children, count, &child, sizeof(child)))
			return -ENOMEM;
	}
	if (*count)
		qsort(*children, *count, sizeof(**children), in_order);
	return 0;
}

static int append(struct top_rows *rows, uint32_t node, uint32_t depth, uint32_t more)
{
	if (array_reserve(&rows->rows, &rows->room, rows->nr_rows + 1ull, sizeof(*rows->rows)))
		return -ENOMEM;
	rows->rows[rows->nr_rows++] = (struct top_row){node, depth, more};
	return 0;
}

static int add_kernels(struct top_rows *rows, const struct top_sums *sums, uint32_t parent,
		       uint32_t depth)
{
	const bool is_full = top_keys_has(&rows->full, sums->nodes[parent].key);
	struct child *children;
	uint32_t count;
	int error = gather(rows, sums, parent, TOP_KERNEL, &children, &count);
	/* A line for one more kernel would take as much room as the kernel. */
	const uint32_t shown = is_full || count <= TOP_VIEW_KERNELS + 1 ? count : TOP_VIEW_KERNELS;

	for (uint32_t i = 0; i < shown && !error; i++)
		error = append(rows, children[i].node, depth, 0);
	if (!error && shown < count)
		error = append(rows, parent, depth, count - shown);
	free(children);
	return error;
}

static int add_node(struct top_rows *rows, const struct top_sums *sums, uint32_t at,
		    uint32_t depth);

static int add_children(struct top_rows *rows, const struct top_sums *sums, uint32_t parent,
			enum top_level level, uint32_t depth)
{
	struct child *children;
	uint32_t count;
	int error = gather(rows, sums, parent, level, &children, &count);

	for (uint32_t i = 0; i < count && !error; i++)
		error = add_node(rows, sums, children[i].node, depth);
	free(children);
	return error;
}

static int add_node(struct top_rows *rows, const struct top_sums *sums, uint32_t at, uint32_t depth)
{
	const struct top_node *node = &sums->nodes[at];
	int error = append(rows, at, depth, 0);

	if (error || !top_keys_has(&rows->open, node->key))
		return error;
	if (node->level == TOP_ALL || node->level == TOP_STREAM)
		return add_kernels(rows, sums, at, depth + 1);
	return add_children(rows, sums, at, node->level + 1, depth + 1);
}

int top_rows_make(struct top_rows *rows, const struct top_sums *sums)
{
	rows->nr_rows = 0;
	int error = add_node(rows, sums, 0, 0);

	if (!error)
		error = add_children(rows, sums, 0, TOP_RANK, 0);
	if (error)
		rows->nr_rows = 0;
	return error;
}

int top_rows_reveal(struct top_rows *rows, const struct top_sums *sums, uint32_t node)
{
	int error = 0;

	if (sums->nodes[node].level == TOP_KERNEL)
		error = top_keys_add(&rows->full, sums->nodes[sums->nodes[node].parent].key);
	for (uint32_t i = sums->nodes[node].parent; i != TOP_SUMS_NONE && !error;
	     i = sums->nodes[i].parent) {
		/* Ranks are there even if the kernels of all ranks are not. */
		if (sums->nodes[i].level != TOP_ALL || sums->nodes[node].parent == i)
			error = top_keys_add(&rows->open, sums->nodes[i].key);
	}
	return error;
}
