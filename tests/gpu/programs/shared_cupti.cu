// A second user of CUPTI in a process, which imports it as PyTorch's profiler does: subscribes, is told of contexts, and has sessions
// of the activity API.
//
//   shared_cupti BEFORE WITHIN AFTER SESSIONS [finalize]      kernels
//
// Prints "subscribed RESULT", "session LAUNCHED RECORDED" for all sessions together, with `finalize` "finalized RESULT" (after the
// first session, the subscription given back before), and "launched COUNT". AFTER are launched after each session; then it
// goes on for a second, so that a profiler beside it can come back.
#include <cupti.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static unsigned long long launched, recorded, launched_within;

__global__ void outside(float *x)
{
	x[threadIdx.x] += 1.0f;
}

__global__ void within(float *x)
{
	x[threadIdx.x] += 2.0f;
}

static void on_callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1 << 20;
	*buffer = static_cast<uint8_t *>(aligned_alloc(8, *size));
	*max_records = 0;
}

// Buffers are not freed: one may be somebody else's.
static void complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;

	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    strstr(reinterpret_cast<CUpti_ActivityKernel10 *>(record)->name, "within"))
			recorded++;
}

static void launch(void (*kernel)(float *), float *x, int count)
{
	for (int i = 0; i < count; i++) {
		kernel<<<1, 32>>>(x);
		if (++launched % 500 == 0)
			cudaDeviceSynchronize();
	}
	cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	CUpti_SubscriberHandle subscriber = nullptr;
	float *x;

	if (argc < 5)
		return 2;
	cudaMalloc(&x, 128);
	launch(outside, x, atoi(argv[1]));
	CUptiResult result = cuptiSubscribe(&subscriber, on_callback, nullptr);
	if (result == CUPTI_SUCCESS)
		result = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
					     CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	printf("subscribed %d\n", result);
	for (int session = 0; session < atoi(argv[4]); session++) {
		cuptiActivityRegisterCallbacks(request, complete);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		launch(within, x, atoi(argv[2]));
		launched_within += atoi(argv[2]);
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		cuptiActivityFlushAll(1);
		if (argc > 5 && session == 0) {
			cuptiUnsubscribe(subscriber);
			printf("finalized %d\n", cuptiFinalize());
		}
		launch(outside, x, atoi(argv[3]));
	}
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
	while (std::chrono::steady_clock::now() < end)
		launch(outside, x, 100);
	printf("session %llu %llu\nlaunched %llu\n", launched_within, recorded, launched);
	return 0;
}
