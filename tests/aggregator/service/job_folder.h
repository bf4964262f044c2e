/* A directory of jobs, as a site's aggregator keeps it. Fails the running test on any error. */
#ifndef JOB_FOLDER_H
#define JOB_FOLDER_H

#include <limits.h>
#include <stddef.h>

#include "aggregator/service/job_dir.h"

extern char job_folder[64];

/* For cmocka: job_folder is an empty directory from set_up until tear_down. */
int job_folder_set_up(void **state);
int job_folder_tear_down(void **state);

/* Makes a job whose profile has these bytes; path is its directory. */
void job_folder_make(const char *user, const char *key, enum job_dir_state state, const void *bytes,
		     size_t size, char path[static PATH_MAX]);

/* Writes a file of a job's directory anew. */
void job_folder_write(const char *path, const char *name, const void *bytes, size_t size);

#endif
