#include "page_tables.h"

#include <errno.h>
#include <string.h>

#include "page_code.h"

/* The messages of a store are in no page: they are the work of tables that a page shows when it has been done. */
#define TABLES                                                                                     \
	"SELECT CAST(t.name AS BLOB),"                                                             \
	" CAST((SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_table_info(t.name)"   \
	" WHERE pk ORDER BY pk)) AS BLOB),"                                                        \
	" (SELECT count(*) FROM pragma_table_info(t.name))"                                        \
	" FROM sqlite_master t WHERE t.type = 'table' AND t.name != 'messages' ORDER BY t.rowid"

static int copy_text(struct statement *row, uint32_t column, char *text, uint32_t room)
{
	uint32_t size;
	const void *bytes = statement_bytes(row, column, &size);

	if (!size || size >= room)
		return -EPROTO;
	memcpy(text, bytes, size);
	text[size] = '\0';
	return 0;
}

static int take_table(struct statement *row, void *context)
{
	struct page_tables *tables = context;

	if (tables->count == PROFILE_TABLES_MAX)
		return -EPROTO;
	struct page_table *table = &tables->tables[tables->count++];
	int error = copy_text(row, 0, table->name, sizeof(table->name));
	if (!error)
		error = copy_text(row, 1, table->key, sizeof(table->key));
	table->nr_columns = statement_number32(row, 2);
	return error || table->nr_columns <= PAGE_CODE_COLUMNS_MAX ? error : -EPROTO;
}

int page_tables_read(struct database *database, struct page_tables *tables)
{
	tables->count = 0;
	return database_rows(database, TABLES, take_table, tables);
}
