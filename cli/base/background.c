#include "background.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAVE_SIGNAL SIGWINCH /* a process without our handler ignores it */

static volatile sig_atomic_t inner_group; /* of the process that this one has started */

/* Only calls that a handler may make. */
static void leave(int number)
{
	const int error = errno;
	const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)number;
	if (nowhere >= 0) {
		dup2(nowhere, STDERR_FILENO);
		close(nowhere);
	}
	background_leave(inner_group);
	errno = error;
}

static void obey_leave(void)
{
	struct sigaction action = {.sa_handler = leave, .sa_flags = SA_RESTART};
	sigset_t signals;

	inner_group = 0;
	sigemptyset(&action.sa_mask);
	sigaction(LEAVE_SIGNAL, &action, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, LEAVE_SIGNAL);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

/* Descriptors of the caller may keep a launcher or a lock waiting, so they are closed. */
static void close_all_but(const int kept[static BACKGROUND_KEPT], int ready)
{
	DIR *open_files = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (open_files && (entry = readdir(open_files)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && fd != kept[0] && fd != kept[1] && fd != ready &&
		    fd != dirfd(open_files))
			close(fd);
	}
	if (open_files)
		closedir(open_files);
}

static void run_apart(void (*body)(void *argument, int ready), void *argument,
		      const int kept[static BACKGROUND_KEPT], int ready)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = setsid() < 0 ? -1 : fork();

	/* The first child ends at once, so no wait() of the caller ever finds the second. */
	if (pid != 0)
		_exit(pid < 0);
	if (nowhere >= 0) {
		dup2(nowhere, STDIN_FILENO);
		dup2(nowhere, STDOUT_FILENO);
		close(nowhere);
	}
	close_all_but(kept, ready);
	obey_leave();
	body(argument, ready);
	_exit(0);
}

static int await_ready(int fd, int timeout_ms)
{
	struct pollfd news = {.fd = fd, .events = POLLIN};
	char byte;
	int r;

	do
		r = poll(&news, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r ? -errno : -ETIMEDOUT;
	return read(fd, &byte, sizeof(byte)) == sizeof(byte) ? 0 : -ECHILD;
}

/* *group: of the new session, whose leader is the first child. */
static int start(void (*body)(void *argument, int ready), void *argument,
		 const int kept[static BACKGROUND_KEPT], int timeout_ms, pid_t *group)
{
	int ready[2], result;

	*group = 0;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(ready[0]);
		run_apart(body, argument, kept, ready[1]);
	}
	result = pid < 0 ? -errno : 0;
	close(ready[1]);
	if (result == 0) {
		*group = pid;
		inner_group = pid;
		waitpid(pid, NULL, 0);
		result = await_ready(ready[0], timeout_ms);
	}
	close(ready[0]);
	return result;
}

int background_start(void (*body)(void *argument, int ready), void *argument,
		     const int kept[static BACKGROUND_KEPT], int timeout_ms)
{
	pid_t group;

	return start(body, argument, kept, timeout_ms, &group);
}

void background_leave(pid_t group)
{
	if (group <= 0)
		return;
	kill(-group, LEAVE_SIGNAL);
	kill(-group, SIGCONT);
}

void background_ready(int ready)
{
	const char byte = 1;

	if (write(ready, &byte, sizeof(byte)) < 0)
		errno = 0; /* the caller has stopped waiting */
	close(ready);
}

int background_start_talking(void (*body)(void *argument, int ready), void *argument, int *control,
			     int timeout_ms, int *fd, pid_t *group)
{
	int pair[2], result;

	*fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*control = pair[1];
	const int kept[BACKGROUND_KEPT] = {pair[1], -1};
	result = start(body, argument, kept, timeout_ms, group);
	close(pair[1]);
	if (result)
		close(pair[0]);
	else
		*fd = pair[0];
	return result;
}
