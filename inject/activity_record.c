#include "activity_record.h"

#include <stdbool.h>
#include <string.h>

#include "cupti_abi.h"
#include "proto/memory_kind.h"

/* Records are packed to 8 bytes, and no struct of ours describes them: fields are copied out. */
static uint32_t u32_at(const void *activity, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)activity + offset, sizeof(value));
	return value;
}

static uint64_t u64_at(const void *activity, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)activity + offset, sizeof(value));
	return value;
}

static void read_kernel(const void *activity, struct gpu_record *record, const char **name)
{
	record->kind = RECORD_GPU_KERNEL;
	record->start_ns = u64_at(activity, CUPTI_KERNEL_START);
	record->end_ns = u64_at(activity, CUPTI_KERNEL_END);
	record->device_id = u32_at(activity, CUPTI_KERNEL_DEVICE);
	record->context_id = u32_at(activity, CUPTI_KERNEL_CONTEXT);
	record->stream_id = u32_at(activity, CUPTI_KERNEL_STREAM);
	record->correlation_id = u32_at(activity, CUPTI_KERNEL_CORRELATION);
	record->graph_node_id = u64_at(activity, CUPTI_KERNEL_GRAPH_NODE);
	record->graph_id = u32_at(activity, CUPTI_KERNEL_GRAPH);
	memcpy(name, (const char *)activity + CUPTI_KERNEL_NAME, sizeof(*name));
}

static void read_memory(const void *activity, uint32_t kind, struct gpu_record *record)
{
	bool peer = kind == CUPTI_ABI_KIND_MEMCPY_PEER;

	record->kind = kind == CUPTI_ABI_KIND_MEMSET ? RECORD_GPU_MEMSET : RECORD_GPU_MEMCPY;
	if (record->kind == RECORD_GPU_MEMCPY)
		record->copy_kind = *((const uint8_t *)activity + CUPTI_MEMORY_COPY_KIND);
	record->bytes = u64_at(activity, CUPTI_MEMORY_BYTES);
	record->start_ns = u64_at(activity, CUPTI_MEMORY_START);
	record->end_ns = u64_at(activity, CUPTI_MEMORY_END);
	record->device_id = u32_at(activity, CUPTI_MEMORY_DEVICE);
	record->context_id = u32_at(activity, CUPTI_MEMORY_CONTEXT);
	record->stream_id = u32_at(activity, CUPTI_MEMORY_STREAM);
	record->correlation_id =
		u32_at(activity, peer ? CUPTI_PEER_CORRELATION : CUPTI_MEMORY_CORRELATION);
	record->graph_node_id =
		u64_at(activity, peer ? CUPTI_PEER_GRAPH_NODE : CUPTI_MEMORY_GRAPH_NODE);
	record->graph_id = u32_at(activity, peer ? CUPTI_PEER_GRAPH : CUPTI_MEMORY_GRAPH);
}

static void read_graph(const void *activity, struct gpu_record *record)
{
	record->kind = RECORD_GPU_GRAPH;
	record->start_ns = u64_at(activity, CUPTI_GRAPH_START);
	record->end_ns = u64_at(activity, CUPTI_GRAPH_END);
	record->device_id = u32_at(activity, CUPTI_GRAPH_DEVICE);
	record->context_id = u32_at(activity, CUPTI_GRAPH_CONTEXT);
	record->stream_id = u32_at(activity, CUPTI_GRAPH_STREAM);
	record->correlation_id = u32_at(activity, CUPTI_GRAPH_CORRELATION);
	record->graph_id = u32_at(activity, CUPTI_GRAPH_GRAPH);
}

static uint32_t id_at(const void *activity, size_t offset)
{
	uint32_t id = u32_at(activity, offset);

	return id == CUPTI_ABI_NO_ID ? 0 : id;
}

/* false: neither an allocation nor a release. */
static bool read_allocation(const void *activity, struct gpu_record *record)
{
	uint32_t operation = u32_at(activity, CUPTI_ALLOCATION_OPERATION);
	uint32_t kind = u32_at(activity, CUPTI_ALLOCATION_MEMORY_KIND);

	if (operation != CUPTI_ABI_ALLOCATE && operation != CUPTI_ABI_RELEASE)
		return false;
	if (kind >= MEMORY_KIND_POOL)
		kind = MEMORY_KIND_UNKNOWN;
	if (kind == MEMORY_KIND_DEVICE && u32_at(activity, CUPTI_ALLOCATION_ASYNC))
		kind = MEMORY_KIND_POOL;
	record->kind = operation == CUPTI_ABI_ALLOCATE ? RECORD_GPU_ALLOC : RECORD_GPU_FREE;
	record->copy_kind = (uint8_t)kind;
	record->bytes = u64_at(activity, CUPTI_ALLOCATION_BYTES);
	record->address = u64_at(activity, CUPTI_ALLOCATION_ADDRESS);
	record->start_ns = record->end_ns = u64_at(activity, CUPTI_ALLOCATION_TIME);
	record->device_id = id_at(activity, CUPTI_ALLOCATION_DEVICE);
	record->context_id = id_at(activity, CUPTI_ALLOCATION_CONTEXT);
	record->stream_id = id_at(activity, CUPTI_ALLOCATION_STREAM);
	record->correlation_id = u32_at(activity, CUPTI_ALLOCATION_CORRELATION);
	return true;
}

enum activity_verdict activity_record_read(const void *activity, struct gpu_record *record,
					   const char **name)
{
	uint32_t kind = u32_at(activity, 0);

	memset(record, 0, sizeof(*record));
	*name = NULL;
	switch (kind) {
	case CUPTI_ABI_KIND_KERNEL:
	case CUPTI_ABI_KIND_CONCURRENT_KERNEL:
		read_kernel(activity, record, name);
		break;
	case CUPTI_ABI_KIND_MEMCPY:
	case CUPTI_ABI_KIND_MEMCPY_PEER:
	case CUPTI_ABI_KIND_MEMSET:
		read_memory(activity, kind, record);
		break;
	case CUPTI_ABI_KIND_GRAPH:
		read_graph(activity, record);
		break;
	case CUPTI_ABI_KIND_ALLOCATION:
		if (!read_allocation(activity, record))
			return ACTIVITY_UNKNOWN;
		break;
	default:
		return ACTIVITY_UNKNOWN;
	}
	if (record->start_ns != 0 && record->end_ns == 0)
		return ACTIVITY_STILL_RUNNING;
	if (record->start_ns == 0 || record->end_ns < record->start_ns)
		return ACTIVITY_INVALID_TIME;
	return ACTIVITY_VALID;
}
