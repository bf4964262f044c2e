#include "activity_record.h"

#include <stdbool.h>
#include <string.h>

#include "activity_field.h"
#include "cupti_abi.h"

#include "proto/memory_kind.h"

static void read_kernel(const void *activity, struct gpu_record *record, const char **name)
{
	record->kind = RECORD_GPU_KERNEL;
	record->start_ns = activity_field_u64(activity, CUPTI_KERNEL_START);
	record->end_ns = activity_field_u64(activity, CUPTI_KERNEL_END);
	record->device_id = activity_field_u32(activity, CUPTI_KERNEL_DEVICE);
	record->context_id = activity_field_u32(activity, CUPTI_KERNEL_CONTEXT);
	record->stream_id = activity_field_u32(activity, CUPTI_KERNEL_STREAM);
	record->correlation_id = activity_field_u32(activity, CUPTI_KERNEL_CORRELATION);
	record->graph_node_id = activity_field_u64(activity, CUPTI_KERNEL_GRAPH_NODE);
	record->graph_id = activity_field_u32(activity, CUPTI_KERNEL_GRAPH);
	memcpy(name, (const char *)activity + CUPTI_KERNEL_NAME, sizeof(*name));
}

static void read_memory(const void *activity, uint32_t kind, struct gpu_record *record)
{
	bool peer = kind == CUPTI_ABI_KIND_MEMCPY_PEER;

	record->kind = kind == CUPTI_ABI_KIND_MEMSET ? RECORD_GPU_MEMSET : RECORD_GPU_MEMCPY;
	if (record->kind == RECORD_GPU_MEMCPY)
		record->copy_kind = *((const uint8_t *)activity + CUPTI_MEMORY_COPY_KIND);
	record->bytes = activity_field_u64(activity, CUPTI_MEMORY_BYTES);
	record->start_ns = activity_field_u64(activity, CUPTI_MEMORY_START);
	record->end_ns = activity_field_u64(activity, CUPTI_MEMORY_END);
	record->device_id = activity_field_u32(activity, CUPTI_MEMORY_DEVICE);
	record->context_id = activity_field_u32(activity, CUPTI_MEMORY_CONTEXT);
	record->stream_id = activity_field_u32(activity, CUPTI_MEMORY_STREAM);
	record->correlation_id = activity_field_u32(activity, peer ? CUPTI_PEER_CORRELATION
								   : CUPTI_MEMORY_CORRELATION);
	record->graph_node_id = activity_field_u64(activity, peer ? CUPTI_PEER_GRAPH_NODE
								  : CUPTI_MEMORY_GRAPH_NODE);
	record->graph_id =
		activity_field_u32(activity, peer ? CUPTI_PEER_GRAPH : CUPTI_MEMORY_GRAPH);
}

static void read_graph(const void *activity, struct gpu_record *record)
{
	record->kind = RECORD_GPU_GRAPH;
	record->start_ns = activity_field_u64(activity, CUPTI_GRAPH_START);
	record->end_ns = activity_field_u64(activity, CUPTI_GRAPH_END);
	record->device_id = activity_field_u32(activity, CUPTI_GRAPH_DEVICE);
	record->context_id = activity_field_u32(activity, CUPTI_GRAPH_CONTEXT);
	record->stream_id = activity_field_u32(activity, CUPTI_GRAPH_STREAM);
	record->correlation_id = activity_field_u32(activity, CUPTI_GRAPH_CORRELATION);
	record->graph_id = activity_field_u32(activity, CUPTI_GRAPH_GRAPH);
}

static uint32_t id_at(const void *activity, size_t offset)
{
	uint32_t id = activity_field_u32(activity, offset);

	return id == CUPTI_ABI_NO_ID ? 0 : id;
}

/* Returns false if it is neither an allocation nor a release. */
static bool read_allocation(const void *activity, struct gpu_record *record)
{
	uint32_t operation = activity_field_u32(activity, CUPTI_ALLOCATION_OPERATION);
	uint32_t kind = activity_field_u32(activity, CUPTI_ALLOCATION_MEMORY_KIND);

	if (operation != CUPTI_ABI_ALLOCATE && operation != CUPTI_ABI_RELEASE)
		return false;
	if (kind >= MEMORY_KIND_POOL)
		kind = MEMORY_KIND_UNKNOWN;
	if (kind == MEMORY_KIND_DEVICE && activity_field_u32(activity, CUPTI_ALLOCATION_ASYNC))
		kind = MEMORY_KIND_POOL;
	record->kind = operation == CUPTI_ABI_ALLOCATE ? RECORD_GPU_ALLOC : RECORD_GPU_FREE;
	record->copy_kind = (uint8_t)kind;
	record->bytes = activity_field_u64(activity, CUPTI_ALLOCATION_BYTES);
	record->address = activity_field_u64(activity, CUPTI_ALLOCATION_ADDRESS);
	record->start_ns = record->end_ns = activity_field_u64(activity, CUPTI_ALLOCATION_TIME);
	record->device_id = id_at(activity, CUPTI_ALLOCATION_DEVICE);
	record->context_id = id_at(activity, CUPTI_ALLOCATION_CONTEXT);
	record->stream_id = id_at(activity, CUPTI_ALLOCATION_STREAM);
	record->correlation_id = activity_field_u32(activity, CUPTI_ALLOCATION_CORRELATION);
	return true;
}

static void read_sync(const void *activity, struct gpu_record *record)
{
	record->kind = RECORD_GPU_SYNC;
	record->copy_kind = (uint8_t)activity_field_u32(activity, CUPTI_SYNC_TYPE);
	record->start_ns = activity_field_u64(activity, CUPTI_SYNC_START);
	record->end_ns = activity_field_u64(activity, CUPTI_SYNC_END);
	record->correlation_id = activity_field_u32(activity, CUPTI_SYNC_CORRELATION);
	record->context_id = activity_field_u32(activity, CUPTI_SYNC_CONTEXT);
	record->stream_id = activity_field_u32(activity, CUPTI_SYNC_STREAM);
	if (record->stream_id == CUPTI_ABI_SYNC_INVALID)
		record->stream_id = 0;
	record->device_id = RECORD_DEVICE_NONE;
}

static void read_overhead(const void *activity, uint32_t version, struct gpu_record *record)
{
	uint32_t kind = activity_field_u32(activity, CUPTI_OVERHEAD_KIND);
	uint32_t object = activity_field_u32(activity, CUPTI_OVERHEAD_OBJECT_KIND);

	record->kind = RECORD_GPU_OVERHEAD;
	record->copy_kind = (uint8_t)(kind >> 16 ? RECORD_OVERHEAD_CUPTI + (kind >> 16) : kind);
	record->start_ns = activity_field_u64(activity, CUPTI_OVERHEAD_START);
	record->end_ns = activity_field_u64(activity, CUPTI_OVERHEAD_END);
	record->device_id = RECORD_DEVICE_NONE;
	/* The other objects are a process and a thread. */
	if (object >= CUPTI_ABI_OBJECT_DEVICE && object <= CUPTI_ABI_OBJECT_STREAM)
		record->device_id = activity_field_u32(activity, CUPTI_OVERHEAD_DEVICE);
	if (object == CUPTI_ABI_OBJECT_CONTEXT || object == CUPTI_ABI_OBJECT_STREAM)
		record->context_id = activity_field_u32(activity, CUPTI_OVERHEAD_CONTEXT);
	if (object == CUPTI_ABI_OBJECT_STREAM)
		record->stream_id = activity_field_u32(activity, CUPTI_OVERHEAD_STREAM);
	if (version >= CUPTI_ABI_VERSION_12_2)
		record->correlation_id = activity_field_u32(activity, CUPTI_OVERHEAD_CORRELATION);
}

/* Returns the GPU that an event of unified memory happened to. A fault and its throttling happened to the source. A
 * migration happened to its destination, or to its source if the destination is the host. A fault of the host, and
 * thrashing between several devices, belong to no single GPU. */
static uint32_t unified_device(const void *activity, uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_UNIFIED_HTOD:
	case CUPTI_ABI_UNIFIED_DTOD:
	case CUPTI_ABI_UNIFIED_REMOTE_MAP:
		return activity_field_u32(activity, CUPTI_UNIFIED_DESTINATION);
	case CUPTI_ABI_UNIFIED_DTOH:
	case CUPTI_ABI_UNIFIED_GPU_FAULT:
	case CUPTI_ABI_UNIFIED_THROTTLING:
		return activity_field_u32(activity, CUPTI_UNIFIED_SOURCE);
	default:
		return RECORD_DEVICE_NONE;
	}
}

static void read_unified(const void *activity, struct gpu_record *record)
{
	uint32_t kind = activity_field_u32(activity, CUPTI_UNIFIED_KIND);
	uint32_t device_id = unified_device(activity, kind);
	bool moment = kind == CUPTI_ABI_UNIFIED_CPU_FAULT || kind == CUPTI_ABI_UNIFIED_THRASHING ||
		      kind == CUPTI_ABI_UNIFIED_REMOTE_MAP;

	record->kind = RECORD_GPU_UNIFIED;
	record->copy_kind = (uint8_t)kind;
	record->start_ns = activity_field_u64(activity, CUPTI_UNIFIED_START);
	/* CUPTI leaves the end of a mere moment undefined. */
	record->end_ns =
		moment ? record->start_ns : activity_field_u64(activity, CUPTI_UNIFIED_END);
	/* A fault's value is not a size: it is the faulting code, or the number of faults. */
	if (kind != CUPTI_ABI_UNIFIED_CPU_FAULT && kind != CUPTI_ABI_UNIFIED_GPU_FAULT &&
	    kind != CUPTI_ABI_UNIFIED_THROTTLING)
		record->bytes = activity_field_u64(activity, CUPTI_UNIFIED_VALUE);
	record->address = activity_field_u64(activity, CUPTI_UNIFIED_ADDRESS);
	/* The host is a device here, with a number that no GPU has. */
	record->device_id = device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICE_NONE;
}

enum activity_verdict activity_record_read(const void *activity, uint32_t version,
					   struct gpu_record *record, const char **name)
{
	uint32_t kind = activity_field_u32(activity, 0);

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
	case CUPTI_ABI_KIND_SYNC:
		read_sync(activity, record);
		break;
	case CUPTI_ABI_KIND_OVERHEAD:
		read_overhead(activity, version, record);
		break;
	case CUPTI_ABI_KIND_UNIFIED:
		read_unified(activity, record);
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

void activity_record_config(const void *activity, struct kernel_config *config)
{
	uint16_t registers;

	memcpy(&registers, (const char *)activity + CUPTI_KERNEL_REGISTERS, sizeof(registers));
	*config = (struct kernel_config){
		.device_id = activity_field_u32(activity, CUPTI_KERNEL_DEVICE),
		.grid_x = activity_field_u32(activity, CUPTI_KERNEL_GRID),
		.grid_y = activity_field_u32(activity, CUPTI_KERNEL_GRID + 4),
		.grid_z = activity_field_u32(activity, CUPTI_KERNEL_GRID + 8),
		.block_x = activity_field_u32(activity, CUPTI_KERNEL_BLOCK),
		.block_y = activity_field_u32(activity, CUPTI_KERNEL_BLOCK + 4),
		.block_z = activity_field_u32(activity, CUPTI_KERNEL_BLOCK + 8),
		.static_shared_bytes = activity_field_u32(activity, CUPTI_KERNEL_STATIC_SHARED),
		.dynamic_shared_bytes = activity_field_u32(activity, CUPTI_KERNEL_DYNAMIC_SHARED),
		.registers = registers,
		.local_bytes = activity_field_u32(activity, CUPTI_KERNEL_LOCAL),
	};
}
