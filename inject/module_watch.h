/* Announces the executable segments of the process's loaded files, to the agent and to the unwinder:
 * all at first, later what is new and what is gone.
 * One thread at a time (the loading thread, then the helper thread); never in a CUPTI callback: it
 * takes the loader's lock. */
#ifndef MODULE_WATCH_H
#define MODULE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/definition.h"

#define MODULE_WATCH_MAX 8192u /* segments */

struct definition_writer;
struct module_watch;
struct unwind_tables;

/* Definitions go to the writer, segments to tables (may be NULL); both are borrowed until
 * module_watch_destroy(). mmap, not malloc. NULL: out of memory.
 * The caller owns the watch; module_watch_destroy() accepts NULL. */
struct module_watch *module_watch_create(struct definition_writer *writer,
					 struct unwind_tables *tables);
void module_watch_destroy(struct module_watch *watch);

/* Announces what is new since the last call; costs next to nothing when the loader did nothing.
 * What did not fit in the definition lane is tried again at the next call; the last call (last)
 * counts it as LEDGER_MODULE_LOST.
 * Returns whether a segment took the place of a different one. */
bool module_watch_poll(struct module_watch *watch, bool last);

/* The build id of an ELF note segment; returns its size, at most DEFINITION_BUILD_ID_MAX, 0: none.
 * Pure; reads only inside notes[0..size). align: the segment's, 4 or 8. */
uint32_t module_watch_build_id(const uint8_t *notes, size_t size, size_t align, uint8_t *build_id);

#endif
