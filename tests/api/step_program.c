/* Marks its steps, one of which is slow because the host saves its state meanwhile, without any launch.
 *
 *   step_program STEPS SLOW [alone]
 *
 * alone: it logs instead, between two launches of different functions by way of one helper.
 * Functions have the names that stacks show. */
#include <cuda_runtime_api.h>
#include <flamegrid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

#define NOINLINE __attribute__((noinline, noclone))
#define SAVE_NS  100000000u
#define BYTES    65536u

static FAKE_CUDA_KERNEL(step_gemm, FAKE_CUDA_FIXED_NS(20000));
static FAKE_CUDA_KERNEL(step_norm, FAKE_CUDA_UNIFORM_NS(1000, 9000, 7));

static void *device, *host;
static cudaStream_t streams[2];

static void expect(cudaError_t error)
{
	if (error != cudaSuccess)
		abort();
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

NOINLINE static void launch(struct fake_cuda_kernel *kernel, cudaStream_t stream)
{
	expect(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
}

NOINLINE static void forward(void)
{
	expect(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, streams[1]));
	launch(step_gemm, streams[0]);
	launch(step_norm, streams[1]);
}

NOINLINE static void backward(void)
{
	launch(step_gemm, streams[0]);
	launch(step_gemm, streams[1]);
	launch(step_norm, streams[0]);
}

NOINLINE static void save_state(void)
{
	expect(cudaMemcpy(host, device, BYTES, cudaMemcpyDeviceToHost));
	for (uint64_t end_ns = now_ns() + SAVE_NS; now_ns() < end_ns;)
		;
	expect(cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
}

NOINLINE static void log_metrics(void)
{
	expect(cudaDeviceSynchronize());
	for (uint64_t end_ns = now_ns() + SAVE_NS; now_ns() < end_ns;)
		;
	launch(step_norm, streams[1]);
}

int main(int argc, char **argv)
{
	const long nr_steps = argc >= 3 ? atol(argv[1]) : 0, slow = argc >= 3 ? atol(argv[2]) : 0;
	const bool is_alone = argc == 4 && strcmp(argv[3], "alone") == 0;

	if (nr_steps < 1)
		return 2;
	expect(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));
	expect(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
	expect(cudaMalloc(&device, BYTES));
	expect(cudaMallocHost(&host, BYTES));
	for (long i = 1; i <= nr_steps; i++) {
		flamegrid_step();
		forward();
		backward();
		if (i == slow && is_alone)
			log_metrics();
		else if (i == slow)
			save_state();
		expect(cudaDeviceSynchronize());
	}
	flamegrid_step_end();
	return 0;
}
