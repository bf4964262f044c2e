#include "id_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void id_table_fini(struct id_table *table)
{
	free(table->ids);
	memset(table, 0, sizeof(*table));
}

int id_table_set(struct id_table *table, uint32_t from, uint32_t to)
{
	if (from >= table->count) {
		uint32_t count = (from + 64) * 2;
		uint32_t *ids = realloc(table->ids, count * sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		memset(ids + table->count, 0, (count - table->count) * sizeof(*ids));
		table->ids = ids;
		table->count = count;
	}
	table->ids[from] = to;
	return 0;
}
