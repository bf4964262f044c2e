#include "run_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run_item.h"
#include "source_line.h"

#include "base/array.h"
#include "base/text_print.h"
#include "report/model/report_tree.h"
#include "report/names/source_name.h"

/* The time of an item that a line launches. */
struct line {
	uint32_t item;
	struct source_line name;
	uint64_t ns;
};

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return source_line_compare(&x->name, &y->name);
}

static int by_name(const void *a, const void *b)
{
	return run_item_order(*(const struct run_item *const *)a,
			      *(const struct run_item *const *)b);
}

/* Returns the item of "[GPU0_Kernel]gemm"; 0: there is none. Only kernels have lines. */
static uint32_t item_of(const struct run_work *work, const char *leaf)
{
	char *end = strchr(leaf, ']');
	const struct run_item like = {.kind = RUN_KIND_KERNEL, .name = end ? end + 1 : NULL};
	const struct run_item *key = &like, *const *found = NULL;

	if (end)
		found = bsearch(&key, work->by_name, work->nr_items, sizeof(*work->by_name),
				by_name);
	return found ? (uint32_t)(*found - work->items) : 0;
}

/* Returns "fit.py:norm > gpu.py:launch" of "fit.py:norm:18 > gpu.py:launch:21". */
static char *function_text(const struct report_tree *tree, const struct source_line *line)
{
	char *own = strdup(tree->strings[line->line]), *caller = NULL;

	if (own && source_name_has_line(own))
		*strrchr(own, ':') = '\0';
	if (!line->caller || !own)
		return own;
	caller = strdup(tree->strings[line->caller]);
	if (caller && source_name_has_line(caller))
		*strrchr(caller, ':') = '\0';
	char *text = caller ? text_print("%s > %s", caller, own) : NULL;
	free(own);
	free(caller);
	return text;
}

static int set_line(struct run_work *work, const struct report_tree *tree, const struct line *line)
{
	struct run_item *item = &work->items[line->item];

	if (array_reserve(&item->lines, &item->room_lines, item->nr_lines + 1ul,
			  sizeof(*item->lines)))
		return -ENOMEM;
	struct run_line *to = &item->lines[item->nr_lines++];
	*to = (struct run_line){.text = source_line_text(tree, &line->name),
				.function = function_text(tree, &line->name),
				.ns = line->ns};
	return to->text && to->function ? 0 : -ENOMEM;
}

static int by_function(const void *a, const void *b)
{
	const struct run_line *x = a, *y = b;
	const int order = strcmp(x->function, y->function);

	return order ? order : strcmp(x->text, y->text);
}

static int set_lines(struct run_work *work, const struct report_tree *tree, struct line *lines,
		     uint32_t count)
{
	int error = 0;

	if (count)
		qsort(lines, count, sizeof(*lines), by_line);
	for (uint32_t i = 0, end; i < count && !error; i = end) {
		for (end = i + 1; end < count && by_line(&lines[i], &lines[end]) == 0; end++)
			lines[i].ns += lines[end].ns;
		error = set_line(work, tree, &lines[i]);
	}
	for (uint32_t i = 0; i < work->nr_items && !error; i++)
		if (work->items[i].nr_lines)
			qsort(work->items[i].lines, work->items[i].nr_lines,
			      sizeof(*work->items[i].lines), by_function);
	return error;
}

int run_lines_find(const struct report_tree *tree, struct run_work *work)
{
	bool *is_framework = calloc(tree->nr_strings + 1ul, sizeof(*is_framework));
	struct source_line *names = NULL;
	uint32_t count = 0;
	struct line *lines = calloc(tree->nr_leaves + 1ul, sizeof(*lines));
	const struct source_frameworks frameworks = {is_framework, tree->nr_strings};
	int error = is_framework && lines ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_strings && !error && tree->frameworks; i++)
		is_framework[i] = tree->frameworks[i] != 0;
	if (!error)
		error = source_line_find_all(tree, &frameworks, &names);
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const struct line line = {.item = leaf->kind == REPORT_KIND_KERNEL
							  ? item_of(work, tree->strings[leaf->name])
							  : 0,
					  .name = names[i],
					  .ns = leaf->ns};

		if (line.item && line.name.line != SOURCE_LINE_NONE)
			lines[count++] = line;
	}
	if (!error)
		error = set_lines(work, tree, lines, count);
	free(is_framework);
	free(names);
	free(lines);
	return error;
}

/* ---- growth */

/* Returns the time of a function's lines, or of the one with that text. */
static double time_of(const struct run_item *item, const char *function, const char *text)
{
	uint32_t low = 0, high = item ? item->nr_lines : 0;
	const uint32_t nr = high;
	double ns = 0;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (strcmp(item->lines[middle].function, function) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < nr && strcmp(item->lines[low].function, function) == 0; low++)
		if (!text || strcmp(item->lines[low].text, text) == 0)
			ns += (double)item->lines[low].ns;
	return ns;
}

/* Returns what the mean run after takes more. function NULL: in all. */
static double growth_of(const struct run_lines_question *question, const char *function,
			const char *text)
{
	double grown = 0;

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++) {
		const struct run_item *item = question->items[i];
		const double ns = function ? time_of(item, function, text)
				  : item   ? (double)item->ns
					   : 0;

		grown += i < question->nr_before ? -ns / question->units[i] / question->nr_before
						 : ns / question->units[i] / question->nr_after;
	}
	return grown;
}

const char *run_lines_grown(const struct run_lines_question *question, double *part)
{
	const struct run_item *last = NULL;
	const char *function = NULL, *found = NULL;
	const double whole = growth_of(question, NULL, NULL);
	double most = 0, most_of_line = 0;

	*part = 0;
	for (uint32_t i = 0; i < question->nr_after; i++)
		if (question->items[question->nr_before + i])
			last = question->items[question->nr_before + i];
	for (uint32_t i = 0; last && whole > 0 && i < last->nr_lines; i++) {
		const char *of = last->lines[i].function;

		if (i && strcmp(of, last->lines[i - 1].function) == 0)
			continue;
		const double grown = growth_of(question, of, NULL);
		if (grown > most) {
			most = grown;
			function = of;
		}
	}
	for (uint32_t i = 0; function && i < last->nr_lines; i++) {
		const struct run_line *line = &last->lines[i];
		const double grown = strcmp(line->function, function) == 0
					     ? growth_of(question, function, line->text)
					     : 0;

		if (grown > most_of_line) {
			most_of_line = grown;
			found = line->text;
		}
	}
	if (found)
		*part = fmin(most / whole, 1);
	return found;
}
