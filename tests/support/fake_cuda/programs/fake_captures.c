/* Captures a stream while another thread's launch, or range, may be measured and its GPU is busy, for tests of these.
 *
 *   fake_captures behind | beside | long | later
 *   fake_captures range behind | open | long | nccl
 *
 * A thread launches the kernel c1. When the GPU is asked about the end of a kernel that the program holds, the main
 * thread captures a stream with the kernel c2; only then does the held kernel end. Then the thread launches c1 once
 * more, from the same place.
 * - behind: the kernel "hold" is held, on the stream of c1.
 * - beside: the same on another stream.
 * - long: c1 itself is held.
 * - later: the same, but c1 is launched once before, and three times behind.
 * - range: each launch of c1 is in a range, which ends at once.
 * - open: as long, but the range ends behind the capture.
 * - nccl: as long, but the main thread launches a kernel of NCCL's, and captures behind it.
 * Last the main thread launches the graph. Prints "kernels COUNT": the kernels that ran. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/flamegrid.h"
#include "fake_cuda.h"

static struct fake_cuda_kernel hold = FAKE_CUDA_KERNEL_INIT("hold", FAKE_CUDA_FIXED_NS(1000));
static struct fake_cuda_kernel c1 = FAKE_CUDA_KERNEL_INIT("c1", FAKE_CUDA_FIXED_NS(2000));
static struct fake_cuda_kernel c2 = FAKE_CUDA_KERNEL_INIT("c2", FAKE_CUDA_FIXED_NS(3000));
static struct fake_cuda_kernel nccl =
	FAKE_CUDA_KERNEL_INIT("ncclDevKernel_AllReduce", FAKE_CUDA_FIXED_NS(4000));

static struct {
	cudaStream_t streams[3];
	bool is_own, is_beside, is_later, has_ranges, is_open, has_nccl;
	pthread_t launcher;
	_Atomic int is_launching, is_asked, is_captured;
	_Atomic int nr_kernels;
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
	self.nr_kernels++;
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
			if (!self.is_own)
				launch(&hold, self.streams[self.is_beside]);
			self.is_launching = 1;
		}
		if (self.has_ranges)
			flamegrid_range_push("range");
		launch(&c1, self.streams[0]);
		if (self.has_ranges && !self.is_open)
			flamegrid_range_pop();
		if (i == 0) {
			/* Asks if the launch did not. */
			cudaStreamQuery(self.streams[self.is_beside]);
			until(&self.is_captured);
		}
		if (self.is_open)
			flamegrid_range_pop();
		require(cudaDeviceSynchronize());
	}
	return unused;
}

/* Returns whether the program knows what it is to do. */
static bool parse(int argc, char **argv)
{
	const char *what = argv[argc - 1];

	self.has_ranges = argc == 3 && strcmp(argv[1], "range") == 0;
	self.is_open = self.has_ranges && strcmp(what, "open") == 0;
	self.has_nccl = self.has_ranges && strcmp(what, "nccl") == 0;
	self.is_beside = !self.has_ranges && strcmp(what, "beside") == 0;
	self.is_later = !self.has_ranges && strcmp(what, "later") == 0;
	self.is_own = self.is_open || self.has_nccl || self.is_later || strcmp(what, "long") == 0;
	return argc == 2 + self.has_ranges &&
	       (self.is_own || self.is_beside || strcmp(what, "behind") == 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	if (!parse(argc, argv)) {
		fputs("usage: fake_captures behind|beside|long|later | range "
		      "behind|open|long|nccl\n",
		      stderr);
		return 2;
	}
	for (int i = 0; i < 3; i++)
		require(cudaStreamCreate(&self.streams[i]));
	if (pthread_create(&thread, NULL, run_launches, NULL) != 0)
		return 2;
	until(&self.is_asked);
	if (self.has_nccl)
		launch(&nccl, self.streams[2]);
	require(cudaStreamBeginCapture(self.streams[2], cudaStreamCaptureModeGlobal));
	launch(&c2, self.streams[2]); /* runs with the graph */
	require(cudaStreamEndCapture(self.streams[2], &graph));
	self.is_captured = 1;
	pthread_join(thread, NULL);
	require(cudaGraphInstantiate(&exec, graph, 0));
	require(cudaGraphLaunch(exec, self.streams[2]));
	require(cudaDeviceSynchronize());
	printf("kernels %d\n", self.nr_kernels);
	return 0;
}
