/* Opens ranges of flamegrid.h around kernels in known numbers, for tests of measured ranges.
 *
 *   fake_ranges nested ROUNDS | steps ROUNDS | graphs | threads DEVICE | helper DEVICE | left |
 *               collective | cooperative | failed
 *
 * Kernels are named r0, r1 and r2; each case works on device 0, unless it says else.
 * - nested: in each round the range "outer" has a copy, r0, the range "inner" and r0 again; "inner" has r1, a wait for the
 *   device, and r2; behind both, the range "other" has r1.
 * - steps: each step has r0 and r1.
 * - graphs: "captured" has r0 in a captured stream; "around" has r0, a capture of r1 and r2, and r0; "graph" has a launch
 *   of that graph, and r0.
 * - threads: while one thread has "first" open, with r0 before and r1 behind it, another one opens and closes "second",
 *   with r2 on the device given.
 * - helper: the same, but the other thread has no range.
 * - left: a thread ends in "left", with r0; then "after" has r1; the program ends in "last", with r2.
 * - reset: the device's context is destroyed in "reset", behind r0.
 * - collective: "comm" has r0, a kernel with the name of one of NCCL's, and r0; "behind" has r1, at once.
 * - cooperative: "comm" has r0, a cooperative kernel with the name of one of NVSHMEM's, and r0.
 * - failed: "failed" has r0, a launch that fails, and r1; "copies" has a copy; behind a launch of NCCL's kernel that
 *   fails, "later" has r1.
 * Prints "kernels COUNT" in the end: the kernels that ran. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/flamegrid.h"
#include "fake_cuda.h"

#define COPY_BYTES 4096u

static struct fake_cuda_kernel kernels[] = {
	FAKE_CUDA_KERNEL_INIT("r0", FAKE_CUDA_FIXED_NS(1000)),
	FAKE_CUDA_KERNEL_INIT("r1", FAKE_CUDA_FIXED_NS(2000)),
	FAKE_CUDA_KERNEL_INIT("r2", FAKE_CUDA_FIXED_NS(3000)),
	FAKE_CUDA_KERNEL_INIT("ncclDevKernel_AllReduce", FAKE_CUDA_FIXED_NS(4000)),
	FAKE_CUDA_KERNEL_INIT("nvshmemi_barrier", FAKE_CUDA_FIXED_NS(5000)),
};

static struct {
	cudaStream_t stream;
	void *memory;
	int second_device;
	bool has_second; /* a range */
	bool is_reset;   /* the context is destroyed */
	pthread_barrier_t barrier;
	_Atomic int nr_kernels;
} self;

static void require(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_ranges: %s\n", cudaGetErrorString(error));
	exit(2);
}

static void launch(int kernel, cudaStream_t stream)
{
	require(cudaLaunchKernel(&kernels[kernel], (dim3){8, 1, 1}, (dim3){64, 1, 1}, NULL, 0,
				 stream));
	self.nr_kernels++;
}

static void copy(void)
{
	static char host[COPY_BYTES];

	require(cudaMemcpyAsync(self.memory, host, COPY_BYTES, cudaMemcpyHostToDevice,
				self.stream));
}

static void nested(void)
{
	flamegrid_range_push("outer");
	copy();
	launch(0, self.stream);
	flamegrid_range_push("inner");
	launch(1, self.stream);
	require(cudaDeviceSynchronize());
	launch(2, self.stream);
	flamegrid_range_pop();
	launch(0, self.stream);
	flamegrid_range_pop();
	flamegrid_range_push("other");
	launch(1, self.stream);
	flamegrid_range_pop();
}

static void step(void)
{
	flamegrid_step();
	launch(0, self.stream);
	launch(1, self.stream);
}

static void begin_capture(void)
{
	require(cudaStreamBeginCapture(self.stream, cudaStreamCaptureModeThreadLocal));
}

static cudaGraph_t end_capture(void)
{
	cudaGraph_t graph;

	require(cudaStreamEndCapture(self.stream, &graph));
	return graph;
}

static void graphs(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	begin_capture();
	flamegrid_range_push("captured");
	launch(0, self.stream);
	flamegrid_range_pop();
	require(cudaGraphDestroy(end_capture()));
	flamegrid_range_push("around");
	launch(0, self.stream);
	begin_capture();
	launch(1, self.stream);
	launch(2, self.stream);
	graph = end_capture();
	launch(0, self.stream);
	flamegrid_range_pop();
	require(cudaGraphInstantiate(&exec, graph, 0));
	self.nr_kernels -= 1; /* those captured never ran, but for one launch of r1 and r2 */
	flamegrid_range_push("graph");
	require(cudaGraphLaunch(exec, self.stream));
	launch(0, self.stream);
	flamegrid_range_pop();
	require(cudaDeviceSynchronize());
	require(cudaGraphExecDestroy(exec));
	require(cudaGraphDestroy(graph));
}

static void *second_thread(void *unused)
{
	cudaStream_t stream;

	require(cudaSetDevice(self.second_device));
	require(cudaStreamCreate(&stream));
	pthread_barrier_wait(&self.barrier);
	if (self.has_second)
		flamegrid_range_push("second");
	launch(2, stream);
	if (self.has_second)
		flamegrid_range_pop();
	pthread_barrier_wait(&self.barrier);
	require(cudaDeviceSynchronize());
	return unused;
}

static void threads(void)
{
	pthread_t thread;

	pthread_barrier_init(&self.barrier, NULL, 2);
	pthread_create(&thread, NULL, second_thread, NULL);
	flamegrid_range_push("first");
	launch(0, self.stream);
	pthread_barrier_wait(&self.barrier);
	pthread_barrier_wait(&self.barrier);
	launch(1, self.stream);
	flamegrid_range_pop();
	pthread_join(thread, NULL);
}

static void *leave_range_open(void *unused)
{
	flamegrid_range_push("left");
	launch(0, self.stream);
	return unused;
}

static void leave(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, leave_range_open, NULL);
	pthread_join(thread, NULL);
	flamegrid_range_push("after");
	launch(1, self.stream);
	flamegrid_range_pop();
	flamegrid_range_push("last");
	launch(2, self.stream);
}

static void reset(void)
{
	flamegrid_range_push("reset");
	launch(0, self.stream);
	if (cuDevicePrimaryCtxRelease(0) != CUDA_SUCCESS)
		exit(3);
	self.is_reset = true;
	flamegrid_range_pop();
}

static void collective(void)
{
	flamegrid_range_push("comm");
	launch(0, self.stream);
	launch(3, self.stream);
	launch(0, self.stream);
	flamegrid_range_pop();
	flamegrid_range_push("behind");
	launch(1, self.stream);
	flamegrid_range_pop();
}

static void cooperate(void)
{
	flamegrid_range_push("comm");
	launch(0, self.stream);
	require(cudaLaunchCooperativeKernel(&kernels[4], (dim3){8, 1, 1}, (dim3){64, 1, 1}, NULL, 0,
					    self.stream));
	self.nr_kernels++;
	launch(0, self.stream);
	flamegrid_range_pop();
}

static void launch_wrongly(int kernel)
{
	if (cudaLaunchKernel(&kernels[kernel], (dim3){8, 1, 1}, (dim3){4096, 1, 1}, NULL, 0,
			     self.stream) == cudaSuccess)
		exit(3);
}

static void fail(void)
{
	flamegrid_range_push("failed");
	launch(0, self.stream);
	launch_wrongly(2);
	launch(1, self.stream);
	flamegrid_range_pop();
	flamegrid_range_push("copies");
	copy();
	flamegrid_range_pop();
	launch_wrongly(3);
	flamegrid_range_push("later");
	launch(1, self.stream);
	flamegrid_range_pop();
}

static bool run(const char *what, int number)
{
	if (strcmp(what, "graphs") == 0) {
		graphs();
	} else if (strcmp(what, "threads") == 0 || strcmp(what, "helper") == 0) {
		self.second_device = number;
		self.has_second = *what == 't';
		threads();
	} else if (strcmp(what, "left") == 0) {
		leave();
	} else if (strcmp(what, "reset") == 0) {
		reset();
	} else if (strcmp(what, "collective") == 0) {
		collective();
	} else if (strcmp(what, "cooperative") == 0) {
		cooperate();
	} else if (strcmp(what, "failed") == 0) {
		fail();
	} else if (strcmp(what, "nested") == 0 || strcmp(what, "steps") == 0) {
		for (int i = 0; i < number; i++)
			*what == 'n' ? nested() : step();
		flamegrid_step_end();
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	require(cudaSetDevice(0));
	require(cudaStreamCreate(&self.stream));
	require(cudaMalloc(&self.memory, COPY_BYTES));
	if (argc < 2 || !run(argv[1], argc > 2 ? atoi(argv[2]) : 0)) {
		fputs("usage: fake_ranges nested ROUNDS|steps ROUNDS|graphs|threads DEVICE|helper "
		      "DEVICE|left|reset|collective|cooperative|failed\n",
		      stderr);
		return 2;
	}
	if (!self.is_reset)
		require(cudaDeviceSynchronize());
	printf("kernels %d\n", self.nr_kernels);
	return 0;
}
