/* A generated file, and an entry of Inductor's cache: the input is both, with a line "%%" between them. Symbols have the
 * form of the wire; without the texts of the entry a file has no more lines than with them, and marking keeps all. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/generated/cached_graph.h"
#include "node-agent/generated/kernel_lines.h"
#include "node-agent/generated/source_list.h"
#include "proto/generated_path.h"

#define BORDER "\n%%\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbol(const char *symbol)
{
	if (*symbol == '\0' || strlen(symbol) >= SOURCE_LIST_TEXT)
		abort();
	for (; *symbol; symbol++)
		if ((unsigned char)*symbol < ' ' && *symbol != '\n' && *symbol != '\t')
			abort();
}

static void check_lines(const struct kernel_lines *lines, struct text_span code)
{
	struct text_span line;
	uint32_t found = 0;

	for (uint32_t number = 1; text_span_line(&code, &line); number++) {
		const char *symbol = kernel_lines_find(lines, number);

		if (!symbol)
			continue;
		check_symbol(symbol);
		found++;
	}
	if (found != kernel_lines_count(lines))
		abort();
}

/* Marked lines are the same lines, and all have the mark. */
static void check_marks(struct kernel_lines *lines, struct text_span code)
{
	const char *symbol = NULL;

	kernel_lines_mark_near(lines);
	check_lines(lines, code);
	while ((symbol = kernel_lines_next(lines, symbol)))
		if (!text_span_ends((struct text_span){symbol, strlen(symbol)}, "\n≈"))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text_span all = {(const char *)data, size};
	const struct text_span code = text_span_before(all, BORDER, NULL);
	const struct text_span entry = text_span_behind(all, BORDER, NULL);
	const struct text_span graph = cached_graph_graph(entry);
	const struct text_span traces = cached_graph_traces(entry), key = cached_graph_key(entry);
	struct kernel_lines *lines = kernel_lines_create(code, graph, traces);
	struct kernel_lines *alone = kernel_lines_create(code, TEXT_SPAN_NONE, TEXT_SPAN_NONE);

	if (!lines || !alone || kernel_lines_count(alone) > kernel_lines_count(lines) ||
	    (key.size > 0 && !generated_path_is_key(key.data, key.size)))
		abort();
	check_lines(lines, code);
	check_lines(alone, code);
	check_marks(lines, code);
	generated_path_parse((const char *)data, size, NULL, NULL);
	kernel_lines_destroy(lines);
	kernel_lines_destroy(alone);
	return 0;
}
