/* Which nodes are shown, and in which order. Part of top_view; pure; one thread. */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "top_figures.h"
#include "top_sums.h"

#define TOP_VIEW_KERNELS 5u /* of a list that is not full */

/* Keys of nodes; zeroed: none. */
struct top_keys {
	uint64_t *keys; /* owns; ascending */
	uint32_t count, room;
};

bool top_keys_has(const struct top_keys *keys, uint64_t key);
int top_keys_add(struct top_keys *keys, uint64_t key); /* 0 or -ENOMEM */
void top_keys_remove(struct top_keys *keys, uint64_t key);

struct top_row {
	uint32_t node;
	uint32_t depth; /* 0: all ranks, a rank */
	uint32_t more;  /* above 0: the line stands for so many more kernels of the node */
};

struct top_rows {
	struct top_keys open; /* nodes whose children are shown; of all ranks these are kernels */
	struct top_keys full; /* nodes of which all kernels are shown */
	enum top_column column;
	bool is_reversed, totals;
	struct top_row *rows; /* owns */
	uint32_t nr_rows, room;
};

void top_rows_fini(struct top_rows *rows);

/* Makes the rows of these sums. Names are in the tree's own order, and kernels then by their time; figures have the
 * highest first. 0 or -ENOMEM: there are no rows. */
int top_rows_make(struct top_rows *rows, const struct top_sums *sums);

/* Opens all nodes around a node, so that it has a row after the next top_rows_make(). 0 or -ENOMEM. */
int top_rows_reveal(struct top_rows *rows, const struct top_sums *sums, uint32_t node);

#endif
