/* The part of CUPTI 13.0's binary interface that fake CUDA and its tests use; see cuda.h beside it.
 * Record layouts are asserted in cupti_layout.c against the same figures whichever header is in
 * use. */
#ifndef FAKE_CUDA_MINIMAL_CUPTI_H
#define FAKE_CUDA_MINIMAL_CUPTI_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUPTI_API_VERSION 130001

typedef enum {
	CUPTI_SUCCESS = 0,
	CUPTI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ERROR_INVALID_DEVICE = 2,
	CUPTI_ERROR_INVALID_CONTEXT = 3,
	CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_OUT_OF_MEMORY = 8,
	CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
	CUPTI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ERROR_INVALID_STREAM = 20,
	CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
	CUPTI_ERROR_UNKNOWN = 999
} CUptiResult;

typedef enum { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 } CUpti_ApiCallbackSite;

typedef enum {
	CUPTI_CB_DOMAIN_INVALID = 0,
	CUPTI_CB_DOMAIN_DRIVER_API = 1,
	CUPTI_CB_DOMAIN_RUNTIME_API = 2,
	CUPTI_CB_DOMAIN_RESOURCE = 3,
	CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
	CUPTI_CB_DOMAIN_NVTX = 5,
	CUPTI_CB_DOMAIN_STATE = 6
} CUpti_CallbackDomain;

enum {
	CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_CBID_RESOURCE_STREAM_CREATED = 3,
	CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING = 4,
	CUPTI_CBID_RESOURCE_CU_INIT_FINISHED = 5,
	CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
	CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 7,
	CUPTI_CBID_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING = 10,
	CUPTI_CBID_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED = 13,
	CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING = 14,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING = 17,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED = 18,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED = 20,
	CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED = 22,
	CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS = 23
};

enum {
	CUPTI_DRIVER_TRACE_CBID_cuInit = 1,
	CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion = 2,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGet = 3,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount = 4,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetName = 5,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute = 9,
	CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice = 16,
	CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize = 17,
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData = 19,
	CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx = 20,
	CUPTI_DRIVER_TRACE_CBID_cuModuleUnload = 22,
	CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction = 23,
	CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost = 38,
	CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy = 89,
	CUPTI_DRIVER_TRACE_CBID_cuEventCreate = 118,
	CUPTI_DRIVER_TRACE_CBID_cuEventRecord = 119,
	CUPTI_DRIVER_TRACE_CBID_cuEventQuery = 120,
	CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize = 121,
	CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime = 123,
	CUPTI_DRIVER_TRACE_CBID_cuStreamCreate = 124,
	CUPTI_DRIVER_TRACE_CBID_cuStreamQuery = 125,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize = 126,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async = 216,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async = 220,
	CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v2 = 235,
	CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2 = 242,
	CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2 = 243,
	CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2 = 244,
	CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2 = 245,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2 = 249,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2 = 251,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceTotalMem_v2 = 259,
	CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2 = 271,
	CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2 = 272,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2 = 276,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2 = 277,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2 = 278,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2 = 279,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2 = 280,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2 = 281,
	CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2 = 294,
	CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent = 295,
	CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent = 303,
	CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent = 304,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy = 305,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync = 306,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel = 307,
	CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2 = 322,
	CUPTI_DRIVER_TRACE_CBID_cuCtxPushCurrent_v2 = 323,
	CUPTI_DRIVER_TRACE_CBID_cuCtxPopCurrent_v2 = 324,
	CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2 = 325,
	CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2 = 326,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetPCIBusId = 332,
	CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority = 367,
	CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged = 371,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain = 386,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease = 387,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState = 392,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds = 397,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds = 398,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2_ptds = 399,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds = 408,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2_ptds = 411,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2_ptds = 413,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz = 418,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz = 421,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz = 422,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz = 423,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz = 428,
	CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz = 430,
	CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz = 436,
	CUPTI_DRIVER_TRACE_CBID_cuStreamQuery_ptsz = 439,
	CUPTI_DRIVER_TRACE_CBID_cuProfilerStart = 308,
	CUPTI_DRIVER_TRACE_CBID_cuProfilerStop = 309,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz = 440,
	CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz = 441,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz = 442,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel = 477,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz = 478,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetUuid = 482,
	CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture = 497,
	CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz = 498,
	CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing = 499,
	CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz = 500,
	CUPTI_DRIVER_TRACE_CBID_cuGraphCreate = 501,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode = 502,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemcpyNode = 504,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemsetNode = 506,
	CUPTI_DRIVER_TRACE_CBID_cuGraphNodeGetType = 509,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch = 514,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz = 515,
	CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy = 516,
	CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy = 517,
	CUPTI_DRIVER_TRACE_CBID_cuGraphDestroyNode = 522,
	CUPTI_DRIVER_TRACE_CBID_cuGraphClone = 523,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode = 525,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddEmptyNode = 526,
	CUPTI_DRIVER_TRACE_CBID_cuGraphChildGraphNodeGetGraph = 529,
	CUPTI_DRIVER_TRACE_CBID_cuGraphGetNodes = 534,
	CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2 = 539,
	CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz = 540,
	CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2 = 544,
	CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2 = 578,
	CUPTI_DRIVER_TRACE_CBID_cuGraphUpload = 580,
	CUPTI_DRIVER_TRACE_CBID_cuGraphUpload_ptsz = 581,
	CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams = 586,
	CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync = 598,
	CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz = 599,
	CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync = 600,
	CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz = 601,
	CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress = 626,
	CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags = 643,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetUuid_v2 = 647,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx = 652,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz = 653,
	CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams = 656,
	CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz = 657,
	CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2 = 677,
	CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData = 678,
	CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload = 680,
	CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel = 681,
	CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction = 683,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2 = 689,
	CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2 = 692,
	CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2 = 696,
	CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2 = 716,
	CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2_ptsz = 717,
	CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph = 720,
	CUPTI_DRIVER_TRACE_CBID_cuGraphConditionalHandleCreate = 722,
	CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2 = 723,
	CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate = 743,
	CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy = 744,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetDevResource = 745,
	CUPTI_DRIVER_TRACE_CBID_cuDevResourceGenerateDesc = 748,
	CUPTI_DRIVER_TRACE_CBID_cuDevSmResourceSplitByCount = 751,
	CUPTI_DRIVER_TRACE_CBID_cuCtxFromGreenCtx = 753,
	CUPTI_DRIVER_TRACE_CBID_cuCtxRecordEvent = 755,
	CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4 = 757,
	CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate = 758,
	CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2 = 780,
	CUPTI_DRIVER_TRACE_CBID_SIZE = 807,
};

enum {
	CUPTI_RUNTIME_TRACE_CBID_cudaDriverGetVersion_v3020 = 1,
	CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020 = 2,
	CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020 = 3,
	CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 = 10,
	CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020 = 11,
	CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020 = 16,
	CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020 = 17,
	CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020 = 20,
	CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020 = 22,
	CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020 = 25,
	CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020 = 21,
	CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020 = 26,
	CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020 = 27,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemGetInfo_v3020 = 30,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020 = 31,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020 = 41,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020 = 49,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020 = 51,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020 = 129,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020 = 131,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020 = 132,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventCreate_v3020 = 133,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020 = 134,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020 = 135,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventDestroy_v3020 = 136,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020 = 137,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020 = 138,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020 = 147,
	CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020 = 165,
	CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000 = 171,
	CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000 = 172,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithFlags_v5000 = 198,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050 = 201,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithPriority_v5050 = 202,
	CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000 = 206,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 = 211,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000 = 214,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000 = 225,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000 = 235,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000 = 239,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_ptsz_v7000 = 240,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_ptsz_v7000 = 242,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_ptsz_v7000 = 247,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000 = 269,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphCreate_v10000 = 286,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphAddKernelNode_v10000 = 289,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphAddChildGraphNode_v10000 = 298,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphClone_v10000 = 301,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000 = 311,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000 = 312,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecDestroy_v10000 = 313,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphDestroy_v10000 = 314,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000 = 315,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_ptsz_v10000 = 316,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000 = 317,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000 = 318,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000 = 319,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_ptsz_v10000 = 320,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphGetNodes_v10000 = 322,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecKernelNodeSetParams_v10010 = 326,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecUpdate_v10020 = 335,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecChildGraphNodeSetParams_v11010 = 361,
	CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020 = 373,
	CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020 = 374,
	CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020 = 375,
	CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020 = 376,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithFlags_v11040 = 418,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060 = 430,
	CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060 = 431,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiate_v12000 = 443,
	CUPTI_RUNTIME_TRACE_CBID_cudaMemPrefetchAsync_v12020 = 449,
	CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_v12030 = 452,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphConditionalHandleCreate_v12030 = 454,
	CUPTI_RUNTIME_TRACE_CBID_cudaGraphAddNode_v12030 = 460,
	CUPTI_RUNTIME_TRACE_CBID_cudaEventElapsedTime_v12080 = 486,
	CUPTI_RUNTIME_TRACE_CBID_SIZE = 523,
};

typedef uint32_t CUpti_CallbackId;
typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;

typedef struct {
	CUpti_ApiCallbackSite callbackSite;
	const char *functionName;
	const void *functionParams;
	void *functionReturnValue;
	const char *symbolName;
	CUcontext context;
	uint32_t contextUid;
	uint64_t *correlationData;
	uint32_t correlationId;
} CUpti_CallbackData;

typedef struct {
	CUcontext context;
	union {
		CUstream stream;
	} resourceHandle;
	void *resourceDescriptor;
} CUpti_ResourceData;

typedef struct {
	uint32_t moduleId;
	size_t cubinSize;
	const char *pCubin;
} CUpti_ModuleResourceData;

typedef struct {
	CUgraph graph, originalGraph;
	CUgraphNode node, originalNode;
	CUgraphNodeType nodeType;
	CUgraphNode dependency;
	CUgraphExec graphExec;
} CUpti_GraphData;

typedef void (*CUpti_CallbackFunc)(void *userdata, CUpti_CallbackDomain domain,
				   CUpti_CallbackId cbid, const void *cbdata);

typedef enum {
	CUPTI_ACTIVITY_KIND_MEMCPY = 1,
	CUPTI_ACTIVITY_KIND_MEMSET = 2,
	CUPTI_ACTIVITY_KIND_KERNEL = 3,
	CUPTI_ACTIVITY_KIND_DRIVER = 4,
	CUPTI_ACTIVITY_KIND_RUNTIME = 5,
	CUPTI_ACTIVITY_KIND_CONTEXT = 9,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
	CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER = 25,
	CUPTI_ACTIVITY_KIND_STREAM = 37,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38,
	CUPTI_ACTIVITY_KIND_MEMORY2 = 49,
	CUPTI_ACTIVITY_KIND_GRAPH_TRACE = 51
} CUpti_ActivityKind;

typedef enum {
	CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN = 0,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
	CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
	CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9
} CUpti_ActivityMemcpyKind;

typedef enum {
	CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN = 0,
	CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1,
	CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2,
	CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3,
	CUPTI_ACTIVITY_MEMORY_KIND_ARRAY = 4,
	CUPTI_ACTIVITY_MEMORY_KIND_MANAGED = 5
} CUpti_ActivityMemoryKind;

typedef enum {
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID = 0,
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2
} CUpti_ActivityMemoryOperationType;

typedef enum { CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID = 0 } CUpti_ActivityMemoryPoolType;

#define CUPTI_INVALID_CONTEXT_ID ((uint32_t)0xFFFFFFFFU)
#define CUPTI_INVALID_STREAM_ID  ((uint32_t)0xFFFFFFFFU)

typedef enum {
	CUPTI_CHANNEL_TYPE_INVALID = 0,
	CUPTI_CHANNEL_TYPE_COMPUTE = 1,
	CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY = 2
} CUpti_ChannelType;

enum {
	CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR = 0,
	CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE = 1
};

enum {
	CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1,
	CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC = 1,
	CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC = 1
};

typedef enum {
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE = 0,
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6,
	CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9
} CUpti_ActivityAttribute;

typedef enum {
	CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT = 0,
	CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM = 1
} CUpti_ActivityThreadIdType;

/* Records lie at any multiple of 8, with their fields where the compiler would not always put them.
 */
#define FAKE_CUPTI_RECORD __attribute__((__packed__)) __attribute__((aligned(8)))

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
} CUpti_Activity;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint8_t copyKind, srcKind, dstKind, flags;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId, channelID;
	CUpti_ChannelType channelType;
	uint8_t isDeviceLaunched, pad2[3];
	uint64_t copyCount;
} CUpti_ActivityMemcpy6;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint32_t value;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId;
	uint16_t flags, memoryKind;
	uint32_t pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId, channelID;
	CUpti_ChannelType channelType;
	uint8_t isDeviceLaunched, pad2[3];
} CUpti_ActivityMemset4;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint8_t cacheConfig, sharedMemoryConfig;
	uint16_t registersPerThread;
	uint32_t partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted;
	uint64_t start, end, completed;
	uint32_t deviceId, contextId, streamId;
	int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
	int32_t staticSharedMemory, dynamicSharedMemory;
	uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
	int64_t gridId;
	const char *name;
	void *reserved0;
	uint64_t queued, submitted;
	uint8_t launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested, padding;
	uint32_t sharedMemoryExecuted;
	uint64_t graphNodeId;
	uint32_t shmemLimitConfig, graphId;
	void *pAccessPolicyWindow;
	uint32_t channelID;
	CUpti_ChannelType channelType;
	uint32_t clusterX, clusterY, clusterZ, clusterSchedulingPolicy;
	uint64_t localMemoryTotal_v2;
	uint32_t maxPotentialClusterSize, maxActiveClusters;
	uint8_t isDeviceLaunched, padding3[7];
} CUpti_ActivityKernel10;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint32_t correlationId;
	uint64_t start, end;
	uint32_t deviceId, graphId, contextId, streamId;
	void *reserved;
	uint32_t endDeviceId, endContextId;
} CUpti_ActivityGraphTrace2;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_ActivityMemoryOperationType memoryOperationType;
	CUpti_ActivityMemoryKind memoryKind;
	uint32_t correlationId;
	uint64_t address, bytes, timestamp, PC;
	uint32_t processId, deviceId, contextId, streamId;
	const char *name;
	uint32_t isAsync, pad1;
	struct FAKE_CUPTI_RECORD {
		CUpti_ActivityMemoryPoolType memoryPoolType;
		uint32_t pad2;
		uint64_t address, releaseThreshold;
		union {
			uint64_t size, processId;
		} pool;
		uint64_t utilizedSize;
	} memoryPoolConfig;
	const char *source;
} CUpti_ActivityMemory4;
typedef enum {
	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT = 1,
	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING = 2,
	CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL = 3
} CUpti_ActivityStreamFlag;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint32_t contextId, streamId, priority;
	CUpti_ActivityStreamFlag flag;
	uint32_t correlationId;
} CUpti_ActivityStream;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint32_t contextId, deviceId;
	uint16_t computeApiKind, nullStreamId;
	uint32_t parentContextId;
	uint8_t isGreenContext, padding;
	uint16_t numMultiprocessors;
	uint32_t cigMode, padding2;
} CUpti_ActivityContext3;

typedef int CUpti_ActivitySynchronizationType;
typedef int CUpti_ActivityOverheadKind;
typedef int CUpti_ActivityUnifiedMemoryCounterKind;
typedef int CUpti_ActivityUnifiedMemoryCounterScope;

#define CUPTI_SYNCHRONIZATION_INVALID_VALUE ((uint32_t)0xffffffffu)

typedef enum {
	CUPTI_ACTIVITY_OBJECT_PROCESS = 1,
	CUPTI_ACTIVITY_OBJECT_CONTEXT = 4
} CUpti_ActivityObjectKind;

typedef union {
	struct {
		uint32_t processId, threadId;
	} pt;
	struct {
		uint32_t deviceId, contextId, streamId;
	} dcs;
} CUpti_ActivityObjectKindId;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_ActivitySynchronizationType type;
	uint64_t start, end;
	uint32_t correlationId, contextId, streamId, cudaEventId;
	uint64_t cudaEventSyncId;
	uint32_t returnValue, pad;
} CUpti_ActivitySynchronization2;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_ActivityOverheadKind overheadKind;
	CUpti_ActivityObjectKind objectKind;
	CUpti_ActivityObjectKindId objectId;
	uint64_t start, end;
	uint32_t correlationId, reserved0;
	void *overheadData;
} CUpti_ActivityOverhead3;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_ActivityUnifiedMemoryCounterKind counterKind;
	uint64_t value, start, end, address;
	uint32_t srcId, dstId, streamId, processId, flags, pad;
	uint64_t processors[5];
} CUpti_ActivityUnifiedMemoryCounter3;

typedef struct FAKE_CUPTI_RECORD {
	CUpti_ActivityUnifiedMemoryCounterScope scope;
	CUpti_ActivityUnifiedMemoryCounterKind kind;
	uint32_t deviceId, enable;
} CUpti_ActivityUnifiedMemoryCounterConfig;

typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size,
						 size_t *maxNumRecords);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t streamId,
						  uint8_t *buffer, size_t size, size_t validSize);

typedef struct {
	CUdeviceptr dstDevice;
	const void *srcHost;
	size_t ByteCount;
	CUstream hStream;
} cuMemcpyHtoDAsync_v2_params;

typedef struct {
	CUdeviceptr dstDevice;
	unsigned char uc;
	size_t N;
} cuMemsetD8_v2_params;

typedef struct {
	CUdeviceptr dstDevice;
	unsigned int ui;
	size_t N;
} cuMemsetD32_v2_params;

typedef struct {
	CUdeviceptr dstDevice;
	unsigned char uc;
	size_t N;
	CUstream hStream;
} cuMemsetD8Async_params;

typedef struct {
	CUdeviceptr dstDevice;
	unsigned int ui;
	size_t N;
	CUstream hStream;
} cuMemsetD32Async_params;

typedef struct {
	CUfunction f;
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	void **kernelParams;
	void **extra;
} cuLaunchKernel_params;

typedef struct {
	CUfunction f;
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	void **kernelParams;
} cuLaunchCooperativeKernel_params;

typedef struct {
	const CUlaunchConfig *config;
	CUfunction f;
	void **kernelParams;
	void **extra;
} cuLaunchKernelEx_params;

typedef struct {
	CUgraphExec hGraph;
	CUstream hStream;
} cuGraphLaunch_params;

typedef struct {
	CUstream hStream;
} cuStreamSynchronize_params;

typedef struct {
	CUstream hStream;
} cuStreamSynchronize_ptsz_params;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata);
typedef struct {
	size_t structSize;
	const char *subscriberName;
	char *oldSubscriberName;
	size_t oldSubscriberSize;
} CUpti_SubscriberParams;
#define CUpti_SubscriberParams_STRUCT_SIZE sizeof(CUpti_SubscriberParams)
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN  64
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *pParams);
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber);
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain);
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber);
CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name);

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
					   CUpti_BuffersCallbackCompleteFunc funcBufferCompleted);
CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUptiResult cuptiActivityFlushPeriod(uint32_t time);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
				       CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
					      size_t *dropped);
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value);
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value);
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable);
CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t count);
CUptiResult cuptiFinalize(void);

CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetTimestamp(uint64_t *timestamp);

typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp);
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId);
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId);
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId);
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			       uint32_t *streamId);
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId);
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId);
CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type);
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type);
CUptiResult cuptiGetResultString(CUptiResult result, const char **str);

#ifdef __cplusplus
}
#endif

#endif
