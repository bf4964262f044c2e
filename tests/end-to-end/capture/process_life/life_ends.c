/* Ways to end. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "life.h"

static int good(void)
{
	life_work("good", 200);
	return 0;
}

static int nonzero(void)
{
	life_work("nonzero", 200);
	return 7;
}

/* A core file would be the same with and without, and large. */
static void leave_no_core(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static int aborts(void)
{
	leave_no_core();
	life_work("aborts", 200);
	abort();
}

static int crashes(void)
{
	leave_no_core();
	life_work("crashes", 200);
	raise(SIGSEGV);
	return 1;
}

static int kills_itself(void)
{
	life_work("kills itself", 200);
	kill(getpid(), SIGKILL);
	return 1;
}

static int terminates(void)
{
	life_work("terminates", 200);
	raise(SIGTERM);
	return 1;
}

static int leaves_in_flight(void)
{
	life_say("launched %d", (int)life_launch(500));
	_exit(3);
}

static int returns_in_flight(void)
{
	life_say("launched %d", (int)life_launch(500));
	return 4;
}

static void quick_handler(void)
{
	life_say("quick handler");
}

static int quick(void)
{
	at_quick_exit(quick_handler);
	life_work("quick", 200);
	quick_exit(5);
}

static void *exit_here(void *unused)
{
	life_work("other thread", 100);
	exit(6);
	return unused;
}

static int exit_elsewhere(void)
{
	pthread_t thread;

	life_work("main thread", 100);
	pthread_create(&thread, NULL, exit_here, NULL);
	pthread_join(thread, NULL);
	return 1;
}

static void *outlive_main(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	life_work("after main", 100);
	/* Without it the process would go on, since CUDA has threads of its own. */
	exit(0);
}

static int main_leaves_first(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	life_work("before", 100);
	pthread_create(&thread, NULL, outlive_main, &self);
	pthread_exit(NULL);
}

/* Registered before CUDA's own handler, so it runs after it. */
static void after_cuda(void)
{
	life_say("after CUDA: %s", cudaGetErrorName(life_launch(1)));
}

static int works_after_cuda(void)
{
	atexit(after_cuda);
	life_work("works", 200);
	return 0;
}

/* Registered after CUDA's, so it runs before it, and before or after a profiler's. */
static void before_cuda(void)
{
	life_work("at exit", 50);
}

static int works_at_exit(void)
{
	life_work("works", 200);
	atexit(before_cuda);
	return 0;
}

static int initializes_only(void)
{
	int count = 0;

	life_say("devices: %s", cudaGetErrorName(cudaGetDeviceCount(&count)));
	return count > 0 ? 0 : 1;
}

static void *launch_for_ever(void *unused)
{
	/* Only the process's end stops it. */
	while (life_launch(1) == cudaSuccess || unused == NULL)
		;
	return NULL;
}

static int returns_while_threads_launch(void)
{
	pthread_t thread;

	life_work("returns", 100);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, launch_for_ever, NULL);
	life_work("returns still", 100);
	return 8;
}

/* The lowest numbers are the program's: what it opens next gets 0, 1 and 2. */
static int closed_streams(void)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD, 100), opened[3];

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	cudaError_t error = life_launch(200);
	cudaDeviceSynchronize();
	for (int i = 0; i < 3; i++)
		opened[i] = open("/dev/null", O_RDWR);
	dprintf(out, "closed %d: %d %d %d\n", (int)error, opened[0], opened[1], opened[2]);
	return 0;
}

static int closes_everything(void)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD, 2000);

	life_work("before", 100);
	for (int fd = 0; fd < 2000; fd++)
		close(fd);
	cudaError_t error = life_launch(100);
	cudaDeviceSynchronize();
	dprintf(out, "after %d\n", (int)error);
	return 0;
}

const struct life_sample life_ends[] = {
	{"good", good},
	{"nonzero", nonzero},
	{"aborts", aborts},
	{"crashes", crashes},
	{"kills-itself", kills_itself},
	{"terminates", terminates},
	{"leaves-in-flight", leaves_in_flight},
	{"returns-in-flight", returns_in_flight},
	{"quick", quick},
	{"exit-elsewhere", exit_elsewhere},
	{"main-leaves-first", main_leaves_first},
	{"works-after-cuda", works_after_cuda},
	{"works-at-exit", works_at_exit},
	{"initializes-only", initializes_only},
	{"returns-while-threads-launch", returns_while_threads_launch},
	{"closed-streams", closed_streams},
	{"closes-everything", closes_everything},
	{0},
};
