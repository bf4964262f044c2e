/* Batches as ClickHouse takes them: rows of JSON, compressed as gzip does. Used by one thread. */
#ifndef CLICKHOUSE_ROWS_H
#define CLICKHOUSE_ROWS_H

#include <stdint.h>
#include <stdio.h>

#include "export_journal.h"

#include "base/memory_text.h"
#include "report/model/report_tree.h"

/* One insert is one block for the server, so it has all of its rows or none. */
#define CLICKHOUSE_ROWS_MAX 50000u

/* A compressed text of rows. Zeroed: it is not open. */
struct clickhouse_text {
	struct memory_text memory;
	FILE *out; /* owns; to write to */
	uint64_t rows;
};

/* 0 or -ENOMEM. clickhouse_text_end() follows in any case; it drops a text without rows: *bytes is NULL. The caller
 * owns *bytes: free(). */
int clickhouse_text_begin(struct clickhouse_text *text);
int clickhouse_text_end(struct clickhouse_text *text, void **bytes, size_t *size);

/* The context of the maker's functions; the first two are borrowed. */
struct clickhouse_rows {
	const struct report_tree *tree; /* whose leaves the rows are of */
	const char *source;             /* of hexadecimal digits */
	uint64_t time_s;
	uint64_t number;
	enum export_rows kind;
	struct clickhouse_text rows, stacks;
};

/* Fills *maker; rows is borrowed as long as it is used. */
void clickhouse_rows_maker(struct clickhouse_rows *rows, struct export_maker *maker);

#endif
