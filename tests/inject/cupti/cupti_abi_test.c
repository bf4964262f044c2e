/* The guest's own idea of CUPTI's binary interface against the real headers. Compiled only where
 * they are; what fails here fails while compiling. */
#include "inject/cupti/cupti_abi.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "inject/cupti/cupti_sampling_abi.h"
#include "inject/launch/launch_cbid.h"
#include "proto/memory_kind.h"

#define SAME(ours, theirs)         _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define FIELD(ours, record, field) SAME(ours, offsetof(record, field))

SAME(CUPTI_ABI_SUCCESS, CUPTI_SUCCESS);
SAME(CUPTI_ABI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_ABI_SUBSCRIBER_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_ABI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_ABI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_ABI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME(CUPTI_ABI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_ABI_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
SAME(CUPTI_ABI_RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME(CUPTI_ABI_RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(CUPTI_ABI_RESOURCE_NODE_DESTROYED, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME(CUPTI_ABI_RESOURCE_EXEC_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME(CUPTI_ABI_RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(CUPTI_ABI_RESOURCE_EXEC_DESTROYED, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(CUPTI_ABI_GRAPH_LAUNCH, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
SAME(CUPTI_ABI_GRAPH_LAUNCH_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
FIELD(offsetof(struct cupti_launch_kernel, stream), cuLaunchKernel_params, hStream);
SAME(CUPTI_ABI_RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
#if CUPTI_API_VERSION >= 130000
SAME(CUPTI_ABI_RESOURCE_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
#endif
SAME(CUPTI_ABI_KIND_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME(CUPTI_ABI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME(CUPTI_ABI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
SAME(CUPTI_ABI_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
SAME(CUPTI_ABI_RESOURCE_STREAM_DESTROYED, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME(CUPTI_ABI_STREAM_NON_BLOCKING, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
SAME(CUPTI_ABI_STREAM_NULL, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
SAME(CUPTI_ABI_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
SAME(CUPTI_ABI_API_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_ABI_API_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_ABI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_ABI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_ABI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(CUPTI_ABI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_ABI_KIND_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);

SAME(sizeof(struct cupti_callback_data), sizeof(CUpti_CallbackData));
#define CALLBACK(ours, theirs)                                                                     \
	FIELD(offsetof(struct cupti_callback_data, ours), CUpti_CallbackData, theirs)
CALLBACK(site, callbackSite);
CALLBACK(function_name, functionName);
CALLBACK(function_params, functionParams);
CALLBACK(return_value, functionReturnValue);
CALLBACK(symbol_name, symbolName);
CALLBACK(context, context);
CALLBACK(context_id, contextUid);
CALLBACK(correlation_data, correlationData);
CALLBACK(correlation_id, correlationId);

#if CUPTI_API_VERSION >= 130000
SAME(sizeof(struct cupti_subscriber_params), CUpti_SubscriberParams_STRUCT_SIZE);
FIELD(offsetof(struct cupti_subscriber_params, size), CUpti_SubscriberParams, structSize);
FIELD(offsetof(struct cupti_subscriber_params, name), CUpti_SubscriberParams, subscriberName);
FIELD(offsetof(struct cupti_subscriber_params, old_name), CUpti_SubscriberParams,
      oldSubscriberName);
FIELD(offsetof(struct cupti_subscriber_params, old_name_size), CUpti_SubscriberParams,
      oldSubscriberSize);
SAME(CUPTI_ABI_NAME_SIZE, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

SAME(sizeof(struct cupti_resource_data), sizeof(CUpti_ResourceData));
FIELD(offsetof(struct cupti_resource_data, descriptor), CUpti_ResourceData, resourceDescriptor);
SAME(sizeof(struct cupti_graph_data), sizeof(CUpti_GraphData));
#define GRAPH_DATA(ours, theirs)                                                                   \
	FIELD(offsetof(struct cupti_graph_data, ours), CUpti_GraphData, theirs)
GRAPH_DATA(graph, graph);
GRAPH_DATA(original_graph, originalGraph);
GRAPH_DATA(node, node);
GRAPH_DATA(original_node, originalNode);
GRAPH_DATA(node_type, nodeType);
GRAPH_DATA(dependency, dependency);
GRAPH_DATA(graph_exec, graphExec);

FIELD(CUPTI_STREAM_CONTEXT, CUpti_ActivityStream, contextId);
FIELD(CUPTI_STREAM_ID, CUpti_ActivityStream, streamId);
FIELD(CUPTI_STREAM_PRIORITY, CUpti_ActivityStream, priority);
FIELD(CUPTI_STREAM_FLAG, CUpti_ActivityStream, flag);
FIELD(CUPTI_CONTEXT_ID, CUpti_ActivityContext, contextId);
FIELD(CUPTI_CONTEXT_NULL_STREAM, CUpti_ActivityContext, nullStreamId);
FIELD(CUPTI_CONTEXT_DEVICE, CUpti_ActivityContext3, deviceId);
FIELD(CUPTI_CONTEXT_PARENT, CUpti_ActivityContext3, parentContextId);
FIELD(CUPTI_CONTEXT_IS_GREEN, CUpti_ActivityContext3, isGreenContext);
FIELD(CUPTI_CONTEXT_MULTIPROCESSORS, CUpti_ActivityContext3, numMultiprocessors);
FIELD(CUPTI_CONTEXT_PARENT, CUpti_ActivityContext2, parentContextId);
FIELD(CUPTI_CONTEXT_IS_GREEN, CUpti_ActivityContext2, isGreenContext);
FIELD(CUPTI_CONTEXT_MULTIPROCESSORS, CUpti_ActivityContext2, numMultiprocessors);

#define GRAPH_WHOLE(type)                                                                          \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_GRAPH_CORRELATION, type, correlationId);                                       \
	FIELD(CUPTI_GRAPH_START, type, start);                                                     \
	FIELD(CUPTI_GRAPH_END, type, end);                                                         \
	FIELD(CUPTI_GRAPH_DEVICE, type, deviceId);                                                 \
	FIELD(CUPTI_GRAPH_GRAPH, type, graphId);                                                   \
	FIELD(CUPTI_GRAPH_CONTEXT, type, contextId);                                               \
	FIELD(CUPTI_GRAPH_STREAM, type, streamId)
#if CUPTI_API_VERSION >= 130000
GRAPH_WHOLE(CUpti_ActivityGraphTrace2);
#else
GRAPH_WHOLE(CUpti_ActivityGraphTrace);
#endif

#define KERNEL(type)                                                                               \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_KERNEL_START, type, start);                                                    \
	FIELD(CUPTI_KERNEL_END, type, end);                                                        \
	FIELD(CUPTI_KERNEL_DEVICE, type, deviceId);                                                \
	FIELD(CUPTI_KERNEL_CONTEXT, type, contextId);                                              \
	FIELD(CUPTI_KERNEL_STREAM, type, streamId);                                                \
	FIELD(CUPTI_KERNEL_REGISTERS, type, registersPerThread);                                   \
	FIELD(CUPTI_KERNEL_GRID, type, gridX);                                                     \
	FIELD(CUPTI_KERNEL_GRID + 8, type, gridZ);                                                 \
	FIELD(CUPTI_KERNEL_BLOCK, type, blockX);                                                   \
	FIELD(CUPTI_KERNEL_BLOCK + 8, type, blockZ);                                               \
	FIELD(CUPTI_KERNEL_STATIC_SHARED, type, staticSharedMemory);                               \
	FIELD(CUPTI_KERNEL_DYNAMIC_SHARED, type, dynamicSharedMemory);                             \
	FIELD(CUPTI_KERNEL_LOCAL, type, localMemoryPerThread);                                     \
	SAME(sizeof(((type *)0)->registersPerThread), sizeof(uint16_t));                           \
	FIELD(CUPTI_KERNEL_CORRELATION, type, correlationId);                                      \
	FIELD(CUPTI_KERNEL_NAME, type, name);                                                      \
	FIELD(CUPTI_KERNEL_GRAPH_NODE, type, graphNodeId);                                         \
	FIELD(CUPTI_KERNEL_GRAPH, type, graphId)
KERNEL(CUpti_ActivityKernel9);
#if CUPTI_API_VERSION >= 130000
KERNEL(CUpti_ActivityKernel10);
#endif

#define MEMORY(type)                                                                               \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_MEMORY_BYTES, type, bytes);                                                    \
	FIELD(CUPTI_MEMORY_START, type, start);                                                    \
	FIELD(CUPTI_MEMORY_END, type, end);                                                        \
	FIELD(CUPTI_MEMORY_DEVICE, type, deviceId);                                                \
	FIELD(CUPTI_MEMORY_CONTEXT, type, contextId);                                              \
	FIELD(CUPTI_MEMORY_STREAM, type, streamId)
#define GRAPH(type, correlation, node, graph)                                                      \
	FIELD(correlation, type, correlationId);                                                   \
	FIELD(node, type, graphNodeId);                                                            \
	FIELD(graph, type, graphId)
MEMORY(CUpti_ActivityMemcpy5);
GRAPH(CUpti_ActivityMemcpy5, CUPTI_MEMORY_CORRELATION, CUPTI_MEMORY_GRAPH_NODE, CUPTI_MEMORY_GRAPH);
FIELD(CUPTI_MEMORY_COPY_KIND, CUpti_ActivityMemcpy5, copyKind);
MEMORY(CUpti_ActivityMemset4);
GRAPH(CUpti_ActivityMemset4, CUPTI_MEMORY_CORRELATION, CUPTI_MEMORY_GRAPH_NODE, CUPTI_MEMORY_GRAPH);
MEMORY(CUpti_ActivityMemcpyPtoP4);
GRAPH(CUpti_ActivityMemcpyPtoP4, CUPTI_PEER_CORRELATION, CUPTI_PEER_GRAPH_NODE, CUPTI_PEER_GRAPH);
FIELD(CUPTI_MEMORY_COPY_KIND, CUpti_ActivityMemcpyPtoP4, copyKind);
#if CUPTI_API_VERSION >= 26
MEMORY(CUpti_ActivityMemcpy6);
GRAPH(CUpti_ActivityMemcpy6, CUPTI_MEMORY_CORRELATION, CUPTI_MEMORY_GRAPH_NODE, CUPTI_MEMORY_GRAPH);
FIELD(CUPTI_MEMORY_COPY_KIND, CUpti_ActivityMemcpy6, copyKind);
#endif

#define ALLOCATION(type)                                                                           \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_ALLOCATION_OPERATION, type, memoryOperationType);                              \
	FIELD(CUPTI_ALLOCATION_MEMORY_KIND, type, memoryKind);                                     \
	FIELD(CUPTI_ALLOCATION_CORRELATION, type, correlationId);                                  \
	FIELD(CUPTI_ALLOCATION_ADDRESS, type, address);                                            \
	FIELD(CUPTI_ALLOCATION_BYTES, type, bytes);                                                \
	FIELD(CUPTI_ALLOCATION_TIME, type, timestamp);                                             \
	FIELD(CUPTI_ALLOCATION_DEVICE, type, deviceId);                                            \
	FIELD(CUPTI_ALLOCATION_CONTEXT, type, contextId);                                          \
	FIELD(CUPTI_ALLOCATION_STREAM, type, streamId);                                            \
	FIELD(CUPTI_ALLOCATION_ASYNC, type, isAsync)
ALLOCATION(CUpti_ActivityMemory3);
#if CUPTI_API_VERSION >= 130000
ALLOCATION(CUpti_ActivityMemory4);
#endif
SAME(CUPTI_ABI_KIND_ALLOCATION, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME(CUPTI_ABI_ALLOCATE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
SAME(CUPTI_ABI_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
SAME(CUPTI_ABI_NO_ID, CUPTI_INVALID_CONTEXT_ID);
SAME(CUPTI_ABI_NO_ID, CUPTI_INVALID_STREAM_ID);
SAME(MEMORY_KIND_UNKNOWN, CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN);
SAME(MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
SAME(MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
SAME(MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
SAME(MEMORY_KIND_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
SAME(MEMORY_KIND_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
SAME(MEMORY_KIND_DEVICE_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
SAME(MEMORY_KIND_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);

#define SYNC(record)                                                                               \
	FIELD(0, record, kind);                                                                    \
	FIELD(CUPTI_SYNC_TYPE, record, type);                                                      \
	FIELD(CUPTI_SYNC_START, record, start);                                                    \
	FIELD(CUPTI_SYNC_END, record, end);                                                        \
	FIELD(CUPTI_SYNC_CORRELATION, record, correlationId);                                      \
	FIELD(CUPTI_SYNC_CONTEXT, record, contextId);                                              \
	FIELD(CUPTI_SYNC_STREAM, record, streamId)
SYNC(CUpti_ActivitySynchronization);
#if CUPTI_API_VERSION >= 130000
SYNC(CUpti_ActivitySynchronization2);
#endif
SAME(CUPTI_SYNCHRONIZATION_INVALID_VALUE, CUPTI_ABI_SYNC_INVALID);

#define OVERHEAD(type)                                                                             \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_OVERHEAD_KIND, type, overheadKind);                                            \
	FIELD(CUPTI_OVERHEAD_OBJECT_KIND, type, objectKind);                                       \
	FIELD(CUPTI_OVERHEAD_DEVICE, type, objectId.dcs.deviceId);                                 \
	FIELD(CUPTI_OVERHEAD_CONTEXT, type, objectId.dcs.contextId);                               \
	FIELD(CUPTI_OVERHEAD_STREAM, type, objectId.dcs.streamId);                                 \
	FIELD(CUPTI_OVERHEAD_START, type, start);                                                  \
	FIELD(CUPTI_OVERHEAD_END, type, end)
OVERHEAD(CUpti_ActivityOverhead);
#if CUPTI_API_VERSION >= 20
OVERHEAD(CUpti_ActivityOverhead2);
FIELD(CUPTI_OVERHEAD_CORRELATION, CUpti_ActivityOverhead2, correlationId);
#endif
#if CUPTI_API_VERSION >= 22
OVERHEAD(CUpti_ActivityOverhead3);
FIELD(CUPTI_OVERHEAD_CORRELATION, CUpti_ActivityOverhead3, correlationId);
FIELD(CUPTI_OVERHEAD_DATA, CUpti_ActivityOverhead3, overheadData);
SAME(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, CUPTI_ABI_OVERHEAD_COMMAND_BUFFER_FULL);
#endif
SAME(CUPTI_ACTIVITY_OBJECT_DEVICE, CUPTI_ABI_OBJECT_DEVICE);
SAME(CUPTI_ACTIVITY_OBJECT_CONTEXT, CUPTI_ABI_OBJECT_CONTEXT);
SAME(CUPTI_ACTIVITY_OBJECT_STREAM, CUPTI_ABI_OBJECT_STREAM);

#define UNIFIED(type)                                                                              \
	FIELD(0, type, kind);                                                                      \
	FIELD(CUPTI_UNIFIED_KIND, type, counterKind);                                              \
	FIELD(CUPTI_UNIFIED_VALUE, type, value);                                                   \
	FIELD(CUPTI_UNIFIED_START, type, start);                                                   \
	FIELD(CUPTI_UNIFIED_END, type, end);                                                       \
	FIELD(CUPTI_UNIFIED_ADDRESS, type, address);                                               \
	FIELD(CUPTI_UNIFIED_SOURCE, type, srcId);                                                  \
	FIELD(CUPTI_UNIFIED_DESTINATION, type, dstId)
UNIFIED(CUpti_ActivityUnifiedMemoryCounter2);
#if CUPTI_API_VERSION >= 130000
UNIFIED(CUpti_ActivityUnifiedMemoryCounter3);
#endif
#define UNIFIED_KIND(ours, theirs)                                                                 \
	SAME(CUPTI_ABI_UNIFIED_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##theirs)
UNIFIED_KIND(HTOD, BYTES_TRANSFER_HTOD);
UNIFIED_KIND(DTOH, BYTES_TRANSFER_DTOH);
UNIFIED_KIND(CPU_FAULT, CPU_PAGE_FAULT_COUNT);
UNIFIED_KIND(GPU_FAULT, GPU_PAGE_FAULT);
UNIFIED_KIND(THRASHING, THRASHING);
UNIFIED_KIND(THROTTLING, THROTTLING);
UNIFIED_KIND(REMOTE_MAP, REMOTE_MAP);
UNIFIED_KIND(DTOD, BYTES_TRANSFER_DTOD);
SAME(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
     CUPTI_ABI_UNIFIED_ONE_DEVICE);
SAME(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
     CUPTI_ABI_UNIFIED_ALL_DEVICES);
SAME(sizeof(CUpti_ActivityUnifiedMemoryCounterConfig), sizeof(struct cupti_unified_config));
FIELD(offsetof(struct cupti_unified_config, scope), CUpti_ActivityUnifiedMemoryCounterConfig,
      scope);
FIELD(offsetof(struct cupti_unified_config, kind), CUpti_ActivityUnifiedMemoryCounterConfig, kind);
FIELD(offsetof(struct cupti_unified_config, device_id), CUpti_ActivityUnifiedMemoryCounterConfig,
      deviceId);
FIELD(offsetof(struct cupti_unified_config, enable), CUpti_ActivityUnifiedMemoryCounterConfig,
      enable);
SAME(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ABI_KIND_SYNC);
SAME(CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ABI_KIND_OVERHEAD);
SAME(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ABI_KIND_UNIFIED);

/* Functions: a pointer of our type takes theirs only if the arguments agree in size; C checks the
 * rest at the call. */
SAME(sizeof(CUpti_BuffersCallbackRequestFunc), sizeof(cupti_buffer_request_fn *));
SAME(sizeof(CUpti_CallbackId), sizeof(uint32_t));
SAME(sizeof(CUpti_CallbackDomain), sizeof(uint32_t));
SAME(sizeof(CUptiResult), sizeof(int));

SAME(CUPTI_ABI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(CUPTI_ABI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_ABI_STALL_NAME_SIZE, CUPTI_STALL_REASON_STRING_SIZE);
SAME(CUPTI_ABI_SAMPLING_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
SAME(CUPTI_ABI_SAMPLING_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON);
SAME(CUPTI_ABI_SAMPLING_SCRATCH, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
SAME(CUPTI_ABI_SAMPLING_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
SAME(CUPTI_ABI_SAMPLING_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
SAME(CUPTI_ABI_SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(CUPTI_ABI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(sizeof(struct cupti_stall), sizeof(CUpti_PCSamplingStallReason));
SAME(sizeof(struct cupti_instruction), sizeof(CUpti_PCSamplingPCData));
FIELD(offsetof(struct cupti_instruction, function), CUpti_PCSamplingPCData, functionName);
FIELD(offsetof(struct cupti_instruction, stalls), CUpti_PCSamplingPCData, stallReason);
FIELD(offsetof(struct cupti_instruction, correlation_id), CUpti_PCSamplingPCData, correlationId);
SAME(sizeof(struct cupti_samples), sizeof(CUpti_PCSamplingData));
FIELD(offsetof(struct cupti_samples, total), CUpti_PCSamplingData, totalSamples);
FIELD(offsetof(struct cupti_samples, nr_remaining), CUpti_PCSamplingData, remainingNumPcs);
FIELD(offsetof(struct cupti_samples, instructions), CUpti_PCSamplingData, pPcData);
FIELD(offsetof(struct cupti_samples, other), CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
FIELD(offsetof(struct cupti_samples, buffer_full), CUpti_PCSamplingData, hardwareBufferFull);
SAME(sizeof(struct cupti_sampling_call), CUpti_PCSamplingEnableParamsSize);
SAME(sizeof(struct cupti_sampling_call), CUpti_PCSamplingDisableParamsSize);
SAME(sizeof(struct cupti_sampling_get), CUpti_PCSamplingGetDataParamsSize);
SAME(sizeof(struct cupti_sampling_count), CUpti_PCSamplingGetNumStallReasonsParamsSize);
SAME(sizeof(struct cupti_sampling_reasons), CUpti_PCSamplingGetStallReasonsParamsSize);
SAME(sizeof(struct cupti_sampling_setting), sizeof(CUpti_PCSamplingConfigurationInfo));
FIELD(offsetof(struct cupti_sampling_setting, words), CUpti_PCSamplingConfigurationInfo,
      attributeData);
SAME(sizeof(struct cupti_sampling_settings), CUpti_PCSamplingConfigurationInfoParamsSize);
SAME(sizeof(struct cupti_cubin_crc), CUpti_GetCubinCrcParamsSize);
FIELD(offsetof(struct cupti_cubin_crc, cubin), CUpti_GetCubinCrcParams, cubin);
FIELD(offsetof(struct cupti_cubin_crc, crc), CUpti_GetCubinCrcParams, cubinCrc);
FIELD(offsetof(struct cupti_module_data, cubin_size), CUpti_ModuleResourceData, cubinSize);
FIELD(offsetof(struct cupti_module_data, cubin), CUpti_ModuleResourceData, pCubin);

#define CBID(number, name)                                                                         \
	{                                                                                          \
		number, CUPTI_DRIVER_TRACE_CBID_##name                                             \
	}
static const struct {
	uint32_t ours, theirs;
} cbids[] = {
	CBID(17, cuCtxSynchronize),
	CBID(18, cuModuleLoad),
	CBID(19, cuModuleLoadData),
	CBID(20, cuModuleLoadDataEx),
	CBID(21, cuModuleLoadFatBinary),
	CBID(23, cuModuleGetFunction),
	CBID(29, cuMemAlloc),
	CBID(30, cu64MemAlloc),
	CBID(31, cuMemAllocPitch),
	CBID(32, cu64MemAllocPitch),
	CBID(33, cuMemFree),
	CBID(34, cu64MemFree),
	CBID(37, cuMemAllocHost),
	CBID(38, cuMemFreeHost),
	CBID(39, cuMemHostAlloc),
	CBID(43, cuMemcpyHtoD),
	CBID(44, cu64MemcpyHtoD),
	CBID(45, cuMemcpyDtoH),
	CBID(46, cu64MemcpyDtoH),
	CBID(47, cuMemcpyDtoD),
	CBID(48, cu64MemcpyDtoD),
	CBID(49, cuMemcpyDtoA),
	CBID(50, cu64MemcpyDtoA),
	CBID(51, cuMemcpyAtoD),
	CBID(52, cu64MemcpyAtoD),
	CBID(53, cuMemcpyHtoA),
	CBID(54, cuMemcpyAtoH),
	CBID(55, cuMemcpyAtoA),
	CBID(56, cuMemcpy2D),
	CBID(57, cuMemcpy2DUnaligned),
	CBID(58, cuMemcpy3D),
	CBID(59, cu64Memcpy3D),
	CBID(60, cuMemcpyHtoDAsync),
	CBID(61, cu64MemcpyHtoDAsync),
	CBID(62, cuMemcpyDtoHAsync),
	CBID(63, cu64MemcpyDtoHAsync),
	CBID(64, cuMemcpyDtoDAsync),
	CBID(65, cu64MemcpyDtoDAsync),
	CBID(66, cuMemcpyHtoAAsync),
	CBID(67, cuMemcpyAtoHAsync),
	CBID(68, cuMemcpy2DAsync),
	CBID(69, cuMemcpy3DAsync),
	CBID(70, cu64Memcpy3DAsync),
	CBID(71, cuMemsetD8),
	CBID(72, cu64MemsetD8),
	CBID(73, cuMemsetD16),
	CBID(74, cu64MemsetD16),
	CBID(75, cuMemsetD32),
	CBID(76, cu64MemsetD32),
	CBID(77, cuMemsetD2D8),
	CBID(78, cu64MemsetD2D8),
	CBID(79, cuMemsetD2D16),
	CBID(80, cu64MemsetD2D16),
	CBID(81, cuMemsetD2D32),
	CBID(82, cu64MemsetD2D32),
	CBID(87, cuArrayCreate),
	CBID(89, cuArrayDestroy),
	CBID(90, cuArray3DCreate),
	CBID(115, cuLaunch),
	CBID(116, cuLaunchGrid),
	CBID(117, cuLaunchGridAsync),
	CBID(120, cuEventQuery),
	CBID(121, cuEventSynchronize),
	CBID(125, cuStreamQuery),
	CBID(126, cuStreamSynchronize),
	CBID(216, cuMemsetD8Async),
	CBID(217, cu64MemsetD8Async),
	CBID(218, cuMemsetD16Async),
	CBID(219, cu64MemsetD16Async),
	CBID(220, cuMemsetD32Async),
	CBID(221, cu64MemsetD32Async),
	CBID(222, cuMemsetD2D8Async),
	CBID(223, cu64MemsetD2D8Async),
	CBID(224, cuMemsetD2D16Async),
	CBID(225, cu64MemsetD2D16Async),
	CBID(226, cuMemsetD2D32Async),
	CBID(227, cu64MemsetD2D32Async),
	CBID(232, cu64Memcpy2D),
	CBID(233, cu64Memcpy2DUnaligned),
	CBID(234, cu64Memcpy2DAsync),
	CBID(243, cuMemAlloc_v2),
	CBID(244, cuMemAllocPitch_v2),
	CBID(245, cuMemFree_v2),
	CBID(248, cuMemcpy_v2),
	CBID(249, cuMemsetD8_v2),
	CBID(250, cuMemsetD16_v2),
	CBID(251, cuMemsetD32_v2),
	CBID(252, cuMemsetD2D8_v2),
	CBID(253, cuMemsetD2D16_v2),
	CBID(254, cuMemsetD2D32_v2),
	CBID(271, cuMemHostAlloc_v2),
	CBID(272, cuArrayCreate_v2),
	CBID(274, cuArray3DCreate_v2),
	CBID(276, cuMemcpyHtoD_v2),
	CBID(277, cuMemcpyHtoDAsync_v2),
	CBID(278, cuMemcpyDtoH_v2),
	CBID(279, cuMemcpyDtoHAsync_v2),
	CBID(280, cuMemcpyDtoD_v2),
	CBID(281, cuMemcpyDtoDAsync_v2),
	CBID(282, cuMemcpyAtoH_v2),
	CBID(283, cuMemcpyAtoHAsync_v2),
	CBID(284, cuMemcpyAtoD_v2),
	CBID(285, cuMemcpyDtoA_v2),
	CBID(286, cuMemcpyAtoA_v2),
	CBID(287, cuMemcpy2D_v2),
	CBID(288, cuMemcpy2DUnaligned_v2),
	CBID(289, cuMemcpy2DAsync_v2),
	CBID(290, cuMemcpy3D_v2),
	CBID(291, cuMemcpy3DAsync_v2),
	CBID(292, cuMemcpyHtoA_v2),
	CBID(293, cuMemcpyHtoAAsync_v2),
	CBID(294, cuMemAllocHost_v2),
	CBID(295, cuStreamWaitEvent),
	CBID(305, cuMemcpy),
	CBID(306, cuMemcpyAsync),
	CBID(307, cuLaunchKernel),
	CBID(318, cuMemcpyPeer),
	CBID(319, cuMemcpyPeerAsync),
	CBID(320, cuMemcpy3DPeer),
	CBID(321, cuMemcpy3DPeerAsync),
	CBID(347, cuMipmappedArrayCreate),
	CBID(349, cuMipmappedArrayDestroy),
	CBID(371, cuMemAllocManaged),
	CBID(397, cuMemcpyHtoD_v2_ptds),
	CBID(398, cuMemcpyDtoH_v2_ptds),
	CBID(399, cuMemcpyDtoD_v2_ptds),
	CBID(400, cuMemcpyDtoA_v2_ptds),
	CBID(401, cuMemcpyAtoD_v2_ptds),
	CBID(402, cuMemcpyHtoA_v2_ptds),
	CBID(403, cuMemcpyAtoH_v2_ptds),
	CBID(404, cuMemcpyAtoA_v2_ptds),
	CBID(405, cuMemcpy2D_v2_ptds),
	CBID(406, cuMemcpy2DUnaligned_v2_ptds),
	CBID(407, cuMemcpy3D_v2_ptds),
	CBID(408, cuMemcpy_ptds),
	CBID(409, cuMemcpyPeer_ptds),
	CBID(410, cuMemcpy3DPeer_ptds),
	CBID(411, cuMemsetD8_v2_ptds),
	CBID(412, cuMemsetD16_v2_ptds),
	CBID(413, cuMemsetD32_v2_ptds),
	CBID(414, cuMemsetD2D8_v2_ptds),
	CBID(415, cuMemsetD2D16_v2_ptds),
	CBID(416, cuMemsetD2D32_v2_ptds),
	CBID(418, cuMemcpyAsync_ptsz),
	CBID(419, cuMemcpyHtoAAsync_v2_ptsz),
	CBID(420, cuMemcpyAtoHAsync_v2_ptsz),
	CBID(421, cuMemcpyHtoDAsync_v2_ptsz),
	CBID(422, cuMemcpyDtoHAsync_v2_ptsz),
	CBID(423, cuMemcpyDtoDAsync_v2_ptsz),
	CBID(424, cuMemcpy2DAsync_v2_ptsz),
	CBID(425, cuMemcpy3DAsync_v2_ptsz),
	CBID(426, cuMemcpyPeerAsync_ptsz),
	CBID(427, cuMemcpy3DPeerAsync_ptsz),
	CBID(428, cuMemsetD8Async_ptsz),
	CBID(429, cuMemsetD16Async_ptsz),
	CBID(430, cuMemsetD32Async_ptsz),
	CBID(431, cuMemsetD2D8Async_ptsz),
	CBID(432, cuMemsetD2D16Async_ptsz),
	CBID(433, cuMemsetD2D32Async_ptsz),
	CBID(436, cuStreamWaitEvent_ptsz),
	CBID(439, cuStreamQuery_ptsz),
	CBID(440, cuStreamSynchronize_ptsz),
	CBID(442, cuLaunchKernel_ptsz),
	CBID(477, cuLaunchCooperativeKernel),
	CBID(478, cuLaunchCooperativeKernel_ptsz),
	CBID(480, cuLaunchCooperativeKernelMultiDevice),
	CBID(514, cuGraphLaunch),
	CBID(515, cuGraphLaunch_ptsz),
	CBID(549, cuMemCreate),
	CBID(550, cuMemRelease),
	CBID(551, cuMemMap),
	CBID(552, cuMemUnmap),
	CBID(598, cuMemAllocAsync),
	CBID(599, cuMemAllocAsync_ptsz),
	CBID(600, cuMemFreeAsync),
	CBID(601, cuMemFreeAsync_ptsz),
	CBID(611, cuMemAllocFromPoolAsync),
	CBID(612, cuMemAllocFromPoolAsync_ptsz),
	CBID(652, cuLaunchKernelEx),
	CBID(653, cuLaunchKernelEx_ptsz),
	CBID(678, cuLibraryLoadData),
	CBID(679, cuLibraryLoadFromFile),
	CBID(681, cuLibraryGetKernel),
	CBID(683, cuKernelGetFunction),
#if CUPTI_API_VERSION >= 130000
	CBID(750, cuGreenCtxWaitEvent),
	CBID(756, cuCtxWaitEvent),
	CBID(776, cuMemcpyBatchAsync),
	CBID(777, cuMemcpyBatchAsync_ptsz),
	CBID(778, cuMemcpy3DBatchAsync),
	CBID(779, cuMemcpy3DBatchAsync_ptsz),
	CBID(796, cuMemcpyBatchAsync_v2),
	CBID(797, cuMemcpyBatchAsync_v2_ptsz),
	CBID(798, cuMemcpy3DBatchAsync_v2),
	CBID(799, cuMemcpy3DBatchAsync_v2_ptsz),
	CBID(800, cuCtxSynchronize_v2),
#endif
};

static void every_subscribed_call_has_the_number_of_its_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++) {
		assert_int_equal(cbids[i].ours, cbids[i].theirs);
		assert_int_equal(launch_cbids[i].cbid, cbids[i].theirs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_subscribed_call_has_the_number_of_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
