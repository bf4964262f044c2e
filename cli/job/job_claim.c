#include "job_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rendezvous_search.h"

#include "cli/base/job_step.h"

static int path_of(const struct job_claim *claim, uint32_t number, const char *rendezvous_path,
		   char path[static PATH_MAX])
{
	const uint64_t name = job_step_hash(JOB_STEP_HASH, claim->key);
	int size = snprintf(path, PATH_MAX, "%s" RENDEZVOUS_CLAIM "%016llx.%u", rendezvous_path,
			    (unsigned long long)name, number);

	return size < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Network file systems look anew at a file that is opened. */
static bool read_time(const char *path, struct timespec *time)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return false;
	bool known = fstat(fd, &status) == 0;
	*time = status.st_mtim;
	close(fd);
	return known;
}

/* Notes that another process has the claim. */
static void see(struct job_claim *claim, const char *path, uint64_t now_ns)
{
	struct timespec time;

	if (!read_time(path, &time)) {
		claim->seen_ns = 0; /* it has just been removed */
		return;
	}
	if (claim->seen_ns && time.tv_sec == claim->time.tv_sec &&
	    time.tv_nsec == claim->time.tv_nsec)
		return;
	claim->seen_ns = now_ns;
	claim->time = time;
}

int job_claim_make(struct job_claim *claim, const char *rendezvous_path, const char *key,
		   uint64_t now_ns, char path[static PATH_MAX])
{
	int r;

	if (strcmp(claim->key, key) != 0) {
		*claim = (struct job_claim){.number = 0};
		snprintf(claim->key, sizeof(claim->key), "%s", key);
	}
	r = path_of(claim, claim->number, rendezvous_path, path);
	if (r == 0 && claim->seen_ns) {
		see(claim, path, now_ns);
		if (claim->seen_ns && now_ns - claim->seen_ns > JOB_CLAIM_DEAD_NS) {
			claim->seen_ns = 0;
			r = path_of(claim, ++claim->number, rendezvous_path, path);
		}
	}
	if (r)
		return r;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	r = -errno;
	if (r == -EEXIST && !claim->seen_ns)
		see(claim, path, now_ns);
	return r;
}

void job_claim_remove_dead(const struct job_claim *claim, const char *rendezvous_path)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < claim->number; i++)
		if (path_of(claim, i, rendezvous_path, path) == 0)
			unlink(path);
}

void job_claim_renew(const char *path, uint64_t now_ns, uint64_t *renewed_ns)
{
	if (now_ns - *renewed_ns < JOB_CLAIM_RENEW_NS)
		return;
	*renewed_ns = now_ns;
	utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}
