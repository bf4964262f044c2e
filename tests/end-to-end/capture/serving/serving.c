/* What a server in Python needs of CUDA and NVTX, for serving_test.sh: kernels with known durations, graphs of them,
 * and ranges by the real headers. A failure ends the program. One thread. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

#include "fake_cuda.h"

#define KERNELS_MAX 64

void serving_start(int device);
void serving_push(const char *name);
void serving_pop(void);
void serving_kernel(const char *name, uint64_t ns);
void serving_begin_capture(void);
void *serving_end_capture(void); /* the graph is never destroyed */
void serving_replay(void *exec);
void serving_wait(void);

static struct fake_cuda_kernel kernels[KERNELS_MAX];
static cudaStream_t stream;

static void require(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "serving: %s\n", cudaGetErrorString(error));
	exit(2);
}

/* Equal names are one kernel, with the duration of the first. */
static struct fake_cuda_kernel *kernel_of(const char *name, uint64_t ns)
{
	int i = 0;

	while (i < KERNELS_MAX - 1 && kernels[i].name && strcmp(kernels[i].name, name) != 0)
		i++;
	if (!kernels[i].name)
		kernels[i] = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(strdup(name),
									    FAKE_CUDA_FIXED_NS(ns));
	return &kernels[i];
}

void serving_start(int device)
{
	require(cudaSetDevice(device));
	require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

void serving_push(const char *name)
{
	nvtxRangePushA(name);
}

void serving_pop(void)
{
	nvtxRangePop();
}

void serving_kernel(const char *name, uint64_t ns)
{
	require(cudaLaunchKernel(kernel_of(name, ns), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
				 stream));
}

void serving_begin_capture(void)
{
	require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

void *serving_end_capture(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	require(cudaStreamEndCapture(stream, &graph));
	require(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

void serving_replay(void *exec)
{
	require(cudaGraphLaunch(exec, stream));
}

void serving_wait(void)
{
	require(cudaStreamSynchronize(stream));
}
