/* The functions of one file, sorted: addresses to names. Read-only once created, so any thread may
 * look up. */
#ifndef SYMBOL_TABLE_H
#define SYMBOL_TABLE_H

#include <stdint.h>

struct elf_file;
struct symbol_table;

/* Copies what it needs from the file, which may be closed afterwards.
 * 0; -ENOENT: the file has no function symbols; -EFBIG; -ENOMEM. On error *table is NULL. */
int symbol_table_create(struct elf_file *file, struct symbol_table **table);
void symbol_table_destroy(struct symbol_table *table); /* accepts NULL */

/* The innermost function that holds the address by its own size; one without a size holds only its
 * first byte. Of aliases, a global name goes before a weak one and that before a local one. Mangled
 * as in the file, without version. Borrowed until symbol_table_destroy(). NULL: no function holds
 * it. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr);

uint32_t symbol_table_count(const struct symbol_table *table);

#endif
