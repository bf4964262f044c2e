/* The file by which the nodes of a job find its aggregator. The node of rank 0 writes it to a place that all nodes see.
 * It holds the agents' keys, so everybody who can read it may send. Text: one `NAME VALUE` per line. Any thread. */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "key_set.h"

#define RENDEZVOUS_ENDPOINTS_MAX 32u
#define RENDEZVOUS_ENDPOINT_SIZE 96u /* with its NUL, as the next */
#define RENDEZVOUS_STEP_SIZE     256u
#define RENDEZVOUS_NUMBER_SIZE   8u

struct rendezvous {
	/* Names the job's step, without blanks; "": not known. */
	char step[RENDEZVOUS_STEP_SIZE];
	/* What the profile's directory has behind the path that the user named: ".2" or "/2" (output_dir.h); "":
	 * nothing. */
	char number[RENDEZVOUS_NUMBER_SIZE];
	/* The server's public key of the step's first aggregator. All that take over have the same, and an aggregator
	 * of the same step that was started anew has another. "": not known. */
	char first[KEY_SET_TEXT];
	uint32_t nr_endpoints;
	/* ZeroMQ endpoints with addresses, not host names; the likeliest first. */
	char endpoints[RENDEZVOUS_ENDPOINTS_MAX][RENDEZVOUS_ENDPOINT_SIZE];
	struct key_set keys; /* an agent's */
};

/* A file that will replace path. It is locked as long as a process, or a child that was forked meanwhile, has it open.
 * The lock tells others that the writer lives, where the file system has locks. */
struct rendezvous_file;

/* Makes the file (0600), empty and under a temporary name, and locks it. 0 or -errno; on error *file is NULL. */
int rendezvous_create(const char *path, struct rendezvous_file **file);

/* Writes the file and moves it to path, in one step for all readers. Call it once, in any process that has the file.
 * 0 or -errno: then path is what it was before. */
int rendezvous_publish(const struct rendezvous_file *file, const struct rendezvous *rendezvous);

/* Returns whether the file has been published, in any process: its temporary name is gone. */
bool rendezvous_is_published(const struct rendezvous_file *file);

/* Gives this process's share of the lock back, and removes a file that was not published. Accepts NULL. */
void rendezvous_close(struct rendezvous_file *file);

/* Writes the file's text. */
void rendezvous_print(const struct rendezvous *rendezvous, FILE *file);

/* Locks a file whose writer is gone. Returns the descriptor that holds the lock, which the caller owns; -EBUSY: the
 * writer lives; -ENOTSUP: the file system cannot say; -ENOENT; other -errno. */
int rendezvous_lock_dead(const char *path);

/* Returns whether the file's writer lives, or the writer of another file that is locked in this way. 1; 0: it does not;
 * -ENOENT; other -errno: the file system cannot say. */
int rendezvous_is_held(const char *path);

/* Reads the file, by the rules of key_set_read() for its owner and mode. 0 or -errno: -ENOENT: it is not there (yet);
 * -EPERM; -EINVAL: a line is wrong, or something is missing. On error *rendezvous is empty, and *error is one line,
 * which the caller owns (free(); NULL: out of memory). */
int rendezvous_read(const char *path, struct rendezvous *rendezvous, char **error);

#endif
