/* Answers users' questions for their jobs in a thread of its own, because a disk may be slow or a file system of
 * several hosts not answer at all. The aggregator's thread brings the questions and sends the answers. The queue is
 * bounded: a question without a place is dropped, and its sender asks again. */
#ifndef JOB_FETCH_H
#define JOB_FETCH_H

#include <stdint.h>

#include "peer_table.h"

#include "proto/batch/message.h"

#define JOB_FETCH_MAX     256u /* questions at a time */
#define JOB_FETCH_OF_USER 64u  /* of them by the keys of one user, or by the agents' keys */
/* of them by one connection, so that blocks are read while others travel */
#define JOB_FETCH_OF_PEER 4u

struct job_fetch;

/* directory: of all jobs; copied. wake_fd: an eventfd to which the thread adds 1 when an answer is ready; borrowed
 * until stop. 0 or -errno; on error *fetch is NULL. */
int job_fetch_start(const char *directory, int wake_fd, struct job_fetch **fetch);

/* Ends the thread, after the file that it reads now. Accepts NULL. */
void job_fetch_stop(struct job_fetch *fetch);

/* Copies a question (FETCH_LIST or FETCH_READ) of a peer that may ask it (peer_rights.h). It is dropped if there is no
 * place or no memory for it, or if the same question waits. The aggregator's thread. */
void job_fetch_ask(struct job_fetch *fetch, const struct peer *peer,
		   const struct message_fetch *question);

/* Returns the next answer, and in *peer the address of its sender; both are borrowed until the next call. NULL: none is
 * ready. The aggregator's thread. */
const struct message *job_fetch_next(struct job_fetch *fetch, const struct peer **peer);

#endif
