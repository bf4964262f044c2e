/* Names for frames, found by one worker thread, so that a slow disk or a large symbol table never
 * holds up the loop. start, stop, add_module, request and collect are called by the agent loop
 * only; the worker touches nothing else. */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/message.h"

struct symbolizer;

/* Starts the worker. 0 or -errno; on error *symbolizer is NULL. */
int symbolizer_start(struct symbolizer **symbolizer);

/* Ends the worker after the file at hand and frees everything; requests not yet answered are
 * forgotten. A worker that hangs in a file for more than wait_ms is left behind with its memory.
 * Accepts NULL. */
void symbolizer_stop(struct symbolizer *symbolizer, uint32_t wait_ms);

/* Readable while results wait for symbolizer_collect(). */
int symbolizer_fd(const struct symbolizer *symbolizer);

struct symbolizer_module {
	uint32_t module_id;
	uint32_t flags;         /* enum definition_module_flags */
	pid_t pid;              /* a process that has it mapped; 0: none */
	uint64_t start, end;    /* where */
	const char *path;       /* borrowed for the call; terminated */
	uint32_t build_id_size; /* 0: none known: then the file at the path is believed */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

/* Says where a module's file is; before the first request for it. The file is opened at the first
 * request, by /proc/PID/map_files, /proc/PID/root and the path itself, and believed only if the
 * build id is the same. 0 or -ENOMEM. */
int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *module);

/* Asks for the name of frame_id, at a virtual address in the module's file. 0 or -ENOMEM. */
int symbolizer_request(struct symbolizer *symbolizer, uint32_t frame_id, uint32_t module_id,
		       uint64_t vaddr);

struct symbolizer_result {
	uint32_t frame_id;
	const char *name; /* borrowed until symbolizer_stop(); NULL: it has none */
};

/* Takes up to max results; every request gets one. Returns their number. */
uint32_t symbolizer_collect(struct symbolizer *symbolizer, struct symbolizer_result *results,
			    uint32_t max);

/* Every request so far has been answered and collected. */
bool symbolizer_idle(const struct symbolizer *symbolizer);

#endif
