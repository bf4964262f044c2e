/* Announces the executable segments of the process's loaded files to the agent, the unwinder and the table of stacks:
 * at first all, later those that are new or gone. A file that is loaded again counts as the same one only if nothing
 * tells it apart (file_identity.h). Links in their paths are resolved. One thread at a time: the loading thread, then
 * the helper thread. It takes the loader's lock, so never call it in a CUPTI callback. */
#ifndef MODULE_WATCH_H
#define MODULE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/definition.h"

#define MODULE_WATCH_MAX 8192u /* segments */

struct definition_writer;
struct module_watch;
struct stack_table;
struct unwind_tables;

/* Definitions go to the writer, segments to `tables`, which may be NULL. Both are borrowed until
 * module_watch_destroy(). Memory comes from mmap(), not malloc(). The caller owns the watch. NULL: out of memory.
 * module_watch_destroy() accepts NULL. */
struct module_watch *module_watch_create(struct definition_writer *writer,
					 struct unwind_tables *tables);
void module_watch_destroy(struct module_watch *watch);

/* Tells these stacks what is unloaded, and what is loaded there. Borrowed until module_watch_destroy(). Call it before
 * the first poll. */
void module_watch_tell(struct module_watch *watch, struct stack_table *stacks);

/* Announces what is new since the last call. It costs next to nothing when the loader did nothing. A definition that
 * did not fit in its lane is tried again at the next call; the last call (`last`) counts it as LEDGER_MODULE_LOST. If
 * a file has taken another one's place, returns true, and counts launches since the last call as LEDGER_STACK_STALE,
 * because their stacks may be those of the earlier file. These are all launches if nothing was unloaded there before,
 * and else those with a frame where code was unloaded. */
bool module_watch_poll(struct module_watch *watch, bool last);

/* Finds the build id in an ELF note segment. align: the segment's, 4 or 8. Returns the id's size, at most
 * DEFINITION_BUILD_ID_MAX; 0: there is none. Pure; reads only inside notes[0..size). */
uint32_t module_watch_build_id(const uint8_t *notes, size_t size, size_t align, uint8_t *build_id);

#endif
