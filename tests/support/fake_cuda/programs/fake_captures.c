/* Captures a stream while another thread's launch may be measured and its GPU is busy, for tests of measured launches.
 *
 *   fake_captures behind | beside | long | later
 *
 * A thread launches the kernel c1. When the GPU is asked about the end of a kernel that the program holds, the main
 * thread captures a stream with the kernel c2; only then does the held kernel end. Then the thread launches c1 once
 * more, from the same place.
 * - behind: the kernel "hold" is held, on the stream of c1.
 * - beside: the same on another stream.
 * - long: c1 itself is held.
 * - later: the same, but c1 is launched once before, and three times behind.
 * Last the main thread launches the graph. Prints "kernels COUNT": the kernels that ran. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

static struct fake_cuda_kernel hold = FAKE_CUDA_KERNEL_INIT("hold", FAKE_CUDA_FIXED_NS(1000));
static struct fake_cuda_kernel c1 = FAKE_CUDA_KERNEL_INIT("c1", FAKE_CUDA_FIXED_NS(2000));
static struct fake_cuda_kernel c2 = FAKE_CUDA_KERNEL_INIT("c2", FAKE_CUDA_FIXED_NS(3000));

static struct {
	cudaStream_t streams[3];
	bool is_own, is_beside, is_later;
	pthread_t launcher;
	_Atomic int is_launching, is_asked, is_captured;
	int nr_kernels;
} self;

static void require(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_captures: %s\n", cudaGetErrorString(error));
	exit(2);
}

static void launch(struct fake_cuda_kernel *kernel, cudaStream_t stream)
{
	require(cudaLaunchKernel(kernel, (dim3){8, 1, 1}, (dim3){64, 1, 1}, NULL, 0, stream));
}

static void begin(struct fake_cuda_open *open, uint64_t start_ns)
{
	(void)open;
	(void)start_ns;
}

/* The thread asks in its launch, whether the guest does for it or the fake. */
static bool end(struct fake_cuda_open *open, uint64_t *end_ns)
{
	struct timespec now;

	(void)open;
	if (self.is_launching && pthread_equal(pthread_self(), self.launcher))
		self.is_asked = 1;
	if (!self.is_captured)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	*end_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return true;
}

static void until(const _Atomic int *flag)
{
	while (!*flag)
		sched_yield();
}

static void *run_launches(void *unused)
{
	static struct fake_cuda_open held = {.begin = begin, .end = end};

	self.launcher = pthread_self();
	/* volatile: launches of c1 have one call in the code, and so one stack. */
	for (volatile int i = self.is_later ? -1 : 0; i < (self.is_later ? 4 : 2); i++) {
		if (i == 0) {
			fake_cuda_open_next(&held);
			if (!self.is_own) {
				launch(&hold, self.streams[self.is_beside]);
				self.nr_kernels++;
			}
			self.is_launching = 1;
		}
		launch(&c1, self.streams[0]);
		self.nr_kernels++;
		if (i == 0) {
			/* Asks if the launch did not. */
			cudaStreamQuery(self.streams[self.is_beside]);
			until(&self.is_captured);
		}
		require(cudaDeviceSynchronize());
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	const char *what = argc == 2 ? argv[1] : "";
	self.is_beside = strcmp(what, "beside") == 0;
	self.is_later = strcmp(what, "later") == 0;
	self.is_own = self.is_later || strcmp(what, "long") == 0;
	if (!self.is_own && !self.is_beside && strcmp(what, "behind") != 0) {
		fprintf(stderr, "usage: fake_captures behind | beside | long | later\n");
		return 2;
	}
	for (int i = 0; i < 3; i++)
		require(cudaStreamCreate(&self.streams[i]));
	if (pthread_create(&thread, NULL, run_launches, NULL) != 0)
		return 2;
	until(&self.is_asked);
	require(cudaStreamBeginCapture(self.streams[2], cudaStreamCaptureModeGlobal));
	launch(&c2, self.streams[2]);
	require(cudaStreamEndCapture(self.streams[2], &graph));
	self.is_captured = 1;
	pthread_join(thread, NULL);
	require(cudaGraphInstantiate(&exec, graph, 0));
	require(cudaGraphLaunch(exec, self.streams[2]));
	require(cudaDeviceSynchronize());
	printf("kernels %d\n", self.nr_kernels + 1);
	return 0;
}
