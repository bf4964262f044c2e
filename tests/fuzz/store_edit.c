#include "store_edit.h"

#include <assert.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLES_MAX  64u
#define COLUMNS_MAX 64u
#define NAME_SIZE   48u
#define SQL_SIZE    4096u
#define BLOB_MAX    64u

struct column {
	char name[NAME_SIZE];
	char type; /* the first letter of its type */
	bool is_key;
};

struct table {
	char name[NAME_SIZE];
	uint32_t nr_columns;
	struct column columns[COLUMNS_MAX];
};

static struct table tables[TABLES_MAX];
static uint32_t nr_tables;

static_assert(sizeof(struct store_edit) == STORE_EDIT_SIZE, "inputs are lists of these");

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		abort();
	return statement;
}

static void read_columns(sqlite3 *database, struct table *table)
{
	char sql[SQL_SIZE];

	snprintf(sql, sizeof(sql), "SELECT name, type, pk FROM pragma_table_info('%s')", table->name);
	sqlite3_stmt *rows = prepare(database, sql);
	while (sqlite3_step(rows) == SQLITE_ROW && table->nr_columns < COLUMNS_MAX) {
		struct column *column = &table->columns[table->nr_columns++];

		snprintf(column->name, NAME_SIZE, "\"%s\"", (const char *)sqlite3_column_text(rows, 0));
		column->type = (char)*sqlite3_column_text(rows, 1);
		column->is_key = sqlite3_column_int(rows, 2) != 0;
	}
	sqlite3_finalize(rows);
}

static sqlite3 *open_store(const char *path)
{
	sqlite3 *database;

	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN", NULL, NULL,
			 NULL) != SQLITE_OK)
		abort();
	if (nr_tables)
		return database;
	sqlite3_stmt *rows =
		prepare(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid");
	while (sqlite3_step(rows) == SQLITE_ROW && nr_tables < TABLES_MAX) {
		struct table *table = &tables[nr_tables++];

		snprintf(table->name, NAME_SIZE, "%s", (const char *)sqlite3_column_text(rows, 0));
		read_columns(database, table);
	}
	sqlite3_finalize(rows);
	return database;
}

uint32_t store_edit_tables(const char *path)
{
	sqlite3_close(open_store(path));
	return nr_tables;
}

/* Numbers where things end, small ones, and any. */
static int64_t number_of(const struct store_edit *edit)
{
	static const int64_t special[] = {0,	     1,		-1,	   2,	      INT32_MAX, UINT32_MAX,
					  INT64_MAX, INT64_MIN, INT32_MIN, 1ll << 32, UINT16_MAX, 255};

	switch (edit->form % 4) {
	case 0:
		return special[edit->value % (sizeof(special) / sizeof(*special))];
	case 1:
		return (int64_t)(edit->value % 64);
	default:
		return (int64_t)edit->value;
	}
}

static void bind_value(sqlite3_stmt *statement, const struct store_edit *edit, char type)
{
	uint8_t blob[BLOB_MAX];

	if (edit->form >= 0xf8) {
		sqlite3_bind_null(statement, 1);
		return;
	}
	for (uint32_t i = 0; i < BLOB_MAX; i++)
		blob[i] = (uint8_t)(edit->value >> i % 8 * 8);
	if (type == 'I' || (type == 'A' && edit->form % 2))
		sqlite3_bind_int64(statement, 1, number_of(edit));
	else if (type == 'T')
		sqlite3_bind_text(statement, 1, (const char *)blob, edit->form % BLOB_MAX, SQLITE_TRANSIENT);
	else
		sqlite3_bind_blob(statement, 1, blob, edit->form % (BLOB_MAX + 1), SQLITE_TRANSIENT);
}

/* Which row of a table: by its keys, as many tables have no row numbers. */
static size_t put_row(char *sql, size_t room, const struct table *table, uint32_t row)
{
	char keys[SQL_SIZE] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < table->nr_columns; i++)
		if (table->columns[i].is_key)
			used += (size_t)snprintf(keys + used, sizeof(keys) - used, "%s%s", used ? "," : "",
						 table->columns[i].name);
	return (size_t)snprintf(sql, room, " WHERE (%s) IN (SELECT %s FROM %s LIMIT 1 OFFSET %u)", keys, keys,
				table->name, row);
}

/* A copy of a row with the value in its column; or a row that is made of it. */
static void put_insert(char *sql, const struct table *table, uint32_t changed, const struct store_edit *edit)
{
	bool is_copy = edit->form & 4;
	size_t used = (size_t)snprintf(sql, SQL_SIZE, "INSERT OR REPLACE INTO %s SELECT ", table->name);

	for (uint32_t i = 0; i < table->nr_columns; i++) {
		const struct column *column = &table->columns[i];
		const char *made = column->type == 'I' ? "1" : column->type == 'T' ? "'x'" : "x'0101'";

		used += (size_t)snprintf(sql + used, SQL_SIZE - used, "%s%s", i ? "," : "",
					 i == changed ? "?1" : is_copy ? column->name : made);
	}
	if (is_copy)
		snprintf(sql + used, SQL_SIZE - used, " FROM %s LIMIT 1 OFFSET %u", table->name,
			 edit->row % 64u);
}

/* A value that the table's type does not take is refused by SQLite, and nothing is changed. */
static void edit_row(sqlite3 *database, const struct store_edit *edit)
{
	const struct table *table = &tables[edit->table % nr_tables];
	uint32_t changed = edit->column % table->nr_columns;
	const char *name = table->columns[changed].name;
	char sql[SQL_SIZE];
	size_t used = 0;

	switch (edit->kind % STORE_EDIT_KINDS) {
	case STORE_EDIT_SET:
		used = (size_t)snprintf(sql, sizeof(sql), "UPDATE OR REPLACE %s SET %s = ?1", table->name, name);
		break;
	case STORE_EDIT_DELETE:
		used = (size_t)snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
		break;
	case STORE_EDIT_BYTE:
		if (table->columns[changed].type != 'B')
			return;
		used = (size_t)snprintf(sql, sizeof(sql),
					"UPDATE OR REPLACE %s SET %s = CAST(substr(%s, 1, %u) || substr(?1, 1, 1) || "
					"substr(%s, %u) AS BLOB)",
					table->name, name, name, edit->at % 512u, name, edit->at % 512u + 2);
		break;
	default:
		put_insert(sql, table, changed, edit);
		break;
	}
	if (used)
		put_row(sql + used, sizeof(sql) - used, table, edit->row % 64u);
	sqlite3_stmt *statement = prepare(database, sql);
	if (sqlite3_bind_parameter_count(statement))
		bind_value(statement, edit, table->columns[changed].type);
	sqlite3_step(statement);
	sqlite3_finalize(statement);
}

static void edit_file(const char *path, const struct store_edit *edit)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;
	uint8_t byte;

	if (fd < 0 || fstat(fd, &status) != 0)
		abort();
	off_t at = (off_t)(edit->value % (uint64_t)status.st_size);
	if (pread(fd, &byte, 1, at) != 1)
		abort();
	byte ^= edit->form;
	if (pwrite(fd, &byte, 1, at) != 1)
		abort();
	close(fd);
}

void store_edit_apply(const char *path, const uint8_t *data, size_t size)
{
	struct store_edit edits[STORE_EDITS_MAX];
	size_t nr = size / STORE_EDIT_SIZE < STORE_EDITS_MAX ? size / STORE_EDIT_SIZE : STORE_EDITS_MAX;
	sqlite3 *database = open_store(path);

	memcpy(edits, data, nr * sizeof(*edits));
	for (size_t i = 0; i < nr; i++)
		if (edits[i].kind % STORE_EDIT_KINDS != STORE_EDIT_RAW)
			edit_row(database, &edits[i]);
	if (sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(database);
	for (size_t i = 0; i < nr; i++)
		if (edits[i].kind % STORE_EDIT_KINDS == STORE_EDIT_RAW)
			edit_file(path, &edits[i]);
}
