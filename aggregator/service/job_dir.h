/* The directory of one job's profile, in that of a site's aggregator, and its mark. The mark says whose job it is. Its
 * name shows a new aggregator whether the job is complete, and whether its reports are. Any thread, but only
 * the one that has the job changes its directory. */
#ifndef JOB_DIR_H
#define JOB_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "aggregator/pages/page_set.h"
#include "proto/batch/message.h"

#define JOB_DIR_MARK     "job.open"
#define JOB_DIR_CLOSED   "job.closed"   /* its name while reports are made */
#define JOB_DIR_COMPLETE "job.complete" /* its name from then on; older versions removed the mark */
#define JOB_DIR_STORE    "profile.db"
#define JOB_DIR_NODES    JOB_DIR_STORE PAGE_SET_SUFFIX /* until the job is complete (node_profiles.h) */

enum job_dir_state {
	JOB_DIR_IS_OPEN,
	JOB_DIR_IS_CLOSED, /* its reports are being made */
	JOB_DIR_IS_COMPLETE,
};

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

/* Reads the mark of a directory, whose name gives *state. 0; -ENOENT: it has none; other -errno. On error *error is one
 * line, which the caller owns (free()). */
int job_dir_read(const char *path, struct job_mark *mark, enum job_dir_state *state, char **error);

/* Returns whether a directory of this name may be that of a job of this user; only its mark says for sure. */
bool job_dir_may_be(const char *name, const char *user);

/* Lets the directory's group read the store, which is complete, and the files beside it. Then it changes the mark's
 * name. 0 or -errno. */
int job_dir_close(const char *path);

/* Gives the mark of a closed job its last name, and lets the group read it. 0 or -errno. */
int job_dir_finish(const char *path);

/* Locks a site's directory itself, so that no lock file is left. On file systems without locks there is no lock. *fd
 * has the lock, and the mark of store_life_keep(); the caller closes it, also on failure (-1: nothing). 0; -EBUSY:
 * another aggregator has it; other -errno. On error *error is one line, which the caller owns (free()). */
int job_dir_lock(const char *directory, int *fd, char **error);

/* Writes "path/name". 0 or -ENAMETOOLONG. */
int job_dir_file(const char *path, const char *name, char file[static PATH_MAX]);

#endif
