#include "store_note.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

#define HEX_SIZE  (2 * STORE_WRITER_SIZE + 1)
#define NOTES_MAX "4096" /* of a kind; further ones are left out */

#define READ(prefix)                                                                               \
	"SELECT CAST(substr(key, 1 + length('" prefix "')) AS BLOB),"                              \
	" CAST(value AS BLOB) FROM meta"                                                           \
	" WHERE substr(key, 1, length('" prefix "')) = '" prefix "' ORDER BY key LIMIT " NOTES_MAX
/* The store of one writer has the key alone. */
#define READ_FULL                                                                                  \
	"SELECT CASE key WHEN 'full' THEN CAST((SELECT lower(hex(min(writer))) FROM writers"       \
	" HAVING count(*) = 1) AS BLOB) ELSE CAST(substr(key, 6) AS BLOB) END,"                    \
	" CAST(value AS BLOB) FROM meta"                                                           \
	" WHERE key = 'full' OR substr(key, 1, 5) = 'full ' ORDER BY key LIMIT " NOTES_MAX
#define WRITE(prefix)                                                                              \
	"INSERT INTO meta VALUES ('" prefix "' || CAST(?1 AS TEXT), CAST(?2 AS TEXT))"             \
	" ON CONFLICT DO UPDATE SET value = min(value, excluded.value)"

static const struct {
	const char *read, *write;
} commands[STORE_NOTE_KINDS] = {
	[STORE_NOTE_DAMAGED] = {READ("damaged "), WRITE("damaged ")},
	[STORE_NOTE_UNSENT] = {READ("unsent "), WRITE("unsent ")},
	[STORE_NOTE_FULL] = {READ_FULL, WRITE("full ")},
	[STORE_NOTE_TIMELINE] = {READ("untimed "), WRITE("untimed ")},
};

struct reading {
	enum store_note_kind kind;
	struct store_note **notes;
	uint32_t *count;
};

void store_note_set_writer(struct store_note *note, const uint8_t writer[static STORE_WRITER_SIZE])
{
	for (size_t i = 0; i < STORE_WRITER_SIZE; i++)
		snprintf(note->key + 2 * i, 3, "%02x", writer[i]);
}

bool store_note_writer(const struct store_note *note, uint8_t writer[static STORE_WRITER_SIZE])
{
	struct store_note same;

	if (strlen(note->key) != HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < STORE_WRITER_SIZE; i++)
		if (sscanf(note->key + 2 * i, "%2hhx", &writer[i]) != 1)
			return false;
	store_note_set_writer(&same, writer);
	return strcmp(same.key, note->key) == 0;
}

int store_note_node(struct database *database, char *name, size_t size)
{
	return database_query_text(database,
				   "SELECT data FROM strings WHERE id = (SELECT node FROM hosts"
				   " ORDER BY id LIMIT 1)",
				   name, size);
}

static void copy(struct statement *row, uint32_t column, char text[static STORE_NOTE_SIZE])
{
	uint32_t size;
	const char *bytes = statement_bytes(row, column, &size);

	if (size >= STORE_NOTE_SIZE)
		size = STORE_NOTE_SIZE - 1;
	if (size)
		memcpy(text, bytes, size);
	text[size] = '\0';
}

static int take(struct statement *row, void *context)
{
	const struct reading *reading = context;
	struct store_note note = {.kind = reading->kind};

	copy(row, 0, note.key);
	copy(row, 1, note.text);
	return array_append(reading->notes, reading->count, &note, sizeof(note));
}

int store_note_read(struct database *database, struct store_note **notes, uint32_t *count)
{
	struct reading reading = {.notes = notes, .count = count};
	int error = 0;

	for (; reading.kind < STORE_NOTE_KINDS && !error; reading.kind++)
		error = database_rows(database, commands[reading.kind].read, take, &reading);
	return error;
}

int store_note_write(struct database *database, const struct store_note *note)
{
	const struct database_value values[] = {
		database_bytes(note->key, strlen(note->key)),
		database_bytes(note->text, strlen(note->text)),
	};
	struct statement *statement;
	int error = statement_create(database, commands[note->kind].write, &statement);

	if (!error)
		error = statement_run(statement, values, 2);
	statement_destroy(statement);
	return error;
}
