/* The little of the driver's and CUPTI's binary interface that the conformance program needs, found
 * at run time: the same program runs on a real GPU and on fake CUDA. */
#ifndef CONFORMANCE_CUDA_H
#define CONFORMANCE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define DOMAIN_DRIVER            1u
#define DOMAIN_RUNTIME           2u
#define DOMAIN_RESOURCE          3u
#define CBID_LAUNCH_KERNEL       307u
#define CBID_CONTEXT_SYNCHRONIZE 17u
#define CBID_MODULE_LOAD_DATA    19u
#define CBID_GRAPH_LAUNCH        514u
#define CBID_ADD_KERNEL_NODE     689u
#define RESOURCE_CONTEXT_CREATED 1u
#define RESOURCE_INIT_FINISHED   5u
#define RESOURCE_GRAPH_CREATED   9u /* the first of those that tell of graphs */
#define RESOURCE_GRAPH_DESTROYED 10u
#define RESOURCE_GRAPH_CLONED    11u
#define RESOURCE_NODE_CREATED    13u
#define RESOURCE_NODE_DESTROYED  14u
#define RESOURCE_EXEC_STARTING   17u
#define RESOURCE_EXEC_CREATED    18u
#define RESOURCE_EXEC_DESTROYED  19u
#define RESOURCE_NODE_CLONED     20u
#define RESOURCE_NODE_UPDATED    22u
#define RESOURCE_NODE_SET_PARAMS 23u
#define SITE_ENTER               0
#define SITE_EXIT                1
#define KIND_MEMCPY              1u
#define KIND_MEMSET              2u
#define KIND_KERNEL              10u
#define KIND_ALLOCATION          49u
#define KIND_GRAPH               51u
#define KIND_OVERHEAD            17u
#define KIND_UNIFIED             25u
#define KIND_SYNC                38u
#define ALLOCATE                 1u
#define RELEASE                  2u
#define COPY_HTOD                1u
#define COPY_DTOH                2u
#define COPY_DTOD                8u
#define MULTIPLE_SUBSCRIBERS     39

typedef uint64_t device_address;

struct callback_data {
	int site;
	const char *function_name;
	const void *params;
	const int *return_value;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

struct resource_data {
	void *context, *handle;
	const void *descriptor;
};

struct graph_data {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t node_type;
	void *dependency;
	void *exec;
};

struct kernel_node {
	void *function;
	unsigned int grid[3], block[3], shared_bytes;
	void **params, **extra;
	void *kernel, *context;
};

/* CUgraphNodeParams with CUDA_CONDITIONAL_NODE_PARAMS. */
struct conditional_node {
	int type, reserved[3];
	uint64_t handle;
	int condition;
	unsigned int size;
	void **bodies;
	void *context;
	uint64_t padding[26];
};

struct array_descriptor {
	size_t width, height;
	uint32_t format, channels;
};

struct memory_location {
	int type, id;
};

struct unified_config {
	uint32_t scope, kind, device_id, enable;
};

struct update_result {
	int result;
	void *error_node, *error_from_node;
};

typedef void callback_fn(void *userdata, uint32_t domain, uint32_t cbid, const void *data);
typedef void request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void complete_fn(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			 size_t valid);

/* name, result type, arguments: driver functions under their exported names. */
#define DRIVER_FUNCTIONS(F)                                                                        \
	F(cuInit, (unsigned int flags))                                                            \
	F(cuDriverGetVersion, (int *version))                                                      \
	F(cuDeviceGetCount, (int *count))                                                          \
	F(cuDeviceGetName, (char *name, int length, int device))                                   \
	F(cuDeviceGetAttribute, (int *value, int attribute, int device))                           \
	F(cuDevicePrimaryCtxRetain, (void **context, int device))                                  \
	F(cuCtxSetCurrent, (void *context))                                                        \
	F(cuCtxSynchronize, (void))                                                                \
	F(cuModuleLoadData, (void **module, const void *image))                                    \
	F(cuModuleGetFunction, (void **function, void *module, const char *name))                  \
	F(cuLaunchKernel,                                                                          \
	  (void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,          \
	   unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,  \
	   void *stream, void **params, void **extra))                                             \
	F(cuMemAlloc_v2, (device_address * address, size_t size))                                  \
	F(cuMemFree_v2, (device_address address))                                                  \
	F(cuMemAllocManaged, (device_address * address, size_t size, unsigned int flags))          \
	F(cuMemAllocHost_v2, (void **memory, size_t size))                                         \
	F(cuMemFreeHost, (void *memory))                                                           \
	F(cuMemAllocAsync, (device_address * address, size_t size, void *stream))                  \
	F(cuMemFreeAsync, (device_address address, void *stream))                                  \
	F(cuArrayCreate_v2, (void **array, const struct array_descriptor *descriptor))             \
	F(cuArrayDestroy, (void *array))                                                           \
	F(cuMemcpyHtoD_v2, (device_address to, const void *from, size_t size))                     \
	F(cuMemcpyDtoH_v2, (void *to, device_address from, size_t size))                           \
	F(cuMemcpyDtoDAsync_v2,                                                                    \
	  (device_address to, device_address from, size_t size, void *stream))                     \
	F(cuMemcpyHtoDAsync_v2, (device_address to, const void *from, size_t size, void *stream))  \
	F(cuMemsetD8Async, (device_address to, unsigned char value, size_t count, void *stream))   \
	F(cuMemsetD32_v2, (device_address to, unsigned int value, size_t count))                   \
	F(cuStreamCreate, (void **stream, unsigned int flags))                                     \
	F(cuStreamBeginCapture_v2, (void *stream, int mode))                                       \
	F(cuStreamEndCapture, (void *stream, void **graph))                                        \
	F(cuGraphCreate, (void **graph, unsigned int flags))                                       \
	F(cuGraphDestroy, (void *graph))                                                           \
	F(cuGraphClone, (void **clone, void *graph))                                               \
	F(cuGraphGetNodes, (void *graph, void **nodes, size_t *count))                             \
	F(cuGraphAddKernelNode_v2, (void **node, void *graph, void *const *dependencies,           \
				    size_t count, const struct kernel_node *params))               \
	F(cuGraphAddChildGraphNode,                                                                \
	  (void **node, void *graph, void *const *dependencies, size_t count, void *child))        \
	F(cuGraphDestroyNode, (void *node))                                                        \
	F(cuGraphConditionalHandleCreate,                                                          \
	  (uint64_t * handle, void *graph, void *context, unsigned int value, unsigned int flags)) \
	F(cuGraphAddNode_v2, (void **node, void *graph, void *const *dependencies,                 \
			      const void *edges, size_t count, struct conditional_node *params))   \
	F(cuStreamBeginCaptureToGraph, (void *stream, void *graph, void *const *dependencies,      \
					const void *edges, size_t count, int mode))                \
	F(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))       \
	F(cuGraphExecDestroy, (void *exec))                                                        \
	F(cuGraphExecUpdate_v2, (void *exec, void *graph, struct update_result *result))           \
	F(cuGraphExecKernelNodeSetParams_v2,                                                       \
	  (void *exec, void *node, const struct kernel_node *params))                              \
	F(cuGraphLaunch, (void *exec, void *stream))                                               \
	F(cuStreamSynchronize, (void *stream))                                                     \
	F(cuStreamWaitEvent, (void *stream, void *event, unsigned int flags))                      \
	F(cuEventCreate, (void **event, unsigned int flags))                                       \
	F(cuEventQuery, (void *event))                                                             \
	F(cuEventDestroy_v2, (void *event))                                                        \
	F(cuEventRecord, (void *event, void *stream))                                              \
	F(cuEventSynchronize, (void *event))                                                       \
	F(cuMemAllocManaged, (device_address * address, size_t size, unsigned int flags))          \
	F(cuMemPrefetchAsync_v2,                                                                   \
	  (device_address address, size_t size, struct memory_location location,                   \
	   unsigned int flags, void *stream))

#define CUPTI_FUNCTIONS(F)                                                                         \
	F(cuptiGetVersion, (uint32_t * version))                                                   \
	F(cuptiGetTimestamp, (uint64_t * now_ns))                                                  \
	F(cuptiSubscribe, (void **subscriber, callback_fn *callback, void *userdata))              \
	F(cuptiUnsubscribe, (void *subscriber))                                                    \
	F(cuptiEnableDomain, (uint32_t enable, void *subscriber, uint32_t domain))                 \
	F(cuptiEnableCallback,                                                                     \
	  (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid))                     \
	F(cuptiGetCallbackName, (uint32_t domain, uint32_t cbid, const char **name))               \
	F(cuptiActivityRegisterCallbacks, (request_fn * request, complete_fn * complete))          \
	F(cuptiActivityEnable, (uint32_t kind))                                                    \
	F(cuptiActivityDisable, (uint32_t kind))                                                   \
	F(cuptiActivityFlushAll, (uint32_t flag))                                                  \
	F(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))             \
	F(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream_id, size_t *dropped)) \
	F(cuptiGetContextId, (void *context, uint32_t *id))                                        \
	F(cuptiGetDeviceId, (void *context, uint32_t *id))                                         \
	F(cuptiActivityEnableAllSyncRecords, (uint8_t enable))                                     \
	F(cuptiActivityConfigureUnifiedMemoryCounter,                                              \
	  (struct unified_config * configs, uint32_t count))                                       \
	F(cuptiGetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id))     \
	F(cuptiGetGraphNodeId, (void *node, uint64_t *id))                                         \
	F(cuptiGetGraphId, (void *graph, uint32_t *id))                                            \
	F(cuptiGetGraphExecId, (void *exec, uint32_t *id))                                         \
	F(cuptiFinalize, (void))

#define DECLARE_FUNCTION(name, arguments) extern int(*name) arguments;
DRIVER_FUNCTIONS(DECLARE_FUNCTION)
CUPTI_FUNCTIONS(DECLARE_FUNCTION)

#endif
