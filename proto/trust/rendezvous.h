/* The file by which the nodes of a job find its aggregator. The node of rank 0 writes it where all of them see it.
 * Whoever can read it may send, since it holds the agents' keys. Text, a `NAME VALUE` a line. Any thread. */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdint.h>
#include <stdio.h>

#include "key_set.h"

#define RENDEZVOUS_ENDPOINTS_MAX 32u
#define RENDEZVOUS_ENDPOINT_SIZE 96u /* with its NUL, as the next */
#define RENDEZVOUS_STEP_SIZE     256u

struct rendezvous {
	/* The same of all processes of a job's step, without blanks; "": not known. */
	char step[RENDEZVOUS_STEP_SIZE];
	uint32_t nr_endpoints;
	/* ZeroMQ's, with addresses and no names; the likeliest first. */
	char endpoints[RENDEZVOUS_ENDPOINTS_MAX][RENDEZVOUS_ENDPOINT_SIZE];
	struct key_set keys; /* an agent's */
};

/* A file that is to be put in the place of path. It is locked as long as a process has it open, its children that
 * were forked meanwhile included, where the file system has locks: by this others know that its writer lives. */
struct rendezvous_file;

/* Makes and locks the file (0600), empty and under another name. 0 or -errno; on error *file is NULL. */
int rendezvous_create(const char *path, struct rendezvous_file **file);

/* Writes it and moves it to its place, all at once. Call it once, in any process that has the file. 0 or -errno: what
 * was in its place is still there. */
int rendezvous_publish(const struct rendezvous_file *file, const struct rendezvous *rendezvous);

/* Lets this process's part of the lock go. What was not published is removed. NULL: nothing. */
void rendezvous_close(struct rendezvous_file *file);

/* Writes the file's text. */
void rendezvous_print(const struct rendezvous *rendezvous, FILE *file);

/* Locks a file whose writer is gone. The descriptor that holds the lock: close() it; -EBUSY: its writer lives;
 * -ENOTSUP: that cannot be known here; other -errno, -ENOENT among them. */
int rendezvous_lock_dead(const char *path);

/* Reads the file, by key_set_read()'s rules about who owns it and who may read it. 0 or -errno: -ENOENT: it is not
 * there (yet); -EPERM; -EINVAL: a line is wrong, or something is missing. On error *rendezvous is empty, and *error is
 * one line, which the caller owns (free(); NULL: out of memory). */
int rendezvous_read(const char *path, struct rendezvous *rendezvous, char **error);

#endif
