/* Kernels of different sizes, launched in different shapes; CUDA's own word on how many blocks of each fit into a
 * multiprocessor, so that a profile's occupancy can be checked against it.
 * Prints "occupancy KERNEL THREADS DYNAMIC-BYTES BLOCKS REGISTERS STATIC-BYTES LAUNCHES".
 * Build: nvcc -O2 -g -arch=native -cudart shared occupancy.cu -o occupancy */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

extern "C" __global__ void light(float *p)
{
	p[threadIdx.x] += 1;
}

/* Enough live values to need many registers. */
template <int N> __device__ void mix(float *p)
{
	float v[N];

#pragma unroll
	for (int i = 0; i < N; i++)
		v[i] = p[(threadIdx.x + i) % 256];
	for (int round = 0; round < 4; round++)
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = v[i] * v[(i + 7) % N] + 0.5f;
	float sum = 0;
#pragma unroll
	for (int i = 0; i < N; i++)
		sum += v[i];
	p[threadIdx.x % 256] = sum;
}

extern "C" __global__ void medium(float *p)
{
	mix<48>(p);
}

extern "C" __global__ void heavy(float *p)
{
	mix<160>(p);
}

extern "C" __global__ void fixed_shared(float *p)
{
	__shared__ float tile[5000];

	tile[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void asked_shared(float *p)
{
	extern __shared__ float asked[];

	asked[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = asked[blockDim.x - 1 - threadIdx.x];
}

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "occupancy: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

static void launch(const char *name, void (*kernel)(float *), float *memory, int threads, int dynamic_bytes)
{
	cudaFuncAttributes attributes;
	int blocks = 0;

	require(cudaFuncGetAttributes(&attributes, (const void *)kernel), "cudaFuncGetAttributes");
	if (threads > attributes.maxThreadsPerBlock)
		return;
	if (dynamic_bytes > 48 << 10)
		require(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes),
			"cudaFuncSetAttribute");
	require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic_bytes),
		"cudaOccupancyMaxActiveBlocksPerMultiprocessor");
	for (int i = 0; i < 3; i++)
		kernel<<<2, threads, dynamic_bytes>>>(memory);
	require(cudaGetLastError(), name);
	printf("occupancy %s %d %d %d %d %zu 3\n", name, threads, dynamic_bytes, blocks, attributes.numRegs,
	       attributes.sharedSizeBytes);
}

int main()
{
	const int threads[] = {32, 33, 64, 96, 128, 256, 384, 512, 1000, 1024};
	const int bytes[] = {4096, 13568, 13569, 32768, 49152, 65536, 98304};
	float *memory;

	require(cudaMalloc(&memory, 1 << 20), "cudaMalloc");
	for (int t : threads) {
		launch("light", light, memory, t, 0);
		launch("medium", medium, memory, t, 0);
		launch("heavy", heavy, memory, t, 0);
		launch("fixed_shared", fixed_shared, memory, t, 0);
	}
	for (int b : bytes)
		for (int t : {128, 512})
			launch("asked_shared", asked_shared, memory, t, b);
	require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 0;
}
