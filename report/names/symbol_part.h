/* Reads a symbol of several functions (proto/wire.md, symbols): those that were inlined, outermost first. Pure; any
 * thread. */
#ifndef SYMBOL_PART_H
#define SYMBOL_PART_H

#include <stdbool.h>
#include <stddef.h>

/* Functions of a frame that readers see; beyond, the innermost become one "left out". */
#define REPORT_INLINES_MAX 16u

/* Borrowed from the symbol. */
struct symbol_part {
	const char *name, *source; /* source: file:line; NULL: not known */
	size_t name_size, source_size;
};

/* Reads the next function at *text, and moves *text behind it. end: that of the symbol. false: there was none left. */
bool symbol_part_next(const char **text, const char *end, struct symbol_part *part);

#endif
