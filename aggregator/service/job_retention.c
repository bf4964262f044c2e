#include "job_retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_dir.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS    60000000000u
#define NS_PER_S   1000000000u
#define BLOCK_SIZE 512u /* of st_blocks; stat(2) */

struct complete_job {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	int64_t written_s; /* CLOCK_REALTIME */
};

struct job_retention {
	char *directory; /* owns */
	struct job_retention_limits limits;
	pthread_t thread;
	pthread_mutex_t lock; /* guards stopped */
	pthread_cond_t wake;
	bool stopped;
};

/* ---- look */

static bool is_named(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Opens a directory's list of entries. NULL: it is none, it cannot be read, or errno says why. */
static DIR *open_list(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

/* Fills in job. Returns whether the directory is that of a complete job; *bytes counts its files in any case. */
static bool look_into(int parent, const char *name, struct complete_job *job, uint64_t *bytes)
{
	DIR *list = open_list(parent, name);
	bool has_mark = false, has_store = false;
	const struct dirent *entry;
	struct stat stat;

	*bytes = 0;
	if (!list)
		return false;
	while ((entry = readdir(list)) != NULL) {
		if (!is_named(entry) ||
		    fstatat(dirfd(list), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		*bytes += (uint64_t)stat.st_blocks * BLOCK_SIZE;
		has_mark |= strcmp(entry->d_name, JOB_DIR_MARK) == 0 ||
			    strcmp(entry->d_name, JOB_DIR_CLOSED) == 0;
		if (strcmp(entry->d_name, JOB_DIR_STORE) == 0 && S_ISREG(stat.st_mode)) {
			has_store = true;
			job->written_s = stat.st_mtime;
		}
	}
	closedir(list);
	job->bytes = *bytes;
	strcpy(job->name, name); /* both have NAME_MAX */
	return has_store && !has_mark;
}

/* Lists the complete jobs, which the caller owns, and counts the bytes of all. 0 or -ENOMEM. */
static int list_jobs(DIR *all, struct complete_job **jobs, uint32_t *nr_jobs, uint64_t *bytes)
{
	const struct dirent *entry;
	struct complete_job job;
	uint32_t room = 0;
	uint64_t size;

	while ((entry = readdir(all)) != NULL) {
		bool complete =
			is_named(entry) && look_into(dirfd(all), entry->d_name, &job, &size);

		if (is_named(entry))
			*bytes += size;
		if (!complete)
			continue;
		if (array_reserve(jobs, &room, (uint64_t)*nr_jobs + 1, sizeof(**jobs)))
			return -ENOMEM;
		(*jobs)[(*nr_jobs)++] = job;
	}
	return 0;
}

static int compare_ages(const void *a, const void *b)
{
	const struct complete_job *first = a, *second = b;

	if (first->written_s != second->written_s)
		return first->written_s < second->written_s ? -1 : 1;
	return strcmp(first->name, second->name);
}

/* ---- delete */

static bool holds_directory(DIR *list)
{
	const struct dirent *entry;
	struct stat stat;
	bool found = false;

	while (!found && (entry = readdir(list)) != NULL)
		found = is_named(entry) &&
			fstatat(dirfd(list), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(stat.st_mode);
	rewinddir(list);
	return found;
}

/* The mark goes first, so that nobody fetches a part. The profile goes last: a directory that is half deleted still
 * counts as a job, and the next look finishes it. */
static int delete_job(int parent, const char *name)
{
	DIR *list = open_list(parent, name);
	const struct dirent *entry;
	int r = 0;

	if (!list)
		return -errno;
	if (holds_directory(list))
		r = -EISDIR;
	else if (unlinkat(dirfd(list), JOB_DIR_COMPLETE, 0) < 0 && errno != ENOENT)
		r = -errno;
	while (r == 0 && (entry = readdir(list)) != NULL)
		if (is_named(entry) && strcmp(entry->d_name, JOB_DIR_STORE) != 0 &&
		    unlinkat(dirfd(list), entry->d_name, 0) < 0)
			r = -errno;
	if (r == 0 && unlinkat(dirfd(list), JOB_DIR_STORE, 0) < 0)
		r = -errno;
	closedir(list);
	return r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

static bool is_too_old(const struct complete_job *job, uint64_t age_ns, int64_t now_s)
{
	return age_ns && now_s - job->written_s > (int64_t)(age_ns / NS_PER_S);
}

int job_retention_apply(const char *directory, const struct job_retention_limits *limits,
			int64_t now_s, struct job_retention_result *result)
{
	struct complete_job *jobs = NULL;
	uint32_t nr_jobs = 0;
	DIR *all = opendir(directory);
	int r = all ? 0 : -errno;

	*result = (struct job_retention_result){0};
	if (r == 0)
		r = list_jobs(all, &jobs, &nr_jobs, &result->bytes);
	if (r == 0 && nr_jobs)
		qsort(jobs, nr_jobs, sizeof(*jobs), compare_ages);
	for (uint32_t i = 0; r == 0 && i < nr_jobs; i++) {
		const struct complete_job *job = &jobs[i];
		bool too_old = is_too_old(job, limits->age_ns, now_s);

		if (!too_old && (!limits->bytes || result->bytes <= limits->bytes))
			continue;
		int error = delete_job(dirfd(all), job->name);
		if (error && result->stuck++ == 0)
			log_warning("%s/%s: cannot be deleted: %s", directory, job->name,
				    strerror(-error));
		if (error)
			continue;
		log_info("%s/%s: deleted, as %s", directory, job->name,
			 too_old ? "it is too old" : "the jobs' profiles take too much room");
		result->deleted++;
		result->bytes -= job->bytes;
	}
	free(jobs);
	if (all)
		closedir(all);
	return r;
}

/* ---- thread */

static bool wait_for_stop(struct job_retention *retention)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, LOOK_NS);
	int r = 0;

	pthread_mutex_lock(&retention->lock);
	while (!retention->stopped && r == 0)
		r = pthread_cond_timedwait(&retention->wake, &retention->lock, &until);
	bool stopped = retention->stopped;
	pthread_mutex_unlock(&retention->lock);
	return stopped;
}

static void *run(void *argument)
{
	struct job_retention *retention = argument;
	struct job_retention_result result;

	do {
		int64_t now_s = (int64_t)(clock_realtime_ns() / NS_PER_S);
		int r = job_retention_apply(retention->directory, &retention->limits, now_s,
					    &result);

		if (r)
			log_warning("%s: old jobs cannot be deleted: %s", retention->directory,
				    strerror(-r));
	} while (!wait_for_stop(retention));
	return NULL;
}

struct job_retention *job_retention_start(const char *directory,
					  const struct job_retention_limits *limits)
{
	struct job_retention *retention = calloc(1, sizeof(*retention));
	pthread_condattr_t attributes;

	if (!retention)
		return NULL;
	retention->limits = *limits;
	retention->directory = strdup(directory);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&retention->lock, NULL);
	pthread_cond_init(&retention->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	if (retention->directory && pthread_create(&retention->thread, NULL, run, retention) == 0)
		return retention;
	free(retention->directory);
	free(retention);
	return NULL;
}

void job_retention_stop(struct job_retention *retention)
{
	if (!retention)
		return;
	pthread_mutex_lock(&retention->lock);
	retention->stopped = true;
	pthread_cond_signal(&retention->wake);
	pthread_mutex_unlock(&retention->lock);
	pthread_join(retention->thread, NULL);
	pthread_cond_destroy(&retention->wake);
	pthread_mutex_destroy(&retention->lock);
	free(retention->directory);
	free(retention);
}
