#include "key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_text.h"

#define LINE_SIZE 512

struct reading {
	const char *path;
	key_file_line line;
	void *context;
	char **error;
};

static int take_line(const struct reading *reading, char *text, unsigned int number)
{
	char *rest, *name = strtok_r(text, " \t\r\n", &rest);
	const char *value = name ? strtok_r(NULL, " \t\r\n", &rest) : NULL, *why = "";
	int status;

	if (!name || *name == '#')
		return 0;
	if (!value || strtok_r(NULL, " \t\r\n", &rest))
		return error_text_set(reading->error, -EINVAL, "%s: line %u: not `NAME VALUE`",
				      reading->path, number);
	status = reading->line(reading->context, name, value, &why);
	if (status == -ENOENT)
		return error_text_set(reading->error, -EINVAL, "%s: line %u: %s: no such name",
				      reading->path, number, name);
	if (status)
		return error_text_set(reading->error, -EINVAL, "%s: line %u: %s: %s", reading->path,
				      number, name, why);
	return 0;
}

int key_file_read(const char *path, enum trusted_file_kind kind, key_file_line line, void *context,
		  char **error)
{
	const struct reading reading = {path, line, context, error};
	char text[LINE_SIZE];
	int status, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*error = NULL;
	if (fd < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	status = trusted_file_check(fd, path, kind, error);
	FILE *file = status == 0 ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return status ? status
			      : error_text_set(error, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
	}
	for (unsigned int number = 1; status == 0 && fgets(text, sizeof(text), file); number++)
		status = take_line(&reading, text, number);
	if (status == 0 && ferror(file))
		status = error_text_set(error, -EIO, "%s: cannot be read", path);
	fclose(file);
	memset(text, 0, sizeof(text));
	return status;
}

int key_file_create(const char *path, FILE **file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*file = fd < 0 ? NULL : fdopen(fd, "w");
	if (*file)
		return 0;
	if (fd < 0)
		return -errno;
	close(fd);
	unlink(path);
	return -ENOMEM;
}

int key_file_replace(const char *path, FILE **file, char **temporary)
{
	*file = NULL;
	if (asprintf(temporary, "%s.%ld", path, (long)getpid()) < 0) {
		*temporary = NULL;
		return -ENOMEM;
	}
	unlink(*temporary); /* left by an earlier process with this number */
	int status = key_file_create(*temporary, file);
	if (status) {
		free(*temporary);
		*temporary = NULL;
	}
	return status;
}

int key_file_finish(const char *path, FILE *file, char *temporary)
{
	const char *written = temporary ? temporary : path;
	int status = ferror(file) || fflush(file) != 0 ? -EIO : 0;

	/* Other processes, also on other machines, read the file as soon as it has its name. */
	if (fsync(fileno(file)) < 0 && status == 0 && errno != EINVAL)
		status = -errno;
	if (fclose(file) != 0 && status == 0)
		status = -errno;
	if (status == 0 && temporary && rename(temporary, path) < 0)
		status = -errno;
	if (status)
		unlink(written);
	free(temporary);
	return status;
}
