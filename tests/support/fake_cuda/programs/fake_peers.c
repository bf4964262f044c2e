/* Launches a kernel of NCCL's while another thread's launch, or range, is measured, for tests that neither waits for ever.
 *
 *   fake_peers launch | range begin | open | close [known]
 *
 * A thread launches the kernel c1, alone or in a range, again and again from the same place. As CUPTI measures that for
 * the first time, the main thread launches a kernel of NCCL's, which runs until the thread has gone on behind its launch,
 * or its range, as if its peer waited for what comes there.
 * - begin: CUPTI's session begins then.
 * - open: it opens the range in which the GPU counts. A range of the program then ends behind the main thread's launch.
 * - close: it closes that.
 * - known: the main thread launched that kernel before, from the same place.
 * CUPTI's call goes on once the main thread has launched, or waits for a lock. The thread ends once a later launch, or
 * range, was measured. Prints "kernels COUNT": the kernels that ran. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/flamegrid.h"
#include "fake_cuda.h"

#define OPENS  "cuptiRangeProfilerPushRange"
#define CLOSES "cuptiRangeProfilerPopRange"

typedef int timed_lock(pthread_mutex_t *mutex, const struct timespec *until);

static struct fake_cuda_kernel c1 = FAKE_CUDA_KERNEL_INIT("c1", FAKE_CUDA_FIXED_NS(2000));
static struct fake_cuda_kernel nccl =
	FAKE_CUDA_KERNEL_INIT("ncclDevKernel_AllReduce", FAKE_CUDA_FIXED_NS(4000));

static struct {
	cudaStream_t streams[2];
	bool has_ranges, is_known, is_open;
	const char *meets; /* the function of CUPTI's in which the two threads meet */
	pthread_t main, thread;
	timed_lock *lock; /* libc's */
	_Atomic int is_met, is_launching, is_waiting, is_launched, is_passed;
	bool is_opened, is_closed; /* in this round */
	_Atomic int nr_kernels;
} self;

static void require(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_peers: %s\n", cudaGetErrorString(error));
	exit(2);
}

static void launch(struct fake_cuda_kernel *kernel, cudaStream_t stream)
{
	require(cudaLaunchKernel(kernel, (dim3){8, 1, 1}, (dim3){64, 1, 1}, NULL, 0, stream));
	self.nr_kernels++;
}

static void until(const _Atomic int *flag)
{
	while (!*flag)
		sched_yield();
}

/* Replaces libc's, and so sees that the guest waits. */
__attribute__((visibility("default"))) int pthread_mutex_timedlock(pthread_mutex_t *mutex,
								   const struct timespec *until)
{
	const int error = pthread_mutex_trylock(mutex);

	if (error != EBUSY)
		return error;
	if (self.is_launching && pthread_equal(pthread_self(), self.main))
		self.is_waiting = 1;
	return self.lock(mutex, until);
}

/* The thread is in a call of CUPTI's. */
static void watch(const char *function)
{
	if (!pthread_equal(pthread_self(), self.thread))
		return;
	if (strcmp(function, OPENS) == 0)
		self.is_opened = true;
	else if (strcmp(function, CLOSES) == 0)
		self.is_closed = self.is_opened;
	if (self.is_met || strcmp(function, self.meets) != 0)
		return;
	self.is_met = 1;
	while (!self.is_launched && !self.is_waiting)
		sched_yield();
}

static void begin(struct fake_cuda_open *open, uint64_t start_ns)
{
	(void)open;
	(void)start_ns;
}

static bool end(struct fake_cuda_open *open, uint64_t *end_ns)
{
	struct timespec now;

	(void)open;
	if (!self.is_passed)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	*end_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return true;
}

static void *run_launches(void *unused)
{
	bool is_later = false;

	self.thread = pthread_self();
	fake_cuda_watch(watch);
	while (!is_later || !self.is_closed) {
		is_later = self.is_met;
		self.is_opened = self.is_closed = false;
		if (self.has_ranges)
			flamegrid_range_push("range");
		launch(&c1, self.streams[0]);
		if (self.has_ranges && self.is_open && self.is_met)
			until(&self.is_launched);
		if (self.has_ranges)
			flamegrid_range_pop();
		if (self.is_met && !is_later) {
			self.is_passed = 1;
			until(&self.is_launched);
		}
		require(cudaDeviceSynchronize());
	}
	return unused;
}

/* Returns whether the program knows what it is to do. */
static bool parse(int argc, char **argv)
{
	self.is_known = argc == 4 && strcmp(argv[3], "known") == 0;
	if (argc != 3 + self.is_known)
		return false;
	self.has_ranges = strcmp(argv[1], "range") == 0;
	self.meets = strcmp(argv[2], "begin") == 0   ? "cuptiRangeProfilerEnable"
		     : strcmp(argv[2], "open") == 0  ? OPENS
		     : strcmp(argv[2], "close") == 0 ? CLOSES
						     : NULL;
	self.is_open = strcmp(argv[2], "open") == 0;
	return self.meets && (self.has_ranges || strcmp(argv[1], "launch") == 0);
}

int main(int argc, char **argv)
{
	static struct fake_cuda_open held = {.begin = begin, .end = end};
	pthread_t thread;

	if (!parse(argc, argv)) {
		fputs("usage: fake_peers launch|range begin|open|close [known]\n", stderr);
		return 2;
	}
	self.main = pthread_self();
	self.lock = (timed_lock *)dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
	for (int i = 0; i < 2; i++)
		require(cudaStreamCreate(&self.streams[i]));
	/* volatile: both launches have one call in the code, and so one stack. */
	for (volatile int i = self.is_known ? -1 : 0; i < 1; i++) {
		if (i == 0) {
			if (pthread_create(&thread, NULL, run_launches, NULL) != 0)
				return 2;
			until(&self.is_met);
			fake_cuda_open_next(&held);
			self.is_launching = 1;
		}
		launch(&nccl, self.streams[1]);
		if (i < 0)
			require(cudaDeviceSynchronize());
	}
	self.is_launched = 1;
	pthread_join(thread, NULL);
	require(cudaDeviceSynchronize());
	printf("kernels %d\n", self.nr_kernels);
	return 0;
}
