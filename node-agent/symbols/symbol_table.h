/* The functions of one module, sorted, to find names by address. A table never changes, so any thread may look up. */
#ifndef SYMBOL_TABLE_H
#define SYMBOL_TABLE_H

#include <assert.h>
#include <stdint.h>

#define SYMBOL_TABLE_NO_SYMBOL UINT32_MAX

struct elf_file;
struct symbol_table;

/* Merges the functions of files[0..nr_files), which describe the same code: a stripped file and its debug file. Entries
 * that are NULL are passed over. The table copies what it needs; the files may be closed afterwards. Returns 0;
 * -ENOENT: no file has function symbols; -EFBIG; -ENOMEM. On error *table is NULL. */
int symbol_table_create(struct elf_file *const files[], uint32_t nr_files,
			struct symbol_table **table);
void symbol_table_destroy(struct symbol_table *table); /* accepts NULL */

/* Returns the name of the innermost function that holds the address by its own size. A function without a size holds
 * only its first byte. Of aliases, a global name is preferred to a weak one, and a weak one to a local one. The name is
 * mangled as in the file, without its version, with control characters replaced. It is borrowed until
 * symbol_table_destroy(). NULL: no function holds the address. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr);

uint32_t symbol_table_count(const struct symbol_table *table);

/* A table's contents, in the form in which they are kept on disk. */
struct symbol_table_symbol {
	uint64_t start, end; /* end exclusive, at least start + 1 */
	uint32_t name;       /* offset in names */
	uint32_t outer;      /* index of the nearest symbol around this one, which is lower, or
				SYMBOL_TABLE_NO_SYMBOL */
};

struct symbol_table_content {
	const struct symbol_table_symbol *symbols; /* by start, no two alike */
	const char *names;                         /* NUL behind each */
	uint32_t count, names_size;
};

/* Borrowed until symbol_table_destroy(). */
void symbol_table_content(const struct symbol_table *table, struct symbol_table_content *content);

/* Makes a table of content that lies within memory. The table takes memory, which malloc() allocated, on error too.
 * Returns 0; -EBADMSG: the content breaks a rule above; -ENOMEM. On error *table is NULL. */
int symbol_table_restore(const struct symbol_table_content *content, void *memory,
			 struct symbol_table **table);

static_assert(sizeof(struct symbol_table_symbol) == 24, "format of the symbol cache");

#endif
