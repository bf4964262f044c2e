/* A SQLite database file, with the operations that the store needs. database.c alone includes sqlite3.h. Errors are 0
 * or -errno: -EPROTO: not a database, damaged, or SQL that does not fit it; -ENOSPC: the disk is full; -EBUSY: another
 * process has locked it; -EACCES: it cannot be opened; -EIO; -ENOMEM; -EFBIG: a value over SQLite's limits. A database
 * and its statements are used by one thread. */
#ifndef DATABASE_H
#define DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;
struct statement;

/* SQL then has the function join_durations(durations, count, ns, durations, count, ns): the sum of two encoded
 * histograms (duration_bins.h); NULL: one of them is NULL, or their counts are above INT64_MAX together; no bytes: one
 * of them is no histogram of its count and ns.
 * On error *database is NULL, and *error, if error is not NULL, is one line, which the caller owns (free()). */
int database_open(const char *path, bool read_only, struct database **database, char **error);

/* Returns whether PRAGMA quick_check checks a single table by its name. Before 3.33 SQLite checks all of them. */
bool database_checks_tables(void);

/* Rolls an open transaction back. Destroy all statements before. Accepts NULL. */
void database_close(struct database *database);

/* Returns whether the open file was deleted, moved or replaced, so that its name no longer leads to it. */
bool database_has_moved(struct database *database);

/* Adds the SQL function checksum(value, …): 32 bits of all its values and their types. */
int database_add_checksum(struct database *database);

/* Whether statements wait for locks of other processes, two seconds at most, as they do from the beginning. */
void database_wait(struct database *database, bool waits);

/* Executes one or more statements, and ignores their results. */
int database_execute(struct database *database, const char *sql);

/* Writes the contents to a file, which must be empty, without free pages; gives up at until_ns (CLOCK_MONOTONIC):
 * -EINTR. The file may not be on disk yet. */
int database_copy(struct database *database, const char *path, uint64_t until_ns);

/* Rolls back a transaction if one is open, and keeps database_error(). */
void database_roll_back(struct database *database);

/* Reads the first column of the first row as a number; 0: there is no row. */
int database_query_number(struct database *database, const char *sql, int64_t *number);
/* Reads the first column of the first row as text, cut to size. */
int database_query_text(struct database *database, const char *sql, char *text, size_t size);

/* Describes the last error, and what the system said of it. Borrowed until the next call. */
const char *database_error(struct database *database);

/* The same of an error (-errno) that may be another's: if the database had none, what the system says of it. */
const char *database_error_of(struct database *database, int status);

enum database_type {
	DATABASE_NULL,
	DATABASE_NUMBER,
	DATABASE_BYTES,
	DATABASE_TEXT,
};

/* Unsigned 64-bit numbers are stored as their two's complement; sums must stay below 2^63. */
struct database_value {
	enum database_type type;
	uint32_t size;
	int64_t number;
	const void *bytes; /* borrowed until the call returns */
};

static inline struct database_value database_number(uint64_t number)
{
	return (struct database_value){.type = DATABASE_NUMBER, .number = (int64_t)number};
}

static inline struct database_value database_signed(int64_t number)
{
	return (struct database_value){.type = DATABASE_NUMBER, .number = number};
}

/* SQL's integers are signed, so a sum above the largest of them is stored as that one. */
static inline struct database_value database_amount(uint64_t number)
{
	return database_number(number < INT64_MAX ? number : INT64_MAX);
}

/* NULL stands for the number that is none. */
static inline struct database_value database_unless(int64_t number, int64_t none)
{
	return number == none ? (struct database_value){.type = DATABASE_NULL}
			      : database_signed(number);
}

static inline struct database_value database_bytes(const void *bytes, size_t size)
{
	return (struct database_value){
		.type = DATABASE_BYTES, .size = (uint32_t)size, .bytes = bytes};
}

/* On error *statement is NULL. */
int statement_create(struct database *database, const char *sql, struct statement **statement);
void statement_destroy(struct statement *statement); /* accepts NULL */

/* Runs a statement without rows. */
int statement_run(struct statement *statement, const struct database_value *values,
		  uint32_t nr_values);

/* Starts a query with these values: returns as statement_step(). The values are borrowed until the statement starts
 * again. After a row, call statement_reset() or step to the end. */
int statement_start(struct statement *statement, const struct database_value *values,
		    uint32_t nr_values);
void statement_reset(struct statement *statement);

/* Steps to the next row: 1; 0: no more rows, and the statement starts again; or an error. */
int statement_step(struct statement *statement);

/* Gives each row of a query to take(), as long as that returns 0. Returns 0, the error of take(), or one of the
 * database. */
int database_rows(struct database *database, const char *sql,
		  int (*take)(struct statement *row, void *context), void *context);

/* Return values of the current row. NULL reads as 0 and as no bytes. Bytes are borrowed until the next step. */
struct database_value statement_value(struct statement *statement, uint32_t column);
int64_t statement_signed(struct statement *statement, uint32_t column);
uint64_t statement_number(struct statement *statement, uint32_t column);
/* Returns the low 32 bits, for ids, which the caller checks. */
uint32_t statement_number32(struct statement *statement, uint32_t column);
bool statement_null(struct statement *statement, uint32_t column);
const void *statement_bytes(struct statement *statement, uint32_t column, uint32_t *size);

#endif
