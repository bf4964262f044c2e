/* Kernel names to name_ids: equal names get one id, which is defined in the ring before anybody can
 * see it. Single-threaded: callers hold the activity lock. mmap, never malloc. */
#ifndef NAME_TABLE_H
#define NAME_TABLE_H

#include <stdint.h>

#define NAME_TABLE_MAX   65536u      /* names */
#define NAME_TABLE_BYTES (64u << 20) /* for all of them, at most */

struct definition_writer;
struct name_table;

/* Definitions go to the writer, borrowed until name_table_destroy(); the names take up to `bytes`. NULL: out of memory.
 * The caller owns the table; name_table_destroy() accepts NULL. */
struct name_table *name_table_create(struct definition_writer *writer, uint64_t bytes);
void name_table_destroy(struct name_table *table);

/* The id of a NUL-terminated name, cut at RECORD_NAME_MAX bytes. Its address is only a hint: a name
 * that was freed and whose place another has taken is told apart. NULL: RECORD_NAME_NONE.
 * RECORD_NAME_NONE otherwise: no room here or in the definition lane; the name is tried again the
 * next time. */
uint32_t name_table_intern(struct name_table *table, const char *name);

#endif
