// Kernels with a known bottleneck each. A line that ends with "plant: KERNEL REASON" is the one that must be hottest.
//
//   stall_plants [ROUNDS]
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>
#include <cstdlib>

// Seven warps of a block, not eight: then samples each 2^n cycles meet the loop of inlined() at the same instructions
// (docs/samples.md).
static const int THREADS = 224, BLOCKS = 132 * 4, WORDS = 1 << 26;

// Each load waits for the one before. Loads that do not would wait for room in the load unit's queue as well, by chance more
// of the time.
__global__ void strided(const unsigned int *from, float *to, int steps)
{
	unsigned int at = (blockIdx.x * blockDim.x + threadIdx.x) * 33;

	for (int i = 0; i < steps; i++)
		at += 33 * 132 * 4 * 256 + from[at % WORDS]; // plant: strided long scoreboard
	to[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<float>(at);
}

__device__ __forceinline__ float leaf(float value, int steps)
{
	for (int i = 0; i < steps; i++)
		value = value * 1.0001f + 0.5f; // plant: inlined wait
	return value;
}

__device__ __forceinline__ float middle(float value, int steps)
{
	return leaf(value, steps);
}

__global__ void inlined(float *to, int steps)
{
	to[blockIdx.x * blockDim.x + threadIdx.x] = middle(threadIdx.x, steps);
}

// A warp that waits at a barrier stands at the instruction behind it: at the head of the loop.
__global__ void barrier(float *to, int steps)
{
	__shared__ float box;
	float value = threadIdx.x;

	box = 1;
	for (int i = 0; i < steps; i++) { // plant: barrier barrier
		if (threadIdx.x == 0)
			for (int j = 0; j < 100; j++)
				value = value * 1.0001f + box;
		__syncthreads();
	}
	to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void tensor(half *to, int steps)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> a;
	fragment<matrix_b, 16, 16, 16, half, col_major> b;
	fragment<accumulator, 16, 16, 16, half> sums[4];

	fill_fragment(a, __float2half(0.001f));
	fill_fragment(b, __float2half(0.001f));
	for (int k = 0; k < 4; k++)
		fill_fragment(sums[k], __float2half(0));
	for (int i = 0; i < steps; i++)
#pragma unroll
		for (int k = 0; k < 4; k++)
			mma_sync(sums[k], a, b, sums[k]); // plant: tensor math pipe throttle
	for (int k = 0; k < 4; k++)
		store_matrix_sync(to + (blockIdx.x * 4 + k) * 256, sums[k], 16, mem_row_major);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 40;
	unsigned int *from;
	float *to;
	half *matrices;

	if (cudaMalloc(&from, WORDS * sizeof(*from)) || cudaMalloc(&to, BLOCKS * THREADS * sizeof(*to)) ||
	    cudaMalloc(&matrices, BLOCKS * 4 * 256 * sizeof(*matrices)))
		return fprintf(stderr, "no device memory\n"), 1;
	for (int i = 0; i < rounds; i++) {
		strided<<<BLOCKS, THREADS>>>(from, to, 400);
		inlined<<<BLOCKS, THREADS>>>(to, 40000);
		barrier<<<BLOCKS, THREADS>>>(to, 1500);
		tensor<<<BLOCKS, THREADS>>>(matrices, 10000);
		if (cudaDeviceSynchronize())
			return fprintf(stderr, "a kernel failed\n"), 1;
	}
	printf("rounds %d\n", rounds);
	return 0;
}
