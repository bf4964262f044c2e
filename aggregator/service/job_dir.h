/* The directory of one job's profile within that of a site's aggregator, and the mark in it by which a job that is not
 * complete is found again. Single-threaded. */
#ifndef JOB_DIR_H
#define JOB_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define JOB_DIR_MARK  "job.open"
#define JOB_DIR_STORE "profile.db"

struct job_mark {
	char key[MESSAGE_JOB_NAME_MAX + 1], user[MESSAGE_JOB_NAME_MAX + 1]; /* visible ASCII */
	int32_t nr_nodes, world_size;                                       /* -1: not known */
	uint32_t flags;
};

/* What an agent says. 0; -EINVAL: a key or a user that there cannot be. */
int job_mark_take(struct job_mark *mark, const struct message_job *job);

/* Makes a new directory with the mark in it: USER-KEY, or USER-KEY.2, .3 ... if a directory has that name already. Each
 * character that is no letter, no digit and none of ".-+=@," becomes '_'. 0 or -errno. */
int job_dir_create(const char *parent, const struct job_mark *mark, char path[static PATH_MAX]);

/* Takes back what job_dir_create() made, and a store in it. */
void job_dir_remove(const char *path);

/* The mark of a directory. 0; -ENOENT: it has none; other -errno, with *error one line, owns: free(). */
int job_dir_read(const char *path, struct job_mark *mark, char **error);

/* The store is complete: its group may read it, as what is written beside it. 0 or -errno. */
int job_dir_share(const char *path);

/* Takes the mark away. 0 or -errno. */
int job_dir_finish(const char *path);

/* Writes "path/name". 0 or -ENAMETOOLONG. */
int job_dir_file(const char *path, const char *name, char file[static PATH_MAX]);

#endif
