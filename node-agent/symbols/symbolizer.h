/* Finds names for frames, and does tasks of other parts of the agent. Worker threads do it, so that a slow disk or a
 * large symbol table never holds up the agent loop. One worker works at a time. While a file of one user is waited for,
 * or a task runs, further workers serve other users. Files are read by foreign calls (foreign_call.h): a file has no
 * names while its file system does not answer. Only the agent loop calls these functions. */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer_module.h"

struct agent_task;
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

/* Starts a worker. Returns 0 or -errno; on error *symbolizer is NULL. */
int symbolizer_start(const struct symbolizer_options *options, struct symbolizer **symbolizer);

/* Ends the workers and frees everything. Requests that were not answered are forgotten. A worker that takes more than
 * wait_ms is left behind with all memory. The memory is also left while a file that is read does not answer. Accepts
 * NULL. */
void symbolizer_stop(struct symbolizer *symbolizer, uint32_t wait_ms);

/* The descriptor is readable while results wait for symbolizer_collect(). */
int symbolizer_fd(const struct symbolizer *symbolizer);

/* Says where a module's file is, before the first request for it. Further calls may name other places. The file is
 * opened soon, by /proc/PID/map_files and by its path in the process's root (permitted_file.h). It is believed only if
 * it has the same identity, and if root or the owner stands for it: the file belongs to root or the owner, a living
 * process of the owner maps it, or it is older than the process. The file stays open until it was read, since the
 * process may end and the file be deleted before. Returns 0 or -ENOMEM. */
int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *module);

/* Asks for the name of frame_id, at a virtual address in the module's file. Returns 0 or -ENOMEM. */
int symbolizer_request(struct symbolizer *symbolizer, uint32_t frame_id, uint32_t module_id,
		       uint64_t vaddr);

/* Gives a task of this user to the workers (agent_task.h). A user's tasks run one after the other; those of other users
 * do not wait for them. Returns 0 or -ENOMEM. */
int symbolizer_give(struct symbolizer *symbolizer, uid_t user, struct agent_task *task);

struct symbolizer_result {
	uint32_t frame_id;
	/* Borrowed until symbolizer_stop(); NULL: the frame has no name. With inlines it holds the functions at the
	 * address, outermost first, '\n' between them, each NAME or NAME\tFILE:LINE. */
	const char *name;
	uid_t owner; /* of the module */
};

/* Takes up to max results and returns their number. Every request gets one result. */
uint32_t symbolizer_collect(struct symbolizer *symbolizer, struct symbolizer_result *results,
			    uint32_t max);

/* Returns whether every request so far was answered and its result collected. */
bool symbolizer_idle(const struct symbolizer *symbolizer);

#endif
