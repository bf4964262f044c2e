#include "store_life.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* A merged profile has several writers. It is open if one of them is, else it rests if one of them does. */
#define READ_LIFE                                                                                  \
	"SELECT CASE WHEN count(*) > sum(closed IN (1, 2)) THEN 0"                                 \
	" WHEN sum(closed = 2) > 0 THEN 2 ELSE 1 END FROM writers"

/* The writers that are parts of nodes: of how many, and of which job by their processes. 0: none, or several. */
#define PARTS                                                                                      \
	"parts AS (SELECT id, -nodes AS n, coalesce(known, 0) AS job FROM writers LEFT JOIN"       \
	" (SELECT writer AS author, CASE WHEN min(job) = max(job) THEN max(job) ELSE 0 END"        \
	" AS known FROM processes WHERE job != 0 GROUP BY writer) ON author = id"                  \
	" WHERE nodes < 0),"                                                                       \
	" came AS (SELECT DISTINCT n, job, host FROM parts JOIN epochs ON epochs.writer = "        \
	"parts.id)"

/* What the jobs of n nodes lack. A part whose job is not known may be of any of them. */
#define LACKS                                                                                      \
	"SELECT coalesce(sum(max(0, lack - strange)), 0) FROM (SELECT"                             \
	" coalesce((SELECT sum(max(0, n - hosts)) FROM (SELECT (SELECT count(*) FROM came"         \
	" WHERE came.n = jobs.n AND came.job = jobs.job) AS hosts FROM (SELECT DISTINCT n, job"    \
	" FROM parts WHERE parts.n = sizes.n AND job != 0) AS jobs)), n) AS lack,"                 \
	" (SELECT count(*) FROM came WHERE came.n = sizes.n AND job = 0 AND host NOT IN"           \
	" (SELECT host FROM came WHERE came.n = sizes.n AND job != 0)) AS strange"                 \
	" FROM (SELECT DISTINCT n FROM parts) AS sizes)"

/* One host may work for several writers: so the nodes are the hosts that came, and those that each writer missed.
 * Parts of nodes missed those of which no part of their job is. */
#define READ_NODES                                                                                 \
	"WITH " PARTS                                                                              \
	" SELECT CASE WHEN sum(nodes != 0) = 0 THEN 0 WHEN count(*) = 1 THEN abs(min(nodes))"      \
	" ELSE (SELECT count(DISTINCT host) FROM epochs) + sum(max(0, nodes -"                     \
	" (SELECT count(DISTINCT host) FROM epochs WHERE epochs.writer = writers.id)))"            \
	" + (" LACKS ") END FROM writers"

/* Where nodes have parts, all writers become parts of nodes, so that a part may be added later. */
#define UNITE_PARTS                                                                                \
	"UPDATE writers SET nodes = -(SELECT max(abs(nodes)) FROM writers)"                        \
	" WHERE (SELECT min(nodes) FROM writers) < 0"

/* The least writer that knows how many there are gets the missing ones, and its own. */
#define UNITE_NODES                                                                                \
	"UPDATE writers SET nodes = CASE WHEN writer ="                                            \
	" (SELECT min(writer) FROM writers WHERE nodes > 0)"                                       \
	" THEN (SELECT count(DISTINCT host) FROM epochs WHERE epochs.writer = writers.id)"         \
	" + max(0, (SELECT max(nodes) FROM writers) - (SELECT count(DISTINCT host) FROM epochs))"  \
	" ELSE 0 END WHERE nodes > 0"

/* SQLite locks bytes at 1 GiB, and no file is as long as this. */
#define MARK_OFFSET ((off_t)1 << 60)

static bool find_wanted(const char *path, char wanted[static PATH_MAX])
{
	return snprintf(wanted, PATH_MAX, "%s" STORE_LIFE_WANTED, path) < PATH_MAX;
}

/* Another user's directory may have a link or a pipe there, so one that is there is never opened. */
void store_life_want(const char *path)
{
	char wanted[PATH_MAX];
	int fd = -1;

	if (find_wanted(path, wanted))
		fd = open(wanted, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

bool store_life_is_wanted(const char *path)
{
	char wanted[PATH_MAX];

	return find_wanted(path, wanted) && access(wanted, F_OK) == 0;
}

void store_life_want_no_more(const char *path)
{
	char wanted[PATH_MAX];

	if (find_wanted(path, wanted))
		unlink(wanted);
}

void store_life_begin(int fd)
{
	struct flock mark = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1};

	if (fd >= 0)
		(void)fcntl(fd, F_OFD_SETLK, &mark);
}

/* Returns whether another process has a mark on the path. */
static bool is_marked(const char *path, int flags)
{
	struct flock mark = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags); /* it may be a pipe */
	bool is_marked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return is_marked;
}

bool store_life_is_written(const char *path)
{
	return is_marked(path, 0);
}

/* A directory can only be opened for reading, so the mark is a lock for reading. */
void store_life_keep(int fd)
{
	struct flock mark = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1};

	(void)fcntl(fd, F_OFD_SETLK, &mark);
}

bool store_life_is_kept(const char *path)
{
	char above[PATH_MAX + sizeof("/..")], copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(above, sizeof(above), "%s/..", dirname(copy));
	return is_marked(above, O_DIRECTORY);
}

int store_life_opened(struct database *database, int32_t nr_nodes)
{
	char sql[64];
	int error = database_execute(database, "UPDATE writers SET closed = 0");

	snprintf(sql, sizeof(sql), "UPDATE writers SET nodes = %d", (int)nr_nodes);
	return error || nr_nodes == 0 ? error : database_execute(database, sql);
}

int store_life_expect(struct database *database, uint32_t nr_nodes)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "UPDATE writers SET nodes = max(nodes, %u) WHERE nodes >= 0",
		 nr_nodes);
	return database_execute(database, sql);
}

int store_life_unite(struct database *database)
{
	int error = database_execute(database, UNITE_PARTS);

	return error ? error : database_execute(database, UNITE_NODES);
}

int store_life_left(struct database *database, enum store_life life)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "UPDATE writers SET closed = %d", (int)life);
	return database_execute(database, sql);
}

int store_life_full(struct database *database, uint64_t launches, uint64_t records,
		    uint64_t bytes_max)
{
	char sql[320], why[48] = "its disk was full";

	if (!launches && !records)
		return database_execute(database, "DELETE FROM meta WHERE key = 'full'");
	if (bytes_max)
		snprintf(why, sizeof(why), "--max-size %" PRIu64 ", or a full disk",
			 bytes_max >> 20);
	snprintf(sql, sizeof(sql),
		 "INSERT OR REPLACE INTO meta VALUES ('full', 'at least %" PRIu64
		 " launches and %" PRIu64 " GPU records of the end found no room (%s)')",
		 launches, records, why);
	return database_execute(database, sql);
}

int store_life_writers(struct database *database, int64_t *nr_writers, int64_t *nr_open)
{
	int error = database_query_number(database, "SELECT count(*) FROM writers", nr_writers);

	return error ? error
		     : database_query_number(
			       database, "SELECT count(*) FROM writers WHERE closed <> 1", nr_open);
}

int store_life_read(struct database *database, enum store_life *life, int32_t *nr_nodes)
{
	int64_t number = 0;
	int error = database_query_number(database, READ_LIFE, &number);

	*life = (enum store_life)number;
	number = 0;
	if (!error)
		error = database_query_number(database, READ_NODES, &number);
	*nr_nodes = number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
	return error;
}
