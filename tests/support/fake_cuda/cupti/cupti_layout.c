/* The binary interface of CUPTI 13.0 that fake CUPTI answers with, in figures: true of the
 * toolkit's header and of the minimal one alike. */
#include <cupti.h>
#include <stddef.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

_Static_assert(sizeof(CUpti_ActivityKernel10) == 216, "kernel record");
AT(CUpti_ActivityKernel10, start, 16);
AT(CUpti_ActivityKernel10, end, 24);
AT(CUpti_ActivityKernel10, deviceId, 40);
AT(CUpti_ActivityKernel10, contextId, 44);
AT(CUpti_ActivityKernel10, streamId, 48);
AT(CUpti_ActivityKernel10, gridX, 52);
AT(CUpti_ActivityKernel10, blockX, 64);
AT(CUpti_ActivityKernel10, registersPerThread, 6);
AT(CUpti_ActivityKernel10, staticSharedMemory, 76);
AT(CUpti_ActivityKernel10, dynamicSharedMemory, 80);
AT(CUpti_ActivityKernel10, localMemoryPerThread, 84);
AT(CUpti_ActivityKernel10, correlationId, 92);
AT(CUpti_ActivityKernel10, name, 104);
AT(CUpti_ActivityKernel10, graphNodeId, 144);
AT(CUpti_ActivityKernel10, graphId, 156);
AT(CUpti_ActivityKernel10, channelID, 168);
AT(CUpti_ActivityKernel10, clusterX, 176);
AT(CUpti_ActivityKernel10, isDeviceLaunched, 208);

_Static_assert(sizeof(CUpti_ActivityMemcpy6) == 96, "memcpy record");
AT(CUpti_ActivityMemcpy6, copyKind, 4);
AT(CUpti_ActivityMemcpy6, bytes, 8);
AT(CUpti_ActivityMemcpy6, start, 16);
AT(CUpti_ActivityMemcpy6, deviceId, 32);
AT(CUpti_ActivityMemcpy6, correlationId, 44);
AT(CUpti_ActivityMemcpy6, graphNodeId, 64);
AT(CUpti_ActivityMemcpy6, copyCount, 88);

_Static_assert(sizeof(CUpti_ActivityMemset4) == 88, "memset record");
AT(CUpti_ActivityMemset4, bytes, 8);
AT(CUpti_ActivityMemset4, start, 16);
AT(CUpti_ActivityMemset4, deviceId, 32);
AT(CUpti_ActivityMemset4, correlationId, 44);
AT(CUpti_ActivityMemset4, graphNodeId, 64);

_Static_assert(sizeof(CUpti_ActivityGraphTrace2) == 56, "graph record");
AT(CUpti_ActivityGraphTrace2, correlationId, 4);
AT(CUpti_ActivityGraphTrace2, start, 8);
AT(CUpti_ActivityGraphTrace2, end, 16);
AT(CUpti_ActivityGraphTrace2, deviceId, 24);
AT(CUpti_ActivityGraphTrace2, graphId, 28);
AT(CUpti_ActivityGraphTrace2, contextId, 32);
AT(CUpti_ActivityGraphTrace2, streamId, 36);
AT(CUpti_ActivityGraphTrace2, endContextId, 52);

_Static_assert(sizeof(CUpti_ActivityMemory4) == 128, "memory record");
AT(CUpti_ActivityMemory4, memoryOperationType, 4);
AT(CUpti_ActivityMemory4, memoryKind, 8);
AT(CUpti_ActivityMemory4, correlationId, 12);
AT(CUpti_ActivityMemory4, address, 16);
AT(CUpti_ActivityMemory4, bytes, 24);
AT(CUpti_ActivityMemory4, timestamp, 32);
AT(CUpti_ActivityMemory4, deviceId, 52);
AT(CUpti_ActivityMemory4, contextId, 56);
AT(CUpti_ActivityMemory4, streamId, 60);
AT(CUpti_ActivityMemory4, isAsync, 72);
AT(CUpti_ActivityMemory4, source, 120);

_Static_assert(sizeof(CUpti_ActivityStream) == 24, "stream record");
AT(CUpti_ActivityStream, streamId, 8);
AT(CUpti_ActivityStream, priority, 12);
AT(CUpti_ActivityStream, flag, 16);
_Static_assert(sizeof(CUpti_ActivityContext3) == 32, "context record");
AT(CUpti_ActivityContext3, nullStreamId, 14);
AT(CUpti_ActivityContext3, isGreenContext, 20);
_Static_assert(sizeof(CUpti_ActivitySynchronization2) == 56, "synchronization record");
AT(CUpti_ActivitySynchronization2, type, 4);
AT(CUpti_ActivitySynchronization2, start, 8);
AT(CUpti_ActivitySynchronization2, correlationId, 24);
AT(CUpti_ActivitySynchronization2, contextId, 28);
AT(CUpti_ActivitySynchronization2, cudaEventSyncId, 40);
_Static_assert(sizeof(CUpti_ActivityOverhead3) == 56, "overhead record");
AT(CUpti_ActivityOverhead3, objectId, 12);
AT(CUpti_ActivityOverhead3, start, 24);
AT(CUpti_ActivityOverhead3, correlationId, 40);
_Static_assert(sizeof(CUpti_ActivityUnifiedMemoryCounter3) == 104, "unified memory record");
AT(CUpti_ActivityUnifiedMemoryCounter3, value, 8);
AT(CUpti_ActivityUnifiedMemoryCounter3, end, 24);
AT(CUpti_ActivityUnifiedMemoryCounter3, srcId, 40);
AT(CUpti_ActivityUnifiedMemoryCounter3, processors, 64);
_Static_assert(sizeof(CUpti_ActivityUnifiedMemoryCounterConfig) == 16, "configuration");

_Static_assert(sizeof(CUpti_CallbackData) == 72, "callback data");
AT(CUpti_CallbackData, correlationId, 64);
_Static_assert(sizeof(CUpti_ResourceData) == 24, "resource data");
_Static_assert(sizeof(CUpti_ModuleResourceData) == 24, "module data");
_Static_assert(sizeof(CUpti_GraphData) == 56, "graph data");
AT(CUpti_GraphData, node, 16);
AT(CUpti_GraphData, originalNode, 24);
AT(CUpti_GraphData, graphExec, 48);
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72, "kernel node");
_Static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40, "memset node");
_Static_assert(sizeof(CUDA_MEMCPY3D) == 200, "memcpy node");
_Static_assert(sizeof(CUDA_CONDITIONAL_NODE_PARAMS) == 32, "conditional node");
_Static_assert(sizeof(CUgraphNodeParams) == 256, "any node");
_Static_assert(offsetof(CUgraphNodeParams, conditional) == 16, "any node");
_Static_assert(sizeof(CUgraphEdgeData) == 8, "an edge");
_Static_assert(sizeof(CUgraphExecUpdateResultInfo) == 24, "result of an update");
_Static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32, "instantiation");
_Static_assert(sizeof(CUlaunchConfig) == 56, "launch configuration");

_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel == 307, "cbid");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz == 653, "cbid");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 == 211, "cbid");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060 == 430, "cbid");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch == 514, "cbid");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags == 643, "cbid");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000 == 311, "cbid");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == 13, "cbid");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == 20, "cbid");
_Static_assert(CUPTI_ACTIVITY_KIND_GRAPH_TRACE == 51, "kind");
_Static_assert(CUPTI_ACTIVITY_KIND_MEMORY2 == 49, "kind");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync == 598, "cbid");
_Static_assert(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged == 371, "cbid");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020 == 373, "cbid");
_Static_assert(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED == 5, "cbid");
_Static_assert(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == 39, "result");
