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
#define STEP_DIR_LIFE   "life" /* a file in it; the process that serves there locks it for its life */
#define STEP_DIR_AGENT  "agent" /* the agent's socket (handshake.h) */
/* node_keeper's: SOCK_SEQPACKET; who is connected is a member */
#define STEP_DIR_MEMBERS "members"

struct step_dir {
	char path[STEP_DIR_MAX]; /* "": none */
	int lock;                /* the directory's descriptor, while it is locked; else -1 */
};

/* Finds or makes the directory of this step, user and node, in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: the first
 * in which that works. Locks it, and waits for other processes that have it locked. node: NULL: Slurm's name, else
 * the host's. 0 or -errno of the last place: -EPERM: other users could replace it; -EACCES: its names cannot be
 * listed, or none made; -ENAMETOOLONG: its path is longer than 54 bytes; -EAGAIN: the step's directories came and
 * went too often. */
int step_dir_lock(struct step_dir *dir, const struct job_step *step, const char *node);
void step_dir_unlock(struct step_dir *dir); /* if it is locked */

/* Writes "path/name". It fits. */
void step_dir_file(const struct step_dir *dir, const char *name, char *out, size_t size);

/* Locks it again, and waits for the lock. 0; -ENOENT or -EAGAIN: it is gone; other -errno. */
int step_dir_relock(struct step_dir *dir);

/* Takes the lock of STEP_DIR_LIFE, for the life of this process: without it the directory is a dead run's, as soon
 * as nobody has locked it. Under its lock, or that of another process that waits. 0 or -errno. */
int step_dir_live(const struct step_dir *dir);

/* Removes what is locked, and unlocks it: who waits for the lock then makes a new one. It must be empty but for
 * STEP_DIR_LIFE. */
void step_dir_remove(struct step_dir *dir);

#endif
