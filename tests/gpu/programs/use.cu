/* Work whose use of the GPU is known, for what GPM says of it.
 * Usage: use stream|half|mix|loop SECONDS
 * stream: copies of 1 GiB within the GPU by a kernel. half: a block of 1,024 threads on each second multiprocessor, which waits.
 * mix: each second both, a quarter of the threads on all multiprocessors, tensor cores, and nothing, for parts of it that are never alike.
 * loop: steps that are all alike, of two copies and one kernel of each other kind, so that these always run in the same proportion.
 * The last line is what it must be, from 0 to 1: "sm X occupancy Y" of half, "dram Z" of stream, by the bytes that it copied and the
 * peak of the memory; "bytes N" of mix and loop, which their copies moved. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <mma.h>

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

__global__ void multiply(float *result)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> a;
	fragment<matrix_b, 16, 16, 16, half, col_major> b;
	fragment<accumulator, 16, 16, 16, float> sums[4];

	fill_fragment(a, __float2half(0.5f));
	fill_fragment(b, __float2half(0.25f));
	for (auto &sum : sums)
		fill_fragment(sum, 0.0f);
	for (int i = 0; i < 25000; i++)
		for (auto &sum : sums)
			mma_sync(sum, a, b, sum);
	/* never so, but the compiler does not know */
	if (sums[0].x[0] + sums[1].x[0] + sums[2].x[0] + sums[3].x[0] < 0)
		*result = 1;
}

__global__ void wait_on_all()
{
	const unsigned long long end_ns = now_ns() + SPIN_NS;

	while (now_ns() < end_ns)
		;
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

static void print_mixed(unsigned long long copies, int sms, int threads)
{
	const double half = (double)(sms / 2) / sms;

	printf("bytes %.0f half %.4f of %.4f\n", copies * 2.0 * BYTES, half, half * THREADS / threads);
}

/* Runs each kind of work for a part of each second, by a generator that always gives the same parts. */
static void mix(int sms, int threads, float4 *to, const float4 *from, double end)
{
	unsigned long long state = 1, copies = 0;
	float *result;

	check(cudaMalloc(&result, sizeof(*result)), "memory");
	while (seconds() < end) {
		for (int kind = 0; kind < 5; kind++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			const double until = seconds() + (state >> 40) / (double)(1 << 24) * 0.4;
			while (seconds() < until) {
				if (kind == 0) {
					copy<<<sms * 4, 512>>>(to, from, BYTES / sizeof(*to));
					copies++;
				} else if (kind == 1) {
					spin<<<sms / 2, THREADS>>>();
				} else if (kind == 2) {
					wait_on_all<<<sms, threads / 4>>>();
				} else if (kind == 3) {
					multiply<<<sms * 4, 256>>>(result);
				}
				check(cudaDeviceSynchronize(), "wait");
			}
		}
	}
	print_mixed(copies, sms, threads);
}

static void loop(int sms, int threads, float4 *to, const float4 *from, double end)
{
	unsigned long long copies = 0;
	float *result;

	check(cudaMalloc(&result, sizeof(*result)), "memory");
	for (; seconds() < end; copies += 2) {
		copy<<<sms * 4, 512>>>(to, from, BYTES / sizeof(*to));
		spin<<<sms / 2, THREADS>>>();
		copy<<<sms * 4, 512>>>(to, from, BYTES / sizeof(*to));
		wait_on_all<<<sms, threads / 4>>>();
		multiply<<<sms * 4, 256>>>(result);
		check(cudaDeviceSynchronize(), "wait");
	}
	print_mixed(copies, sms, threads);
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";

	if (strcmp(mode, "stream") != 0 && strcmp(mode, "half") != 0 && strcmp(mode, "mix") != 0 && strcmp(mode, "loop") != 0) {
		fprintf(stderr, "usage: use stream|half|mix|loop SECONDS\n");
		return 2;
	}
	const bool mixes = strcmp(mode, "mix") == 0, loops = strcmp(mode, "loop") == 0;
	const bool streams = mixes || loops || strcmp(mode, "stream") == 0;
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
	if (mixes || loops) {
		(mixes ? mix : loop)(sms, threads, to, from, end);
		return 0;
	}
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
