#include "attach_point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_client.h"
#include "target_process.h"

#include "proto/attach.h"

#define TMP_SIZE (sizeof("/tmp/") - 1) /* length of "/tmp/", with which ATTACH_PREFIX begins */

int attach_point_path(const struct target_process *target, char path[static 108])
{
	int size = snprintf(path, 108, "/proc/%d/root" ATTACH_PREFIX "%d.%llu/" ATTACH_SOCKET,
			    (int)target->pid, (int)target->own_pid, target->pid_namespace);

	return size < 108 ? 0 : -ENAMETOOLONG;
}

static bool is_own(const struct target_process *target)
{
	return target->uid == geteuid();
}

/* Takes over a folder that exists already. */
static int take_over(const struct attach_point *point)
{
	struct control_request request = {.wish = CONTROL_STATUS};
	struct control_answer answer;
	struct stat status;

	if (fstatat(point->tmp_fd, point->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid())
		return -EEXIST;
	return control_client_ask(point->socket_path, &request, &answer) == 0 ? -EBUSY : 0;
}

static int write_options(const struct target_process *target, const struct attach_point *point,
			 const char *options)
{
	size_t size = strlen(options);
	char name[64];
	ssize_t written;
	int fd, result = 0;

	if (size > ATTACH_OPTIONS_MAX)
		return -EMSGSIZE;
	snprintf(name, sizeof(name), "%s/" ATTACH_OPTIONS, point->name);
	fd = openat(point->tmp_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	written = write(fd, options, size);
	if (written != (ssize_t)size || fchmod(fd, is_own(target) ? 0600 : 0644) < 0)
		result = written < 0 ? -errno : -EIO;
	close(fd);
	return result;
}

int attach_point_make(const struct target_process *target, const char *options,
		      struct attach_point *point)
{
	char tmp[64];
	int result;

	*point = (struct attach_point){.tmp_fd = -1};
	snprintf(tmp, sizeof(tmp), "/proc/%d/root/tmp", (int)target->pid);
	point->tmp_fd = open(tmp, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (point->tmp_fd < 0)
		return -errno;
	snprintf(point->name, sizeof(point->name), "%s%d.%llu", &ATTACH_PREFIX[TMP_SIZE],
		 (int)target->own_pid, target->pid_namespace);
	snprintf(point->socket_path, sizeof(point->socket_path),
		 "/proc/self/fd/%d/%s/" ATTACH_SOCKET, point->tmp_fd, point->name);
	if (mkdirat(point->tmp_fd, point->name, 0700) < 0) {
		result = errno == EEXIST ? take_over(point) : -errno;
		if (result < 0)
			return result;
	}
	point->made = true;
	/* Root has made the folder, and the guest of another user must reach it. */
	if (!is_own(target) && fchmodat(point->tmp_fd, point->name, 0711, 0) < 0)
		return -errno;
	return write_options(target, point, options);
}

void attach_point_remove(struct attach_point *point)
{
	static const char *const files[] = {ATTACH_SOCKET, ATTACH_OPTIONS};
	char name[64];

	for (size_t i = 0; point->made && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", point->name, files[i]);
		unlinkat(point->tmp_fd, name, 0);
	}
	if (point->made)
		unlinkat(point->tmp_fd, point->name, AT_REMOVEDIR);
	if (point->tmp_fd >= 0)
		close(point->tmp_fd);
	*point = (struct attach_point){.tmp_fd = -1};
}
