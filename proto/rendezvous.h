/* The file by which the nodes of a job find its aggregator: written where all of them see it, by the one beside rank 0. Who can read it may
 * send: it holds the agents' keys. Text, a `NAME VALUE` a line. Pure but for files; any thread. */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdint.h>
#include <stdio.h>

#include "proto/key_set.h"

#define RENDEZVOUS_ENDPOINTS_MAX 32u
#define RENDEZVOUS_ENDPOINT_SIZE 96u  /* with its NUL */
#define RENDEZVOUS_STEP_SIZE     256u /* likewise */

struct rendezvous {
	char step
		[RENDEZVOUS_STEP_SIZE]; /* the same of all processes of a job's step, without blanks; "": not known */
	uint32_t nr_endpoints;
	char endpoints
		[RENDEZVOUS_ENDPOINTS_MAX]
		[RENDEZVOUS_ENDPOINT_SIZE]; /* ZeroMQ's, address literals; the likeliest first */
	struct key_set keys;                /* an agent's */
};

/* Puts a new file (0600) in the place of what is there, all at once. It is locked as long as *lock is open, where
 * the file system has locks: by this others know that its writer lives. The caller owns *lock, -1 on error. 0 or
 * -errno. */
int rendezvous_write(const char *path, const struct rendezvous *rendezvous, int *lock);

/* What is in the file. */
void rendezvous_print(const struct rendezvous *rendezvous, FILE *file);

/* Locks a file whose writer is gone. The descriptor that holds the lock: close() it; -EBUSY: its writer lives;
 * -ENOTSUP: that cannot be known here; other -errno, -ENOENT among them. */
int rendezvous_lock_dead(const char *path);

/* Reads it, by key_set_read()'s rules about who owns it and who may read it. 0 or -errno, with *error one line, owns: free() (NULL if
 * there was no memory for it): -ENOENT: it is not there (yet); -EPERM; -EINVAL: what is wrong in which line, or missing. On error *rendezvous is empty. */
int rendezvous_read(const char *path, struct rendezvous *rendezvous, char **error);

#endif
