/* Calls libmunge in a thread of its own, because munged may be stopped, and so may the service that names users. The
 * thread lives as long as there are tasks. Nobody waits for it. One thread gives and takes. */
#ifndef MUNGE_WORKER_H
#define MUNGE_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#define MUNGE_WORKER_MAX  4096u /* tasks at a time; munged does some 8,000 a second */
#define MUNGE_WORKER_USER 256u  /* bytes of a user's name with its NUL */

struct munge_worker;

/* Callers may have it as the first member of a larger struct. */
struct munge_task {
	struct munge_task *next; /* the worker's */
	bool decodes;            /* else it makes a credential */
	char *input,
		*output; /* owns: the text and its credential, or the credential and its text */
	int status;      /* as of munge_library.h; -EAGAIN also: users' names cannot be asked for now */
	char *error;     /* owns */
	/* decodes: the credential's user as this host names it; or the user's number, if there is no name that can be a
	 * job's: visible ASCII, not digits alone, not too long */
	char user[MUNGE_WORKER_USER];
};

/* Frees a task that came from malloc(), with what it owns. Accepts NULL. */
void munge_task_destroy(struct munge_task *task);

/* wake_fd: an eventfd to which 1 is added when a task is done; a copy of it is kept. 0 or -errno; on error *worker is
 * NULL. */
int munge_worker_start(int wake_fd, struct munge_worker **worker);

/* Drops all tasks. A call that waits for munged is left alone, and its thread ends with it. Accepts NULL. */
void munge_worker_stop(struct munge_worker *worker);

/* Takes a task, which came from malloc(), if there is room for it. 0; -EAGAIN: there is none; other -errno. On error
 * the task is still the caller's. */
int munge_worker_give(struct munge_worker *worker, struct munge_task *task);

/* The next task that is done, which the caller owns. NULL: none. */
struct munge_task *munge_worker_take(struct munge_worker *worker);

#endif
