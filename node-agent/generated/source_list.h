/* The lines of a program that a kernel was made of, each once. They become a symbol of the wire (proto/wire.md,
 * symbols): a function, a tab, its file and line, and a line end between them. Pure; any thread. */
#ifndef SOURCE_LIST_H
#define SOURCE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text_span.h"

#define SOURCE_LIST_MAX 16u /* lines; a list with more ends in MODEL_LINES_MORE */
/* Bytes of a symbol, with NUL. Lines without room are left out, as above. */
#define SOURCE_LIST_TEXT 2048u

struct source_line {
	struct text_span file, function; /* borrowed */
	uint32_t line;                   /* 0: not known */
};

/* Embedded; zeroed memory is an empty list. */
struct source_list {
	struct source_line lines[SOURCE_LIST_MAX];
	uint32_t count;
	bool has_more;
	bool is_near; /* the lines are not proven */
};

/* Adds a line, unless it is not known or the list has it. A line that has no room in any symbol is left out, as
 * above. */
void source_list_add(struct source_list *list, const struct source_line *line);

/* Writes the symbol, without control characters but its tabs and line ends. "": the list is empty. */
void source_list_write(const struct source_list *list, char text[static SOURCE_LIST_TEXT]);

#endif
