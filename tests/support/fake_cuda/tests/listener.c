#include "listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (16u << 10)
#define WALK_BYTES   65536u /* no frame of this program is larger */

struct listener seen;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = seen.refuse_buffers ? NULL : aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static struct seen_record read_record(const CUpti_Activity *record)
{
	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;
		return (struct seen_record){record->kind,
					    kernel->start,
					    kernel->end,
					    0,
					    kernel->correlationId,
					    kernel->deviceId,
					    kernel->contextId,
					    kernel->streamId,
					    0,
					    kernel->name,
					    kernel->graphId,
					    kernel->graphNodeId};
	}
	if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy6 *copy = (const void *)record;
		return (struct seen_record){
			record->kind,        copy->start,    copy->end,       copy->bytes,
			copy->correlationId, copy->deviceId, copy->contextId, copy->streamId,
			copy->copyKind,      NULL,           copy->graphId,   copy->graphNodeId};
	}
	if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
		const CUpti_ActivityGraphTrace2 *graph = (const void *)record;
		return (struct seen_record){record->kind,
					    graph->start,
					    graph->end,
					    0,
					    graph->correlationId,
					    graph->deviceId,
					    graph->contextId,
					    graph->streamId,
					    0,
					    NULL,
					    graph->graphId,
					    0};
	}
	const CUpti_ActivityMemset4 *fill = (const void *)record;
	return (struct seen_record){
		record->kind,   fill->start,      fill->end,      fill->bytes, fill->correlationId,
		fill->deviceId, fill->contextId,  fill->streamId, 0,           NULL,
		fill->graphId,  fill->graphNodeId};
}

static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream_id;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		uint32_t i = seen.nr_records;

		assert_true(i < RECORDS_MAX);
		seen.records[i] = read_record(record);
		seen.nr_records = i + 1;
	}
	free(buffer);
}

static void listen(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *cbdata);

void listener_subscribe(void)
{
	assert_int_equal(cuptiSubscribe(&seen.subscriber, listen, &seen), CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableDomain(1, seen.subscriber, CUPTI_CB_DOMAIN_DRIVER_API),
			 CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableDomain(1, seen.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API),
			 CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableDomain(1, seen.subscriber, CUPTI_CB_DOMAIN_RESOURCE),
			 CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityRegisterCallbacks(request, complete), CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
}

static void walk_frames(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);

	memset(seen.frames, 0, sizeof(seen.frames));
	for (size_t i = 0; i < 16 && frame && frame[0] - (uintptr_t)frame < WALK_BYTES; i++) {
		seen.frames[i] = frame[1];
		frame = (const uintptr_t *)frame[0];
	}
}

static void listen_graph(CUpti_CallbackId cbid, const CUpti_GraphData *data)
{
	uint32_t i = seen.nr_graphs++;

	assert_true(i < GRAPHS_MAX);
	struct seen_graph *graph = &seen.graphs[i];
	*graph = (struct seen_graph){.cbid = cbid,
				     .type = data->nodeType,
				     .has_node = data->node != NULL,
				     .has_original = data->originalNode != NULL,
				     .call = seen.nr_calls};
	if (data->graph)
		assert_int_equal(cuptiGetGraphId(data->graph, &graph->graph_id), CUPTI_SUCCESS);
	if (data->originalGraph)
		assert_int_equal(cuptiGetGraphId(data->originalGraph, &graph->original_graph_id),
				 CUPTI_SUCCESS);
	if (data->graphExec)
		assert_int_equal(cuptiGetGraphExecId(data->graphExec, &graph->exec_id),
				 CUPTI_SUCCESS);
	if (data->node)
		assert_int_equal(cuptiGetGraphNodeId(data->node, &graph->node_id), CUPTI_SUCCESS);
	if (data->originalNode)
		assert_int_equal(cuptiGetGraphNodeId(data->originalNode, &graph->original_node_id),
				 CUPTI_SUCCESS);
}

static void listen(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *cbdata)
{
	const CUpti_CallbackData *data = cbdata;

	assert_ptr_equal(userdata, &seen);
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		seen.resources[cbid]++;
		if (cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED)
			listen_graph(cbid,
				     ((const CUpti_ResourceData *)cbdata)->resourceDescriptor);
		return;
	}
	uint32_t i = seen.nr_calls++;
	assert_true(i < CALLS_MAX);
	seen.calls[i] = (struct seen_call){
		.domain = domain,
		.cbid = cbid,
		.site = data->callbackSite,
		.correlation_id = data->correlationId,
		.result = data->callbackSite == CUPTI_API_EXIT
				  ? *(const int *)data->functionReturnValue
				  : 0,
		.symbol = data->symbolName,
	};
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
	    cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
	    data->callbackSite == CUPTI_API_ENTER && seen.walk)
		walk_frames();
	if (seen.finalize_at_exit && domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
	    data->callbackSite == CUPTI_API_EXIT) {
		seen.finalize_at_exit = false;
		assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
		assert_int_equal(cuptiFinalize(), CUPTI_SUCCESS);
	}
}

CUptiResult listener_subscribe_as(CUpti_SubscriberHandle *subscriber)
{
	return cuptiSubscribe(subscriber, listen, &seen);
}

int listener_start(void **state)
{
	(void)state;
	seen.nr_calls = 0;
	seen.nr_records = 0;
	seen.nr_graphs = 0;
	listener_subscribe();
	return 0;
}

int listener_stop(void **state)
{
	(void)state;
	cudaDeviceSynchronize();
	fake_cuda_set("FAKE_CUDA_RUN_ON", 0);
	fake_cuda_set("FAKE_CUDA_FAIL_LAUNCH", 0);
	fake_cuda_set("FAKE_CUPTI_LATE", 0);
	fake_cuda_set("FAKE_CUPTI_DROP", 0);
	fake_cuda_set("FAKE_CUPTI_ZERO_TIME", 0);
	fake_cuda_set("FAKE_CUPTI_SHUFFLE", 0);
	seen.refuse_buffers = false;
	cuptiActivityFlushAll(1);
	cuptiFinalize();
	return 0;
}

__attribute__((noinline)) cudaError_t listener_launch(struct fake_cuda_kernel *kernel,
						      cudaStream_t stream)
{
	cudaError_t error =
		cudaLaunchKernel(kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream);

	__asm__ volatile("");
	return error;
}

void listener_launch_many(struct fake_cuda_kernel *kernel, cudaStream_t stream, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(listener_launch(kernel, stream), cudaSuccess);
}

void listener_finish(void)
{
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
}

size_t listener_dropped(void)
{
	size_t count;

	assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &count), CUPTI_SUCCESS);
	return count;
}

int listener_open_devices(void **state)
{
	(void)state;
	setenv("FAKE_CUDA_DEVICES", "4", 1);
	setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
	fake_cuda_set("FAKE_CUDA_DEVICES", 4);
	return cudaSetDevice(0) == cudaSuccess ? 0 : -1;
}
