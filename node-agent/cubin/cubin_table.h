/* The cubins of one process, which come in chunks and are kept as line tables (cubin_lines.h). The process may be
 * hostile: it may announce anything, send chunks twice or never, and each of its cubins may be damaged. What it makes
 * the agent hold is bounded, also while it waits for a worker, and line tables that it shares count in full. One thread
 * at a time: that which destroys the cache. */
#ifndef CUBIN_TABLE_H
#define CUBIN_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cubin_lines.h"

#define CUBIN_SIZE_MAX       (64u << 20)  /* bytes of a cubin */
#define CUBIN_TABLE_SIZE_MAX (256u << 20) /* bytes of cubins without a table yet, and line tables */
#define CUBIN_TABLE_MAX      (1u << 14)   /* cubins that are remembered */

struct cubin_cache;
struct cubin_table;

enum cubin_state {
	CUBIN_UNKNOWN = 0, /* no chunk has come */
	CUBIN_PARTIAL = 1,
	CUBIN_WITH_LINES = 2,
	CUBIN_WITHOUT_LINES = 3,
	CUBIN_DAMAGED = 4,
	CUBIN_REFUSED = 5,
	CUBIN_WAITING = 6, /* all chunks have come, and a worker makes the table */
};

/* Cubins, each counted in one of these once it is known. */
struct cubin_counts {
	uint64_t with_lines, without_lines, damaged;
	uint64_t refused; /* beyond the bounds above, or memory was lacking */
	uint64_t partial; /* now, as waiting */
	uint64_t waiting;
};

/* The cache is borrowed until cubin_table_destroy(). user: the process's, in whose name workers make its tables. NULL:
 * out of memory. The caller owns the table; cubin_table_destroy() accepts NULL. */
struct cubin_table *cubin_table_create(struct cubin_cache *cache, uid_t user);
void cubin_table_destroy(struct cubin_table *table);

/* Takes nr_bytes from offset on of the cubin `crc`, which has size bytes. Chunks may come in any order, overlap, and
 * come again; chunks of a finished cubin change nothing. With the last byte the cubin goes to the cache's worker, and
 * waits for cubin_table_step(); without a worker its line table is made at once. 0; -EINVAL: the chunk is empty, lies
 * outside of the cubin, or gives it another size than those before; -EFBIG: the cubin is refused; -ENOMEM: it is
 * refused for lack of memory. What is refused or damaged stays so. */
int cubin_table_chunk(struct cubin_table *table, uint64_t crc, uint32_t size, uint32_t offset,
		      const void *bytes, uint32_t nr_bytes);

/* Takes the tables that workers have made since the last call. */
void cubin_table_step(struct cubin_table *table);

/* Refuses a cubin that waits. Others stay as they are. */
void cubin_table_give_up(struct cubin_table *table, uint64_t crc);

enum cubin_state cubin_table_state(const struct cubin_table *table, uint64_t crc);

/* As cubin_lines_code(); not known, too, if the cubin has no lines. The code and all texts of its frames are borrowed
 * until cubin_table_destroy(). */
struct cubin_code cubin_table_code(const struct cubin_table *table, uint64_t crc,
				   const char *function);

void cubin_table_count(const struct cubin_table *table, struct cubin_counts *counts);

#endif
