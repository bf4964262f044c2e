/* The figures of a node, as columns show and order them. Pure; any thread. */
#ifndef TOP_FIGURES_H
#define TOP_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top_sums.h"

enum top_column {
	TOP_COLUMN_NAME,
	TOP_COLUMN_BUSY,
	TOP_COLUMN_COMPUTE,
	TOP_COLUMN_MOVES, /* NCCL's kernels, without what they wait */
	TOP_COLUMN_WAITS,
	TOP_COLUMN_COPIES, /* and fills */
	TOP_COLUMN_IDLE,
	TOP_COLUMN_RECORDS, /* per second; in totals their number */
	TOP_COLUMNS,
};

#define TOP_FIGURES_CELL 16u /* bytes of a cell with its end */

/* Returns the heading: "busy". Static storage. */
const char *top_figures_heading(enum top_column column, bool totals);

/* The value of a column, by which nodes are ordered; below 0: it is not known. Times are parts of the time in question,
 * records a number. */
double top_figures_value(const struct top_node *node, enum top_column column, bool totals);

/* Writes a cell: "96.3%", "1.2k"; "-": not known. Returns cell. */
const char *top_figures_cell(const struct top_node *node, enum top_column column, bool totals,
			     char cell[static TOP_FIGURES_CELL]);

/* Writes a sparkline of TOP_SUMS_HISTORY columns, in UTF-8 or ASCII. Returns line. */
const char *top_figures_line(const struct top_node *node, bool is_utf8, char *line, size_t size);

#endif
