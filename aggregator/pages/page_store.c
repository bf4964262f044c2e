#include "page_store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_code.h"
#include "page_tables.h"

#include "aggregator/store/store_schema.h"

#define SQL_MAX 256u

struct page_store {
	struct database *database; /* owns */
	bool is_wanted[PROFILE_TABLES_MAX];
	struct statement *inserts[PROFILE_TABLES_MAX]; /* owns; NULL: not needed yet */
	struct page_tables tables;
	struct database_value values[PROFILE_PAGE_ROWS * PAGE_CODE_COLUMNS_MAX];
};

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names;
}

static bool is_wanted(enum page_store_part part, const char *table)
{
	static const char *const stacks[] = {"strings", "modules", "codes",
					     "frames",  "nodes",   NULL};
	static const char *const things[] = {"meta",    "writers",   "epochs", "hosts",
					     "devices", "processes", NULL};

	static const char *const sums[] = {"hosts",     "devices", "processes", "process_devices",
					   "timelines", "ledger",  NULL};

	if (part == PAGE_STORE_ALL)
		return true;
	if (part == PAGE_STORE_SUMS)
		return is_one_of(table, sums);
	if (part == PAGE_STORE_STRINGS)
		return strcmp(table, "strings") == 0;
	return is_one_of(table, stacks) ? part == PAGE_STORE_NAMES
					: part == PAGE_STORE_ROWS || is_one_of(table, things);
}

int page_store_create(enum page_store_part part, struct page_store **store)
{
	struct page_store *made = calloc(1, sizeof(*made));

	*store = NULL;
	if (!made)
		return -ENOMEM;
	int error = database_open(":memory:", false, &made->database, NULL);
	if (!error)
		error = store_schema_create(made->database);
	/* The rows of a new store are not those of the pages. */
	if (!error)
		error = database_execute(made->database,
					 "BEGIN; DELETE FROM meta; DELETE FROM writers");
	if (!error)
		error = page_tables_read(made->database, &made->tables);
	for (uint32_t i = 0; i < made->tables.count && !error; i++)
		made->is_wanted[i] = is_wanted(part, made->tables.tables[i].name);
	if (error)
		page_store_destroy(made);
	else
		*store = made;
	return error;
}

static void destroy_statements(struct page_store *store)
{
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		statement_destroy(store->inserts[i]);
}

void page_store_destroy(struct page_store *store)
{
	if (!store)
		return;
	destroy_statements(store);
	database_close(store->database);
	free(store);
}

static int create_insert(struct page_store *store, uint32_t table)
{
	char sql[SQL_MAX];
	int size = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?",
			    store->tables.tables[table].name);

	for (uint32_t i = 1; i < store->tables.tables[table].nr_columns; i++)
		size += snprintf(sql + size, sizeof(sql) - (size_t)size, ",?");
	snprintf(sql + size, sizeof(sql) - (size_t)size, ")");
	return statement_create(store->database, sql, &store->inserts[table]);
}

int page_store_add(struct page_store *store, const struct profile_page *page)
{
	uint32_t nr_rows = 0;
	if (page->table >= store->tables.count)
		return -EPROTO;
	if (!store->is_wanted[page->table])
		return 0;
	int error = store->inserts[page->table] ? 0 : create_insert(store, page->table);
	if (error)
		return error;
	const uint32_t nr_columns = store->tables.tables[page->table].nr_columns;
	error = page_code_decode(page->bytes, page->size, nr_columns, store->values, &nr_rows);
	for (uint32_t i = 0; i < nr_rows && !error; i++)
		error = statement_run(store->inserts[page->table],
				      &store->values[(size_t)i * nr_columns], nr_columns);
	return error;
}

struct database *page_store_finish(struct page_store *store)
{
	struct database *database = store->database;

	destroy_statements(store);
	free(store);
	if (database_execute(database, "COMMIT") == 0)
		return database;
	database_close(database);
	return NULL;
}
