/* Asks a site's aggregator for a user's jobs, and copies their profiles (proto/wire.md, FETCH). It asks again for what
 * has no answer, and goes on when the connection was lost and is there again. Single-threaded. */
#ifndef JOB_DOWNLOAD_H
#define JOB_DOWNLOAD_H

#include <signal.h>
#include <stdint.h>

#include "aggregator_client.h"

#include "proto/batch/message.h"

struct job_entry {
	char name[MESSAGE_JOB_NAME_MAX + 1]; /* of its directory; fit for a file's name */
	char key[MESSAGE_JOB_NAME_MAX + 1];
	uint32_t state;                  /* enum fetch_state */
	uint64_t size_bytes, written_ns; /* CLOCK_REALTIME */
};

struct job_list {               /* zeroed memory is empty; free(jobs) */
	struct job_entry *jobs; /* owns; by names rising */
	uint32_t nr_jobs, room;
};

struct job_download {
	struct aggregator_client *client;     /* open; borrowed, as all here */
	const char *endpoint;                 /* for messages */
	const char *user;                     /* whose jobs */
	const volatile sig_atomic_t *stopped; /* not 0: end with -EINTR */
};

/* Appends all jobs of the user. 0 or -errno; on error *error is one line, which the caller owns (free()). */
int job_download_list(const struct job_download *download, struct job_list *list, char **error);

/* Copies a file of a complete job into the empty file fd. *bytes is its size; 0: there is no such file. 0; -ESTALE: it
 * changed meanwhile; other -errno. On error *error is one line, as above. */
int job_download_file(const struct job_download *download, const char *name, enum fetch_file file,
		      int fd, uint64_t *bytes, char **error);

/* Returns the job that a user means by a directory's name, by a key, or by what stands before a dot in the only such
 * key. NULL: none. *several: more than one may be meant. Borrowed from the list. */
const struct job_entry *job_list_find(const struct job_list *list, const char *text, bool *several);

#endif
