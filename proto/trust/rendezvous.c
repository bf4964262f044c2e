#include "rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key_file.h"

#include "base/error_text.h"

#define CREATE_TRIES 3u

static int take_text(char *to, size_t size, const char *value, const char **why)
{
	*why = *to ? "is there twice" : "too long";
	if (*to || strlen(value) >= size)
		return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int take_number(char number[static RENDEZVOUS_NUMBER_SIZE], const char *value,
		       const char **why)
{
	int r = take_text(number, RENDEZVOUS_NUMBER_SIZE, value, why);
	const size_t digits = strspn(value + 1, "0123456789");

	if (r == 0 && ((*value != '.' && *value != '/') || !digits || value[1 + digits])) {
		*why = "not a number behind a path";
		r = -EINVAL;
	}
	return r;
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	struct rendezvous *rendezvous = context;

	if (strcmp(name, "step") == 0)
		return take_text(rendezvous->step, RENDEZVOUS_STEP_SIZE, value, why);
	if (strcmp(name, "number") == 0)
		return take_number(rendezvous->number, value, why);
	if (strcmp(name, "first") == 0)
		return take_text(rendezvous->first, sizeof(rendezvous->first), value, why);
	if (strcmp(name, "endpoint") != 0)
		return key_set_take(&rendezvous->keys, name, value, why);
	*why = "too many";
	if (rendezvous->nr_endpoints == RENDEZVOUS_ENDPOINTS_MAX)
		return -EINVAL;
	return take_text(rendezvous->endpoints[rendezvous->nr_endpoints++],
			 RENDEZVOUS_ENDPOINT_SIZE, value, why);
}

int rendezvous_read(const char *path, struct rendezvous *rendezvous, char **error)
{
	int status;

	memset(rendezvous, 0, sizeof(*rendezvous));
	status = key_file_read(path, TRUSTED_FILE_SECRET, take_line, rendezvous, error);
	if (status == 0 &&
	    (!rendezvous->nr_endpoints || !key_set_serves(&rendezvous->keys, KEY_ROLE_AGENT)))
		status = error_text_set(error, -EINVAL, "%s: %s", path,
					rendezvous->nr_endpoints ? "the agents' keys are missing"
								 : "no endpoint");
	if (status)
		memset(rendezvous, 0, sizeof(*rendezvous));
	return status;
}

void rendezvous_print(const struct rendezvous *rendezvous, FILE *file)
{
	fputs("# Where Flamegrid's agents find the aggregator of a job. Gone when the job is "
	      "over.\n",
	      file);
	if (*rendezvous->step)
		fprintf(file, "step %s\n", rendezvous->step);
	if (*rendezvous->number)
		fprintf(file, "number %s\n", rendezvous->number);
	if (*rendezvous->first)
		fprintf(file, "first %s\n", rendezvous->first);
	for (uint32_t i = 0; i < rendezvous->nr_endpoints; i++)
		fprintf(file, "endpoint %s\n", rendezvous->endpoints[i]);
	key_set_print(&rendezvous->keys, KEY_ROLE_AGENT, file);
}

struct rendezvous_file {
	char *path, *temporary; /* owns */
	FILE *file;             /* owns; all processes that have inherited it share its lock */
};

/* Returns whether the file has its lock, or can have none, and still has its name: somebody may have taken it for one
 * that a killed process has left. */
static bool is_kept(const struct rendezvous_file *self)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat opened, named;

	if (fcntl(fileno(self->file), F_OFD_SETLK, &all) < 0 &&
	    (errno == EAGAIN || errno == EACCES))
		return false;
	return fstat(fileno(self->file), &opened) == 0 && lstat(self->temporary, &named) == 0 &&
	       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

int rendezvous_create(const char *path, struct rendezvous_file **file)
{
	int status = -ENOMEM;

	*file = NULL;
	for (uint32_t i = 0; i < CREATE_TRIES; i++) {
		struct rendezvous_file *self = calloc(1, sizeof(*self));

		if (self && (self->path = strdup(path)) != NULL)
			status = key_file_replace(path, &self->file, &self->temporary);
		if (status == 0 && is_kept(self)) {
			*file = self;
			return 0;
		}
		rendezvous_close(self);
		if (status)
			return status;
	}
	return -EBUSY;
}

int rendezvous_publish(const struct rendezvous_file *file, const struct rendezvous *rendezvous)
{
	char *temporary = strdup(file->temporary);
	int fd = temporary ? fcntl(fileno(file->file), F_DUPFD_CLOEXEC, 0) : -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		int status = -errno;

		if (fd >= 0)
			close(fd);
		free(temporary);
		return status;
	}
	rendezvous_print(rendezvous, out);
	return key_file_finish(file->path, out, temporary);
}

bool rendezvous_is_published(const struct rendezvous_file *file)
{
	struct stat status;

	return lstat(file->temporary, &status) < 0 && errno == ENOENT;
}

void rendezvous_close(struct rendezvous_file *file)
{
	if (!file)
		return;
	if (file->temporary)
		unlink(file->temporary); /* there only if it was not published */
	if (file->file)
		fclose(file->file);
	free(file->temporary);
	free(file->path);
	free(file);
}

int rendezvous_lock_dead(const char *path)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat opened, named;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), r = 0;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &all) < 0)
		r = errno == EAGAIN || errno == EACCES ? -EBUSY : -ENOTSUP;
	else if (fstat(fd, &opened) < 0 || lstat(path, &named) < 0 ||
		 opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
		r = -EBUSY; /* a new one has come in its place */
	if (r)
		close(fd);
	return r ? r : fd;
}

int rendezvous_is_held(const char *path)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	int r = fcntl(fd, F_OFD_GETLK, &all) < 0 ? -errno : all.l_type != F_UNLCK;
	close(fd);
	return r;
}
