/* A program that calls CUDA in known numbers, from known functions, as it is told to on standard input. Each line is answered by one on
 * standard output, with the number of calls that it made, outermost ones, and the nanoseconds that they took together:
 *
 *   load PATH        opens a copy of the runtime; calls go to the newest
 *   unload           closes the newest
 *   rounds N         a launch, a copy, a memset and a wait, N times
 *   large N          N launches under a function with a frame of 40 KiB, and a frame pointer
 *   driver N         N launches and N waits by the driver's own functions
 *   threads N        rounds of N in each of 4 threads
 *   fork N           rounds of N in a child, until it has ended
 *   probed           answers with 1 where the runtime's and the driver's launch begin with a breakpoint, else with 0
 *   mount SRC DIR    a mount namespace of its own, with SRC over DIR
 *   end
 *
 * Frame pointers keep its stacks exact. With VICTIM_STATIC the runtime is a part of it. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "fake_cuda.h"

#define NOINLINE    __attribute__((noinline, noclone)) /* and in the symbol table */
#define NR_THREADS  4
#define LIBRARIES   4
#define CALLS_ROUND 4u

static struct fake_cuda_kernel kernel = FAKE_CUDA_KERNEL_INIT("victim", FAKE_CUDA_FIXED_NS(1000));

static struct {
	void *handle;
	__typeof__(&cudaLaunchKernel) launch;
	__typeof__(&cudaMemcpyAsync) copy;
	__typeof__(&cudaMemsetAsync) set;
	__typeof__(&cudaDeviceSynchronize) wait;
	__typeof__(&cudaMalloc) allocate;
	__typeof__(&cuStreamSynchronize) driver_wait;
	__typeof__(&cuLaunchKernel) driver_launch;
	void *memory;
} libraries[LIBRARIES], *now = libraries;

/* Of each thread its own: what several write would be a race. */
static _Thread_local volatile uint64_t sink;
static _Thread_local size_t slot;

static uint64_t clock_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void require(int error)
{
	if (error == 0)
		return;
	fprintf(stderr, "call_victim: %d\n", error);
	exit(2);
}

static NOINLINE void victim_launch(void)
{
	require((int)now->launch(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL));
	sink++;
}

static NOINLINE void victim_copy(void)
{
	char bytes[8] = {0};
	char *memory = (char *)now->memory + slot * sizeof(bytes);

	require((int)now->copy(memory, bytes, sizeof(bytes), cudaMemcpyHostToDevice, NULL));
	require((int)now->set(memory, 0, sizeof(bytes), NULL));
	sink++;
}

static NOINLINE void victim_wait(void)
{
	require((int)now->wait());
	sink++;
}

static NOINLINE uint64_t victim_rounds(long count)
{
	for (long i = 0; i < count; i++) {
		victim_launch();
		victim_copy();
		victim_wait();
	}
	sink++;
	return CALLS_ROUND * (uint64_t)count;
}

/* As cuBLAS has them: more than is copied of a stack, and aligned, so that the frame's caller is found through
 * memory. */
static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void
victim_large(long a, long b, long c, long d, long e, long f, volatile long *last, long other)
{
	volatile char room[40 << 10] __attribute__((aligned(64)));

	room[0] = room[sizeof(room) - 1] = (char)other;
	victim_launch();
	*last += room[0] + a + b + c + d + e + f + other;
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void
victim_larger(long a, long b, long c, long d, long e, long f, volatile long *last, long other)
{
	volatile char room[20 << 10] __attribute__((aligned(64)));

	room[0] = room[sizeof(room) - 1] = (char)other;
	victim_large(a, b, c, d, e, f, last, other);
	*last += room[0];
}

static NOINLINE uint64_t victim_above(long count)
{
	volatile long last = 0;

	for (long i = 0; i < count; i++)
		victim_larger(i, 1, 2, 3, 4, 5, &last, 6);
	sink++;
	return (uint64_t)count;
}

/* The launch has no function to start, which the driver says after it was called. */
static NOINLINE uint64_t victim_driver(long count)
{
	for (long i = 0; i < count; i++) {
		now->driver_launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		require((int)now->driver_wait(NULL));
	}
	sink++;
	return 2 * (uint64_t)count;
}

struct player {
	pthread_t thread;
	size_t slot;
	long count;
};

static void *play_thread(void *argument)
{
	const struct player *player = argument;

	slot = player->slot;
	victim_rounds(player->count);
	return NULL;
}

static uint64_t run_threads(long count)
{
	struct player players[NR_THREADS];

	for (size_t i = 0; i < NR_THREADS; i++) {
		players[i] = (struct player){.slot = i, .count = count};
		if (pthread_create(&players[i].thread, NULL, play_thread, &players[i]))
			abort();
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(players[i].thread, NULL);
	return NR_THREADS * CALLS_ROUND * (uint64_t)count;
}

/* A copy of the runtime that the parent has not used before: CUDA does not live on in a child. */
static uint64_t run_child(long count)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (long i = 0; i < count; i++)
			now->wait();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		abort();
	return (uint64_t)count;
}

#ifdef VICTIM_STATIC
static void load(const char *path)
{
	(void)path;
	now->launch = cudaLaunchKernel;
	now->copy = cudaMemcpyAsync;
	now->set = cudaMemsetAsync;
	now->wait = cudaDeviceSynchronize;
	now->allocate = cudaMalloc;
	require((int)now->allocate(&now->memory, 4096));
}

static void unload(void)
{
}
#else
static void *find(const char *name)
{
	void *function = dlsym(now->handle, name);

	if (!function)
		abort();
	return function;
}

static void load(const char *path)
{
	if (now->handle)
		now++;
	now->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!now->handle) {
		fprintf(stderr, "call_victim: %s\n", dlerror());
		exit(2);
	}
	*(void **)&now->launch = find("cudaLaunchKernel");
	*(void **)&now->copy = find("cudaMemcpyAsync");
	*(void **)&now->set = find("cudaMemsetAsync");
	*(void **)&now->wait = find("cudaDeviceSynchronize");
	*(void **)&now->allocate = find("cudaMalloc");
	*(void **)&now->driver_wait = find("cuStreamSynchronize");
	*(void **)&now->driver_launch = find("cuLaunchKernel");
}

static void unload(void)
{
	dlclose(now->handle);
	now->handle = NULL;
	if (now > libraries)
		now--;
}
#endif

static void mount_over(const char *source, const char *folder)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(source, folder, NULL, MS_BIND, NULL)) {
		perror("call_victim: mount");
		exit(2);
	}
}

static bool begins_with_breakpoint(const void *function)
{
	return *(const volatile unsigned char *)function == 0xcc; /* int3 */
}

static uint64_t is_probed(void)
{
	const void *functions[2];

	memcpy(&functions[0], &now->launch, sizeof(functions[0]));
	memcpy(&functions[1], &now->driver_launch, sizeof(functions[1]));
	return begins_with_breakpoint(functions[0]) && begins_with_breakpoint(functions[1]);
}

/* What a process does first takes its time, and is no call of those that count. */
static void prepare(void)
{
	if (!now->memory)
		require((int)now->allocate(&now->memory, 4096));
}

static uint64_t obey(const char *word, const char *first, const char *second, uint64_t *begin_ns)
{
	long count = strtol(first, NULL, 10);

	if (strcmp(word, "load") == 0)
		load(first);
	else if (strcmp(word, "unload") == 0)
		unload();
	else if (strcmp(word, "mount") == 0)
		mount_over(first, second);
	else if (strcmp(word, "fork") == 0)
		return run_child(count);
	else if (strcmp(word, "probed") == 0)
		return is_probed();
	else
		prepare();
	*begin_ns = clock_ns();
	if (strcmp(word, "rounds") == 0)
		return victim_rounds(count);
	if (strcmp(word, "driver") == 0)
		return victim_driver(count);
	if (strcmp(word, "large") == 0)
		return victim_above(count);
	return strcmp(word, "threads") == 0 ? run_threads(count) : 0;
}

int main(void)
{
	char line[8192], word[16], first[4096], second[4096];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin_ns = clock_ns();

		first[0] = second[0] = '\0';
		if (sscanf(line, "%15s %4095s %4095s", word, first, second) < 1 ||
		    strcmp(word, "end") == 0)
			break;
		uint64_t calls = obey(word, first, second, &begin_ns);
		printf("%llu %llu\n", (unsigned long long)calls,
		       (unsigned long long)(clock_ns() - begin_ns));
		fflush(stdout);
	}
	return 7;
}
