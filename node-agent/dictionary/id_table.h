/* A growing table from one side's ids to another's; unset entries are 0. It takes memory where entries are set, so
 * that one high id costs no more than one low. Single-threaded. */
#ifndef ID_TABLE_H
#define ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define ID_TABLE_CHUNK 256u /* entries that are allocated together */

struct id_table {
	uint32_t **chunks; /* owns, and each of them; NULL: all of it is unset */
	uint32_t nr_chunks;
};

void id_table_fini(struct id_table *table); /* accepts zeroed memory */

/* The caller bounds from. 0 or -ENOMEM. */
int id_table_set(struct id_table *table, uint32_t from, uint32_t to);

static inline uint32_t id_table_get(const struct id_table *table, uint32_t from)
{
	uint32_t chunk = from / ID_TABLE_CHUNK;

	if (chunk >= table->nr_chunks || !table->chunks[chunk])
		return 0;
	return table->chunks[chunk][from % ID_TABLE_CHUNK];
}

#endif
