/* Names for frames, found by worker threads, so that a slow disk or a large symbol table never holds up the loop.
 * One of them works at a time; further ones serve other users while a file of one user is waited for. Files are
 * read by foreign calls (foreign_call.h): one whose file system does not answer has no names. start, stop,
 * add_module, request and collect are called by the agent loop only; the workers touch nothing else. */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer_module.h"

struct symbolizer;

/* Strings are borrowed for symbolizer_start() only. */
struct symbolizer_options {
	bool inlines;                 /* results hold source lines and inlined functions */
	const char *cache_directory;  /* of symbol_cache.h; NULL: none */
	uint32_t cached_symbols_min;  /* tables of fewer are not kept there; 0: 5,000 */
	const char *debug_directory;  /* of debug_file.h; NULL: the usual one */
	uint32_t debuginfod_limit_ms; /* for one file from the network; 0: 20,000. Asked only with
					 DEBUGINFOD_URLS in the environment */
	uint32_t file_limit_ms; /* for which a file system may leave a file unanswered; 0: 2,000 */
};

/* Starts a worker. 0 or -errno; on error *symbolizer is NULL. */
int symbolizer_start(const struct symbolizer_options *options, struct symbolizer **symbolizer);

/* Ends the workers and frees everything; requests not yet answered are forgotten. A worker that takes more than wait_ms
 * is left behind with all memory, and so is the memory while a file that was read does not answer. Accepts NULL. */
void symbolizer_stop(struct symbolizer *symbolizer, uint32_t wait_ms);

/* Readable while results wait for symbolizer_collect(). */
int symbolizer_fd(const struct symbolizer *symbolizer);

/* Says where a module's file is, before the first request for it; may be repeated with other places. The file is
 * opened soon, by /proc/PID/map_files and its path in the process's root (job_file.h). It is believed only if it has
 * the same identity, and if root or the owner is behind it: root or the owner has the file, a living process of the
 * owner maps it, or it is older than the process. It stays open until it was read, so that the process may end and
 * the file go. 0 or -ENOMEM. */
int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *module);

/* Asks for the name of frame_id, at a virtual address in the module's file. 0 or -ENOMEM. */
int symbolizer_request(struct symbolizer *symbolizer, uint32_t frame_id, uint32_t module_id,
		       uint64_t vaddr);

struct symbolizer_result {
	uint32_t frame_id;
	/* Borrowed until symbolizer_stop(); NULL: it has none. With inlines, the functions at the
	 * address, outermost first, '\n' between them, each NAME or NAME\tFILE:LINE. */
	const char *name;
	uid_t owner; /* of the module */
};

/* Takes up to max results; every request gets one. Returns their number. */
uint32_t symbolizer_collect(struct symbolizer *symbolizer, struct symbolizer_result *results,
			    uint32_t max);

/* Every request so far has been answered and collected. */
bool symbolizer_idle(const struct symbolizer *symbolizer);

#endif
