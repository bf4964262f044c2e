#include "key_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_SIZE 256

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  ".-:+=^!/*?&<>()[]{}@%$#";

static const struct {
	const char *name;
	size_t offset;
	bool needed[2]; /* by role */
} members[] = {
	{"server-public", offsetof(struct key_set, server_public), {true, true}},
	{"server-secret", offsetof(struct key_set, server_secret), {true, false}},
	{"client-public", offsetof(struct key_set, client_public), {true, true}},
	{"client-secret", offsetof(struct key_set, client_secret), {false, true}},
};
#define NR_MEMBERS (sizeof(members) / sizeof(*members))

static const char *member(const struct key_set *keys, size_t i)
{
	return (const char *)keys + members[i].offset;
}

static bool is_key(const char *text)
{
	return strlen(text) == KEY_SET_TEXT - 1 && strspn(text, z85) == KEY_SET_TEXT - 1;
}

/* NULL: none. */
static const char *missing(const struct key_set *keys, enum key_role role)
{
	for (size_t i = 0; i < NR_MEMBERS; i++)
		if (members[i].needed[role] && !is_key(member(keys, i)))
			return members[i].name;
	return NULL;
}

bool key_set_serves(const struct key_set *keys, enum key_role role)
{
	return !missing(keys, role);
}

int key_set_take(struct key_set *keys, const char *name, const char *value)
{
	for (size_t i = 0; i < NR_MEMBERS; i++) {
		char *to = (char *)keys + members[i].offset;

		if (strcmp(name, members[i].name) != 0)
			continue;
		if (*to || !is_key(value))
			return -EINVAL;
		memcpy(to, value, KEY_SET_TEXT);
		return 0;
	}
	return -ENOENT;
}

static int explain(char **error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int explain(char **error, int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(error, format, arguments) < 0)
		*error = NULL;
	va_end(arguments);
	return status;
}

/* Through the descriptor: the name may by then be another file's. */
static int check_owner(int fd, const char *path, char **error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return explain(error, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return explain(error, -EPERM, "%s: not a regular file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return explain(error, -EPERM, "%s: belongs to another user", path);
	if (status.st_mode & (S_IRWXG | S_IRWXO))
		return explain(error, -EPERM,
			       "%s: others than its owner can read or write it (chmod 600 %s)",
			       path, path);
	return 0;
}

static int take_line(struct key_set *keys, char *line, const char *path, unsigned int number,
		     char **error)
{
	char *rest, *name = strtok_r(line, " \t\r\n", &rest);
	const char *value = name ? strtok_r(NULL, " \t\r\n", &rest) : NULL;

	if (!name || *name == '#')
		return 0;
	if (!value || strtok_r(NULL, " \t\r\n", &rest))
		return explain(error, -EINVAL, "%s: line %u: not `NAME KEY`", path, number);
	switch (key_set_take(keys, name, value)) {
	case 0:
		return 0;
	case -ENOENT:
		return explain(error, -EINVAL, "%s: line %u: %s: no such key", path, number, name);
	default:
		return explain(error, -EINVAL, "%s: line %u: %s: %s", path, number, name,
			       is_key(value) ? "is there twice" : "not a key of 40 characters");
	}
}

static int read_lines(FILE *file, const char *path, enum key_role role, struct key_set *keys,
		      char **error)
{
	char line[LINE_MAX_SIZE];
	int status = 0;

	for (unsigned int number = 1; status == 0 && fgets(line, sizeof(line), file); number++)
		status = take_line(keys, line, path, number, error);
	if (status == 0 && ferror(file))
		status = explain(error, -EIO, "%s: cannot be read", path);
	const char *name = status == 0 ? missing(keys, role) : NULL;
	if (name)
		status =
			explain(error, -EINVAL, "%s: %s is missing%s", path, name,
				key_set_serves(keys, role == KEY_ROLE_AGENT ? KEY_ROLE_AGGREGATOR
									    : KEY_ROLE_AGENT)
					? (role == KEY_ROLE_AGENT ? ": this is an aggregator's file"
								  : ": this is an agent's file")
					: "");
	memset(line, 0, sizeof(line));
	return status;
}

int key_set_read(const char *path, enum key_role role, struct key_set *keys, char **error)
{
	int status, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*error = NULL;
	memset(keys, 0, sizeof(*keys));
	if (fd < 0)
		return explain(error, -errno, "%s: %s", path, strerror(errno));
	status = check_owner(fd, path, error);
	FILE *file = status == 0 ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return status ? status : explain(error, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
	}
	status = read_lines(file, path, role, keys, error);
	fclose(file);
	if (status)
		memset(keys, 0, sizeof(*keys));
	return status;
}

int key_set_write(const char *path, enum key_role role, const struct key_set *keys)
{
	int status = 0, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *file;

	if (fd < 0)
		return -errno;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		unlink(path);
		return -ENOMEM;
	}
	fprintf(file, "# Keys of Flamegrid's %s. Whoever can read this can %s.\n",
		role == KEY_ROLE_AGENT ? "agents" : "aggregator",
		role == KEY_ROLE_AGENT ? "send to it" : "take its place");
	for (size_t i = 0; i < NR_MEMBERS; i++)
		if (members[i].needed[role])
			fprintf(file, "%s %s\n", members[i].name, member(keys, i));
	if (fflush(file) != 0 || fchmod(fd, 0600) < 0)
		status = -errno;
	if (fclose(file) != 0 && status == 0)
		status = -errno;
	if (status)
		unlink(path);
	return status;
}
