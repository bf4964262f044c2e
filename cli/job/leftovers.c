#include "leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rendezvous_search.h"
#include "step_dir.h"

#include "base/local_disk.h"
#include "cli/base/private_dir.h"
#include "node-agent/guests/guest_register.h"

/* ---- directories of sockets */

static bool is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	       (status.st_mode & 07777) == 0700;
}

static bool has_file(int directory, const char *name)
{
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns whether a process still serves here. A step's directory is locked while a process joins or leaves. Its keeper
 * locks STEP_DIR_LIFE before it makes its sockets. */
static bool has_keeper(int directory)
{
	int fd = openat(directory, STEP_DIR_LIFE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return errno != ENOENT || has_file(directory, STEP_DIR_MEMBERS);
	bool has = flock(fd, LOCK_EX | LOCK_NB) < 0;
	close(fd);
	return has;
}

/* A directory without a socket may be new, and its maker about to lock it. */
static bool is_dead_private_dir(int directory)
{
	return has_file(directory, STEP_DIR_AGENT);
}

static void remove_if_dead(int parent, const char *name, bool is_step)
{
	/* the agent's socket is removed last, because it marks the directory as a dead one */
	static const char *const files[] = {STEP_DIR_AGENT GUEST_REGISTER_SUFFIX, STEP_DIR_AGENT,
					    STEP_DIR_MEMBERS, STEP_DIR_LIFE};
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (is_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    (is_step ? !has_keeper(fd) : is_dead_private_dir(fd))) {
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			unlinkat(fd, files[i], 0);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(fd);
}

/* Other names with our prefix are not locked (proto/attach.h), so they prove nothing. */
static void look_at(int parent, const char *name)
{
	if (strncmp(name, STEP_DIR_PREFIX, strlen(STEP_DIR_PREFIX)) == 0)
		remove_if_dead(parent, name, true);
	else if (strncmp(name, PRIVATE_DIR_PREFIX, strlen(PRIVATE_DIR_PREFIX)) == 0)
		remove_if_dead(parent, name, false);
}

void leftovers_remove_sockets(void)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	const struct dirent *entry;

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		DIR *parent = parents[i] && parents[i][0] == '/' ? opendir(parents[i]) : NULL;

		if (parent && local_disk_has(dirfd(parent)))
			while ((entry = readdir(parent)) != NULL)
				look_at(dirfd(parent), entry->d_name);
		if (parent)
			closedir(parent);
	}
}

/* ---- rendezvous files */

static bool answers(const struct rendezvous *rendezvous)
{
	return rendezvous_search_reachable(rendezvous, RENDEZVOUS_CONNECT_MS) >= 0;
}

bool leftovers_rendezvous_lives(const char *path)
{
	struct rendezvous rendezvous;
	char *error;
	int lock = rendezvous_lock_dead(path);
	bool lives = lock == -EBUSY;

	if (!lives && rendezvous_read(path, &rendezvous, &error) == 0)
		lives = answers(&rendezvous);
	else if (!lives)
		free(error);
	if (lock >= 0)
		close(lock);
	return lives;
}

/* Only the holder of the lock removes the file, so under the lock the name still belongs to it. */
static void remove_if_nobodys(const char *path)
{
	struct rendezvous rendezvous;
	char *error;
	int lock = rendezvous_lock_dead(path);

	if (lock < 0)
		return;
	if (rendezvous_read(path, &rendezvous, &error))
		free(error);
	else if (!answers(&rendezvous))
		unlink(path);
	close(lock);
}

static bool has_news(int stop)
{
	struct pollfd news = {.fd = stop, .events = POLLIN};

	return poll(&news, 1, 0) != 0;
}

static bool is_rendezvous(const char *name)
{
	size_t size = strlen(name), suffix = strlen(RENDEZVOUS_SUFFIX);

	return size > suffix && strcmp(name + size - suffix, RENDEZVOUS_SUFFIX) == 0;
}

/* A claim (job_standby.h) whose rendezvous file is gone is of no use to anybody. */
static void remove_if_claim(const char *path)
{
	const char *claim = strstr(strrchr(path, '/'), RENDEZVOUS_SUFFIX RENDEZVOUS_CLAIM);
	char rendezvous[PATH_MAX];
	struct stat status;

	if (!claim)
		return;
	snprintf(rendezvous, sizeof(rendezvous), "%.*s" RENDEZVOUS_SUFFIX, (int)(claim - path),
		 path);
	if (lstat(rendezvous, &status) < 0 && errno == ENOENT)
		unlink(path);
}

/* Returns whether it is the name under which a rendezvous file is written (rendezvous_create()). */
static bool is_unpublished(const char *path)
{
	const char *dot = strrchr(path, '.'), *process = dot ? dot + 1 : "";
	const size_t size = dot ? (size_t)(dot - path) : 0, suffix = strlen(RENDEZVOUS_SUFFIX);

	return *process && process[strspn(process, "0123456789")] == '\0' && size > suffix &&
	       memcmp(path + size - suffix, RENDEZVOUS_SUFFIX, suffix) == 0;
}

/* Its owner was killed before it published the file, which is empty or whole then. Others may have such a name. */
static void remove_if_unowned(const char *path)
{
	int lock = rendezvous_lock_dead(path);
	struct rendezvous rendezvous;
	struct stat status;
	char *error = NULL;

	if (lock < 0)
		return;
	if (fstat(lock, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (status.st_size == 0 || rendezvous_read(path, &rendezvous, &error) == 0))
		unlink(path);
	free(error);
	close(lock);
}

static void remove_leftover(const char *path)
{
	if (is_rendezvous(path))
		remove_if_nobodys(path);
	else if (is_unpublished(path))
		remove_if_unowned(path);
	else
		remove_if_claim(path);
}

void leftovers_remove_rendezvous(const char *output_path, int stop)
{
	const char *slash = strrchr(output_path, '/');
	int size = slash ? (int)(slash - output_path) + 1 : 2;
	const char *folder = slash ? output_path : "./";
	const struct dirent *entry;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s", size, folder) >= (int)sizeof(path))
		return;
	DIR *directory = opendir(path);
	while (directory && (entry = readdir(directory)) != NULL && !has_news(stop))
		if (snprintf(path, sizeof(path), "%.*s%s", size, folder, entry->d_name) <
		    (int)sizeof(path))
			remove_leftover(path);
	if (directory)
		closedir(directory);
}
