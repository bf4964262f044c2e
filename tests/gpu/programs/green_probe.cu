/* What CUPTI tells of green contexts: callbacks of contexts and streams, the context that a launch's callback names, and records of
 * contexts, streams, kernels, fills and waits, step by step. Prints facts, checks nothing. Link with CUPTI and libcuda. */
#include <cuda.h>
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES (1u << 20)

static const char *now = "start";

static __global__ void whole_gpu(void) {}
static __global__ void part_by_stream(void) {}
static __global__ void part_by_default_stream(void) {}
static __global__ void part_by_created_stream(void) {}

static void must(int result, const char *call)
{
	if (result == 0)
		return;
	printf("%s: %s: %d\n", now, call, result);
	exit(1);
}

#define DO(call) must((int)(call), #call)

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = (uint8_t *)aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void print(const CUpti_Activity *record)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONTEXT: {
		const CUpti_ActivityContext3 *context = (const CUpti_ActivityContext3 *)record;

		printf("  context %u device %u null stream %u parent %u green %u SMs %u\n", context->contextId, context->deviceId,
		       context->nullStreamId, context->parentContextId, context->isGreenContext, context->numMultiprocessors);
		break;
	}
	case CUPTI_ACTIVITY_KIND_STREAM: {
		const CUpti_ActivityStream *stream = (const CUpti_ActivityStream *)record;

		printf("  stream %u of context %u priority %d flag %d\n", stream->streamId, stream->contextId, (int)stream->priority,
		       (int)stream->flag);
		break;
	}
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel9 *kernel = (const CUpti_ActivityKernel9 *)record;

		printf("  kernel %s device %u context %u stream %u channel %u correlation %u\n", kernel->name, kernel->deviceId,
		       kernel->contextId, kernel->streamId, kernel->channelID, kernel->correlationId);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *fill = (const CUpti_ActivityMemset4 *)record;

		printf("  memset %llu bytes device %u context %u stream %u correlation %u\n", (unsigned long long)fill->bytes, fill->deviceId,
		       fill->contextId, fill->streamId, fill->correlationId);
		break;
	}
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
		const CUpti_ActivitySynchronization *wait = (const CUpti_ActivitySynchronization *)record;

		printf("  wait type %d context %u stream %u correlation %u\n", (int)wait->type, wait->contextId, wait->streamId,
		       wait->correlationId);
		break;
	}
	default:
		printf("  kind %d\n", (int)record->kind);
	}
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		print(record);
	free(buffer);
}

static void on_resource(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
	uint32_t context = 0, stream = 0, device = 99;
	int got = cuptiGetContextId(data->context, &context), of = cuptiGetDeviceId(data->context, &device);

	if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED)
		cuptiGetStreamIdEx(data->context, data->resourceHandle.stream, 0, &stream);
	printf("  callback: %s: context %p id %u (%d) device %u (%d) stream %u\n",
	       cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED ? "context created" :
	       cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING ? "context going" :
	       cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED ? "stream created" : "stream going",
	       (void *)data->context, context, got, device, of, stream);
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED || cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING ||
		    cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED || cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
			on_resource(cbid, (const CUpti_ResourceData *)data);
		return;
	}
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;
	if (call->callbackSite == CUPTI_API_ENTER)
		printf("  callback: %s context %p uid %u correlation %u\n", call->functionName, (void *)call->context, call->contextUid,
		       call->correlationId);
}

static void step(const char *name)
{
	DO(cudaDeviceSynchronize());
	cuptiActivityFlushAll(1);
	printf("%s\n", name);
	now = name;
	fflush(stdout);
}

/* A part of the GPU, with all ways by which work gets into it. */
static void part(const char *name, unsigned sms, CUgreenCtx *green, CUstream *stream, CUdeviceptr memory, unsigned bytes)
{
	CUdevResource all, some;
	CUdevResourceDesc description;
	CUcontext context, primary;
	cudaStream_t created;
	unsigned groups = 1, id = 0;

	step(name);
	DO(cuCtxGetCurrent(&primary));
	DO(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	DO(cuDevSmResourceSplitByCount(&some, &groups, &all, NULL, 0, sms));
	printf("  of %u SMs %u (groups %u)\n", all.sm.smCount, some.sm.smCount, groups);
	DO(cuDevResourceGenerateDesc(&description, &some, 1));
	DO(cuGreenCtxCreate(green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	step("its stream");
	DO(cuGreenCtxStreamCreate(stream, *green, CU_STREAM_NON_BLOCKING, 0));
	step("its work, by its stream, the primary context current");
	part_by_stream<<<1, 32, 0, *stream>>>();
	DO(cuMemsetD8Async(memory, 0, bytes, *stream));
	DO(cuStreamSynchronize(*stream));
	step("made current");
	DO(cuCtxFromGreenCtx(&context, *green));
	printf("  as a context %p, the primary %p: cuptiGetContextId %d", (void *)context, (void *)primary, (int)cuptiGetContextId(context, &id));
	printf(" %u\n", id);
	DO(cuCtxSetCurrent(context));
	part_by_default_stream<<<1, 32>>>();
	DO(cuMemsetD8Async(memory, 0, bytes + 1, NULL));
	DO(cudaStreamCreate(&created));
	part_by_created_stream<<<1, 32, 0, created>>>();
	DO(cuCtxSynchronize());
	step("the primary current again");
	DO(cudaStreamDestroy(created));
	DO(cuCtxSetCurrent(primary));
	whole_gpu<<<1, 32>>>();
}

int main(void)
{
	static const CUpti_CallbackId calls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
						 CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate, CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate,
						 CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy};
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONTEXT,
						   CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
	CUpti_SubscriberHandle subscriber;
	CUdeviceptr memory;
	CUgreenCtx one, two;
	CUstream first, second;
	uint32_t version = 0;
	int driver = 0;

	cuptiGetVersion(&version);
	DO(cuptiSubscribe(&subscriber, on_call, NULL));
	DO(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		DO(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]));
	DO(cuptiActivityRegisterCallbacks(request, complete));
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		DO(cuptiActivityEnable(kinds[i]));
	DO(cudaFree(NULL));
	DO(cuDriverGetVersion(&driver));
	printf("CUPTI %u, driver %d\n", version, driver);
	DO(cuMemAlloc(&memory, 1 << 20));
	whole_gpu<<<1, 32>>>();
	part("one", 16, &one, &first, memory, 4096);
	part("two", 32, &two, &second, memory, 8192);
	step("the first's stream once more, then gone");
	part_by_stream<<<1, 32, 0, first>>>();
	DO(cudaDeviceSynchronize());
	DO(cuStreamDestroy(first));
	DO(cuGreenCtxDestroy(one));
	part("three", 8, &one, &first, memory, 16384);
	step("end");
	DO(cuStreamDestroy(first));
	DO(cuStreamDestroy(second));
	DO(cuGreenCtxDestroy(one));
	DO(cuGreenCtxDestroy(two));
	step("gone");
	return 0;
}
