/* What Flamegrid asks of a ClickHouse server, over HTTP: the tables are those of docs/clickhouse.sql. Used by one
 * thread. */
#ifndef CLICKHOUSE_H
#define CLICKHOUSE_H

#include <stddef.h>
#include <stdint.h>

#include "export_target.h"

#define CLICKHOUSE_SCHEMA 1 /* version of docs/clickhouse.sql */

/* A source with this word in place of a writer claims nothing. */
#define CLICKHOUSE_WITHDRAWN "withdrawn"

struct clickhouse;

/* Identifies a batch of rows among all that any profile sends. */
struct clickhouse_batch {
	const char *table;
	const char *source; /* of hexadecimal digits */
	uint64_t number;
};

/* Looks at the server's version and tables. 0 or -errno with *error one line, as all functions here: the caller owns it
 * (free()). -EIO: there was no answer; -EPROTO: the server refused, or its answer makes no sense. The target is
 * borrowed until close. Call clickhouse_close() in either case. */
int clickhouse_open(const struct export_target *target, struct clickhouse **clickhouse,
		    char **error);
void clickhouse_close(struct clickhouse *clickhouse); /* accepts NULL */

/* Counts the rows of a batch that the server has. */
int clickhouse_count(struct clickhouse *clickhouse, const struct clickhouse_batch *batch,
		     uint64_t *rows, char **error);

/* Counts the rows of all sources that have a writer of a list such as "'0a','ff'", but not those of one source; "": no
 * exception. */
int clickhouse_count_writers(struct clickhouse *clickhouse, const char *writers, const char *except,
			     uint64_t *rows, char **error);

/* Counts the sources that claim a writer of such a list: all but one, and those that took their claim back. */
int clickhouse_count_claims(struct clickhouse *clickhouse, const char *writers, const char *except,
			    uint64_t *sources, char **error);

/* Inserts a batch, rows of JSON that are compressed as gzip does. A server of version 22 or later takes equal batches
 * once, as far back as the table's non_replicated_deduplication_window. No server runs two inserts of one batch at
 * once. On error it is not known whether the rows are there. */
int clickhouse_insert(struct clickhouse *clickhouse, const struct clickhouse_batch *batch,
		      const void *body, size_t size, char **error);

#endif
