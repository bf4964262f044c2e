#include "id_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void id_table_fini(struct id_table *table)
{
	for (uint32_t i = 0; i < table->nr_chunks; i++)
		free(table->chunks[i]);
	free(table->chunks);
	memset(table, 0, sizeof(*table));
}

int id_table_set(struct id_table *table, uint32_t from, uint32_t to)
{
	uint32_t chunk = from / ID_TABLE_CHUNK;

	if (array_reserve_zeroed(&table->chunks, &table->nr_chunks, chunk + 1,
				 sizeof(*table->chunks)))
		return -ENOMEM;
	if (!table->chunks[chunk])
		table->chunks[chunk] = calloc(ID_TABLE_CHUNK, sizeof(**table->chunks));
	if (!table->chunks[chunk])
		return -ENOMEM;
	table->chunks[chunk][from % ID_TABLE_CHUNK] = to;
	return 0;
}
