#include "store_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY "timeline"

int store_timeline_read(struct database *database, uint8_t id[static STORE_TIMELINE_ID],
			bool *known)
{
	char text[2 * STORE_TIMELINE_ID + 2];
	unsigned int byte;
	int error = database_query_text(
		database, "SELECT CAST(value AS BLOB) FROM meta WHERE key = '" KEY "'", text,
		sizeof(text));

	*known = !error && strlen(text) == 2 * STORE_TIMELINE_ID &&
		 strspn(text, "0123456789abcdef") == 2 * STORE_TIMELINE_ID;
	memset(id, 0, STORE_TIMELINE_ID);
	for (uint32_t i = 0; *known && i < STORE_TIMELINE_ID; i++)
		if (sscanf(text + 2 * i, "%2x", &byte) == 1)
			id[i] = (uint8_t)byte;
	return error;
}

int store_timeline_make(struct database *database, uint8_t id[static STORE_TIMELINE_ID])
{
	bool known;
	int error = database_execute(database, "INSERT INTO meta VALUES"
					       " ('" KEY "', lower(hex(randomblob(16))))"
					       " ON CONFLICT (key) DO NOTHING");

	if (!error)
		error = store_timeline_read(database, id, &known);
	return error || known ? error : -EPROTO;
}

int store_timeline_forget(struct database *database)
{
	return database_execute(database, "DELETE FROM meta WHERE key = '" KEY "'");
}

int store_timeline_is_slice(struct database *database, bool *is_slice)
{
	int64_t count = 0;
	int error = database_query_number(
		database, "SELECT count(*) FROM meta WHERE key = '" STORE_TIMELINE_SLICE "'",
		&count);

	*is_slice = count > 0;
	return error;
}
