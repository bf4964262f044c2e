/* Where the processes of one step meet on one node: a directory that only this user can enter, named after the step, with a lock. Single-threaded. */
#ifndef STEP_DIR_H
#define STEP_DIR_H

#include "job_step.h"

#define STEP_DIR_MAX 80 /* as PRIVATE_DIR_MAX: a socket in it fits its address */

#define STEP_DIR_PREFIX "flamegrid-step-"
#define STEP_DIR_LIFE   "life" /* a file in it, locked by whoever serves there as long as it lives */

struct step_dir {
	char path[STEP_DIR_MAX]; /* "": none */
	int lock;                /* the directory's descriptor, while it is locked; else -1 */
};

/* Makes or finds the directory of this step, user and node, in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: the first in which it works; and
 * locks it, which may wait for another process that has just this to do. Its name can be known beforehand: where another user has taken
 * it, it has one of a few others, and one that is there already goes before one that has become free. node: NULL: Slurm's name, else the host's.
 * 0 or -errno: -EPERM: others have taken all names, or could replace it. */
int step_dir_lock(struct step_dir *dir, const struct job_step *step, const char *node);
void step_dir_unlock(struct step_dir *dir); /* if it is locked */

/* Writes "path/name". It fits. */
void step_dir_file(const struct step_dir *dir, const char *name, char *out, size_t size);

/* Locks it again, likewise waiting. 0 or -errno. */
int step_dir_relock(struct step_dir *dir);

/* Takes the lock of STEP_DIR_LIFE, for the life of this process: without it the directory is a dead run's, as soon
 * as nobody has locked it. Under its lock, or that of another process that waits. 0 or -errno. */
int step_dir_live(const struct step_dir *dir);

/* Removes what is locked, and unlocks it: who waits for the lock then makes a new one. It must be empty but for
 * STEP_DIR_LIFE. */
void step_dir_remove(struct step_dir *dir);

#endif
