/* Fires the guest's probe in known numbers: probe_victim THREADS COUNT. Says its thread ids, and does a step at each byte that it is sent, and answers with a
 * line each time:
 *   f  all threads fire COUNT times, thread t the ids t * COUNT + 1 on: "fired WATCHERS"
 *   c  a forked child does the same alone: "forked WATCHERS"
 *   w  nothing: "watched WATCHERS"
 *   x  starts itself again: it begins anew */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe_library.h"

#define THREADS_MAX 64

static uint32_t count;
static pthread_barrier_t begin, end;
static int tids[THREADS_MAX];

static __attribute__((noinline)) void fire(uint32_t thread)
{
	for (uint32_t i = 1; i <= count; i++)
		probe_library_fire(thread * count + i);
}

static void *run(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument;

	tids[thread] = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&end);
	for (;;) {
		pthread_barrier_wait(&begin);
		fire(thread);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void fire_in_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		fire(0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void answer(const char *what)
{
	printf("%s %u\n", what, probe_library_watchers());
	fflush(stdout);
}

static void start_threads(uint32_t nr_threads)
{
	pthread_barrier_init(&begin, NULL, nr_threads + 1);
	pthread_barrier_init(&end, NULL, nr_threads + 1);
	for (uint32_t i = 0; i < nr_threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)i) != 0)
			exit(2);
	}
	pthread_barrier_wait(&end);
	for (uint32_t i = 0; i < nr_threads; i++)
		printf("%d ", tids[i]);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint32_t nr_threads = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	char step;

	if (nr_threads == 0 || nr_threads > THREADS_MAX)
		return 2;
	count = (uint32_t)atoi(argv[2]);
	start_threads(nr_threads);
	while (read(STDIN_FILENO, &step, 1) == 1) {
		switch (step) {
		case 'f':
			pthread_barrier_wait(&begin);
			pthread_barrier_wait(&end);
			answer("fired");
			break;
		case 'c':
			fire_in_child();
			answer("forked");
			break;
		case 'x':
			execv("/proc/self/exe", argv);
			return 2;
		default:
			answer("watched");
			break;
		}
	}
	return 0;
}
