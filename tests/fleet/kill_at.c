/* Kills the process at its n-th step outward, before the step: a write to a file, a sync, a removal or a message. It is
 * preloaded; KILL_AT is n, and KILL_COUNT a file that gets the number of steps at the end. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static long steps;

static void step(void)
{
	const char *at = getenv("KILL_AT");

	steps++;
	if (at && steps == atol(at))
		kill(getpid(), SIGKILL);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("KILL_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%ld\n", steps);
	fclose(file);
}

#define STEP(result, name, parameters, arguments)                                                  \
	result name parameters;                                                                    \
	result name parameters                                                                     \
	{                                                                                          \
		static result(*real) parameters;                                                   \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		step();                                                                            \
		return real arguments;                                                             \
	}

STEP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
STEP(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
STEP(int, fsync, (int fd), (fd))
STEP(int, fdatasync, (int fd), (fd))
STEP(int, unlink, (const char *path), (path))
STEP(int, ftruncate64, (int fd, off64_t size), (fd, size))
STEP(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
STEP(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
