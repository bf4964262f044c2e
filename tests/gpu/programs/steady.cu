/* Launches tiny kernels without pause, for what comes and goes meanwhile: capture windows, other profilers.
 * Usage: steady SECONDS [threads] [devices] [hold]
 * Each thread launches batches of 1,000 kernels on a stream of its own and waits for the device, with hold for the stream. Thread 0 prints
 * "batch MS NS" for each batch: the time since the epoch in ms and the ns a launch took.
 * hold: thread 0 keeps a kernel running on another stream that waits for a flag in host memory, which is set, and the
 * kernel launched anew, every two seconds.
 * The last line is "launched COUNT", by all threads. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>
#include <cuda_runtime.h>

#define BATCH 1000

__global__ void tiny(float *p)
{
	if (threadIdx.x == 0)
		p[blockIdx.x] += 1;
}

__global__ void held(volatile int *flag, int value)
{
	while (*flag < value)
		;
}

static std::atomic<long> launched;

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "steady: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

static double seconds(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct holder {
	int *flag;
	cudaStream_t stream;
	double next;
	int value;
};

static void hold_on(struct holder *holder, double now)
{
	if (now < holder->next)
		return;
	*(volatile int *)holder->flag = holder->value; /* lets the one that runs go */
	check(cudaStreamSynchronize(holder->stream), "wait for the held kernel");
	holder->value++;
	held<<<1, 1, 0, holder->stream>>>(holder->flag, holder->value);
	launched++;
	holder->next = now + 2;
}

static void work(int index, int device, double end, bool hold)
{
	struct holder holder = {};
	cudaStream_t stream;
	float *p;

	check(cudaSetDevice(device), "device");
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
	check(cudaMalloc(&p, 4096), "memory");
	/* Code is loaded at the first launch, which waits for all kernels that run: none may be held then. */
	tiny<<<8, 32, 0, stream>>>(p);
	check(cudaStreamSynchronize(stream), "wait");
	launched++;
	if (hold) {
		check(cudaStreamCreateWithFlags(&holder.stream, cudaStreamNonBlocking), "stream");
		check(cudaHostAlloc((void **)&holder.flag, sizeof(int), cudaHostAllocMapped), "flag");
		*holder.flag = 0;
		held<<<1, 1, 0, holder.stream>>>(holder.flag, 0);
		launched++;
	}
	for (double now = seconds(CLOCK_MONOTONIC); now < end; now = seconds(CLOCK_MONOTONIC)) {
		if (hold)
			hold_on(&holder, now);
		double wall = seconds(CLOCK_REALTIME), begin = seconds(CLOCK_MONOTONIC);
		for (int i = 0; i < BATCH; i++)
			tiny<<<8, 32, 0, stream>>>(p);
		double took = seconds(CLOCK_MONOTONIC) - begin;
		check(hold ? cudaStreamSynchronize(stream) : cudaDeviceSynchronize(), "wait");
		launched += BATCH;
		if (index == 0)
			printf("batch %.0f %.0f\n", wall * 1e3, took * 1e9 / BATCH);
	}
	if (hold) {
		*(volatile int *)holder.flag = holder.value;
		check(cudaStreamSynchronize(holder.stream), "wait for the held kernel");
	}
}

int main(int argc, char **argv)
{
	double end = seconds(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 5);
	int nr_threads = argc > 2 ? atoi(argv[2]) : 1;
	int nr_devices = argc > 3 ? atoi(argv[3]) : 1;
	bool hold = argc > 4 && strcmp(argv[4], "hold") == 0;
	std::vector<std::thread> threads;

	for (int i = 1; i < nr_threads; i++)
		threads.emplace_back(work, i, i % nr_devices, end, false);
	work(0, 0, end, hold);
	for (auto &thread : threads)
		thread.join();
	check(cudaDeviceSynchronize(), "end");
	printf("launched %ld\n", launched.load());
	return 0;
}
