/* An allocation-bound program: stream-ordered allocations and frees as fast as they go, so what is timed is the path of
 * an allocation and what a profiler adds to it. Usage: alloc_bound [pairs per round] Prints ns for an allocation and
 * its free, a figure for each of five rounds, and last how many pairs there were. Build: gcc -O2 -g alloc_bound.c
 * -lcudart -o alloc_bound; or, with FAKE_CUDA, against fake CUDA. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5
#define BYTES  (64u << 10)

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "alloc_bound: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) void one_pair(cudaStream_t stream)
{
	void *memory;

	require(cudaMallocAsync(&memory, BYTES, stream), "cudaMallocAsync");
	require(cudaFreeAsync(memory, stream), "cudaFreeAsync");
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 100000;
	double ns_a_pair[ROUNDS];
	cudaStream_t stream;

	require(cudaStreamCreate(&stream), "cudaStreamCreate");
	for (int round = 0; round < ROUNDS; round++) {
		double begin_ns = now_ns();

		for (long i = 0; i < pairs; i++)
			one_pair(stream);
		require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
		ns_a_pair[round] = (now_ns() - begin_ns) / (double)pairs;
	}
	printf("ns/pair:");
	for (int round = 0; round < ROUNDS; round++)
		printf(" %.0f", ns_a_pair[round]);
	printf("\npairs %ld\n", ROUNDS * pairs);
	return 0;
}
