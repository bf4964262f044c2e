/* One module of the symbolizer: it opens the module's file and finds the names of addresses in it. One thread at a time
 * uses a module. Several threads may use modules of one scope at once. */
#ifndef SYMBOL_MODULE_H
#define SYMBOL_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod_source;
struct line_shares;
struct symbol_cache;
struct symbol_module;
struct symbol_request;
struct symbolizer_module;

/* The parts that all modules share. Any thread reads them. */
struct symbol_scope {
	bool inlines;
	const char *debug_directory; /* NULL: the usual one */
	uint32_t cached_symbols_min;
	struct symbol_cache *cache;           /* NULL: none */
	struct debuginfod_source *debuginfod; /* NULL: none */
	struct line_shares *line_shares;      /* NULL: lines have no limit */
	atomic_uint nr_open;                  /* files that modules hold open */
	uint32_t max_open;
	atomic_ullong nr_requested; /* number of the latest request; the agent loop writes it */
};

/* The scope is borrowed until symbol_module_destroy(), which accepts NULL. Returns NULL if out of memory. */
struct symbol_module *symbol_module_create(struct symbol_scope *scope);
void symbol_module_destroy(struct symbol_module *module);

/* Opens the module's file at a place, before the process that maps it is gone. Does nothing if an earlier place has led
 * to the file. A generated file without lines is read again only at another place, such as that of another process. It
 * has none if its owner has no room for them (line_shares.h). If more than scope->max_open files are open, the names
 * are read now, without lines, and the file is closed. */
void symbol_module_open(struct symbol_module *module, const struct symbolizer_module *place);

/* Returns whether symbol_module_find() needs no file any more. It then leaves text alone. */
bool symbol_module_is_in_memory(const struct symbol_module *module);

/* Returns the text for the address of a request: a name, or with scope->inlines what inline_frames_describe() gives.
 * For a line of a generated file it is the symbol of generated/kernel_lines.h.
 * NULL: the address has none. The text lives until symbol_module_destroy(). If *is_in_text is set, it is in text
 * instead, cut to max bytes. A perf map is read again if it was read before the request was made. */
const char *symbol_module_find(struct symbol_module *module, const struct symbol_request *request,
			       char *text, size_t max, bool *is_in_text);

#endif
