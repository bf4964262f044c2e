/* Graphs within graphs of the runtime API: conditional nodes, and what changes child graphs. */
#include "driver/driver_versions.h"
#include "runtime_call.h"

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "any node");

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *dependencyData,
					  size_t numDependencies, enum cudaStreamCaptureMode mode)
{
	(void)dependencyData;
	return RUNTIME_CALL(
		cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_v12030, NULL,
		BOUND(cuStreamBeginCaptureToGraph(stream, graph, dependencies, NULL,
						  numDependencies, (CUstreamCaptureMode)mode)));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
					     cudaGraph_t graph, unsigned int defaultLaunchValue,
					     unsigned int flags)
{
	return RUNTIME_CALL(
		cudaGraphConditionalHandleCreate, cudaGraphConditionalHandleCreate_v12030, NULL,
		BOUND(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)pHandle_out, graph,
						     NULL, defaultLaunchValue, flags)));
}

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph,
		       const cudaGraphNode_t *dependencies, size_t count,
		       struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver_params = {
		.type = (CUgraphNodeType)params->type,
		.conditional = {.handle = params->conditional.handle,
				.type = (CUgraphConditionalNodeType)params->conditional.type,
				.size = params->conditional.size},
	};
	cudaError_t error =
		BOUND(cuGraphAddNode_v2(node, graph, dependencies, NULL, count, &driver_params));

	if (error == cudaSuccess)
		params->conditional.phGraph_out = driver_params.conditional.phGraph_out;
	return error;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
			     const cudaGraphNode_t *pDependencies,
			     const cudaGraphEdgeData *dependencyData, size_t numDependencies,
			     struct cudaGraphNodeParams *nodeParams)
{
	(void)dependencyData;
	return RUNTIME_CALL(cudaGraphAddNode, cudaGraphAddNode_v12030, NULL,
			    add(pGraphNode, graph, pDependencies, numDependencies, nodeParams));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						 cudaGraph_t childGraph)
{
	return RUNTIME_CALL(
		cudaGraphExecChildGraphNodeSetParams, cudaGraphExecChildGraphNodeSetParams_v11010,
		NULL, BOUND(cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph)));
}
