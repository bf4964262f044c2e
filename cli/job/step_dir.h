/* Where the processes of one step meet on one node: a directory that only this user can enter, with a lock.
 *
 * Other users can take any name in /tmp. So a name ends in a random number, and a directory is the step's by its
 * owner and the beginning of its name. Processes that find none make one each, and must agree on one of them:
 *
 * - A directory is chosen once STEP_DIR_LIFE is in it, and a candidate before. Only the holder of its lock chooses
 *   or removes it. A lock ends with its process, so a killed maker leaves a candidate that the next process takes.
 * - The holder of a candidate looks for further directories. It chooses its own if there is none.
 * - If there is a lesser name, it removes its own and starts anew.
 * - Otherwise it waits for the lock of the least further one. It then removes its own and goes on with that one.
 *
 * Two directories are never chosen at once. Let the look before the one choice begin no later than that before the
 * other. The first directory was there and locked when its holder looked. It therefore was there during all of the
 * second look, which saw it, unless it had been removed. So the second was not chosen. This needs readdir() to return
 * an entry that is there all the time, whatever else changes, which POSIX promises.
 * Nobody waits in a circle: a process that holds a lock of a step waits only for that of a greater name.
 * Each new try means that a directory has gone, and only processes that saw none make one. So the tries end.
 *
 * Single-threaded. */
#ifndef STEP_DIR_H
#define STEP_DIR_H

#include "cli/base/job_step.h"

#define STEP_DIR_MAX 96 /* "/members" behind it fits a Unix socket's address (108 bytes) */

#define STEP_DIR_PREFIX "flamegrid-step-"
/* a file in the directory; the process that serves there locks it for its life */
#define STEP_DIR_LIFE  "life"
#define STEP_DIR_AGENT "agent" /* the agent's socket (handshake.h) */
/* node_keeper's socket (SOCK_SEQPACKET); each connected process is a member */
#define STEP_DIR_MEMBERS "members"

struct step_dir {
	char path[STEP_DIR_MAX]; /* "": none */
	int lock;                /* the directory's descriptor, while it is locked; else -1 */
};

/* Finds or makes the directory of this step, user and node, and locks it; it waits while other processes hold the lock.
 * The place is the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp in which that works. node: NULL: Slurm's name, else the
 * host's. 0 or -errno of the last place: -EPERM: other users could replace the directory; -EACCES: its names cannot be
 * listed, or none made; -ENAMETOOLONG: its path is longer than 54 bytes; -EAGAIN: the step's directories came and went
 * too often. */
int step_dir_lock(struct step_dir *dir, const struct job_step *step, const char *node);
void step_dir_unlock(struct step_dir *dir); /* unlocks it if it is locked */

/* Writes "path/name", which always fits. */
void step_dir_file(const struct step_dir *dir, const char *name, char *out, size_t size);

/* Locks the directory again, and waits for the lock. 0; -ENOENT or -EAGAIN: it is gone; other -errno. */
int step_dir_relock(struct step_dir *dir);

/* Takes the lock of STEP_DIR_LIFE, for the life of this process. Without that lock the directory counts as a dead
 * run's, as soon as it is not locked. The caller, or another process that waits, must hold the directory's lock. 0 or
 * -errno. */
int step_dir_live(const struct step_dir *dir);

/* Removes the locked directory, and unlocks it. A process that waits for the lock then makes a new one. The directory
 * must be empty but for STEP_DIR_LIFE. */
void step_dir_remove(struct step_dir *dir);

#endif
