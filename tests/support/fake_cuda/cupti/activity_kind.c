#include "activity_kind.h"

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "activity_buffer.h"
#include "activity_host.h"
#include "activity_resource.h"
#include "cupti_build.h"
#include "cupti_clock.h"
#include "cupti_subscriber.h"
#include "pc_sampling.h"
#include "range_profiler.h"

#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_context.h"
#include "sim/sim_host.h"
#include "sim/sim_life.h"
#include "sim/sim_memory.h"
#include "sim/sim_stream.h"

#define KINDS      128u
#define ATTRIBUTES 16u

static _Atomic bool kinds[KINDS];
static _Atomic uint32_t nr_kinds;
static _Atomic uint64_t dropped; /* not yet told by cuptiActivityGetNumDroppedRecords() */
static _Atomic uint64_t drop_counter, zero_counter;
static _Atomic uint64_t attributes[ATTRIBUTES] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = CUPTI_BUILD_THREAD_BUFFERS,
};

union record {
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemset4 fill;
	CUpti_ActivityGraphTrace2 graph;
	uint8_t newest[CUPTI_BUILD_LARGEST]; /* what younger versions append */
	union activity_host_record host;
};

bool activity_kind_any(void)
{
	return atomic_load(&nr_kinds) > 0;
}

bool activity_kind_on(uint32_t kind)
{
	return kind < KINDS && atomic_load_explicit(&kinds[kind], memory_order_relaxed);
}

bool activity_kind_graphs(void)
{
	return atomic_load_explicit(&kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], memory_order_relaxed);
}

bool activity_kind_enabled(uint32_t kind)
{
	return kind < KINDS && atomic_load_explicit(&kinds[kind], memory_order_relaxed);
}

static void fill_kernel(CUpti_ActivityKernel10 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	record->registersPerThread = (uint16_t)operation->registers;
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->completed = operation->end_ns;
	record->deviceId = operation->device_ordinal;
	record->contextId = operation->context_id;
	record->streamId = operation->stream_id;
	record->gridX = (int32_t)operation->grid[0];
	record->gridY = (int32_t)operation->grid[1];
	record->gridZ = (int32_t)operation->grid[2];
	record->blockX = (int32_t)operation->block[0];
	record->blockY = (int32_t)operation->block[1];
	record->blockZ = (int32_t)operation->block[2];
	record->staticSharedMemory = (int32_t)operation->static_shared_bytes;
	record->dynamicSharedMemory = (int32_t)operation->shared_bytes;
	record->correlationId = operation->correlation_id;
	record->graphNodeId = operation->graph_node_id;
	record->graphId = operation->graph_id;
	record->gridId = (int64_t)operation->sequence;
	record->name = operation->name;
	record->launchType = operation->cooperative
				     ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
				     : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	record->channelID = operation->stream_id;
	record->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void fill_copy(CUpti_ActivityMemcpy6 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	record->copyKind = operation->copy_kind;
	record->srcKind = operation->source_kind;
	record->dstKind = operation->destination_kind;
	record->flags = operation->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record->bytes = operation->bytes;
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->deviceId = operation->device_ordinal;
	record->contextId = operation->context_id;
	record->streamId = operation->stream_id;
	record->correlationId = operation->correlation_id;
	record->graphNodeId = operation->graph_node_id;
	record->graphId = operation->graph_id;
	record->channelID = operation->stream_id;
	record->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	record->copyCount = 1;
}

static void fill_memset(CUpti_ActivityMemset4 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	record->value = operation->memset_value;
	record->bytes = operation->bytes;
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->deviceId = operation->device_ordinal;
	record->contextId = operation->context_id;
	record->streamId = operation->stream_id;
	record->correlationId = operation->correlation_id;
	record->graphNodeId = operation->graph_node_id;
	record->graphId = operation->graph_id;
	record->flags = operation->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	record->memoryKind = operation->destination_kind;
	record->channelID = operation->stream_id;
	record->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void fill_graph(CUpti_ActivityGraphTrace2 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	record->correlationId = operation->correlation_id;
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->deviceId = operation->device_ordinal;
	record->graphId = operation->graph_id;
	record->contextId = operation->context_id;
	record->streamId = operation->stream_id;
	record->endDeviceId = operation->device_ordinal;
	record->endContextId = operation->context_id;
}

static CUpti_ActivityKind fill_record(union record *record, const struct sim_operation *operation,
				      size_t *size)
{
	memset(record, 0, sizeof(*record));
	switch (operation->kind) {
	case SIM_KERNEL:
		fill_kernel(&record->kernel, operation);
		*size = CUPTI_BUILD_KERNEL;
		return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	case SIM_MEMCPY:
		fill_copy(&record->copy, operation);
		*size = CUPTI_BUILD_MEMCPY;
		return CUPTI_ACTIVITY_KIND_MEMCPY;
	case SIM_GRAPH:
		fill_graph(&record->graph, operation);
		*size = CUPTI_BUILD_GRAPH;
		return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	case SIM_SYNC:
	case SIM_OVERHEAD:
	case SIM_UNIFIED:
		return (CUpti_ActivityKind)activity_host_fill(&record->host, operation, size);
	default:
		fill_memset(&record->fill, operation);
		*size = sizeof(record->fill);
		return CUPTI_ACTIVITY_KIND_MEMSET;
	}
}

static void fill_allocation(CUpti_ActivityMemory4 *record, const struct sim_allocation *allocation)
{
	memset(record, 0, sizeof(*record));
	record->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
	record->memoryOperationType = allocation->is_free
					      ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
					      : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
	record->memoryKind = (CUpti_ActivityMemoryKind)allocation->place;
	record->correlationId = allocation->correlation_id;
	record->address = allocation->address;
	record->bytes = allocation->bytes;
	record->timestamp = allocation->time_ns;
	record->processId = (uint32_t)getpid();
	record->deviceId = (uint32_t)allocation->context->ordinal;
	record->contextId = allocation->context->context_id;
	record->streamId =
		allocation->stream ? allocation->stream->stream_id : CUPTI_INVALID_STREAM_ID;
	record->isAsync = allocation->stream != NULL;
}

/* An allocation is no operation of a stream: its row of the truth is shown to nobody. */
void activity_kind_allocation(const struct sim_allocation *allocation)
{
	static struct sim_truth_row row;
	const struct sim_operation operation = {
		.row = &row, .start_ns = allocation->time_ns, .end_ns = allocation->time_ns};
	CUpti_ActivityMemory4 record;

	if (!activity_kind_enabled(CUPTI_ACTIVITY_KIND_MEMORY2))
		return;
	fill_allocation(&record, allocation);
	bool zeroed = sim_config_one_in(sim_config_get(SIM_CUPTI_ZERO_TIME), &zero_counter);
	if (zeroed)
		record.timestamp = 0;
	if (sim_config_one_in(sim_config_get(SIM_CUPTI_DROP), &drop_counter) ||
	    !activity_buffer_append(&record, CUPTI_BUILD_MEMORY, &operation, zeroed))
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
}

void activity_kind_record(const struct sim_operation *operation)
{
	struct sim_operation untimed = *operation;
	union record record;
	size_t size;
	bool zeroed = false;

	pc_sampling_record(operation);
	range_profiler_record(operation);
	if (!atomic_load_explicit(&nr_kinds, memory_order_relaxed))
		return;
	if (operation->graph_id && operation->kind != SIM_GRAPH && activity_kind_graphs())
		return;
	CUpti_ActivityKind kind = fill_record(&record, operation, &size);
	if (!atomic_load_explicit(&kinds[kind], memory_order_relaxed) ||
	    !activity_host_is_wanted(operation))
		return;
	if (sim_config_one_in(sim_config_get(SIM_CUPTI_ZERO_TIME), &zero_counter)) {
		zeroed = true;
		untimed.start_ns = 0;
		untimed.end_ns = 0;
		fill_record(&record, &untimed, &size);
	}
	if (sim_config_one_in(sim_config_get(SIM_CUPTI_DROP), &drop_counter) ||
	    !activity_buffer_append(&record, size, operation, zeroed)) {
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&operation->row->dropped_count, 1, memory_order_relaxed);
	}
}

static CUptiResult switch_kind(CUpti_ActivityKind kind, bool on)
{
	if ((uint32_t)kind == 0 || (uint32_t)kind >= KINDS ||
	    ((uint32_t)kind == ACTIVITY_KIND_GREEN_CONTEXT && cupti_build_version() < 130200))
		return CUPTI_ERROR_INVALID_KIND;
	if (atomic_exchange(&kinds[kind], on) != on)
		atomic_fetch_add(&nr_kinds, on ? 1 : (uint32_t)-1);
	cupti_subscriber_refresh_tracer();
	return CUPTI_SUCCESS;
}

/* Kinds that fake CUDA has no records of are accepted too. */
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (cupti_build_refusal() != CUPTI_SUCCESS)
		return cupti_build_refusal();
	return switch_kind(kind, true);
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult result = cuptiActivityEnable(kind);

	if (result == CUPTI_SUCCESS)
		activity_resource_dump(kind);
	return result;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return switch_kind(kind, false);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
					   CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	if (cupti_build_refusal() != CUPTI_SUCCESS)
		return cupti_build_refusal();
	if (!funcBufferRequested || !funcBufferCompleted)
		return CUPTI_ERROR_INVALID_PARAMETER;
	activity_buffer_set_callbacks(funcBufferRequested, funcBufferCompleted);
	return CUPTI_SUCCESS;
}

/* What a flush costs is told by the next one. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	struct sim_operation cost = {.kind = SIM_OVERHEAD,
				     .overhead = SIM_OVERHEAD_FLUSH,
				     .start_ns = sim_clock_now(),
				     .uncorrelated = true};

	/* The driver that it asks is gone. */
	if (sim_life_state() == SIM_LIFE_OVER)
		return CUPTI_ERROR_NOT_INITIALIZED;
	while ((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && sim_config_get(SIM_CUPTI_LATE) >= 3)
		pause();
	activity_buffer_flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
	cost.end_ns = sim_clock_now();
	if (activity_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
		sim_host_note(&cost, "activity buffer flush", SIM_NO_ORDINAL);
	return CUPTI_SUCCESS;
}

/* Full buffers are delivered at once whatever the period. */
CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
	(void)time;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
				       CUpti_Activity **record)
{
	uint8_t *next = buffer;

	if (!record || !buffer)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		switch ((uint32_t)(*record)->kind) {
		case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
			next = (uint8_t *)*record + CUPTI_BUILD_KERNEL;
			break;
		case CUPTI_ACTIVITY_KIND_MEMCPY:
			next = (uint8_t *)*record + CUPTI_BUILD_MEMCPY;
			break;
		case CUPTI_ACTIVITY_KIND_MEMSET:
			next = (uint8_t *)*record + sizeof(CUpti_ActivityMemset4);
			break;
		case CUPTI_ACTIVITY_KIND_MEMORY2:
			next = (uint8_t *)*record + CUPTI_BUILD_MEMORY;
			break;
		case CUPTI_ACTIVITY_KIND_STREAM:
			next = (uint8_t *)*record + sizeof(CUpti_ActivityStream);
			break;
		case CUPTI_ACTIVITY_KIND_CONTEXT:
			next = (uint8_t *)*record + sizeof(CUpti_ActivityContext3);
			break;
		case ACTIVITY_KIND_GREEN_CONTEXT:
			next = (uint8_t *)*record + sizeof(struct activity_green);
			break;
		case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
			next = (uint8_t *)*record + CUPTI_BUILD_GRAPH;
			break;
		default:
			if (!activity_host_size((*record)->kind))
				return CUPTI_ERROR_INVALID_KIND;
			next = (uint8_t *)*record + activity_host_size((*record)->kind);
			break;
		}
	}
	if ((size_t)(next - buffer) >= validBufferSizeBytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *count)
{
	(void)context;
	(void)streamId;
	if (!count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*count = atomic_exchange(&dropped, 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	uint64_t number = 0;

	if (!valueSize || !value || (uint32_t)attr >= ATTRIBUTES || *valueSize == 0 ||
	    *valueSize > sizeof(number) || (uint32_t)attr > CUPTI_BUILD_ATTRIBUTE_MAX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(&number, value, *valueSize);
	atomic_store(&attributes[attr], number);
	if (attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		activity_buffer_set_per_thread(number != 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	if (!valueSize || !value || (uint32_t)attr >= ATTRIBUTES || *valueSize == 0 ||
	    *valueSize > sizeof(uint64_t))
		return CUPTI_ERROR_INVALID_PARAMETER;
	uint64_t number = atomic_load(&attributes[attr]);
	memcpy(value, &number, *valueSize);
	return CUPTI_SUCCESS;
}

/* Kernels that do not end are waited for, too. */
void activity_kind_wait_for_work(void)
{
	while (sim_config_get(SIM_RUN_ON) && sim_stream_kernels())
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	sim_context_synchronize_all();
}

/* As was seen of CUPTI 13.0 on a GPU, it waits for all contexts and correlation ids begin anew. */
CUptiResult cuptiFinalize(void)
{
	activity_kind_wait_for_work();
	cupti_subscriber_leave();
	for (uint32_t kind = 1; kind < KINDS; kind++)
		atomic_store(&kinds[kind], false);
	atomic_store(&nr_kinds, 0);
	activity_host_reset();
	cupti_subscriber_refresh_tracer();
	activity_buffer_forget();
	activity_buffer_set_callbacks(NULL, NULL);
	cupti_clock_reset();
	sim_trace_restart_ids();
	return CUPTI_SUCCESS;
}
