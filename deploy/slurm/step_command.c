#include "step_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 30000 /* `flamegrid step begin` gives up earlier */

static void become(char *const argv[], char *const environment[], int output, int inherited)
{
	dup2(output, STDOUT_FILENO);
	if (inherited >= 0)
		fcntl(inherited, F_SETFD, 0);
	execve(argv[0], argv, environment);
	_exit(127);
}

/* Reads until the other end closes. false: there was too much, or it came too late. */
static bool read_all(int fd, char *text, size_t size)
{
	struct pollfd news = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t got = -1;

	while (used < size - 1 && poll(&news, 1, WAIT_MS) == 1 &&
	       (got = read(fd, text + used, size - 1 - used)) > 0) {
		used += (size_t)got;
		got = -1;
	}
	text[used] = '\0';
	return got == 0;
}

int step_command_run(char *const argv[], char *const environment[], int inherited, char *text,
		     size_t size)
{
	int output[2], status;

	text[0] = '\0';
	if (pipe2(output, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, environment, output[1], inherited);
	close(output[1]);
	if (pid > 0 && !read_all(output[0], text, size))
		kill(pid, SIGKILL);
	close(output[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
