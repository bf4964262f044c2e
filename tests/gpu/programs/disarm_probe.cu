/* What is left of CUPTI's cost on a launch after each way to switch it off, short of cuptiFinalize().
 * Usage: disarm_probe LIBCUPTI */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>

__global__ void tiny(float *p)
{
	p[threadIdx.x] += 1;
}

static void *cupti;
template <typename F> static F find(const char *name)
{
	return (F)dlsym(cupti, name);
}
#define CALL(name, ...) find<decltype(&name)>(#name)(__VA_ARGS__)

static cudaStream_t stream;
static float *memory;
static bool finalize_now;

static double ns(void)
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void measure(const char *what)
{
	std::vector<double> batches;

	for (int b = 0; b < 400; b++) {
		double begin = ns();
		for (int i = 0; i < 500; i++)
			tiny<<<1, 32, 0, stream>>>(memory);
		batches.push_back((ns() - begin) / 500);
		cudaStreamSynchronize(stream);
	}
	std::sort(batches.begin(), batches.end());
	printf("%-60s %6.0f ns a launch\n", what, batches[batches.size() / 2]);
	fflush(stdout);
}

static void callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data)
{
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;

	if (call->callbackSite == CUPTI_API_EXIT && finalize_now) {
		finalize_now = false;
		CALL(cuptiFinalize);
	}
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*max = 0;
}

static void complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
	free(buffer);
}

static CUpti_SubscriberHandle subscriber;

static void subscribe(bool callbacks)
{
	CALL(cuptiSubscribe, &subscriber, callback, nullptr);
	if (callbacks)
		CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	CALL(cuptiActivityRegisterCallbacks, request, complete);
}

static void leave(void)
{
	CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
	finalize_now = true;
	cudaStreamSynchronize(stream);
	measure("finalized");
}

int main(int argc, char **argv)
{
	CUcontext context;

	cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
	if (!cupti)
		return 2;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaMalloc(&memory, 4096);
	cuCtxGetCurrent(&context);
	measure("warm-up");
	measure("nothing");
	subscribe(false);
	measure("subscribed, nothing enabled");
	CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
	measure("a callback of a rare call");
	CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY);
	measure("memcpy kind on");
	CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_MEMCPY);
	measure("memcpy kind off");
	CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("kernel kind on");
	CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("kernel kind off");
	CALL(cuptiActivityFlushAll, 1);
	measure("and flushed by force");
	leave();
	subscribe(false);
	printf("enable context %d\n", CALL(cuptiActivityEnableContext, context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	measure("kernel kind on, of the context");
	printf("disable context %d\n", CALL(cuptiActivityDisableContext, context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	measure("kernel kind off, of the context");
	CALL(cuptiActivityFlushAll, 1);
	measure("and flushed by force");
	CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("kernel kind on");
	printf("disable context %d\n", CALL(cuptiActivityDisableContext, context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	measure("kernel kind off, of the context");
	CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("and off");
	leave();
	subscribe(true);
	measure("callback of launches alone");
	CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("callback and kernel kind on");
	CALL(cuptiEnableDomain, 0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	measure("callbacks off");
	CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	measure("kernel kind off");
	CALL(cuptiUnsubscribe, subscriber);
	measure("unsubscribed");
	CALL(cuptiSubscribe, &subscriber, callback, nullptr);
	/* The serialising kind takes the place of the concurrent one. */
	printf("enable serial %d\n", CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_KERNEL));
	CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_KERNEL);
	measure("serialising kind on and off");
	leave();
	measure("nothing");
	return 0;
}
