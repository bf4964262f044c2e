#include "source_age.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_lines.h"
#include "text_span.h"

#include "node-agent/files/permitted_file.h"

/* The different files that symbols name. */
struct files {
	struct text_span paths[SOURCE_AGE_FILES_MAX]; /* borrowed from the symbols */
	uint32_t count;
	bool has_more;
};

static void add(struct files *files, struct text_span path)
{
	for (uint32_t i = 0; i < files->count; i++)
		if (text_span_equals(files->paths[i], path))
			return;
	if (files->count == SOURCE_AGE_FILES_MAX)
		files->has_more = true;
	else
		files->paths[files->count++] = path;
}

static void collect(const struct kernel_lines *lines, struct files *files)
{
	const char *symbol = NULL;
	struct text_span line;

	while ((symbol = kernel_lines_next(lines, symbol)) && !files->has_more) {
		struct text_span rest = {symbol, strlen(symbol)};

		while (text_span_line(&rest, &line)) {
			line = text_span_before_last(text_span_behind(line, "\t", NULL), ":", NULL);
			if (line.size > 0)
				add(files, line);
		}
	}
}

bool source_age_is_later(const struct timespec *time, const struct timespec *other)
{
	return time->tv_sec != other->tv_sec ? time->tv_sec > other->tv_sec
					     : time->tv_nsec > other->tv_nsec;
}

static bool is_newer(struct text_span file, pid_t pid, uid_t owner, const struct timespec *time)
{
	char path[PATH_MAX];
	struct stat status;

	if (file.size >= sizeof(path))
		return false;
	memcpy(path, file.data, file.size);
	path[file.size] = '\0';
	int fd = permitted_file_open_in(pid, path, owner, 0);
	if (fd < 0)
		return false;
	bool is_known = fstat(fd, &status) == 0 && status.st_uid == owner;
	close(fd);
	return is_known && source_age_is_later(&status.st_mtim, time);
}

bool source_age_is_newer(const struct kernel_lines *lines, pid_t pid, uid_t owner,
			 const struct timespec *time)
{
	struct files files = {.count = 0};

	collect(lines, &files);
	for (uint32_t i = 0; i < files.count && !files.has_more; i++)
		if (is_newer(files.paths[i], pid, owner, time))
			return true;
	return files.has_more;
}
