#include "database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/core/duration_bins.h"
#include "base/clock.h"
#include "base/error_text.h"

#define BUSY_TIMEOUT_MS 2000
#define COPY_STEPS      10000 /* of SQLite's machine, between two looks at the clock */

struct database {
	sqlite3 *handle;
	char error[256]; /* the error before a rollback; "": SQLite has it */
	char text[256];  /* what database_error() returned last, where it is not SQLite's own */
};

struct statement {
	sqlite3_stmt *handle;
};

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
		return -EACCES;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_IOERR:
	case SQLITE_PROTOCOL:
		return -EIO;
	default:
		return -EPROTO;
	}
}

/* SQLite waits for a writer of a named pipe. 0; -EINVAL: one of the database's files is no regular file, and *error
 * says so; -ENOMEM. */
static int check_files(const char *path, char **error)
{
	static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		char *name;
		struct stat info;

		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			return -ENOMEM;
		const bool is_other = stat(name, &info) == 0 && !S_ISREG(info.st_mode);
		if (is_other)
			error_text_set(error, 0, "%s: not a regular file", name);
		free(name);
		if (is_other)
			return -EINVAL;
	}
	return 0;
}

/* values: encoded durations, their count, their ns. */
static int add_durations(struct duration_bins *bins, sqlite3_value **values)
{
	const void *bytes = sqlite3_value_blob(values[0]);
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t nr;
	int error = duration_list_decode(bytes, (size_t)sqlite3_value_bytes(values[0]),
					 (uint64_t)sqlite3_value_int64(values[1]),
					 (uint64_t)sqlite3_value_int64(values[2]), list, &nr);

	for (uint32_t i = 0; i < nr && !error; i++)
		error = duration_bins_add(bins, list[i].bucket, list[i].count);
	return error;
}

static void return_durations(sqlite3_context *context, const struct duration_bins *bins)
{
	struct duration_bin list[DURATION_BUCKETS];
	uint8_t bytes[DURATION_LIST_BYTES_MAX];
	const uint32_t nr = duration_bins_list(bins, list);

	sqlite3_result_blob(context, bytes, (int)duration_list_encode(list, nr, bytes),
			    SQLITE_TRANSIENT);
}

static void join_durations(sqlite3_context *context, int nr_values, sqlite3_value **values)
{
	struct duration_bins bins = {.first = NULL};

	(void)nr_values;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
	    sqlite3_value_type(values[3]) == SQLITE_NULL ||
	    sqlite3_value_int64(values[1]) > INT64_MAX - sqlite3_value_int64(values[4])) {
		sqlite3_result_null(context);
		return;
	}
	int error = add_durations(&bins, values);
	if (!error)
		error = add_durations(&bins, values + 3);
	if (!error)
		return_durations(context, &bins);
	else if (error == -ENOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_zeroblob(context, 0);
	duration_bins_fini(&bins);
}

int database_open(const char *path, bool read_only, struct database **database, char **error)
{
	const int flags =
		SQLITE_OPEN_NOMUTEX |
		(read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

	if (error)
		*error = NULL;
	*database = NULL;
	int status = check_files(path, error);
	if (status)
		return status;
	*database = calloc(1, sizeof(**database));
	if (!*database)
		return -ENOMEM;
	int code = sqlite3_open_v2(path, &(*database)->handle, flags, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_busy_timeout((*database)->handle, BUSY_TIMEOUT_MS);
	if (code == SQLITE_OK)
		code = sqlite3_create_function((*database)->handle, "join_durations", 6,
					       SQLITE_UTF8 | SQLITE_DETERMINISTIC |
						       SQLITE_INNOCUOUS,
					       NULL, join_durations, NULL, NULL);
	if (code == SQLITE_OK)
		return 0;
	error_text_set(error, 0, "%s: %s", path, database_error(*database));
	database_close(*database);
	*database = NULL;
	return errno_of(code);
}

void database_close(struct database *database)
{
	if (!database)
		return;
	sqlite3_close(database->handle);
	free(database);
}

bool database_has_moved(struct database *database)
{
	int has_moved = 0;

	return sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) ==
		       SQLITE_OK &&
	       has_moved;
}

/* FNV-1a: each byte changes the result. */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

static void checksum(sqlite3_context *context, int nr_values, sqlite3_value **values)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < nr_values; i++) {
		const int type = sqlite3_value_type(values[i]);
		const sqlite3_int64 number = sqlite3_value_int64(values[i]);

		hash = add_bytes(hash, &type, sizeof(type));
		if (type == SQLITE_INTEGER) {
			hash = add_bytes(hash, &number, sizeof(number));
			continue;
		}
		const void *bytes = sqlite3_value_blob(values[i]);
		const int size = sqlite3_value_bytes(values[i]);

		hash = add_bytes(hash, &size, sizeof(size));
		hash = add_bytes(hash, bytes, bytes ? (size_t)size : 0);
	}
	sqlite3_result_int64(context, (sqlite3_int64)((hash ^ hash >> 32) & UINT32_MAX));
}

int database_add_checksum(struct database *database)
{
	return errno_of(sqlite3_create_function(
		database->handle, "checksum", -1,
		SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, checksum, NULL, NULL));
}

void database_wait(struct database *database, bool waits)
{
	sqlite3_busy_timeout(database->handle, waits ? BUSY_TIMEOUT_MS : 0);
}

int database_execute(struct database *database, const char *sql)
{
	database->error[0] = '\0';
	return errno_of(sqlite3_exec(database->handle, sql, NULL, NULL, NULL));
}

static int is_late(void *until_ns)
{
	return clock_now_ns() >= *(const uint64_t *)until_ns;
}

int database_copy(struct database *database, const char *path, uint64_t until_ns)
{
	const struct database_value value = database_bytes(path, strlen(path));
	struct statement *statement;
	int error = statement_create(database, "VACUUM INTO CAST(?1 AS TEXT)", &statement);

	if (error)
		return error;
	sqlite3_progress_handler(database->handle, COPY_STEPS, is_late, &until_ns);
	error = statement_run(statement, &value, 1);
	sqlite3_progress_handler(database->handle, 0, NULL, NULL);
	statement_destroy(statement);
	return error;
}

/* SQLite leaves out what the system said. */
static const char *last_error(struct database *database)
{
	const char *text = sqlite3_errmsg(database->handle);
	const int code = sqlite3_errcode(database->handle) & 0xff;
	const int cause = database->handle ? sqlite3_system_errno(database->handle) : 0;

	if (!cause || (code != SQLITE_CANTOPEN && code != SQLITE_IOERR))
		return text;
	snprintf(database->text, sizeof(database->text), "%s: %s", text, strerror(cause));
	return database->text;
}

void database_roll_back(struct database *database)
{
	snprintf(database->error, sizeof(database->error), "%s", last_error(database));
	/* SQLite may have rolled back itself. It refuses a second rollback, which does no harm. */
	sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

int database_query_number(struct database *database, const char *sql, int64_t *number)
{
	struct statement *statement;
	int error = statement_create(database, sql, &statement);

	*number = 0;
	if (error)
		return error;
	error = statement_step(statement);
	if (error > 0) {
		*number = statement_signed(statement, 0);
		error = 0;
	}
	statement_destroy(statement);
	return error;
}

bool database_checks_tables(void)
{
	return sqlite3_libversion_number() >= 3033000;
}

int database_query_text(struct database *database, const char *sql, char *text, size_t size)
{
	struct statement *statement;
	int error = statement_create(database, sql, &statement);

	*text = '\0';
	if (error)
		return error;
	error = statement_step(statement);
	if (error > 0) {
		uint32_t length;
		const char *bytes = statement_bytes(statement, 0, &length);

		snprintf(text, size, "%.*s", (int)length, length ? bytes : "");
		error = 0;
	}
	statement_destroy(statement);
	return error;
}

const char *database_error(struct database *database)
{
	return database->error[0] ? database->error : last_error(database);
}

const char *database_error_of(struct database *database, int status)
{
	const int code = sqlite3_errcode(database->handle) & 0xff;

	return database->error[0] || errno_of(code) ? database_error(database) : strerror(-status);
}

int statement_create(struct database *database, const char *sql, struct statement **statement)
{
	*statement = calloc(1, sizeof(**statement));
	if (!*statement)
		return -ENOMEM;
	int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
				      &(*statement)->handle, NULL);
	if (code == SQLITE_OK)
		return 0;
	free(*statement);
	*statement = NULL;
	return errno_of(code);
}

void statement_destroy(struct statement *statement)
{
	if (!statement)
		return;
	sqlite3_finalize(statement->handle);
	free(statement);
}

static int bind(sqlite3_stmt *handle, int index, const struct database_value *value)
{
	switch (value->type) {
	case DATABASE_NUMBER:
		return sqlite3_bind_int64(handle, index, value->number);
	case DATABASE_BYTES:
		/* sqlite3 would bind NULL for a NULL pointer. */
		return sqlite3_bind_blob64(handle, index, value->size ? value->bytes : "",
					   value->size, SQLITE_STATIC);
	case DATABASE_TEXT:
		return sqlite3_bind_text64(handle, index, value->size ? value->bytes : "",
					   value->size, SQLITE_STATIC, SQLITE_UTF8);
	default:
		return sqlite3_bind_null(handle, index);
	}
}

static int bind_all(struct statement *statement, const struct database_value *values,
		    uint32_t nr_values)
{
	int code = SQLITE_OK;

	for (uint32_t i = 0; i < nr_values && code == SQLITE_OK; i++)
		code = bind(statement->handle, (int)i + 1, &values[i]);
	return code;
}

int statement_run(struct statement *statement, const struct database_value *values,
		  uint32_t nr_values)
{
	int code = bind_all(statement, values, nr_values);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement->handle);
	statement_reset(statement);
	return errno_of(code);
}

int statement_start(struct statement *statement, const struct database_value *values,
		    uint32_t nr_values)
{
	int code = bind_all(statement, values, nr_values);

	return code == SQLITE_OK ? statement_step(statement) : errno_of(code);
}

void statement_reset(struct statement *statement)
{
	sqlite3_reset(statement->handle);
}

int statement_step(struct statement *statement)
{
	int code = sqlite3_step(statement->handle);

	if (code == SQLITE_ROW)
		return 1;
	sqlite3_reset(statement->handle);
	return errno_of(code);
}

int database_rows(struct database *database, const char *sql,
		  int (*take)(struct statement *row, void *context), void *context)
{
	struct statement *row;
	int more = 0, error = statement_create(database, sql, &row);

	while (!error && (more = statement_step(row)) > 0)
		error = take(row, context);
	statement_destroy(row);
	return error ? error : more;
}

struct database_value statement_value(struct statement *statement, uint32_t column)
{
	struct database_value value = {.type = DATABASE_NULL};

	switch (sqlite3_column_type(statement->handle, (int)column)) {
	case SQLITE_INTEGER:
		return database_signed(statement_signed(statement, column));
	case SQLITE_BLOB:
		value.type = DATABASE_BYTES;
		break;
	case SQLITE_TEXT:
		value.type = DATABASE_TEXT;
		break;
	default:
		return value;
	}
	value.bytes = statement_bytes(statement, column, &value.size);
	return value;
}

int64_t statement_signed(struct statement *statement, uint32_t column)
{
	return sqlite3_column_int64(statement->handle, (int)column);
}

uint64_t statement_number(struct statement *statement, uint32_t column)
{
	return (uint64_t)statement_signed(statement, column);
}

uint32_t statement_number32(struct statement *statement, uint32_t column)
{
	return (uint32_t)statement_number(statement, column);
}

bool statement_null(struct statement *statement, uint32_t column)
{
	return sqlite3_column_type(statement->handle, (int)column) == SQLITE_NULL;
}

const void *statement_bytes(struct statement *statement, uint32_t column, uint32_t *size)
{
	const void *bytes = sqlite3_column_blob(statement->handle, (int)column);

	*size = (uint32_t)sqlite3_column_bytes(statement->handle, (int)column);
	return bytes;
}
