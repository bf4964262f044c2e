/* Declares the small part of CUPTI's binary interface that the guest uses, for CUPTI 12.0 and later. So the guest
 * builds without a CUDA Toolkit. tests/inject/cupti/cupti_abi_test.c asserts all of it against the real headers, if
 * they are installed.
 *
 * CUPTI fills the newest version of each activity struct. The fields below lie at the same place in every version, so
 * records are read by offset. cuptiActivityGetNextRecord() knows the sizes of records and steps over them. Plain
 * data. */
#ifndef CUPTI_ABI_H
#define CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result { /* CUptiResult */
		    CUPTI_ABI_SUCCESS = 0,
		    CUPTI_ABI_INVALID_PARAMETER = 1,
		    CUPTI_ABI_NOT_INITIALIZED = 15,
		    CUPTI_ABI_NOT_SUPPORTED = 27,
		    CUPTI_ABI_SUBSCRIBER_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
};

enum cupti_domain { /* CUpti_CallbackDomain */
		    CUPTI_ABI_DOMAIN_DRIVER = 1,
		    CUPTI_ABI_DOMAIN_RUNTIME = 2,
		    CUPTI_ABI_DOMAIN_RESOURCE = 3,
		    CUPTI_ABI_DOMAIN_STATE = 6,
};

enum cupti_resource_cbid { /* CUpti_CallbackIdResource */
			   CUPTI_ABI_RESOURCE_CONTEXT_CREATED = 1,
			   CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED = 2, /* about to be */
			   CUPTI_ABI_RESOURCE_STREAM_CREATED = 3,
			   CUPTI_ABI_RESOURCE_STREAM_DESTROYED = 4, /* about to be */
			   CUPTI_ABI_RESOURCE_INIT_FINISHED = 5,
			   CUPTI_ABI_RESOURCE_MODULE_LOADED = 6,
			   CUPTI_ABI_RESOURCE_GRAPH_CREATED = 9,
			   CUPTI_ABI_RESOURCE_NODE_CREATED = 13,
			   CUPTI_ABI_RESOURCE_NODE_DESTROYED = 14, /* about to be */
			   CUPTI_ABI_RESOURCE_EXEC_STARTING = 17,
			   CUPTI_ABI_RESOURCE_EXEC_CREATED = 18,
			   CUPTI_ABI_RESOURCE_EXEC_DESTROYED = 19, /* about to be */
			   CUPTI_ABI_RESOURCE_NODE_CLONED = 20,
			   CUPTI_ABI_RESOURCE_NODE_UPDATED = 22, /* 13.0 */
};

enum cupti_state_cbid { /* CUpti_CallbackIdState */
			CUPTI_ABI_STATE_FATAL_ERROR = 1,
};

enum cupti_site { /* CUpti_ApiCallbackSite */
		  CUPTI_ABI_API_ENTER = 0,
		  CUPTI_ABI_API_EXIT = 1,
};

enum cupti_kind { /* CUpti_ActivityKind */
		  CUPTI_ABI_KIND_MEMCPY = 1,
		  CUPTI_ABI_KIND_MEMSET = 2,
		  CUPTI_ABI_KIND_KERNEL = 3,
		  CUPTI_ABI_KIND_CONTEXT = 9,
		  CUPTI_ABI_KIND_CONCURRENT_KERNEL = 10,
		  CUPTI_ABI_KIND_MEMCPY_PEER = 22, /* MEMCPY2 */
		  CUPTI_ABI_KIND_ALLOCATION = 49,  /* MEMORY2 */
		  CUPTI_ABI_KIND_GRAPH = 51,       /* GRAPH_TRACE */
		  CUPTI_ABI_KIND_OVERHEAD = 17,
		  CUPTI_ABI_KIND_UNIFIED = 25, /* UNIFIED_MEMORY_COUNTER */
		  CUPTI_ABI_KIND_STREAM = 37,
		  CUPTI_ABI_KIND_SYNC = 38, /* SYNCHRONIZATION */
		  /* The number follows from the order of the enumeration in CUPTI 13.2's documentation. The headers of
		   * 13.0 do not have it. */
		  CUPTI_ABI_KIND_GREEN_CONTEXT = 59,
};

enum cupti_attribute { /* CUpti_ActivityAttribute; both are uint8_t */
		       CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS = 5,
		       CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS = 9,
};

#define CUPTI_ABI_VERSION_12_3 21u     /* cuptiGetVersion(): the first with per-thread buffers */
#define CUPTI_ABI_VERSION_13_0 130000u /* the first that has them by default */
#define CUPTI_ABI_VERSION_12_2 20u     /* overhead has a correlation id */
/* overhead has further data; contexts say whether they are green */
#define CUPTI_ABI_VERSION_12_4 22u
/* green contexts have records of their own, and no longer those of contexts */
#define CUPTI_ABI_VERSION_13_2 130200u

/* CUpti_CallbackData of the driver and runtime domains. */
struct cupti_callback_data {
	int site; /* enum cupti_site */
	const char *function_name;
	const void *function_params;
	const int *return_value; /* CUresult or cudaError_t; only at the exit */
	const char *symbol_name;
	void *context;
	uint32_t context_id;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

#define CUPTI_ABI_NAME_SIZE 64 /* CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN */

/* CUpti_SubscriberParams of cuptiSubscribe_v2 (13.0). */
struct cupti_subscriber_params {
	size_t size; /* of this struct */
	const char *name;
	char *old_name; /* out: name of the present subscriber */
	size_t old_name_size;
};

/* CUpti_ResourceData. */
struct cupti_resource_data {
	void *context;
	void *resource;
	/* of nodes: struct cupti_graph_data; of modules: struct cupti_module_data */
	const void *descriptor;
};

/* CUpti_GraphData. */
struct cupti_graph_data {
	void *graph, *original_graph;
	void *node, *original_node; /* CUgraphNode */
	int node_type;
	void *dependency;
	void *graph_exec;
};

/* cuGraphLaunch_params, for both of its cbids. */
struct cupti_graph_launch {
	void *graph_exec;
	void *stream;
};

/* cuLaunchKernel_params, up to the last field that the guest reads. */
struct cupti_launch_kernel {
	void *function;
	unsigned int grid[3], block[3];
	unsigned int shared_bytes;
	void *stream;
};

#define CUPTI_ABI_GRAPH_LAUNCH      514u /* CUpti_driver_api_trace_cbid */
#define CUPTI_ABI_GRAPH_LAUNCH_PTSZ 515u

/* Offsets, in bytes. `kind` is the first 4 bytes of each record. */
enum cupti_kernel_offset {
	CUPTI_KERNEL_REGISTERS = 6, /* uint16_t, per thread */
	CUPTI_KERNEL_START = 16,
	CUPTI_KERNEL_END = 24,
	CUPTI_KERNEL_DEVICE = 40,
	CUPTI_KERNEL_CONTEXT = 44,
	CUPTI_KERNEL_STREAM = 48,
	CUPTI_KERNEL_GRID = 52, /* three numbers, as for the block: x, y, z */
	CUPTI_KERNEL_BLOCK = 64,
	CUPTI_KERNEL_STATIC_SHARED = 76,
	CUPTI_KERNEL_DYNAMIC_SHARED = 80,
	CUPTI_KERNEL_LOCAL = 84, /* a thread */
	CUPTI_KERNEL_CORRELATION = 92,
	CUPTI_KERNEL_NAME = 104,
	CUPTI_KERNEL_GRAPH_NODE = 144,
	CUPTI_KERNEL_GRAPH = 156,
};

enum cupti_memory_offset { /* memcpy, memset, and a peer copy up to its stream */
			   CUPTI_MEMORY_COPY_KIND = 4, /* uint8_t; memcpy and peer copy */
			   CUPTI_MEMORY_BYTES = 8,
			   CUPTI_MEMORY_START = 16,
			   CUPTI_MEMORY_END = 24,
			   CUPTI_MEMORY_DEVICE = 32,
			   CUPTI_MEMORY_CONTEXT = 36,
			   CUPTI_MEMORY_STREAM = 40,
			   CUPTI_MEMORY_CORRELATION = 44,
			   CUPTI_MEMORY_GRAPH_NODE = 64,
			   CUPTI_MEMORY_GRAPH = 72,
			   CUPTI_PEER_CORRELATION = 60,
			   CUPTI_PEER_GRAPH_NODE = 72,
			   CUPTI_PEER_GRAPH = 80,
};

enum cupti_allocation_offset {                                 /* CUpti_ActivityMemory2, 3 and 4 */
			       CUPTI_ALLOCATION_OPERATION = 4, /* enum cupti_allocation_operation */
			       CUPTI_ALLOCATION_MEMORY_KIND = 8, /* CUpti_ActivityMemoryKind */
			       CUPTI_ALLOCATION_CORRELATION = 12,
			       CUPTI_ALLOCATION_ADDRESS = 16,
			       CUPTI_ALLOCATION_BYTES = 24,
			       CUPTI_ALLOCATION_TIME = 32,
			       CUPTI_ALLOCATION_DEVICE = 52,
			       CUPTI_ALLOCATION_CONTEXT = 56,
			       CUPTI_ALLOCATION_STREAM = 60,
			       /* uint32_t: in stream order, from a pool */
			       CUPTI_ALLOCATION_ASYNC = 72,
};

enum cupti_allocation_operation { /* CUpti_ActivityMemoryOperationType */
				  CUPTI_ABI_ALLOCATE = 1,
				  CUPTI_ABI_RELEASE = 2,
};

#define CUPTI_ABI_NO_ID 0xffffffffu /* CUPTI_INVALID_CONTEXT_ID, CUPTI_INVALID_STREAM_ID */

enum cupti_graph_offset {
	CUPTI_GRAPH_CORRELATION = 4,
	CUPTI_GRAPH_START = 8,
	CUPTI_GRAPH_END = 16,
	CUPTI_GRAPH_DEVICE = 24,
	CUPTI_GRAPH_GRAPH = 28,
	CUPTI_GRAPH_CONTEXT = 32,
	CUPTI_GRAPH_STREAM = 36,
};

enum cupti_stream_flag { /* CUpti_ActivityStreamFlag */
			 CUPTI_ABI_STREAM_NON_BLOCKING = 2,
			 CUPTI_ABI_STREAM_NULL = 3,
};

enum cupti_stream_offset {
	CUPTI_STREAM_CONTEXT = 4,
	CUPTI_STREAM_ID = 8,
	CUPTI_STREAM_PRIORITY = 12, /* a signed number in an unsigned field */
	CUPTI_STREAM_FLAG = 16,     /* enum cupti_stream_flag */
};

enum cupti_context_offset {
	CUPTI_CONTEXT_ID = 4,
	CUPTI_CONTEXT_DEVICE = 8,
	CUPTI_CONTEXT_NULL_STREAM = 14, /* uint16_t: id of the default stream */
	/* From CUPTI_ABI_VERSION_12_4 on. */
	CUPTI_CONTEXT_PARENT = 16,
	CUPTI_CONTEXT_IS_GREEN = 20,        /* uint8_t */
	CUPTI_CONTEXT_MULTIPROCESSORS = 22, /* uint16_t, of green ones */
};

/* CUpti_ActivityGreenContext and its later versions, from docs.nvidia.com/cupti/api. The headers of 13.0 do not have
 * it. */
enum cupti_green_offset {
	CUPTI_GREEN_ID = 4,
	CUPTI_GREEN_PARENT = 8,
	CUPTI_GREEN_DEVICE = 12,
	CUPTI_GREEN_MULTIPROCESSORS = 20, /* uint16_t */
};

enum cupti_sync_offset {
	CUPTI_SYNC_TYPE = 4,
	CUPTI_SYNC_START = 8,
	CUPTI_SYNC_END = 16,
	CUPTI_SYNC_CORRELATION = 24,
	CUPTI_SYNC_CONTEXT = 28,
	CUPTI_SYNC_STREAM = 32,
};

#define CUPTI_ABI_SYNC_INVALID 0xffffffffu /* a field that does not apply */

enum cupti_overhead_offset {
	CUPTI_OVERHEAD_KIND = 4,
	CUPTI_OVERHEAD_OBJECT_KIND = 8,
	CUPTI_OVERHEAD_DEVICE = 12, /* if the object is a device, context or stream */
	CUPTI_OVERHEAD_CONTEXT = 16,
	CUPTI_OVERHEAD_STREAM = 20,
	CUPTI_OVERHEAD_START = 24,
	CUPTI_OVERHEAD_END = 32,
	CUPTI_OVERHEAD_CORRELATION = 40, /* 12.2 */
	CUPTI_OVERHEAD_DATA = 48,        /* 12.4: malloc()ed; the reader of the record frees it */
};

enum cupti_object_kind { /* CUpti_ActivityObjectKind */
			 CUPTI_ABI_OBJECT_DEVICE = 3,
			 CUPTI_ABI_OBJECT_CONTEXT = 4,
			 CUPTI_ABI_OBJECT_STREAM = 5,
};

enum cupti_overhead_kind { /* CUpti_ActivityOverheadKind */
			   CUPTI_ABI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
};

enum cupti_unified_offset {
	CUPTI_UNIFIED_KIND = 4,
	CUPTI_UNIFIED_VALUE = 8,
	CUPTI_UNIFIED_START = 16,
	CUPTI_UNIFIED_END = 24,
	CUPTI_UNIFIED_ADDRESS = 32,
	CUPTI_UNIFIED_SOURCE = 40,
	CUPTI_UNIFIED_DESTINATION = 44,
};

enum cupti_unified_kind { /* CUpti_ActivityUnifiedMemoryCounterKind */
			  CUPTI_ABI_UNIFIED_HTOD = 1,
			  CUPTI_ABI_UNIFIED_DTOH = 2,
			  CUPTI_ABI_UNIFIED_CPU_FAULT = 3,
			  CUPTI_ABI_UNIFIED_GPU_FAULT = 4,
			  CUPTI_ABI_UNIFIED_THRASHING = 5,
			  CUPTI_ABI_UNIFIED_THROTTLING = 6,
			  CUPTI_ABI_UNIFIED_REMOTE_MAP = 7,
			  CUPTI_ABI_UNIFIED_DTOD = 8,
			  CUPTI_ABI_UNIFIED_KINDS,
};

enum cupti_unified_scope { /* CUpti_ActivityUnifiedMemoryCounterScope */
			   CUPTI_ABI_UNIFIED_ONE_DEVICE = 1,
			   CUPTI_ABI_UNIFIED_ALL_DEVICES = 2,
};

/* CUpti_ActivityUnifiedMemoryCounterConfig. */
struct cupti_unified_config {
	uint32_t scope, kind, device_id, enable;
};

typedef void cupti_callback_fn(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void cupti_buffer_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef uint64_t cupti_timestamp_fn(void);
typedef void cupti_buffer_complete_fn(void *context, uint32_t stream_id, uint8_t *buffer,
				      size_t size, size_t valid_size);

#endif
