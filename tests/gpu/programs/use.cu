/* Work whose use of the GPU is known, for what GPM says of it.
 * Usage: use stream|half SECONDS
 * stream: copies of 1 GiB within the GPU by a kernel. half: a block of 1,024 threads on each second multiprocessor, which waits.
 * The last line is what it must be, from 0 to 1: "sm X occupancy Y" of half, "dram Z" of stream, by the bytes that it copied and the
 * peak of the memory. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>

#define BYTES   (1ull << 30)
#define BATCH   20
#define THREADS 1024
#define SPIN_NS 5000000ull

__global__ void copy(float4 *to, const float4 *from, size_t count)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		to[i] = from[i];
}

__device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void spin()
{
	const unsigned long long end_ns = now_ns() + SPIN_NS;

	while (now_ns() < end_ns)
		;
}

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "use: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

static double seconds()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int attribute(cudaDeviceAttr which)
{
	int value = 0;

	check(cudaDeviceGetAttribute(&value, which, 0), "attribute");
	return value;
}

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "stream") != 0 && strcmp(argv[1], "half") != 0)) {
		fprintf(stderr, "usage: use stream|half SECONDS\n");
		return 2;
	}
	const bool streams = strcmp(argv[1], "stream") == 0;
	const int sms = attribute(cudaDevAttrMultiProcessorCount), threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
	float4 *to = nullptr, *from = nullptr;
	double bytes = 0;

	if (streams) {
		check(cudaMalloc(&to, BYTES), "memory");
		check(cudaMalloc(&from, BYTES), "memory");
		check(cudaMemset(from, 1, BYTES), "memset");
		check(cudaDeviceSynchronize(), "wait");
	}
	const double begin = seconds(), end = begin + atof(argv[2]);
	while (seconds() < end) {
		for (int i = 0; i < BATCH; i++) {
			if (streams)
				copy<<<sms * 4, 512>>>(to, from, BYTES / sizeof(*to));
			else
				spin<<<sms / 2, THREADS>>>();
		}
		check(cudaDeviceSynchronize(), "wait");
		bytes += 2.0 * BYTES * BATCH;
	}
	/* kHz and bits; two transfers in each cycle */
	const double peak = 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
	if (streams)
		printf("dram %.4f\n", bytes / (seconds() - begin) / peak);
	else
		printf("sm %.4f occupancy %.4f\n", (double)(sms / 2) / sms, (double)(sms / 2) / sms * THREADS / threads);
	return 0;
}
