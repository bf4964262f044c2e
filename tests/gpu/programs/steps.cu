/* Steps that are NVTX ranges and cudaProfilerStart to cudaProfilerStop, each with a kernel of its own ("in_step<7>").
 *	steps [ROUNDS-OF-WORK]: 60 steps, so many kernels between two. */
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#define STEPS 60

template <int N> __global__ void in_step(float *value)
{
	*value += N;
}

__global__ void between(float *value)
{
	*value *= 0.5f;
}

template <int N> static void launch(float *value)
{
	in_step<N + 1><<<1, 1>>>(value);
}

typedef void launcher(float *value);

template <int... N> static void run(float *value, long rounds, std::integer_sequence<int, N...>)
{
	static launcher *const steps[] = {launch<N>...};

	for (int step = 0; step < STEPS; step++) {
		for (long i = 0; i < rounds; i++)
			between<<<1, 1>>>(value);
		cudaDeviceSynchronize();
		cudaProfilerStart();
		nvtxRangePushA("step");
		steps[step](value);
		cudaDeviceSynchronize();
		nvtxRangePop();
		cudaProfilerStop();
	}
}

int main(int argc, char **argv)
{
	float *value;

	if (cudaMalloc(&value, sizeof(*value)) != cudaSuccess)
		return 1;
	run(value, argc > 1 ? atol(argv[1]) : 1000, std::make_integer_sequence<int, STEPS>());
	return cudaDeviceSynchronize() != cudaSuccess;
}
