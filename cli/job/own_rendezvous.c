#include "own_rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leftovers.h"
#include "rendezvous_search.h"

#include "base/log.h"
#include "cli/base/address_list.h"

static bool is_taken(const char *path, struct stat *status)
{
	return lstat(path, status) == 0 &&
	       (!S_ISREG(status->st_mode) || status->st_uid != geteuid());
}

bool own_rendezvous_is_taken(const char *output_path, const struct job_step *step)
{
	char path[PATH_MAX];
	struct stat status;

	return !rendezvous_search_path(output_path, step, path) && is_taken(path, &status);
}

static int say_unwritable(const struct own_rendezvous *rendezvous, int error)
{
	struct stat status;

	if (is_taken(rendezvous->path, &status)) {
		log_error("%s is taken by a %s of user %u, so no node will find the aggregator: "
			  "remove it, or choose another place (--output)",
			  rendezvous->path,
			  S_ISREG(status.st_mode)   ? "file"
			  : S_ISDIR(status.st_mode) ? "directory"
						    : "special file",
			  (unsigned int)status.st_uid);
		return error;
	}
	log_error("%s: cannot be written, so no node will find the aggregator: %s",
		  rendezvous->path, strerror(-error));
	return error;
}

/* A step's key makes the file its own. Jobs without a key use the same file one after the other. */
int own_rendezvous_create(struct own_rendezvous *rendezvous, const char *output_path,
			  const struct job_step *step)
{
	int r = rendezvous_search_path(output_path, step, rendezvous->path);

	if (r)
		return r;
	strcpy(rendezvous->text.step, step->key);
	if (!*step->key && leftovers_rendezvous_lives(rendezvous->path)) {
		log_error("%s is another running job's, and the launcher gives neither a name: "
			  "give each a directory of its own (--output)",
			  rendezvous->path);
		return -EBUSY;
	}
	r = rendezvous_create(rendezvous->path, &rendezvous->file);
	return r ? say_unwritable(rendezvous, r) : 0;
}

/* The directory is the one that the user named, or one with a number behind it (output_dir.h). */
static void take_number(struct rendezvous *text, const char *named, const char *path)
{
	size_t size = strlen(named);

	while (size > 1 && named[size - 1] == '/')
		size--;
	if (strncmp(path, named, size) == 0)
		snprintf(text->number, RENDEZVOUS_NUMBER_SIZE, "%s", path + size);
}

/* `control` may know only the profile. So the mark in its directory gets a copy of the rendezvous. */
static int write_mark(const struct output_dir *output, const struct rendezvous *text)
{
	int fd = fcntl(output->mark, F_DUPFD_CLOEXEC, 0);
	FILE *mark = fd >= 0 && ftruncate(fd, 0) == 0 ? fdopen(fd, "w") : NULL;
	int r = mark ? 0 : -errno;

	if (mark)
		rendezvous_print(text, mark);
	else if (fd >= 0)
		close(fd);
	return mark && fclose(mark) != 0 ? -errno : r;
}

/* Replaces the file of an aggregator that listened elsewhere. */
static int make_anew(struct own_rendezvous *rendezvous)
{
	struct rendezvous_file *file;
	int r = rendezvous_create(rendezvous->path, &file);

	if (r)
		return r;
	rendezvous_close(rendezvous->file);
	rendezvous->file = file;
	return 0;
}

int own_rendezvous_publish(struct own_rendezvous *rendezvous, const char *output_path,
			   const struct output_dir *output, const struct aggregator *aggregator)
{
	struct rendezvous *text = &rendezvous->text;
	const char *bound;
	int r = 0;

	take_number(text, output_path, output->path);
	text->nr_endpoints = 0;
	if (rendezvous_is_published(rendezvous->file))
		r = make_anew(rendezvous);
	for (uint32_t i = 0; (bound = aggregator_endpoint(aggregator, i)) != NULL && r == 0; i++)
		r = address_list_add(text, bound);
	if (r == 0 && output->mark >= 0)
		r = write_mark(output, text);
	if (r == 0)
		r = rendezvous_publish(rendezvous->file, text);
	return r ? say_unwritable(rendezvous, r) : 0;
}

enum own_rendezvous_state own_rendezvous_state(const struct own_rendezvous *rendezvous)
{
	struct rendezvous now;
	char *error;
	int r = rendezvous_read(rendezvous->path, &now, &error);

	free(error);
	if (r || strcmp(now.first, rendezvous->text.first) != 0)
		return OWN_RENDEZVOUS_GONE;
	return strcmp(now.keys.server_public, rendezvous->text.keys.server_public) == 0
		       ? OWN_RENDEZVOUS_FOUND
		       : OWN_RENDEZVOUS_REPLACED;
}

void own_rendezvous_remove(const struct own_rendezvous *rendezvous)
{
	if (own_rendezvous_state(rendezvous) == OWN_RENDEZVOUS_FOUND)
		unlink(rendezvous->path);
}

void own_rendezvous_close(struct own_rendezvous *rendezvous)
{
	rendezvous_close(rendezvous->file);
	rendezvous->file = NULL;
}
