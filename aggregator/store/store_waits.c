#include "store_waits.h"

#include <stdlib.h>

#include "base/array.h"

void store_waits_fini(struct store_waits *waits)
{
	free(waits->waits);
	*waits = (struct store_waits){0};
}

static int take(struct statement *row, void *context)
{
	struct store_waits *waits = context;
	int error = array_reserve(&waits->waits, &waits->room, waits->count + 1ull,
				  sizeof(*waits->waits));

	if (error)
		return error;
	waits->waits[waits->count++] = (struct store_wait){
		.process = statement_number32(row, 0),
		.device_id = statement_number32(row, 1),
		.ns = statement_number(row, 2),
	};
	return 0;
}

int store_waits_read(struct database *database, struct store_waits *waits)
{
	struct store_waits fresh = {.are_read = true};
	int error = database_rows(database,
				  "SELECT process, device_id, sum(ns) FROM collective_splits"
				  " WHERE part > 0 GROUP BY process, device_id",
				  take, &fresh);

	if (error) {
		store_waits_fini(&fresh);
		return error;
	}
	store_waits_fini(waits);
	*waits = fresh;
	return 0;
}
