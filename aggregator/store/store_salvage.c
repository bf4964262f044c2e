#include "store_salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "database_pages.h"
#include "store_check.h"
#include "store_life.h"
#include "store_schema.h"
#include "store_totals.h"

#include "aggregator/profile/agent_session.h"

#define ROUNDS_MAX     16 /* to look for damage: what hides behind damage comes to light by and by */
#define PIECE_SIZE     (1u << 20)
#define SQL_SIZE       512u
#define COLUMNS_MAX    64u
#define APPLICATION_AT 68 /* bytes, of STORE_APPLICATION_ID in the file */
#define PAGE_SIZE_AT   16 /* bytes, of the size of its pages (1: LARGEST_PAGE) */
#define PAGES_AT       28 /* bytes, of their number */
#define LARGEST_PAGE   65536
#define PAGE_ROWS      1024u /* and more, of the tables that are filled */
#define PAGES_BEHIND   256u
#define LOG            "-wal"

struct salvaging {
	struct database_pages pages;
	struct store_salvage *salvage;
	uint32_t nr_found; /* damaged pages, in this round */
	uint32_t nr_unused;
	bool is_damaged; /* SQLite says so */
};

/* ---- a copy of the file */

/* Holes stay holes: a damaged file may be far larger than any disk. A hole at the end is left out. */
static int copy_bytes(int from, int to)
{
	uint8_t *piece = malloc(PIECE_SIZE);
	int error = piece ? 0 : -ENOMEM;
	ssize_t size = 1;
	off_t at = 0;

	while (!error && size > 0) {
		const off_t data = lseek(from, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break;
		at = data < 0 ? at : data; /* not every file system knows its holes */
		const off_t hole = lseek(from, at, SEEK_HOLE);

		size = pread(from, piece,
			     hole > at && hole - at < PIECE_SIZE ? (size_t)(hole - at) : PIECE_SIZE,
			     at);
		if (size < 0)
			error = -errno;
		else if (pwrite(to, piece, (size_t)size, at) != size)
			error = errno ? -errno : -ENOSPC;
		at += size;
	}
	free(piece);
	return error;
}

/* Gives a copy its last pages back that were in a hole: as many as the file says to have, and has. */
static int lengthen(const char *from_path, const char *to_path)
{
	const int to = open(to_path, O_RDWR | O_CLOEXEC);
	uint8_t head[PAGES_AT + 4];
	struct stat from, copy;
	int error = to < 0 || stat(from_path, &from) || fstat(to, &copy) ? -errno : 0;

	if (!error && pread(to, head, sizeof(head), 0) == sizeof(head)) {
		const off_t page = head[PAGE_SIZE_AT] << 8 | head[PAGE_SIZE_AT + 1];
		off_t pages = 0;

		for (uint32_t i = 0; i < 4; i++)
			pages = pages << 8 | head[PAGES_AT + i];
		off_t size = pages * (page == 1 ? LARGEST_PAGE : page);
		size = size < from.st_size ? size : from.st_size;
		if (size > copy.st_size && ftruncate(to, size))
			error = -errno;
	}
	if (to >= 0)
		close(to);
	return error;
}

static int copy_file(const char *from_path, const char *to_path)
{
	const int from = open(from_path, O_RDONLY | O_CLOEXEC);
	int to = from < 0 ? -1 : open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = to < 0 ? -errno : copy_bytes(from, to);

	if (to >= 0 && close(to) && !error)
		error = -errno;
	if (from >= 0)
		close(from);
	return error;
}

/* Any other file may be of any size. */
static int check_head(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t head[APPLICATION_AT + 4];
	int error = fd < 0 ? -errno : 0;

	if (!error && (pread(fd, head, sizeof(head), 0) != sizeof(head) ||
		       memcmp(head + APPLICATION_AT, "FLGR", 4) != 0))
		error = -EPROTO;
	if (fd >= 0)
		close(fd);
	return error;
}

/* The log of a killed writer goes along, and into the copy. */
static int copy_store(const char *path, const char *to_path)
{
	char log[PATH_MAX], to_log[PATH_MAX];
	struct database *database;

	if (snprintf(log, sizeof(log), "%s" LOG, path) >= (int)sizeof(log) ||
	    snprintf(to_log, sizeof(to_log), "%s" LOG, to_path) >= (int)sizeof(to_log))
		return -ENAMETOOLONG;
	int error = copy_file(path, to_path);
	if (!error)
		error = lengthen(path, to_path);
	if (!error && access(log, F_OK) == 0)
		error = copy_file(log, to_log);
	if (!error)
		error = database_open(to_path, false, &database, NULL);
	if (error)
		return error;
	error = database_execute(database, "PRAGMA journal_mode = DELETE");
	database_close(database);
	return error;
}

static void remove_store(const char *path)
{
	static const char *const ends[] = {"", LOG, "-shm", "-journal"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		char file[PATH_MAX];

		if (snprintf(file, sizeof(file), "%s%s", path, ends[i]) < (int)sizeof(file))
			unlink(file);
	}
}

/* ---- damaged pages */

/* "On tree page 7 cell 2: …", "Tree 3 page 7: …", "Page 7: …", as SQLite's versions say it. The first page is the one
 * that is at fault. A tree whose branches differ in depth can be read. */
static int take_line(struct salvaging *salvaging, const char *line)
{
	const char *at = line;
	unsigned long page = 0;

	salvaging->is_damaged |= strcmp(line, "ok") != 0;
	if (strstr(line, "never used")) {
		salvaging->nr_unused++;
		return 0;
	}
	if (strstr(line, "depth"))
		return 0;
	while (!page && (at = strcasestr(at, "page ")) != NULL) {
		at += strlen("page ");
		page = *at >= '0' && *at <= '9' ? strtoul(at, NULL, 10) : 0;
	}
	int r = page ? database_pages_empty(&salvaging->pages, page) : 0;
	salvaging->nr_found += r == 1;
	return r < 0 ? r : 0;
}

static int take_lines(struct statement *row, void *context)
{
	uint32_t size;
	const char *bytes = statement_bytes(row, 0, &size);
	char *lines = strndup(bytes ? bytes : "", size), *rest = lines;
	int error = lines ? 0 : -ENOMEM;

	for (const char *line; !error && (line = strsep(&rest, "\n")) != NULL;)
		error = take_line(context, line);
	free(lines);
	return error;
}

static int add_tree(struct statement *row, void *context)
{
	return database_pages_walk(context, statement_number32(row, 0),
				   statement_number32(row, 1) != 0);
}

/* Empties the pages in which SQLite finds damage. nr_found: of them. */
static int empty_damaged(struct salvaging *salvaging, const char *path)
{
	struct database *database;
	int error = database_open(path, false, &database, NULL);

	if (error)
		return error;
	salvaging->nr_found = salvaging->nr_unused = 0;
	error = database_pages_open(&salvaging->pages, path);
	if (!error)
		error = database_rows(database,
				      "SELECT rootpage, type = 'index' OR"
				      " sql LIKE '%WITHOUT ROWID%' FROM sqlite_master",
				      add_tree, &salvaging->pages);
	if (!error) {
		error = database_rows(database, "PRAGMA quick_check(100000)", take_lines,
				      salvaging);
		salvaging->is_damaged |= error == -EPROTO;
		if (error == -EPROTO && salvaging->nr_found)
			error = 0; /* it ended at damage that is away now */
	}
	salvaging->salvage->nr_pages = salvaging->pages.nr_pages;
	database_pages_close(&salvaging->pages);
	database_close(database);
	return error;
}

static int empty_all_damaged(struct salvaging *salvaging, const char *path)
{
	struct store_salvage *salvage = salvaging->salvage;
	int error, round = 0;

	do {
		error = empty_damaged(salvaging, path);
		salvage->nr_lost += salvaging->nr_found;
	} while (!error && salvaging->nr_found && ++round < ROUNDS_MAX);
	if (!error && (salvaging->nr_found || !salvaging->is_damaged))
		error = -EPROTO;
	salvage->nr_lost += salvaging->nr_unused;
	return error;
}

/* ---- rows */

struct copying {
	struct statement *insert;
	uint32_t nr_columns;
};

static int copy_row(struct statement *row, void *context)
{
	const struct copying *copying = context;
	struct database_value values[COLUMNS_MAX];

	for (uint32_t i = 0; i < copying->nr_columns; i++)
		values[i] = statement_value(row, i);
	return statement_run(copying->insert, values, copying->nr_columns);
}

/* Messages and an agent's ids are for those who go on with a store. But the ids of processes tell whose they are. */
static int select_rows(const char *table, char sql[static SQL_SIZE])
{
	if (strcmp(table, "epoch_ids") == 0)
		return snprintf(sql, SQL_SIZE, "SELECT * FROM epoch_ids WHERE kind = %d",
				SESSION_PROCESSES) < (int)SQL_SIZE
			       ? 0
			       : -ENAMETOOLONG;
	if (strcmp(table, "messages") == 0)
		return snprintf(sql, SQL_SIZE, "SELECT * FROM messages WHERE false") < 0;
	return store_schema_select_final(table, NULL, sql, SQL_SIZE);
}

static int copy_table(struct database *from, struct database *to, const char *table)
{
	struct copying copying = {.insert = NULL};
	char sql[SQL_SIZE], select[SQL_SIZE];
	int64_t count = 0;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s')", table);
	int error = database_query_number(to, sql, &count);
	if (error || count == 0 || count > (int64_t)COLUMNS_MAX)
		return error ? error : -EPROTO;
	copying.nr_columns = (uint32_t)count;
	int size = snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO %s VALUES (?", table);
	for (uint32_t i = 1; i < copying.nr_columns; i++)
		size += snprintf(sql + size, sizeof(sql) - (size_t)size, ",?");
	snprintf(sql + size, sizeof(sql) - (size_t)size, ")");
	error = statement_create(to, sql, &copying.insert);
	if (!error)
		error = select_rows(table, select);
	if (!error)
		error = database_rows(from, select, copy_row, &copying);
	statement_destroy(copying.insert);
	return error;
}

struct tables {
	struct database *from, *to;
	struct store_salvage *salvage;
};

static int take_table(struct statement *row, void *context)
{
	const struct tables *tables = context;
	char name[64];
	uint32_t size;
	const char *bytes = statement_bytes(row, 0, &size);

	snprintf(name, sizeof(name), "%.*s", (int)size, bytes);
	return copy_table(tables->from, tables->to, name);
}

/* ---- what the rows name */

/* Ids have no gaps. A lost row of these tables gets other contents, which are unique: a text, or a frame of its own. */
#define NOTED(key) "(SELECT value FROM meta WHERE key = '" key "')"
#define BEHIND     NOTED("behind")
#define LOST(table)                                                                                \
	"WITH RECURSIVE ids(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM ids WHERE i <"             \
	" (SELECT min(coalesce(max(id), 0), count(*) + " BEHIND ") + " BEHIND " FROM " table       \
	")), lost(i, n) AS (SELECT i, row_number() OVER (ORDER BY i) FROM ids"                     \
	" WHERE i NOT IN (SELECT id FROM " table ")) "
#define NOTE(key, table) "INSERT INTO meta SELECT '" key "', coalesce(max(id), 0) FROM " table
#define TEXT(what)       "CAST('[damaged " what "' || i || ']' AS BLOB)"
#define NODE_OFFSET      "(1 << 61) + i" /* no code has such an address */
#define FRAME_OFFSET     "(1 << 60) + i"

/* Calls on a communicator of which nothing is known. */
#define DELETE_CALLS(table)                                                                        \
	"DELETE FROM " table " WHERE (process, communicator) NOT IN"                               \
	" (SELECT process, communicator FROM communicators)"

static const char *const fill[] = {
	DELETE_CALLS("collectives"),
	DELETE_CALLS("collective_members"),
	DELETE_CALLS("collective_sums"),
	"DELETE FROM idle_blocks WHERE device NOT IN (SELECT device FROM idle_devices)",
	LOST("strings") "INSERT INTO strings SELECT i, " TEXT("text ") " FROM lost",
	LOST("modules") "INSERT INTO modules SELECT i, 0, 0, 0, CAST('damaged ' || i AS BLOB)"
			" FROM lost",
	NOTE("codes", "strings"),
	LOST("codes") "INSERT INTO strings SELECT " NOTED("codes") " + n, " TEXT(
		"function ") " FROM lost",
	LOST("codes") "INSERT INTO codes SELECT i, 0, " NOTED("codes") " + n FROM lost",
	"INSERT INTO strings SELECT max(id) + 1, CAST('[damaged]' AS BLOB) FROM strings",
	NOTE("damaged", "strings"),
	LOST("frames") "INSERT INTO frames SELECT i, 0, " FRAME_OFFSET
		       ", 0, 0, " NOTED("damaged") " FROM lost",
	NOTE("nodes", "frames"),
	LOST("nodes") "INSERT INTO frames SELECT " NOTED(
		"nodes") " + n, 0, " NODE_OFFSET ", 0, 0, " NOTED("damaged") " FROM lost",
	LOST("nodes") "INSERT INTO nodes SELECT i, 0, " NOTED("nodes") " + n FROM lost",
	"DELETE FROM meta WHERE key IN ('behind', 'codes', 'damaged', 'nodes')",
};

/* nr_behind: ids behind the last row, which other rows may name. */
static int fill_gaps(struct database *database, uint32_t nr_behind)
{
	char sql[SQL_SIZE];

	snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES ('behind', %u)", nr_behind);
	int error = database_execute(database, sql);
	for (size_t i = 0; i < sizeof(fill) / sizeof(*fill) && !error; i++)
		error = database_execute(database, fill[i]);
	return error;
}

/* An account of memory must add up, so without one of its rows it cannot be read. */
static int check_or_forget_memory(struct database *database)
{
	char sql[SQL_SIZE];
	int error = store_check(database);

	if (error != -EPROTO)
		return error;
	snprintf(sql, sizeof(sql),
		 "DELETE FROM memory; DELETE FROM memory_stacks;"
		 "DELETE FROM pending WHERE kind = %d",
		 STORE_PENDING_MEMORY);
	error = database_execute(database, sql);
	return error ? error : store_check(database);
}

/* Each record that a process counts as one with a launch, or without, is in one total. */
static int count_lost(struct database *database, uint64_t *nr_lost)
{
	struct fold_table *totals = fold_table_create();
	int64_t counted = 0;
	uint64_t there = 0;
	uint32_t nr_rows = 0;
	int error = totals ? store_totals_read(database, STORE_TOTALS_GPU, totals) : -ENOMEM;

	if (!error)
		error = database_query_number(
			database, "SELECT coalesce(sum(matched + unmatched), 0) FROM processes",
			&counted);
	const struct fold_row *rows = error ? NULL : fold_table_rows(totals, &nr_rows);
	for (uint32_t i = 0; i < nr_rows; i++)
		there += rows[i].count;
	fold_table_destroy(totals);
	*nr_lost = counted > 0 && (uint64_t)counted > there ? (uint64_t)counted - there : 0;
	return error;
}

static int copy_rows(struct tables *tables)
{
	int error = database_execute(tables->to, "PRAGMA journal_mode = OFF;"
						 "PRAGMA synchronous = OFF");

	if (!error)
		error = store_schema_create(tables->to);
	if (!error)
		error = database_execute(tables->to,
					 "BEGIN; DELETE FROM writers; DELETE FROM meta");
	if (!error)
		error = database_rows(tables->to,
				      "SELECT CAST(name AS BLOB) FROM sqlite_master"
				      " WHERE type = 'table'",
				      take_table, tables);
	/* A lost page may be the last one of its table. */
	if (!error)
		error = fill_gaps(tables->to, PAGE_ROWS * (tables->salvage->nr_lost < PAGES_BEHIND
								   ? tables->salvage->nr_lost
								   : PAGES_BEHIND));
	if (!error)
		error = check_or_forget_memory(tables->to);
	if (!error)
		error = count_lost(tables->to, &tables->salvage->nr_lost_records);
	return error ? error : database_execute(tables->to, "COMMIT");
}

static int copy_sound(const char *from_path, const char *to_path, struct store_salvage *salvage)
{
	struct tables tables = {.salvage = salvage};
	int error = database_open(from_path, true, &tables.from, NULL);

	if (!error)
		error = store_schema_show(tables.from);
	if (!error)
		error = database_open(to_path, false, &tables.to, NULL);
	if (!error)
		error = copy_rows(&tables);
	database_close(tables.to);
	database_close(tables.from);
	return error;
}

int store_salvage_log(const char *path, const char *copy_path)
{
	char log[PATH_MAX];
	struct stat status;

	if (snprintf(log, sizeof(log), "%s" LOG, path) >= (int)sizeof(log))
		return -ENAMETOOLONG;
	if (stat(log, &status) || status.st_size == 0 || store_life_is_written(path))
		return -ENOENT;
	int error = copy_store(path, copy_path);
	if (error)
		remove_store(copy_path);
	return error;
}

int store_salvage(const char *path, const char *copy_path, struct store_salvage *salvage)
{
	struct salvaging salvaging = {.salvage = salvage};
	char pages_path[PATH_MAX];

	*salvage = (struct store_salvage){0};
	if (snprintf(pages_path, sizeof(pages_path), "%s-pages", copy_path) >=
	    (int)sizeof(pages_path))
		return -ENAMETOOLONG;
	/* The file of a writer may change while it is copied. */
	int error = store_life_is_written(path) ? -EBUSY : check_head(path);
	if (!error)
		error = copy_store(path, pages_path);
	if (!error)
		error = empty_all_damaged(&salvaging, pages_path);
	if (!error)
		error = copy_sound(pages_path, copy_path, salvage);
	remove_store(pages_path);
	if (error)
		remove_store(copy_path);
	return error;
}
