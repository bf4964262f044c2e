#include "recording_room.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error_text.h"

#define LIMITS_MAX 160

static rlim_t limit_of(int resource)
{
	struct rlimit limit;

	return getrlimit((__rlimit_resource_t)resource, &limit) == 0 ? limit.rlim_cur
								     : RLIM_INFINITY;
}

/* ---- descriptors */

static int check_descriptors(char **error)
{
	int taken[RECORDING_ROOM_DESCRIPTORS], result = 0;
	unsigned nr = 0;

	while (nr < RECORDING_ROOM_DESCRIPTORS && result == 0) {
		int fd = open("/", O_PATH | O_CLOEXEC);

		if (fd < 0)
			result = -errno;
		else
			taken[nr++] = fd;
	}
	for (unsigned i = 0; i < nr; i++)
		close(taken[i]);
	if (result == -EMFILE)
		return error_text_set(error, result,
				      "the limit of open files (ulimit -n, %llu) leaves %u of "
				      "the %u descriptors that a recording takes",
				      (unsigned long long)limit_of(RLIMIT_NOFILE), nr,
				      RECORDING_ROOM_DESCRIPTORS);
	return result ? error_text_set(error, result, "no descriptors for a recording: %s",
				       strerror(-result))
		      : 0;
}

/* ---- memory */

/* Names each limit on memory that is set, as ulimit does. */
static void memory_limits_text(char text[static LIMITS_MAX])
{
	static const struct {
		int resource;
		const char *name;
	} limits[] = {
		{RLIMIT_DATA, "the limit of data (ulimit -d"},
		{RLIMIT_AS, "the limit of virtual memory (ulimit -v"},
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		rlim_t limit = limit_of(limits[i].resource);

		if (limit != RLIM_INFINITY)
			used += (size_t)snprintf(text + used, LIMITS_MAX - used, "%s%s, %llu KiB)",
						 used ? " and " : "", limits[i].name,
						 (unsigned long long)limit >> 10);
	}
	if (used == 0)
		snprintf(text, LIMITS_MAX, "the kernel");
}

static bool can_map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

static int lack_memory(char **error)
{
	char limits[LIMITS_MAX];

	memory_limits_text(limits);
	return error_text_set(error, -ENOMEM,
			      "%s leaves too little memory for a recording, which takes %u "
			      "threads and %u MiB",
			      limits, RECORDING_ROOM_THREADS, RECORDING_ROOM_BYTES >> 20);
}

/* ---- threads */

static void *wait_for_all(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

static size_t thread_stack(void)
{
	pthread_attr_t attributes;
	size_t bytes = 0;

	if (pthread_getattr_default_np(&attributes) != 0)
		return 0;
	pthread_attr_getstacksize(&attributes, &bytes);
	pthread_attr_destroy(&attributes);
	return bytes;
}

/* pthread_create() has one error for a lack of memory and for a lack of threads. */
static int lack_threads(bool has_memory, unsigned nr, char **error)
{
	const rlim_t limit = limit_of(RLIMIT_NPROC);

	if (!has_memory)
		return lack_memory(error);
	if (limit == RLIM_INFINITY)
		return error_text_set(error, -EAGAIN,
				      "the cgroup (pids.max) or the system leaves %u of the %u "
				      "threads that a recording takes",
				      nr, RECORDING_ROOM_THREADS);
	return error_text_set(error, -EAGAIN,
			      "the limit of the user's processes and threads (ulimit -u, %llu) "
			      "leaves %u of the %u threads that a recording takes",
			      (unsigned long long)limit, nr, RECORDING_ROOM_THREADS);
}

static int check_threads(char **error)
{
	pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[RECORDING_ROOM_THREADS];
	const size_t stack = thread_stack();
	unsigned nr = 0;
	int result = 0;

	pthread_mutex_lock(&all);
	while (nr < RECORDING_ROOM_THREADS && result == 0) {
		result = pthread_create(&threads[nr], NULL, wait_for_all, &all);
		nr += result == 0;
	}
	/* While the threads live, as they will. */
	bool has_memory = can_map(result ? stack : RECORDING_ROOM_BYTES);
	pthread_mutex_unlock(&all);
	for (unsigned i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	if (result)
		return lack_threads(has_memory, nr, error);
	return has_memory ? 0 : lack_memory(error);
}

int recording_room_check(char **error)
{
	int result;

	*error = NULL;
	result = check_descriptors(error);
	return result ? result : check_threads(error);
}
