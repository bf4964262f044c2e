#include "job_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/store/store_life.h"
#include "base/error_text.h"
#include "proto/trust/key_file.h"

#define SAME_NAME_MAX 10000
#define NAME_ROOM     200 /* of the 255 bytes of a file system */
#define DIR_MODE      0750
#define FILE_MODE     0640

static int take_name(char to[static MESSAGE_JOB_NAME_MAX + 1], const struct message_text *text)
{
	if (text->size > MESSAGE_JOB_NAME_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < text->size; i++)
		if (text->data[i] <= ' ' || text->data[i] >= 0x7f)
			return -EINVAL;
	if (text->size)
		memcpy(to, text->data, text->size);
	to[text->size] = '\0';
	return 0;
}

int job_mark_take(struct job_mark *mark, const struct message_job *job)
{
	*mark = (struct job_mark){
		.nr_nodes = job->nr_nodes, .world_size = job->world_size, .flags = job->flags};
	if (job->key.size == 0 || take_name(mark->key, &job->key))
		return -EINVAL;
	return take_name(mark->user, &job->user);
}

int job_dir_file(const char *path, const char *name, char file[static PATH_MAX])
{
	int size = snprintf(file, PATH_MAX, "%s/%s", path, name);

	return size < 0 || size >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static void name_job(const char *user, const char *key, char name[static NAME_ROOM])
{
	int size = snprintf(name, NAME_ROOM, "%s%s%s", user, *user ? "-" : "", key);

	for (char *at = name; *at && size > 0; at++) {
		bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			     (*at >= '0' && *at <= '9') || strchr(".-+=@,", *at);

		if (!plain || (at == name && (*at == '.' || *at == '-')))
			*at = '_';
	}
}

bool job_dir_may_be(const char *name, const char *user)
{
	char begin[NAME_ROOM];

	name_job(user, "", begin);
	return strncmp(name, begin, strlen(begin)) == 0;
}

static int write_mark(const char *path, const struct job_mark *mark)
{
	char file[PATH_MAX], *temporary;
	FILE *out;
	int r = job_dir_file(path, JOB_DIR_MARK, file);

	if (r == 0)
		r = key_file_replace(file, &out, &temporary);
	if (r)
		return r;
	fputs("# Whose job this is. The file's name says how far it is: open, closed, complete.\n",
	      out);
	fprintf(out, "key %s\n", mark->key);
	if (*mark->user)
		fprintf(out, "user %s\n", mark->user);
	fprintf(out, "nodes %d\nranks %d\nflags %u\n", (int)mark->nr_nodes, (int)mark->world_size,
		(unsigned int)mark->flags);
	return key_file_finish(file, out, temporary);
}

void job_dir_remove(const char *path)
{
	static const char *const names[] = {JOB_DIR_STORE, JOB_DIR_STORE "-wal",
					    JOB_DIR_STORE "-shm", JOB_DIR_MARK};
	char file[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (job_dir_file(path, names[i], file) == 0)
			unlink(file);
	rmdir(path);
}

int job_dir_create(const char *parent, const struct job_mark *mark, char path[static PATH_MAX])
{
	char name[NAME_ROOM], numbered[NAME_ROOM + 16];
	int r;

	name_job(mark->user, mark->key, name);
	for (int i = 1; i < SAME_NAME_MAX; i++) {
		if (i == 1)
			snprintf(numbered, sizeof(numbered), "%s", name);
		else
			snprintf(numbered, sizeof(numbered), "%s.%d", name, i);
		r = job_dir_file(parent, numbered, path);
		if (r)
			return r;
		if (mkdir(path, DIR_MODE) == 0) {
			r = write_mark(path, mark);
			if (r)
				job_dir_remove(path);
			return r;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int take_number(const char *value, int64_t least, int64_t most, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(value, &end, 10);
	return errno || end == value || *end || *number < least || *number > most ? -EINVAL : 0;
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	struct job_mark *mark = context;
	const struct message_text text = {value, (uint32_t)strlen(value)};
	int64_t number = 0;
	int r;

	*why = "not a value that it can have";
	if (strcmp(name, "key") == 0)
		return take_name(mark->key, &text);
	if (strcmp(name, "user") == 0)
		return take_name(mark->user, &text);
	if (strcmp(name, "nodes") == 0) {
		r = take_number(value, -1, INT32_MAX, &number);
		mark->nr_nodes = (int32_t)number;
		return r;
	}
	if (strcmp(name, "ranks") == 0) {
		r = take_number(value, -1, INT32_MAX, &number);
		mark->world_size = (int32_t)number;
		return r;
	}
	if (strcmp(name, "flags") != 0)
		return -ENOENT;
	r = take_number(value, 0, UINT32_MAX, &number);
	mark->flags = (uint32_t)number;
	return r;
}

/* As job_dir_read(), for a mark of this name alone. */
static int read_mark(const char *path, const char *name, struct job_mark *mark, char **error)
{
	char file[PATH_MAX];
	int r = job_dir_file(path, name, file);

	*mark = (struct job_mark){.nr_nodes = -1, .world_size = -1};
	*error = NULL;
	if (r)
		return error_text_set(error, r, "%s: %s", path, strerror(-r));
	r = key_file_read(file, TRUSTED_FILE_PUBLIC, take_line, mark, error);
	if (r == 0 && !*mark->key)
		r = error_text_set(error, -EINVAL, "%s: no key", file);
	return r;
}

/* Most jobs are complete. Otherwise the names are looked at as they follow one another, because the aggregator may
 * change the name meanwhile. */
int job_dir_read(const char *path, struct job_mark *mark, enum job_dir_state *state, char **error)
{
	static const struct {
		const char *name;
		enum job_dir_state state;
	} looks[] = {
		{JOB_DIR_COMPLETE, JOB_DIR_IS_COMPLETE},
		{JOB_DIR_MARK, JOB_DIR_IS_OPEN},
		{JOB_DIR_CLOSED, JOB_DIR_IS_CLOSED},
		{JOB_DIR_COMPLETE, JOB_DIR_IS_COMPLETE},
	};
	int r = -ENOENT;

	*error = NULL;
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks) && r == -ENOENT; i++) {
		free(*error);
		*state = looks[i].state;
		r = read_mark(path, looks[i].name, mark, error);
	}
	return r;
}

int job_dir_close(const char *path)
{
	char file[PATH_MAX], closed[PATH_MAX];
	int r = job_dir_file(path, JOB_DIR_STORE, file);

	if (r == 0 && chmod(file, FILE_MODE) < 0)
		r = -errno;
	if (r == 0)
		r = job_dir_file(path, JOB_DIR_MARK, file);
	if (r == 0)
		r = job_dir_file(path, JOB_DIR_CLOSED, closed);
	return r == 0 && rename(file, closed) < 0 ? -errno : r;
}

int job_dir_finish(const char *path)
{
	char file[PATH_MAX], complete[PATH_MAX];
	int r = job_dir_file(path, JOB_DIR_CLOSED, file);

	if (r == 0)
		r = job_dir_file(path, JOB_DIR_COMPLETE, complete);
	if (r == 0 && chmod(file, FILE_MODE) < 0)
		r = -errno;
	return r == 0 && rename(file, complete) < 0 ? -errno : r;
}

int job_dir_lock(const char *directory, int *fd, char **error)
{
	*fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return error_text_set(error, -errno, "%s: %s", directory, strerror(errno));
	if (flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		store_life_keep(*fd);
		return 0;
	}
	return error_text_set(error, -EBUSY,
			      "%s: another aggregator writes the profiles of this directory",
			      directory);
}
