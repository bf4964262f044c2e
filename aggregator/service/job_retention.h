/* Deletes profiles of complete jobs from a site's directory: those that are too old, and then the oldest until the
 * directory is small enough. A job that is open, or whose reports are not written, is never deleted (job_dir.h has the
 * mark of such a job). Directories without a profile, and links to directories, are left alone. */
#ifndef JOB_RETENTION_H
#define JOB_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct job_retention_limits {
	uint64_t
		bytes; /* that all jobs' files may take on the disk, open jobs included; 0: no limit */
	uint64_t age_ns; /* since the job's profile was written last; 0: no limit */
};

struct job_retention_result {
	uint64_t deleted; /* jobs */
	uint64_t bytes;   /* that the files of all jobs take now */
	uint64_t stuck;   /* jobs that could not be deleted; a warning named the first one */
};

/* Looks once, and deletes. now_s: CLOCK_REALTIME in seconds. Any thread, but one at a time for a directory.
 * 0; -ENOMEM: nothing was deleted; other -errno: the directory could not be read, and nothing was deleted. */
int job_retention_apply(const char *directory, const struct job_retention_limits *limits,
			int64_t now_s, struct job_retention_result *result);

struct job_retention;

/* Looks at once and then every minute, in a thread of its own, because a large file takes long to delete. directory is
 * copied. Returns NULL: out of memory, or of threads. */
struct job_retention *job_retention_start(const char *directory,
					  const struct job_retention_limits *limits);

/* Ends the thread, which finishes the job that it is deleting. Accepts NULL. */
void job_retention_stop(struct job_retention *retention);

#endif
