/* The little of CUPTI's binary interface that the guest uses, CUPTI 12.0 and later, so that it
 * builds without a CUDA Toolkit. tests/inject/cupti_abi_test.c asserts all of it against the real
 * headers where they are.
 *
 * CUPTI fills the newest version of each activity struct; the fields below lie at the same place in
 * every version, so records are read by offset and stepped over by cuptiActivityGetNextRecord,
 * which knows their sizes. Plain data. */
#ifndef CUPTI_ABI_H
#define CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result { /* CUptiResult */
		    CUPTI_ABI_SUCCESS = 0,
		    CUPTI_ABI_NOT_INITIALIZED = 15,
		    CUPTI_ABI_SUBSCRIBER_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
};

enum cupti_domain { /* CUpti_CallbackDomain */
		    CUPTI_ABI_DOMAIN_DRIVER = 1,
		    CUPTI_ABI_DOMAIN_RESOURCE = 3,
		    CUPTI_ABI_DOMAIN_STATE = 6,
};

enum cupti_resource_cbid { /* CUpti_CallbackIdResource */
			   CUPTI_ABI_RESOURCE_CONTEXT_CREATED = 1,
			   CUPTI_ABI_RESOURCE_STREAM_CREATED = 3,
			   CUPTI_ABI_RESOURCE_STREAM_DESTROYED = 4, /* about to be */
			   CUPTI_ABI_RESOURCE_INIT_FINISHED = 5,
			   CUPTI_ABI_RESOURCE_NODE_CREATED = 13,
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
		  CUPTI_ABI_KIND_STREAM = 37,
		  CUPTI_ABI_KIND_GRAPH = 51, /* GRAPH_TRACE */
};

enum cupti_attribute { /* CUpti_ActivityAttribute; both are uint8_t */
		       CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS = 5,
		       CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS = 9,
};

#define CUPTI_ABI_VERSION_12_3 21u     /* cuptiGetVersion() of the first with per-thread buffers */
#define CUPTI_ABI_VERSION_13_0 130000u /* and of the first that has them by default */

/* CUpti_CallbackData of the driver domain. */
struct cupti_callback_data {
	int site; /* enum cupti_site */
	const char *function_name;
	const void *function_params;
	const int *return_value; /* CUresult; at the exit only */
	const char *symbol_name;
	void *context;
	uint32_t context_id;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

/* CUpti_ResourceData. */
struct cupti_resource_data {
	void *context;
	void *resource;
	const void *descriptor; /* of nodes: struct cupti_graph_data */
};

/* CUpti_GraphData. */
struct cupti_graph_data {
	void *graph, *original_graph;
	void *node, *original_node; /* CUgraphNode */
	int node_type;
	void *dependency;
	void *graph_exec;
};

/* Offsets, in bytes. `kind` is the first 4 bytes of each record. */
enum cupti_kernel_offset {
	CUPTI_KERNEL_START = 16,
	CUPTI_KERNEL_END = 24,
	CUPTI_KERNEL_DEVICE = 40,
	CUPTI_KERNEL_CONTEXT = 44,
	CUPTI_KERNEL_STREAM = 48,
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
	CUPTI_CONTEXT_NULL_STREAM = 14, /* uint16_t: id of the default stream */
};

typedef void cupti_callback_fn(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void cupti_buffer_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_buffer_complete_fn(void *context, uint32_t stream_id, uint8_t *buffer,
				      size_t size, size_t valid_size);

#endif
