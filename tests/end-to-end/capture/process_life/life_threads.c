/* Threads that come and go, libraries that do. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "life.h"

static void *launch_some(void *count)
{
	return (void *)(long)(life_launch((int)(long)count) != cudaSuccess);
}

/* So many threads at once, each of which launches; how many of them failed. */
static long in_threads(int threads, int launches)
{
	pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
	pthread_attr_t small;
	long failed = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256u << 10);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], &small, launch_some, (void *)(long)launches) != 0)
			abort();
	for (int i = 0; i < threads; i++) {
		void *result;

		pthread_join(ids[i], &result);
		failed += (long)result;
	}
	free(ids);
	return failed;
}

static int leave_records(void)
{
	life_say("failed %ld", in_threads(8, 50));
	return 0;
}

static int many_threads(void)
{
	life_say("failed %ld", in_threads(512, 5));
	life_say("sync %d", (int)cudaDeviceSynchronize());
	return 0;
}

static int thread_storm(void)
{
	long failed = 0;

	for (int i = 0; i < 40; i++)
		failed += in_threads(50, 2);
	life_say("failed %ld, sync %d", failed, (int)cudaDeviceSynchronize());
	return 0;
}

static pthread_key_t key;

static void work_at_end(void *value)
{
	life_launch(1);
	if (value != (void *)3)
		pthread_setspecific(key, (void *)((long)value + 1));
}

static void *end_with_work(void *unused)
{
	pthread_setspecific(key, (void *)1);
	life_launch(10);
	return unused;
}

/* Launches from destructors of thread-local data, before and after ours ran. */
static int destructors_work(void)
{
	pthread_t thread;

	pthread_key_create(&key, work_at_end);
	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, end_with_work, NULL);
		pthread_join(thread, NULL);
	}
	life_work("destructors", 10);
	return 0;
}

static void *be_cancelled(void *unused)
{
	for (;;) {
		life_launch(1);
		pthread_testcancel();
	}
	return unused;
}

static int cancelled_threads(void)
{
	pthread_t threads[4];
	void *result = NULL;
	int cancelled = 0;

	life_work("before", 10);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, be_cancelled, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	life_say("cancelled %d", cancelled);
	return 0;
}

/* LIFE_LIBRARY launches; it is gone while its stacks are still in tables, and comes again. */
static int library_comes_and_goes(void)
{
	life_work("before", 10);
	for (int i = 0; i < 20; i++) {
		void *library = dlopen(getenv("LIFE_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
		int (*launch)(int) = NULL;

		if (library)
			*(void **)&launch = dlsym(library, "life_library_launch");
		life_say("library %d", launch ? launch(10) : -1);
		if (library)
			dlclose(library);
	}
	life_work("after", 10);
	return 0;
}

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* A profiler is known by two threads, CUPTI's and its own. */
static int shows_its_insides(void)
{
	life_work("before", 100);
	for (int fd = 0; fd < 900; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			life_say("open %d", fd);
	life_say("more than a profiler's threads: %d", count_threads() > 3);
	life_say("preloaded: %d", getenv("LD_PRELOAD") != NULL);
	return 0;
}

const struct life_sample life_threads[] = {
	{"threads-leave-records", leave_records},
	{"512-threads", many_threads},
	{"thread-storm", thread_storm},
	{"destructors-work", destructors_work},
	{"cancelled-threads", cancelled_threads},
	{"library-comes-and-goes", library_comes_and_goes},
	{"shows-its-insides", shows_its_insides},
	{0},
};
