#include "stall_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ledger.h"
#include "report/model/report_groups.h"

#define STALL_NONE "selected" /* no wait: the warp issued its instruction */

/* A leaf of the plane. */
struct cell {
	const char *kernel, *reason, *line;
	uint64_t count, ns;
};

static int is_kernel(const char *name)
{
	const char *end = strchr(name, ']');

	return strncmp(name, "[GPU", 4) == 0 && end && end - name > 7 &&
	       strncmp(end - 7, "_Kernel", 7) == 0;
}

static struct cell cell_of(const struct report_tree *tree, const struct report_leaf *leaf)
{
	struct cell cell = {
		.kernel = "",
		.reason = report_groups_activity(tree->strings[leaf->name]),
		.line = "",
		.count = leaf->count,
		.ns = leaf->ns,
	};

	for (uint32_t node = leaf->node; node != REPORT_NODE_ROOT;
	     node = tree->nodes[node].parent) {
		const char *name = tree->strings[tree->nodes[node].name];

		if (is_kernel(name)) {
			cell.kernel = report_groups_activity(name);
			break;
		}
		if (node == leaf->node)
			cell.line = name;
	}
	return cell;
}

static int by_reason(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	const int result = strcmp(x->kernel, y->kernel);

	return result ? result : strcmp(x->reason, y->reason);
}

static int by_line(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	const int result = strcmp(x->kernel, y->kernel);

	return result ? result : strcmp(x->line, y->line);
}

static int by_time(const void *a, const void *b)
{
	const struct stall_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->kernel, y->kernel);
}

static void add(struct cell *sum, const struct cell *cell)
{
	sum->count = ledger_add_saturating(sum->count, cell->count);
	sum->ns = ledger_add_saturating(sum->ns, cell->ns);
}

/* Sums up the cells from first on that are equal in an order. Returns the index behind them. */
static uint32_t sum_up(const struct cell *cells, uint32_t nr_cells, uint32_t first,
		       int (*order)(const void *, const void *), struct cell *sum)
{
	uint32_t next = first + 1;

	*sum = cells[first];
	for (; next < nr_cells && order(&cells[next], &cells[first]) == 0; next++)
		add(sum, &cells[next]);
	return next;
}

static double share(const struct stall_row *row, const struct cell *part)
{
	if (row->ns)
		return (double)part->ns / (double)row->ns;
	return row->count ? (double)part->count / (double)row->count : 0;
}

static void offer(struct stall_part_of *most, const struct stall_row *row, const char *text,
		  const struct cell *part)
{
	const struct stall_part_of offered = {text, share(row, part)};

	if (offered.share > most->share)
		*most = offered;
}

/* Of equal parts the first in the order of their texts is told. */
static void find_reasons(struct stall_rows *rows, struct cell *cells, uint32_t nr_cells)
{
	struct cell sum;

	qsort(cells, nr_cells, sizeof(*cells), by_reason);
	for (uint32_t i = 0; i < nr_cells; i++) {
		struct stall_row *last = rows->rows + rows->nr_rows - 1;

		if (i == 0 || strcmp(last->kernel, cells[i].kernel) != 0) {
			last = rows->rows + rows->nr_rows++;
			*last = (struct stall_row){
				.kernel = cells[i].kernel, .reason = {"", 0}, .line = {"", 0}};
		}
		last->count = ledger_add_saturating(last->count, cells[i].count);
		last->ns = ledger_add_saturating(last->ns, cells[i].ns);
	}
	struct stall_row *row = rows->rows;
	for (uint32_t i = 0; i < nr_cells;) {
		i = sum_up(cells, nr_cells, i, by_reason, &sum);
		row += strcmp(row->kernel, sum.kernel) != 0;
		if (strcmp(sum.reason, STALL_NONE) != 0)
			offer(&row->reason, row, sum.reason, &sum);
	}
}

static bool is_offset(const char *text)
{
	return strncmp(text, "+0x", 3) == 0;
}

/* The other instructions are no place. */
static bool is_line(const char *text)
{
	return *text && !is_offset(text) && *text != '[';
}

/* Offsets are told of a kernel without lines alone. */
static void offer_place(struct stall_row *row, const struct cell *sum)
{
	const bool has_line = is_line(row->line.text);

	if (is_line(sum->line) && !has_line)
		row->line = (struct stall_part_of){"", 0};
	if (is_line(sum->line) || (is_offset(sum->line) && !has_line))
		offer(&row->line, row, sum->line, sum);
}

static void find_lines(struct stall_rows *rows, struct cell *cells, uint32_t nr_cells)
{
	struct stall_row *row = rows->rows;
	struct cell sum;

	qsort(cells, nr_cells, sizeof(*cells), by_line);
	for (uint32_t i = 0; i < nr_cells;) {
		i = sum_up(cells, nr_cells, i, by_line, &sum);
		row += strcmp(row->kernel, sum.kernel) != 0;
		offer_place(row, &sum);
	}
}

int stall_rows_init(struct stall_rows *rows, const struct report_tree *tree)
{
	struct cell *cells = malloc((tree->nr_leaves + 1ul) * sizeof(*cells));
	uint32_t nr_cells = 0;

	*rows = (struct stall_rows){0};
	if (!cells)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (tree->leaves[i].kind == REPORT_KIND_STALL)
			cells[nr_cells++] = cell_of(tree, &tree->leaves[i]);
	rows->rows = calloc(nr_cells + 1ul, sizeof(*rows->rows));
	if (rows->rows && nr_cells) {
		find_reasons(rows, cells, nr_cells);
		find_lines(rows, cells, nr_cells);
		qsort(rows->rows, rows->nr_rows, sizeof(*rows->rows), by_time);
	}
	free(cells);
	return rows->rows ? 0 : -ENOMEM;
}

void stall_rows_fini(struct stall_rows *rows)
{
	free(rows->rows);
	*rows = (struct stall_rows){0};
}
