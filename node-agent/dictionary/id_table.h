/* A growing table that translates the ids of one side to those of another. Entries that were not set are 0. It takes
 * memory only where entries are set, so that a high id costs no more than a low one. Single-threaded. */
#ifndef ID_TABLE_H
#define ID_TABLE_H

#include <stdint.h>

#define ID_TABLE_CHUNK 256u /* entries that are allocated together */

struct id_table {
	uint32_t **chunks; /* owns, and owns each chunk; NULL: no entry of the chunk is set */
	uint32_t nr_chunks;
};

void id_table_fini(struct id_table *table); /* accepts zeroed memory */

/* Sets an entry. The caller bounds from, since each chunk below it takes a pointer. Returns 0 or -ENOMEM. */
int id_table_set(struct id_table *table, uint32_t from, uint32_t to);

static inline uint32_t id_table_get(const struct id_table *table, uint32_t from)
{
	uint32_t chunk = from / ID_TABLE_CHUNK;

	if (chunk >= table->nr_chunks || !table->chunks[chunk])
		return 0;
	return table->chunks[chunk][from % ID_TABLE_CHUNK];
}

#endif
