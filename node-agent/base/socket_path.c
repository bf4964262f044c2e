#include "socket_path.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/trust/trusted_dir.h"

#define BACKLOG SOMAXCONN /* this many processes may start at once */

static int check_directory(const char *path, const char **problem)
{
	char copy[PATH_MAX];
	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return -ENAMETOOLONG;
	int r = trusted_dir_check_parent(dirname(copy));
	*problem = r == -EPERM ? "other users could replace files in its directory"
			       : "its directory can't be used";
	return r;
}

static int seqpacket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int clear_path(const struct sockaddr_un *address, const char **problem)
{
	struct stat status;

	if (lstat(address->sun_path, &status))
		return errno == ENOENT ? 0 : -errno;
	*problem = "something that is not a socket of ours lies there";
	if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
		return -EEXIST;
	int fd = seqpacket();
	if (fd < 0)
		return fd;
	int r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	int why = errno;
	close(fd);
	*problem = "another agent listens there";
	if (r == 0 || why != ECONNREFUSED)
		return -EADDRINUSE;
	*problem = "the old socket can't be removed";
	return unlink(address->sun_path) ? -errno : 0;
}

/* Serialises agents that start at once. Without the lock each could find the path free. An agent could also take
 * another agent's socket, which is bound but does not listen yet, for an abandoned socket. Only our user can hold this
 * lock. Returns a descriptor or -errno. */
static int take_lock(const char *name, const char **problem)
{
	struct stat status, there;

	for (;;) {
		*problem = "its lock can't be taken";
		int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
		int r = fd < 0 || fstat(fd, &status) ? -errno : 0;

		if (r == 0 && (!S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
			*problem = "something that is not a lock of ours lies beside it";
			r = -EEXIST;
		}
		if (r == 0 && flock(fd, LOCK_EX))
			r = -errno;
		/* The agent that held the lock before may have removed its file. */
		if (r == 0 && lstat(name, &there) == 0 && there.st_ino == status.st_ino &&
		    there.st_dev == status.st_dev)
			return fd;
		if (fd >= 0)
			close(fd);
		if (r && r != -EINTR)
			return r;
	}
}

static void give_lock(const char *name, int fd)
{
	unlink(name);
	close(fd);
}

static int listen_at(const struct sockaddr_un *address, mode_t mode, const char **problem)
{
	int r = clear_path(address, problem);

	if (r)
		return r;
	*problem = "the socket can't be made";
	int fd = seqpacket();
	if (fd < 0)
		return fd;
	/* The file takes its mode from the descriptor, so that it never has wider rights. */
	if (fchmod(fd, mode) || bind(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	    chmod(address->sun_path, mode) || listen(fd, BACKLOG)) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int socket_path_listen(const char *path, mode_t mode, const char **problem)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*problem = "the path is too long for a socket";
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	int r = check_directory(path, problem);
	if (r)
		return r;
	char name[sizeof(address.sun_path) + sizeof(".lock")];
	snprintf(name, sizeof(name), "%s.lock", path);
	int lock = take_lock(name, problem);
	if (lock < 0)
		return lock;
	r = listen_at(&address, mode, problem);
	give_lock(name, lock);
	return r;
}

void socket_path_remove(const char *path, dev_t device, ino_t inode)
{
	struct stat status;

	if (lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == inode)
		unlink(path);
}
