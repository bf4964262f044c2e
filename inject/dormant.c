#include "dormant.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent_handshake.h"

#include "inject/base/guest_thread.h"
#include "proto/attach.h"

#define PATH_ROOM 64u

static struct {
	bool (*attach)(const char *socket_path, const char *options_path);
	char folder[PATH_ROOM], socket[PATH_ROOM], options[PATH_ROOM];
} self;

static char *put(char *at, const char *text)
{
	size_t size = strlen(text);

	memcpy(at, text, size + 1);
	return at + size;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[21];
	char *first = digits + sizeof(digits) - 1;

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	return put(at, first);
}

static void name_paths(void)
{
	char *at = put_number(put(self.folder, ATTACH_PREFIX), (uint64_t)getpid());

	put_number(put(at, "."), agent_handshake_pid_namespace());
	put(put(self.socket, self.folder), "/" ATTACH_SOCKET);
	put(put(self.options, self.folder), "/" ATTACH_OPTIONS);
}

/* Any user may make a folder in /tmp. Only a folder of our own user, or of root, is an invitation. Not lstat(): as a
 * function it is younger than the C libraries that the guest may run with. */
static bool is_invited(void)
{
	struct stat status;

	return access(self.socket, F_OK) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, self.folder, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode) && (status.st_uid == geteuid() || status.st_uid == 0) &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

static void *look(void *argument)
{
	const struct timespec rest = {.tv_sec = ATTACH_LOOK_NS / 1000000000u,
				      .tv_nsec = ATTACH_LOOK_NS % 1000000000u};

	(void)argument;
	prctl(PR_SET_NAME, "flamegrid");
	while (!is_invited() || !self.attach(self.socket, self.options))
		nanosleep(&rest, NULL);
	return NULL;
}

int dormant_start(bool (*attach)(const char *socket_path, const char *options_path))
{
	self.attach = attach;
	name_paths();
	return guest_thread_start(look);
}
