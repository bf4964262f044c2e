#include "store_damage.h"

#include <string.h>

#include "base/array.h"

#define KEY_PREFIX "damaged "
#define NOTES_MAX  "4096" /* further ones are left out */

struct reading {
	struct store_damage **damages;
	uint32_t *count;
};

static void copy(struct statement *row, uint32_t column, char text[static STORE_DAMAGE_SIZE])
{
	uint32_t size;
	const char *bytes = statement_bytes(row, column, &size);

	if (size >= STORE_DAMAGE_SIZE)
		size = STORE_DAMAGE_SIZE - 1;
	if (size)
		memcpy(text, bytes, size);
	text[size] = '\0';
}

static int take(struct statement *row, void *context)
{
	const struct reading *reading = context;
	struct store_damage damage;

	copy(row, 0, damage.key);
	copy(row, 1, damage.text);
	return array_append(reading->damages, reading->count, &damage, sizeof(damage));
}

int store_damage_read(struct database *database, struct store_damage **damages, uint32_t *count)
{
	struct reading reading = {damages, count};

	return database_rows(database,
			     "SELECT CAST(substr(key, 1 + length('" KEY_PREFIX "')) AS BLOB),"
			     " CAST(value AS BLOB) FROM meta"
			     " WHERE substr(key, 1, length('" KEY_PREFIX "')) = '" KEY_PREFIX
			     "' ORDER BY key LIMIT " NOTES_MAX,
			     take, &reading);
}

bool store_damage_is_unsent(const struct store_damage *damage)
{
	const size_t size = strlen(damage->text), end = strlen(STORE_DAMAGE_UNSENT);

	return size >= end && strcmp(damage->text + size - end, STORE_DAMAGE_UNSENT) == 0;
}

int store_damage_write(struct database *database, const struct store_damage *damage)
{
	const struct database_value values[] = {
		database_bytes(damage->key, strlen(damage->key)),
		database_bytes(damage->text, strlen(damage->text)),
	};
	struct statement *statement;
	int error = statement_create(
		database,
		"INSERT INTO meta VALUES ('" KEY_PREFIX "' || CAST(?1 AS TEXT), CAST(?2 AS TEXT))"
		" ON CONFLICT DO UPDATE SET value = min(value, excluded.value)",
		&statement);

	if (!error)
		error = statement_run(statement, values, 2);
	statement_destroy(statement);
	return error;
}
