/* A growing array from one side's dense ids to another's; unset entries are 0. Single-threaded. */
#ifndef ID_TABLE_H
#define ID_TABLE_H

#include <stdint.h>

struct id_table {
	uint32_t *ids; /* owns */
	uint32_t count;
};

void id_table_fini(struct id_table *table); /* accepts zeroed memory */

/* The caller bounds from. 0 or -ENOMEM. */
int id_table_set(struct id_table *table, uint32_t from, uint32_t to);

static inline uint32_t id_table_get(const struct id_table *table, uint32_t from)
{
	return from < table->count ? table->ids[from] : 0;
}

#endif
