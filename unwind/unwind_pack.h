/* A file's rows in the form in which walks search them: a quarter of the size of an array of rows. The rows are cut
 * into blocks of 64. A block's first address stands in an index. Each row is then the distance from the row before
 * and the number of its rule, mostly a byte each; a file has few hundred different rules. So a search is a binary one
 * among blocks, and at most 64 steps.
 * The bytes do not depend on where the file is loaded. They may come from another process: whatever they say, a search
 * reads nothing outside of them, and gives some rule. */
#ifndef UNWIND_PACK_H
#define UNWIND_PACK_H

#include <stdbool.h>
#include <stdint.h>

/* Raise it when files get other rules, or these bytes another layout: tables lie on disk. */
#define UNWIND_PACK_VERSION 1u

#define UNWIND_PACK_RULES_MAX 32768u /* different rules of a file */

struct unwind_rows;

struct unwind_pack {         /* zeroed: no rows */
	const uint8_t *data; /* borrowed, or of unwind_pack_make() */
	uint32_t bytes;
	uint32_t nr_rows, nr_blocks, nr_rules;
};

/* Packs the rows, of which there is one at least. `tag` names the table (table_arena.h). The caller owns the memory,
 * which comes from mmap(): unwind_pack_fini(). Returns 0; -ENOMEM; -ENOSPC: too many different rules, or 4 GiB. On
 * error *pack is zeroed. */
int unwind_pack_make(const struct unwind_rows *rows, uint64_t tag, struct unwind_pack *pack);
void unwind_pack_fini(struct unwind_pack *pack);

/* Returns the bytes of memory that the pack takes: whole pages. */
static inline uint64_t unwind_pack_memory(const struct unwind_pack *pack)
{
	return ((uint64_t)pack->bytes + 4095) & ~UINT64_C(4095);
}

/* Looks at bytes that unwind_pack_make() made, or that say so. data: aligned to 8 bytes. false: they are not a table of
 * this name, or do not fit in `size` bytes; *pack is then zeroed. Later changes of the bytes do no harm. */
bool unwind_pack_open(const uint8_t *data, uint64_t size, uint64_t tag, struct unwind_pack *pack);

/* Returns the rule of the last row that begins at or below pc (unwind_row.h). */
uint32_t unwind_pack_find(const struct unwind_pack *pack, uint32_t pc);

#endif
