/* The directory of one job's profile, in that of a site's aggregator, and its mark. The mark shows a new aggregator
 * that the job is not complete, or that its reports are not. Single-threaded. */
#ifndef JOB_DIR_H
#define JOB_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define JOB_DIR_MARK   "job.open"
#define JOB_DIR_CLOSED "job.closed" /* its name while reports are made */
#define JOB_DIR_STORE  "profile.db"
#define JOB_DIR_NODES  JOB_DIR_STORE ".nodes" /* until the job is complete (node_profiles.h) */

struct job_mark {
	char key[MESSAGE_JOB_NAME_MAX + 1], user[MESSAGE_JOB_NAME_MAX + 1]; /* visible ASCII */
	int32_t nr_nodes, world_size;                                       /* -1: not known */
	uint32_t flags;
};

/* Fills the mark from an agent's HELLO. 0; -EINVAL: an impossible key or user. */
int job_mark_take(struct job_mark *mark, const struct message_job *job);

/* Makes a new directory with the mark in it: USER-KEY, or USER-KEY.2, .3 … if that exists. Each character other than a
 * letter, a digit and ".-+=@," becomes '_'. 0 or -errno. */
int job_dir_create(const char *parent, const struct job_mark *mark, char path[static PATH_MAX]);

/* Removes a directory that job_dir_create() made, and a store in it. */
void job_dir_remove(const char *path);

/* Reads the mark of a directory. *is_closed: after job_dir_close(). 0; -ENOENT: it has none; other -errno, and *error
 * is one line, which the caller owns (free()). */
int job_dir_read(const char *path, struct job_mark *mark, bool *is_closed, char **error);

/* Lets the directory's group read the store, which is complete, and the files beside it. Then it changes the mark's
 * name. 0 or -errno. */
int job_dir_close(const char *path);

/* Removes the mark. 0 or -errno. */
int job_dir_finish(const char *path);

/* Writes "path/name". 0 or -ENAMETOOLONG. */
int job_dir_file(const char *path, const char *name, char file[static PATH_MAX]);

#endif
