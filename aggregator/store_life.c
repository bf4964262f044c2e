#include "store_life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Far behind the bytes that SQLite locks (at 1 GiB). No file is that long. */
#define MARK_OFFSET ((off_t)1 << 60)

void store_life_begin(int fd)
{
	struct flock mark = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1};

	if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &mark) < 0)
		errno = 0;
}

bool store_life_is_written(const char *path)
{
	struct flock mark = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && fcntl(fd, F_OFD_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return is_written;
}

int store_life_opened(struct database *database, int32_t nr_nodes)
{
	char sql[128];
	int error = database_execute(database, "REPLACE INTO meta VALUES ('closed', 0)");

	snprintf(sql, sizeof(sql), "REPLACE INTO meta VALUES ('nodes', %d)", (int)nr_nodes);
	return error || nr_nodes <= 0 ? error : database_execute(database, sql);
}

int store_life_closed(struct database *database)
{
	return database_execute(database, "REPLACE INTO meta VALUES ('closed', 1)");
}

int store_life_read(struct database *database, bool *was_closed, int32_t *nr_nodes)
{
	int64_t number = 0;
	int error = database_query_number(
		database, "SELECT count(*) FROM meta WHERE key = 'closed' AND value = 1", &number);

	*was_closed = number != 0;
	number = 0;
	if (!error)
		error = database_query_number(
			database, "SELECT value FROM meta WHERE key = 'nodes'", &number);
	*nr_nodes = number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
	return error;
}
