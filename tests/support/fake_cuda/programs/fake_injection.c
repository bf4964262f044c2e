/* An injection library as the driver loads them: counts what CUPTI tells it, and at exit writes
 * "driver_not_ready enters exits init_finished contexts kernels kernel_ns unmatched" to the file
 * that FAKE_INJECTION_OUT names. unmatched: kernel records whose correlation id no launch callback
 * carried. */
#include <cupti.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES (64u << 10)
#define IDS_MAX      (1u << 22)

static _Atomic uint64_t enters, exits, init_finished, contexts, kernels, kernel_ns, unmatched;
static int driver_not_ready;
static _Atomic uint8_t seen[IDS_MAX];

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream_id;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;

		kernels++;
		kernel_ns += kernel->end - kernel->start;
		if (atomic_exchange(&seen[kernel->correlationId % IDS_MAX], 0) != 1)
			unmatched++;
	}
	free(buffer);
}

static void write_counts(void);

static void listen(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *cbdata)
{
	(void)userdata;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		init_finished += cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED;
		/* CUDA's own exit handler must not come first: after it, a flush delivers nothing. */
		if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && contexts++ == 0)
			atexit(write_counts);
		return;
	}
	const CUpti_CallbackData *data = cbdata;
	if (data->callbackSite == CUPTI_API_ENTER) {
		enters++;
		seen[data->correlationId % IDS_MAX] = 1;
	} else {
		exits++;
	}
}

static void write_counts(void)
{
	const char *path = getenv("FAKE_INJECTION_OUT");
	FILE *file;

	cuptiActivityFlushAll(1);
	file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file,
		"%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 "\n",
		driver_not_ready, enters, exits, init_finished, contexts, kernels, kernel_ns,
		unmatched);
	fclose(file);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;
	int count;

	driver_not_ready = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED;
	if (cuptiSubscribe(&subscriber, listen, NULL) != CUPTI_SUCCESS)
		return 1;
	cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	cuptiActivityRegisterCallbacks(request, complete);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	return 1;
}
