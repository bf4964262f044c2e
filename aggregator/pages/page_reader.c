#include "page_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_code.h"
#include "page_tables.h"

#include "aggregator/store/store_schema.h"
#include "base/array.h"

#define SQL_MAX 512u

struct page_reader {
	struct page_tables tables;
	struct page_code code;
	uint8_t *bytes; /* owns; the blobs and texts of the page's rows so far */
	uint32_t nr_bytes, room;
	struct database_value values[PROFILE_PAGE_ROWS * PAGE_CODE_COLUMNS_MAX];
	uint32_t nr_rows;
	struct profile_page page;
	int (*take)(void *context, const struct profile_page *page);
	void *context;
};

/* Gives the rows that were read as a page. */
static int finish_page(struct page_reader *reader, uint32_t nr_columns)
{
	const uint8_t *at = reader->bytes;

	if (!reader->nr_rows)
		return 0;
	/* The bytes have moved while they grew. */
	for (uint32_t i = 0; i < reader->nr_rows * nr_columns; i++)
		if (reader->values[i].type >= DATABASE_BYTES) {
			reader->values[i].bytes = at;
			at += reader->values[i].size;
		}
	int error = page_code_encode(&reader->code, reader->values, reader->nr_rows, nr_columns);
	if (error)
		return error;
	reader->page.bytes = reader->code.bytes;
	reader->page.size = reader->code.size;
	error = reader->take(reader->context, &reader->page);
	reader->page.number++;
	reader->nr_rows = reader->nr_bytes = 0;
	return error;
}

static int keep_row(struct page_reader *reader, struct statement *row, uint32_t nr_columns)
{
	struct database_value *values = &reader->values[reader->nr_rows * nr_columns];

	for (uint32_t i = 0; i < nr_columns; i++) {
		values[i] = statement_value(row, i);
		if (values[i].type < DATABASE_BYTES || !values[i].size)
			continue;
		int error = array_reserve(&reader->bytes, &reader->room,
					  (uint64_t)reader->nr_bytes + values[i].size, 1);
		if (error)
			return error;
		memcpy(reader->bytes + reader->nr_bytes, values[i].bytes, values[i].size);
		reader->nr_bytes += values[i].size;
	}
	reader->nr_rows++;
	return 0;
}

static int read_table(struct page_reader *reader, struct database *database,
		      const struct page_table *table)
{
	char sql[SQL_MAX];
	struct statement *row = NULL;
	int more = 0;

	int error = store_schema_select_final(table->name, table->key, sql, sizeof(sql));
	if (!error)
		error = statement_create(database, sql, &row);
	reader->page.number = 0;
	while (!error && (more = statement_step(row)) > 0) {
		error = keep_row(reader, row, table->nr_columns);
		if (!error && (reader->nr_rows == PROFILE_PAGE_ROWS ||
			       reader->nr_bytes >= PROFILE_PAGE_BYTES))
			error = finish_page(reader, table->nr_columns);
	}
	statement_destroy(row);
	if (!error)
		error = more;
	return error ? error : finish_page(reader, table->nr_columns);
}

int page_reader_read(struct database *database,
		     int (*take)(void *context, const struct profile_page *page), void *context)
{
	struct page_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->take = take;
	reader->context = context;
	int error = page_tables_read(database, &reader->tables);
	for (uint32_t i = 0; i < reader->tables.count && !error; i++) {
		reader->page.table = i;
		error = read_table(reader, database, &reader->tables.tables[i]);
	}
	page_code_fini(&reader->code);
	free(reader->bytes);
	free(reader);
	return error;
}
