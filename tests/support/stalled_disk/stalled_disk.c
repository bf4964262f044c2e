/* LD_PRELOAD: a disk that stops, in a process whose time passes faster. The first write to a file
 * FLAMEGRID_STALL.db* once the pipe FLAMEGRID_STALL.stalled is there opens that, which waits for a reader, and
 * then stands for 12 s of the process's own time. That passes FASTER times as fast as everybody else's: a test
 * sees what timers do meanwhile, and is quick. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define FASTER   20
#define STALL_MS 12000

static atomic_bool stalled;

static int (*real(const char *name))(void)
{
	int (*function)(void);

	*(void **)&function = dlsym(RTLD_NEXT, name);
	return function;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*call)(clockid_t, struct timespec *);
	int r;

	if (!call)
		call = (int (*)(clockid_t, struct timespec *))real("clock_gettime");
	r = call(clock, now);
	if (r == 0 && clock == CLOCK_MONOTONIC) {
		unsigned long long ns = FASTER * ((unsigned long long)now->tv_sec * 1000000000u +
						  (unsigned long long)now->tv_nsec);

		now->tv_sec = (time_t)(ns / 1000000000u);
		now->tv_nsec = (long)(ns % 1000000000u);
	}
	return r;
}

/* libzmq waits for its timers with this. */
int epoll_wait(int epoll_fd, struct epoll_event *events, int max_events, int timeout_ms)
{
	static int (*call)(int, struct epoll_event *, int, int);

	if (!call)
		call = (int (*)(int, struct epoll_event *, int, int))real("epoll_wait");
	return call(epoll_fd, events, max_events,
		    timeout_ms > 0 ? timeout_ms / FASTER + 1 : timeout_ms);
}

static void stall(int fd)
{
	const struct timespec rest = {.tv_nsec = STALL_MS / FASTER * 1000000L};
	const char *place = getenv("FLAMEGRID_STALL");
	char link[64], path[512], name[512];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (!place || size <= 0)
		return;
	path[size] = '\0';
	snprintf(name, sizeof(name), "%s.db", place);
	if (strncmp(path, name, strlen(name)) != 0)
		return;
	snprintf(name, sizeof(name), "%s.stalled", place);
	if (access(name, F_OK) != 0 || atomic_exchange(&stalled, 1))
		return;
	close(open(name, O_WRONLY | O_CLOEXEC));
	nanosleep(&rest, NULL);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	static ssize_t (*call)(int, const void *, size_t, off64_t);

	if (!call)
		call = (ssize_t(*)(int, const void *, size_t, off64_t))real("pwrite64");
	stall(fd);
	return call(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return pwrite64(fd, data, size, offset);
}
