/* Maps kernel names to name_ids. Equal names get one id, which is defined in the ring before any reader can see it.
 * Single-threaded: callers hold the activity lock. Memory is from mmap, never from malloc. */
#ifndef NAME_TABLE_H
#define NAME_TABLE_H

#include <stdint.h>

#define NAME_TABLE_MAX   65536u      /* names */
#define NAME_TABLE_BYTES (64u << 20) /* for all names, at most */

struct definition_writer;
struct name_table;

/* Creates an empty table. Definitions go to the writer, borrowed until name_table_destroy(). The names take up to
 * `bytes`. NULL: out of memory. The caller owns the table; name_table_destroy() accepts NULL. */
struct name_table *name_table_create(struct definition_writer *writer, uint64_t bytes);
void name_table_destroy(struct name_table *table);

/* Returns the id of a NUL-terminated name, which is cut at RECORD_NAME_MAX bytes. The name's address is only a hint:
 * another name at the address of a freed one is told apart. A NULL name gives RECORD_NAME_NONE. For other names
 * RECORD_NAME_NONE means that there is no room here or in the definition lane. The next call tries the name again. */
uint32_t name_table_intern(struct name_table *table, const char *name);

#endif
