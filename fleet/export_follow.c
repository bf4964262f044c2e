#include "export_follow.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export_server.h"
#include "profile_export.h"

#include "aggregator/service/job_dir.h"
#include "base/log.h"

struct look {
	struct export_server server;
	bool skips_unchanged;
	bool is_down; /* the server did not answer, so nobody asks it again in this look */
	bool failed;
};

static void export_one(struct look *look, const char *store_path)
{
	struct profile_export_result result;
	char waiting[64] = "", *error = NULL;

	if (look->is_down)
		return;
	int status =
		profile_export(store_path, &look->server, look->skips_unchanged, &result, &error);
	/* A profile that nothing was written to yet, or that another process exports, has its turn later. */
	if ((status == -ENOENT || status == -EBUSY) && look->skips_unchanged)
		status = 0;
	if (result.rows)
		log_info("%s: %" PRIu64 " rows exported", store_path, result.rows);
	if (result.waiting)
		snprintf(waiting, sizeof(waiting), ", at least %" PRIu64 " rows wait",
			 result.waiting);
	if (status == -EBADMSG)
		log_error("%s", error ? error : strerror(-status));
	else if (status)
		log_error("%s: not exported%s: %s", store_path, waiting,
			  error ? error : strerror(-status));
	look->failed |= status != 0;
	look->is_down |= status == -EIO;
	free(error);
}

static void export_jobs(struct look *look, const char *jobs_path)
{
	char path[PATH_MAX];
	DIR *directory = opendir(jobs_path);
	const struct dirent *entry;

	if (!directory) {
		if (errno != ENOENT)
			log_error("%s: %s", jobs_path, strerror(errno));
		look->failed |= errno != ENOENT;
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		if (*entry->d_name == '.' ||
		    snprintf(path, sizeof(path), "%s/%s/" JOB_DIR_STORE, jobs_path,
			     entry->d_name) >= (int)sizeof(path))
			continue;
		if (access(path, F_OK) == 0)
			export_one(look, path);
	}
	closedir(directory);
}

bool export_all(const char *store_path, const char *jobs_path, const struct export_target *target,
		bool skips_unchanged)
{
	struct look look = {.server.target = target, .skips_unchanged = skips_unchanged};

	if (store_path)
		export_one(&look, store_path);
	if (jobs_path)
		export_jobs(&look, jobs_path);
	export_server_close(&look.server);
	return !look.failed;
}

static void look_once(const char *store_path, const char *jobs_path,
		      const struct export_target *target)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(export_all(store_path, jobs_path, target, true) ? EXIT_SUCCESS
								      : EXIT_FAILURE);
	if (pid < 0)
		log_error("no process for an export: %s", strerror(errno));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFSIGNALED(status))
		log_error("an export was ended by signal %d; the next one goes on",
			  WTERMSIG(status));
}

void export_follow(const char *store_path, const char *jobs_path,
		   const struct export_target *target)
{
	struct pollfd input = {.fd = STDIN_FILENO}; /* a pipe's end is an event in any case */
	bool is_over = false;

	while (!is_over) {
		is_over = poll(&input, 1, (int)target->interval_s * 1000) > 0;
		look_once(store_path, jobs_path, target);
	}
}
