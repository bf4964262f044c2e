/* Reads what a site's aggregator keeps of its jobs, for the users who own them: lists of jobs, and blocks of complete
 * profiles. Every call may wait for a disk, so the aggregator's own thread makes none. Each object belongs to one
 * thread. */
#ifndef JOB_FILES_H
#define JOB_FILES_H

#include <stdint.h>

#include "proto/batch/message.h"

#define JOB_ANSWER_REASON 256u

struct job_files;

/* The answer to one question; zeroed memory is empty. */
struct job_answer {
	/* FETCH or REFUSE; its texts lie in the question and in the next members. Type 0: there was no memory for one,
	 * so the question has to come again. */
	struct message message;
	char reason[JOB_ANSWER_REASON];
	uint8_t *bytes;                 /* owns */
	struct message_fetch_job *jobs; /* owns; their texts are copies */
};

/* directory: that of all jobs; it exists. 0 or -errno; on error *files is NULL. */
int job_files_open(const char *directory, struct job_files **files);
void job_files_close(struct job_files *files); /* accepts NULL */

/* Answers FETCH_LIST or FETCH_READ (asserted) of a peer that may ask for this user's jobs (peer_rights.h). The question
 * is borrowed as long as the answer. It refuses with UNDEFINED what is not a complete job of this user, with STORE what
 * cannot be read. The caller calls job_answer_fini(). */
void job_files_answer(struct job_files *files, const struct message_fetch *question,
		      struct job_answer *answer);
void job_answer_fini(struct job_answer *answer);

#endif
