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

#define CALLS " > " /* as source_line_text() has it */

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

/* Returns the bytes of "fit.py:norm" in "fit.py:norm:18". */
static size_t function_size(const char *name)
{
	return source_name_has_line(name) ? (size_t)(strrchr(name, ':') - name) : strlen(name);
}

/* Returns "fit.py:norm > gpu.py:launch" of "fit.py:norm:18 > gpu.py:launch:21". */
static char *function_text(const struct report_tree *tree, const struct source_line *line)
{
	const char *own = tree->strings[line->line], *caller = tree->strings[line->caller];

	return line->caller ? text_print("%.*s" CALLS "%.*s", (int)function_size(caller), caller,
					 (int)function_size(own), own)
			    : strndup(own, function_size(own));
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
	if (!to->text || !to->function)
		return -ENOMEM;
	to->own_text = to->text;
	to->own_function = to->function;
	if (line->name.caller) {
		const char *caller = tree->strings[line->name.caller];

		to->own_text += strlen(caller) + strlen(CALLS);
		to->own_function += function_size(caller) + strlen(CALLS);
	}
	return 0;
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

/* A function whose growth is asked for, as runs name it. */
struct asked {
	const char *function;
	bool is_own; /* without its callers */
};

static bool is_asked(const struct run_line *line, const struct asked *asked)
{
	return strcmp(asked->is_own ? line->own_function : line->function, asked->function) == 0;
}

static const char *text_of(const struct run_line *line, const struct asked *asked)
{
	return asked->is_own ? line->own_text : line->text;
}

/* Returns the first line that may be of the function. */
static uint32_t first_line(const struct run_item *item, const struct asked *asked)
{
	uint32_t low = 0, high = asked->is_own ? 0 : item->nr_lines;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (strcmp(item->lines[middle].function, asked->function) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the time of a function's lines, or of those with that text. */
static double time_of(const struct run_item *item, const struct asked *asked, const char *text)
{
	double ns = 0;

	for (uint32_t i = item ? first_line(item, asked) : 0; item && i < item->nr_lines; i++) {
		const struct run_line *line = &item->lines[i];

		if (!is_asked(line, asked) && !asked->is_own)
			break;
		if (is_asked(line, asked) && (!text || strcmp(text_of(line, asked), text) == 0))
			ns += (double)line->ns;
	}
	return ns;
}

/* Returns what the mean run after takes more. asked NULL: in all. */
static double growth_of(const struct run_lines_question *question, const struct asked *asked,
			const char *text)
{
	double grown = 0;

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++) {
		const struct run_item *item = question->items[i];
		const double ns = asked ? time_of(item, asked, text) : item ? (double)item->ns : 0;

		grown += i < question->nr_before ? -ns / question->units[i] / question->nr_before
						 : ns / question->units[i] / question->nr_after;
	}
	return grown;
}

/* A run that names the callers of a helper, and one that does not, have the function alone in common. */
static struct asked ask(const struct run_lines_question *question, const struct run_line *line)
{
	bool some_have = false, some_lack = false;

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++) {
		const struct run_item *item = question->items[i];
		bool is_there = false, has_caller = false;

		for (uint32_t k = 0; item && k < item->nr_lines; k++) {
			const struct run_line *other = &item->lines[k];

			if (strcmp(other->own_function, line->own_function) != 0)
				continue;
			is_there = true;
			has_caller |= other->own_function != other->function;
		}
		some_have |= is_there && has_caller;
		some_lack |= is_there && !has_caller;
	}
	return some_have && some_lack ? (struct asked){line->own_function, true}
				      : (struct asked){line->function, false};
}

/* Returns the text of the function's line that grew most. NULL: none grew. */
static const char *grown_line(const struct run_lines_question *question,
			      const struct run_item *last, const struct asked *asked)
{
	const char *found = NULL;
	double most = 0;

	for (uint32_t i = 0; i < last->nr_lines; i++) {
		if (!is_asked(&last->lines[i], asked))
			continue;
		const char *text = text_of(&last->lines[i], asked);
		const double grown = growth_of(question, asked, text);

		if (grown > most) {
			most = grown;
			found = text;
		}
	}
	return found;
}

const char *run_lines_grown(const struct run_lines_question *question, double *part)
{
	const struct run_item *last = NULL;
	const double whole = growth_of(question, NULL, NULL);
	struct asked chosen = {0};
	double most = 0;

	*part = 0;
	for (uint32_t i = 0; i < question->nr_after; i++)
		if (question->items[question->nr_before + i])
			last = question->items[question->nr_before + i];
	for (uint32_t i = 0; last && whole > 0 && i < last->nr_lines; i++) {
		const struct run_line *line = &last->lines[i];

		if (i && strcmp(line->function, line[-1].function) == 0)
			continue;
		const struct asked asked = ask(question, line);
		const double grown = growth_of(question, &asked, NULL);
		if (grown > most) {
			most = grown;
			chosen = asked;
		}
	}
	const char *found = chosen.function ? grown_line(question, last, &chosen) : NULL;
	if (found)
		*part = fmin(most / whole, 1);
	return found;
}
