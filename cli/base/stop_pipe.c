#include "stop_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];

static void stop(int number)
{
	const int error = errno;

	(void)number;
	if (write(ends[1], "", 1) < 0)
		errno = error; /* it has been told before */
	errno = error;
}

int stop_pipe_open(int *fd)
{
	const struct sigaction action = {.sa_handler = stop}; /* ends a write that blocks */

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	*fd = ends[0];
	return 0;
}
