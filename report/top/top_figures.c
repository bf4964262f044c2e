#include "top_figures.h"

#include <stdio.h>
#include <string.h>

#include "report/names/text_line.h"

#define NS_PER_S 1e9

const char *top_figures_heading(enum top_column column, bool totals)
{
	static const char *const headings[TOP_COLUMNS] = {
		[TOP_COLUMN_NAME] = "name",    [TOP_COLUMN_BUSY] = "busy",
		[TOP_COLUMN_COMPUTE] = "comp", [TOP_COLUMN_MOVES] = "nccl",
		[TOP_COLUMN_WAITS] = "wait",   [TOP_COLUMN_COPIES] = "copy",
		[TOP_COLUMN_IDLE] = "idle",    [TOP_COLUMN_RECORDS] = "work/s",
	};

	return column == TOP_COLUMN_RECORDS && totals ? "work" : headings[column];
}

/* Ended processes have no rates. */
static bool has_figures(const struct top_node *node, bool totals)
{
	return totals ? node->window_ns > 0 : node->is_running && node->rate_ns > 0;
}

static double part(uint64_t ns, uint64_t of_ns)
{
	return (double)ns / (double)of_ns;
}

double top_figures_value(const struct top_node *node, enum top_column column, bool totals)
{
	const uint64_t *values = totals ? node->values : node->rates;
	const uint64_t of_ns = totals ? node->window_ns : node->rate_ns;
	const uint64_t waits_ns =
		values[TOP_WAITS] < values[TOP_NCCL] ? values[TOP_WAITS] : values[TOP_NCCL];

	if (!has_figures(node, totals))
		return totals && column == TOP_COLUMN_RECORDS ? (double)values[TOP_RECORDS] : -1;
	switch (column) {
	case TOP_COLUMN_BUSY:
		return node->has_busy ? part(values[TOP_BUSY], of_ns) : -1;
	case TOP_COLUMN_COMPUTE:
		return part(values[TOP_COMPUTE] + values[TOP_GRAPHS], of_ns);
	case TOP_COLUMN_MOVES:
		return part(values[TOP_NCCL] - waits_ns, of_ns);
	case TOP_COLUMN_WAITS:
		return part(waits_ns, of_ns);
	case TOP_COLUMN_COPIES:
		return part(values[TOP_COPIES] + values[TOP_FILLS], of_ns);
	case TOP_COLUMN_IDLE:
		if (!node->has_busy || node->level == TOP_KERNEL)
			return -1;
		return values[TOP_BUSY] < of_ns ? part(of_ns - values[TOP_BUSY], of_ns) : 0;
	case TOP_COLUMN_RECORDS:
		return totals ? (double)values[TOP_RECORDS]
			      : (double)values[TOP_RECORDS] * node->rate_gpus /
					((double)of_ns / NS_PER_S);
	default:
		return 0;
	}
}

static void write_number(double number, char cell[static TOP_FIGURES_CELL])
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;

	while (number >= 999.5 && unit + 2 < sizeof(units)) {
		number /= 1000;
		unit++;
	}
	if (unit)
		snprintf(cell, TOP_FIGURES_CELL, "%.3g%c", number, units[unit]);
	else
		snprintf(cell, TOP_FIGURES_CELL, number < 10 && number > 0 ? "%.1f" : "%.0f",
			 number);
}

const char *top_figures_cell(const struct top_node *node, enum top_column column, bool totals,
			     char cell[static TOP_FIGURES_CELL])
{
	const double value = top_figures_value(node, column, totals);

	if (value < 0)
		strcpy(cell, "-");
	else if (column == TOP_COLUMN_RECORDS && totals && value < 1000)
		snprintf(cell, TOP_FIGURES_CELL, "%.0f", value);
	else if (column == TOP_COLUMN_RECORDS)
		write_number(value, cell);
	else
		snprintf(cell, TOP_FIGURES_CELL, value >= 0.9995 ? "%.0f%%" : "%.1f%%",
			 value * 100);
	return cell;
}

const char *top_figures_line(const struct top_node *node, bool is_utf8, char *line, size_t size)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

	*line = '\0';
	for (uint32_t i = node->nr_history; i < TOP_SUMS_HISTORY; i++)
		text_line_append(line, size, " ");
	for (uint32_t i = 0; i < node->nr_history; i++) {
		const uint32_t percent = node->history[i];

		text_line_append(line, size, "%s",
				 is_utf8 ? blocks[percent * 8 / 101] : digits[percent * 10 / 101]);
	}
	return line;
}
