/* What each part of CUPTI costs a launch, in one process: each way of using it is switched on and off in turn, round by
 * round, beside the same launches without it.
 * Usage: cupti_share [rounds]
 * Prints, for each way, medians over the rounds: ns a launch on the launching thread, ns of all threads' CPU time a
 * launch, and both less those without CUPTI of the same round.
 * Build: nvcc -O2 -arch=native -cudart shared cupti_share.cu -o cupti_share -I$CUDA/include -lcupti */
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#include <cupti.h>

#define BATCH 500 /* launches between two waits for the stream: the queue has room */
#define BATCHES 40
#define WARM 4

struct way {
	const char *name;
	bool kernels, copies, callbacks, streams;
	bool latency;
	size_t buffer;     /* bytes */
	unsigned flush_ms; /* 0: buffers come when they are full */
};

static const struct way ways[] = {
	{"none", false, false, false, false, false, 2u << 20, 0},
	{"kernels", true, false, false, false, false, 2u << 20, 0},
	{"kernels, 64 KiB", true, false, false, false, false, 64u << 10, 0},
	{"kernels, 512 KiB", true, false, false, false, false, 512u << 10, 0},
	{"kernels, 8 MiB", true, false, false, false, false, 8u << 20, 0},
	{"kernels, 32 MiB", true, false, false, false, false, 32u << 20, 0},
	{"kernels, flush 1 s", true, false, false, false, false, 2u << 20, 1000},
	{"kernels, flush 100 ms", true, false, false, false, false, 2u << 20, 100},
	{"kernels, flush 10 ms", true, false, false, false, false, 2u << 20, 10},
	{"kernels, latency times", true, false, false, false, true, 2u << 20, 0},
	{"kernels, copies, memsets", true, true, false, false, false, 2u << 20, 0},
	{"the same, streams, contexts", true, true, false, true, false, 2u << 20, 0},
	{"the same, launch callbacks", true, true, true, true, false, 2u << 20, 0},
	{"launch callbacks alone", false, false, true, false, false, 2u << 20, 0},
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static std::atomic<size_t> buffer_bytes{2u << 20};
static std::atomic<unsigned long> records, calls;
static CUpti_SubscriberHandle subscriber;

__global__ void tiny(float *p)
{
	if (threadIdx.x == 0)
		p[blockIdx.x] += 1;
}

static double clock_ns(clockid_t clock)
{
	timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Zeroed memory, as the attribute promises. Kept buffers are zeroed when they come back. */
static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = buffer_bytes;
	*buffer = (uint8_t *)calloc(1, *size);
	*max_records = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		records++;
	free(buffer);
}

static void CUPTIAPI called(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
	calls.fetch_add(1, std::memory_order_relaxed);
}

static void set(CUpti_ActivityKind kind, bool on)
{
	if (on)
		cuptiActivityEnable(kind);
	else
		cuptiActivityDisable(kind);
}

static void use(const struct way *way, bool on)
{
	static const CUpti_CallbackId launches[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
						    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
						    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
						    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz};

	buffer_bytes = way->buffer;
	if (way->latency)
		cuptiActivityEnableLatencyTimestamps(on);
	if (way->kernels)
		set(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on);
	if (way->copies) {
		set(CUPTI_ACTIVITY_KIND_MEMCPY, on);
		set(CUPTI_ACTIVITY_KIND_MEMSET, on);
	}
	if (way->streams) {
		set(CUPTI_ACTIVITY_KIND_STREAM, on);
		set(CUPTI_ACTIVITY_KIND_CONTEXT, on);
	}
	for (size_t i = 0; way->callbacks && i < sizeof(launches) / sizeof(*launches); i++)
		cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);
}

struct cost {
	double launch, cpu;
};

static struct cost measure(const struct way *way, float *p, cudaStream_t stream)
{
	std::vector<double> batches;
	std::atomic<bool> stop{false};
	std::thread flusher;
	double cpu = 0;

	use(way, true);
	if (way->flush_ms)
		flusher = std::thread([&] {
			timespec tick = {0, 1000000};
			for (unsigned ms = 1; !stop; ms++) {
				nanosleep(&tick, NULL);
				if (ms % way->flush_ms == 0)
					cuptiActivityFlushAll(0);
			}
		});
	for (int batch = 0; batch < WARM + BATCHES; batch++) {
		if (batch == WARM)
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		double begin = clock_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < BATCH; i++)
			tiny<<<8, 32, 0, stream>>>(p);
		if (batch >= WARM)
			batches.push_back((clock_ns(CLOCK_MONOTONIC) - begin) / BATCH);
		cudaStreamSynchronize(stream);
	}
	if (way->kernels)
		cuptiActivityFlushAll(0);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	stop = true;
	if (flusher.joinable())
		flusher.join();
	use(way, false);
	cuptiActivityFlushAll(1);
	std::nth_element(batches.begin(), batches.begin() + BATCHES / 2, batches.end());
	return {batches[BATCHES / 2], cpu / (BATCH * BATCHES)};
}

static double median(std::vector<double> values)
{
	std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
	return values[values.size() / 2];
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 15;
	std::vector<double> launch[WAYS], cpu[WAYS], more[WAYS], more_cpu[WAYS];
	uint8_t one = 1;
	size_t size = sizeof(one);
	uint32_t version = 0;
	cudaStream_t stream;
	float *p;

	cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync); /* a wait takes no CPU time */
	cuptiGetVersion(&version);
	cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)called, NULL);
	cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &one);
	cuptiActivityRegisterCallbacks(request, complete);
	if (cudaMalloc(&p, 1 << 20) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) {
		fprintf(stderr, "no GPU\n");
		return 1;
	}
	for (int round = 0; round < rounds; round++) {
		struct cost none = {0, 0};

		for (size_t i = 0; i < WAYS; i++) {
			struct cost cost = measure(&ways[i], p, stream);

			if (i == 0)
				none = cost;
			launch[i].push_back(cost.launch);
			cpu[i].push_back(cost.cpu);
			more[i].push_back(cost.launch - none.launch);
			more_cpu[i].push_back(cost.cpu - none.cpu);
		}
	}
	printf("CUPTI version %u, %d rounds of %d launches; %lu records, %lu calls\n", version, rounds, BATCH * BATCHES,
	       records.load(), calls.load());
	printf("%-28s %10s %10s %10s %10s\n", "way", "ns/launch", "more", "CPU ns", "more");
	for (size_t i = 0; i < WAYS; i++)
		printf("%-28s %10.0f %+10.0f %10.0f %+10.0f\n", ways[i].name, median(launch[i]), median(more[i]), median(cpu[i]),
		       median(more_cpu[i]));
	return 0;
}
