#include "store_table.h"

#include <errno.h>

struct load {
	struct collection *collection;
	store_table_take *take;
};

static int take_row(struct statement *row, void *context)
{
	const struct load *load = context;

	switch (load->take(load->collection, row)) {
	case 0:
		return 0;
	case -ENOMEM:
		return -ENOMEM;
	default:
		return -EPROTO;
	}
}

int store_table_load(struct database *database, struct collection *collection,
		     const struct store_table *tables, size_t nr_tables)
{
	int error = 0;

	for (size_t i = 0; i < nr_tables && !error; i++) {
		struct load load = {collection, tables[i].take};

		error = database_rows(database, tables[i].sql, take_row, &load);
	}
	return error;
}

int store_table_refuse(struct collection *collection, struct statement *row)
{
	(void)collection;
	(void)row;
	return -EPROTO;
}
