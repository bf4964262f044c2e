/* What of CUPTI waits for the GPU: each step of taking CUPTI up and leaving it, while a kernel runs that ends only when the
 * host says so, after 1.5 s. Prints "STEP: took MS ms, launches stalled MS ms".
 * Usage: attach_probe LIBCUPTI */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

__global__ void tiny(float *p)
{
	p[threadIdx.x] += 1;
}

__global__ void held(volatile int *flag, int value)
{
	while (*flag < value)
		;
}

static std::atomic<bool> over, want_finalize, finalized;
static std::atomic<double> longest_ms, finalize_ms;
static std::atomic<long> records;
static int *flag;
static int value;
static cudaStream_t held_stream;

#define CUPTI(name) static decltype(&name) p_##name
CUPTI(cuptiSubscribe);
CUPTI(cuptiUnsubscribe);
CUPTI(cuptiEnableCallback);
CUPTI(cuptiActivityRegisterCallbacks);
CUPTI(cuptiActivityEnable);
CUPTI(cuptiActivityDisable);
CUPTI(cuptiActivityFlushAll);
CUPTI(cuptiFinalize);
CUPTI(cuptiActivityGetNextRecord);

static double ms(void)
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void launch_on(void)
{
	cudaStream_t stream;
	float *p;

	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaMalloc(&p, 4096);
	while (!over) {
		double begin = ms();

		tiny<<<1, 32, 0, stream>>>(p);
		double took = ms() - begin;
		if (took > longest_ms)
			longest_ms = took;
		cudaStreamSynchronize(stream);
		usleep(100);
	}
}

/* begin: with the held kernel running, whose end is on its way. */
static void step(const char *name, std::function<int()> action)
{
	value++;
	held<<<1, 1, 0, held_stream>>>(flag, value);
	usleep(100000);
	std::thread release([] { usleep(1500000); *(volatile int *)flag = value; });
	longest_ms = 0;
	double begin = ms();
	int result = action();
	double took = ms() - begin;
	usleep(100000);
	double stalled = longest_ms;
	release.join();
	cudaStreamSynchronize(held_stream);
	printf("%s: took %.1f ms, launches stalled %.1f ms, result %d, records %ld\n", name, took, stalled, result,
	       records.load());
	fflush(stdout);
}

static CUpti_SubscriberHandle subscriber;

static void callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data)
{
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;

	if (call->callbackSite == CUPTI_API_EXIT && want_finalize.exchange(false)) {
		double begin = ms();

		p_cuptiFinalize();
		finalize_ms = ms() - begin;
		finalized = true;
	}
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*max = 0;
}

static void complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;

	while (p_cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		records++;
	free(buffer);
}

static int subscribe_all(void)
{
	int result = p_cuptiSubscribe(&subscriber, callback, nullptr);

	if (result == 0)
		result = p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	if (result == 0)
		result = p_cuptiActivityRegisterCallbacks(request, complete);
	return result;
}

static int finalize_at_exit(void)
{
	finalized = false;
	want_finalize = true;
	while (!finalized)
		usleep(100);
	printf("  (within the callback %.1f ms)\n", finalize_ms.load());
	return 0;
}

int main(int argc, char **argv)
{
	void *cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;

	if (!cupti) {
		fprintf(stderr, "attach_probe: %s\n", dlerror());
		return 2;
	}
#define FIND(name) p_##name = (decltype(&name))dlsym(cupti, #name)
	FIND(cuptiSubscribe), FIND(cuptiUnsubscribe), FIND(cuptiEnableCallback), FIND(cuptiActivityRegisterCallbacks);
	FIND(cuptiActivityEnable), FIND(cuptiActivityDisable), FIND(cuptiActivityFlushAll), FIND(cuptiFinalize);
	FIND(cuptiActivityGetNextRecord);
	float *p;
	cudaMalloc(&p, 4096);
	cudaStreamCreateWithFlags(&held_stream, cudaStreamNonBlocking);
	cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocMapped);
	*flag = 0;
	tiny<<<1, 32>>>(p);
	held<<<1, 1>>>(flag, 0);
	cudaDeviceSynchronize();
	std::thread launcher(launch_on);
	usleep(200000);
	step("nothing", [] { return 0; });
	for (int round = 1; round <= 2; round++) {
		printf("round %d\n", round);
		step("subscribe", [] { return (int)p_cuptiSubscribe(&subscriber, callback, nullptr); });
		step("enable callback", [] { return (int)p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel); });
		step("register", [] { return (int)p_cuptiActivityRegisterCallbacks(request, complete); });
		step("enable memcpy", [] { return (int)p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY); });
		step("enable kernels", [] { return (int)p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
		step("flush", [] { return (int)p_cuptiActivityFlushAll(0); });
		step("flush by force", [] { return (int)p_cuptiActivityFlushAll(1); });
		step("disable kernels", [] { return (int)p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
		step("enable kernels again", [] { return (int)p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
		if (round == 1)
			step("finalize", finalize_at_exit);
	}
	step("disable kernels", [] { return (int)p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
	step("unsubscribe", [] { return (int)p_cuptiUnsubscribe(subscriber); });
	step("subscribe anew", subscribe_all);
	step("enable kernels", [] { return (int)p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
	step("finalize", finalize_at_exit);
	/* Unasked: with nothing outstanding but what the launcher does. */
	for (int i = 0; i < 3; i++) {
		double begin = ms();
		int result = subscribe_all();
		double middle = ms();
		int enabled = p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		double end = ms();
		usleep(50000);
		finalize_at_exit();
		printf("quick round: subscribe %.1f ms (%d), enable %.1f ms (%d)\n", middle - begin, result, end - middle, enabled);
	}
	over = true;
	launcher.join();
	return 0;
}
