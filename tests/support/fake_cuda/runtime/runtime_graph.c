/* Stream capture and graphs of the runtime API. */
#include "driver/driver_versions.h"
#include "runtime_call.h"
#include "sim/sim_kernel.h"

_Static_assert((int)cudaStreamCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED, "modes");
_Static_assert(sizeof(enum cudaStreamCaptureStatus) == sizeof(CUstreamCaptureStatus), "status");
_Static_assert((int)cudaStreamCaptureStatusInvalidated == CU_STREAM_CAPTURE_STATUS_INVALIDATED,
	       "status");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
	       "result of an update");

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RUNTIME_CALL(cudaStreamBeginCapture, cudaStreamBeginCapture_v10000, NULL,
			    BOUND(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode)));
}

cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RUNTIME_CALL(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture_ptsz_v10000, NULL,
			    BOUND(cuStreamBeginCapture_v2_ptsz(stream, (CUstreamCaptureMode)mode)));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
	return RUNTIME_CALL(cudaStreamEndCapture, cudaStreamEndCapture_v10000, NULL,
			    BOUND(cuStreamEndCapture(stream, pGraph)));
}

cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *pGraph)
{
	return RUNTIME_CALL(cudaStreamEndCapture_ptsz, cudaStreamEndCapture_ptsz_v10000, NULL,
			    BOUND(cuStreamEndCapture_ptsz(stream, pGraph)));
}

static cudaError_t is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				bool per_thread)
{
	CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
	cudaError_t error = BOUND(
		(per_thread ? cuStreamIsCapturing_ptsz : cuStreamIsCapturing)(stream, &found));

	*status = (enum cudaStreamCaptureStatus)found;
	return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	return RUNTIME_CALL(cudaStreamIsCapturing, cudaStreamIsCapturing_v10000, NULL,
			    is_capturing(stream, pCaptureStatus, false));
}

cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream,
				       enum cudaStreamCaptureStatus *pCaptureStatus)
{
	return RUNTIME_CALL(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing_ptsz_v10000, NULL,
			    is_capturing(stream, pCaptureStatus, true));
}

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	return RUNTIME_CALL(cudaGraphCreate, cudaGraphCreate_v10000, NULL,
			    BOUND(cuGraphCreate(pGraph, flags)));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return RUNTIME_CALL(cudaGraphDestroy, cudaGraphDestroy_v10000, NULL,
			    BOUND(cuGraphDestroy(graph)));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	return RUNTIME_CALL(cudaGraphClone, cudaGraphClone_v10000, NULL,
			    BOUND(cuGraphClone(pGraphClone, originalGraph)));
}

static cudaError_t kernel_params(const struct cudaKernelNodeParams *params,
				 CUDA_KERNEL_NODE_PARAMS *driver_params)
{
	*driver_params = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)sim_kernel_of_symbol(params->func),
		.gridDimX = params->gridDim.x,
		.gridDimY = params->gridDim.y,
		.gridDimZ = params->gridDim.z,
		.blockDimX = params->blockDim.x,
		.blockDimY = params->blockDim.y,
		.blockDimZ = params->blockDim.z,
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra,
	};
	return driver_params->func ? runtime_bind_context() : cudaErrorInvalidDeviceFunction;
}

static cudaError_t add_kernel(cudaGraphNode_t *node, cudaGraph_t graph,
			      const cudaGraphNode_t *dependencies, size_t count,
			      const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver_params;
	cudaError_t error = kernel_params(params, &driver_params);

	*node = NULL;
	if (error != cudaSuccess)
		return error;
	return runtime_error_of(
		cuGraphAddKernelNode_v2(node, graph, dependencies, count, &driver_params));
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				   const cudaGraphNode_t *pDependencies, size_t numDependencies,
				   const struct cudaKernelNodeParams *pNodeParams)
{
	return RUNTIME_CALL(
		cudaGraphAddKernelNode, cudaGraphAddKernelNode_v10000, NULL,
		add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				       const cudaGraphNode_t *pDependencies, size_t numDependencies,
				       cudaGraph_t childGraph)
{
	return RUNTIME_CALL(cudaGraphAddChildGraphNode, cudaGraphAddChildGraphNode_v10000, NULL,
			    BOUND(cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies,
							   numDependencies, childGraph)));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	return RUNTIME_CALL(cudaGraphGetNodes, cudaGraphGetNodes_v10000, NULL,
			    BOUND(cuGraphGetNodes(graph, nodes, numNodes)));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
				 unsigned long long flags)
{
	return RUNTIME_CALL(cudaGraphInstantiate, cudaGraphInstantiate_v12000, NULL,
			    BOUND(cuGraphInstantiateWithFlags(pGraphExec, graph, flags)));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					  unsigned long long flags)
{
	return RUNTIME_CALL(cudaGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags_v11040,
			    NULL, BOUND(cuGraphInstantiateWithFlags(pGraphExec, graph, flags)));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	return RUNTIME_CALL(cudaGraphExecDestroy, cudaGraphExecDestroy_v10000, NULL,
			    BOUND(cuGraphExecDestroy(graphExec)));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaGraphLaunch, cudaGraphLaunch_v10000, NULL,
			    BOUND(cuGraphLaunch(graphExec, stream)));
}

cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaGraphLaunch_ptsz, cudaGraphLaunch_ptsz_v10000, NULL,
			    BOUND(cuGraphLaunch_ptsz(graphExec, stream)));
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph,
			  cudaGraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResultInfo found = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	cudaError_t error = BOUND(cuGraphExecUpdate_v2(exec, graph, &found));

	info->result = (enum cudaGraphExecUpdateResult)found.result;
	info->errorNode = found.errorNode;
	info->errorFromNode = found.errorFromNode;
	return error;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				cudaGraphExecUpdateResultInfo *resultInfo)
{
	return RUNTIME_CALL(cudaGraphExecUpdate, cudaGraphExecUpdate_v10020, NULL,
			    update(hGraphExec, hGraph, resultInfo));
}

static cudaError_t set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
			      const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver_params;
	cudaError_t error = kernel_params(params, &driver_params);

	if (error != cudaSuccess)
		return error;
	return runtime_error_of(cuGraphExecKernelNodeSetParams_v2(exec, node, &driver_params));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *pNodeParams)
{
	return RUNTIME_CALL(cudaGraphExecKernelNodeSetParams,
			    cudaGraphExecKernelNodeSetParams_v10010, NULL,
			    set_kernel(hGraphExec, node, pNodeParams));
}
