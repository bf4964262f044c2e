/* Everything on a timeline besides kernels and copies, in known numbers and from functions with known names: waits, loads
 * of code, managed memory that migrates and faults.
 *
 *   fake_timeline [--rounds N] [--device N] [--managed]
 *
 * Each round: three kernels, one wait of each sort and a poll, one load of each sort; with --managed, once CUPTI records unified
 * memory, 4 MiB to the GPU and back and a fault of either side. Prints "did WHAT NUMBER" lines. Exit status: 0; 1: a call
 * failed; 2: wrong usage. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define MANAGED_BYTES (4u << 20)
#define UNIFIED_KIND  25u /* CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER */

static FAKE_CUDA_KERNEL(timeline_work, FAKE_CUDA_FIXED_NS(20000));

static const char ptx[] = ".version 7.0\n.target sm_52\n"
			  "// flamegrid-fake-ns: 3000\n"
			  ".visible .entry timeline_loaded() { ret; }\n";

static cudaStream_t stream, other;
static cudaEvent_t event;

static void expect(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "fake_timeline: %s: %d\n", what, result);
	exit(1);
}

#define EXPECT(call) expect((int)(call), #call)

__attribute__((noinline)) static void launch_work(void)
{
	EXPECT(cudaLaunchKernel(timeline_work, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
}

__attribute__((noinline)) static void wait_for_device(void)
{
	EXPECT(cudaDeviceSynchronize());
}

__attribute__((noinline)) static void wait_for_stream(void)
{
	EXPECT(cudaStreamSynchronize(stream));
}

/* Until it is done: any number of answers "not yet", and one "yes". */
__attribute__((noinline)) static void poll_event(void)
{
	cudaError_t error;

	while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
		;
	EXPECT(error);
}

__attribute__((noinline)) static void wait_for_event(void)
{
	EXPECT(cudaEventSynchronize(event));
}

__attribute__((noinline)) static void order_streams(void)
{
	EXPECT(cudaEventRecord(event, stream));
	EXPECT(cudaStreamWaitEvent(other, event, 0));
}

__attribute__((noinline)) static void load_module(void)
{
	CUmodule module;
	CUfunction function;

	EXPECT(cuModuleLoadData(&module, ptx));
	EXPECT(cuModuleGetFunction(&function, module, "timeline_loaded"));
	EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	EXPECT(cuModuleUnload(module));
}

__attribute__((noinline)) static void load_library(void)
{
	CUlibrary library;
	CUkernel kernel;

	EXPECT(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	EXPECT(cuLibraryGetKernel(&kernel, library, "timeline_loaded"));
	EXPECT(cuLibraryUnload(library));
}

__attribute__((noinline)) static void move_memory(void *managed, int device)
{
	const struct cudaMemLocation to_device = {cudaMemLocationTypeDevice, device};
	const struct cudaMemLocation to_host = {cudaMemLocationTypeHost, 0};

	EXPECT(cudaMemPrefetchAsync(managed, MANAGED_BYTES, to_device, 0, stream));
	EXPECT(cudaMemPrefetchAsync(managed, MANAGED_BYTES, to_host, 0, stream));
	expect(fake_cuda_touch(managed, MANAGED_BYTES, device), "touch by the device");
	expect(fake_cuda_touch(managed, MANAGED_BYTES, -1), "touch by the host");
}

/* CUPTI is told to record it by a thread of the profiler's, once cuInit is done. */
static void wait_until_unified_memory_is_recorded(void)
{
	while (!fake_cuda_traces(UNIFIED_KIND))
		sched_yield();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"device", required_argument, NULL, 'd'},
						{"managed", no_argument, NULL, 'm'},
						{0}};
	int rounds = 10, device = 0, option;
	bool wants_managed = false;
	void *managed = NULL;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 'd')
			device = atoi(optarg);
		else if (option == 'm')
			wants_managed = true;
		else
			return 2;
	}
	EXPECT(cudaSetDevice(device));
	EXPECT(cudaStreamCreate(&stream));
	EXPECT(cudaStreamCreate(&other));
	EXPECT(cudaEventCreate(&event));
	if (wants_managed) {
		wait_until_unified_memory_is_recorded();
		EXPECT(cudaMallocManaged(&managed, MANAGED_BYTES, cudaMemAttachGlobal));
	}
	for (int i = 0; i < rounds; i++) {
		launch_work();
		order_streams();
		poll_event();
		wait_for_event();
		launch_work();
		wait_for_stream();
		load_module();
		load_library();
		if (wants_managed)
			move_memory(managed, device);
		wait_for_device();
	}
	printf("did rounds %d\n", rounds);
	return 0;
}
