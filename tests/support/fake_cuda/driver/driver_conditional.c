/* Conditional nodes of the driver API. No kernel runs, so a handle keeps the value that it has at each launch. */
#include "driver_call.h"

#include "sim/sim_graph.h"

#define VALUE_MASK  0xffffffffull
#define HANDLE_MARK (0x636f6e64ull << 32)

static CUresult create_handle(CUgraphConditionalHandle *handle, CUgraph graph, unsigned int value,
			      unsigned int flags)
{
	if (!sim_graph_check(graph) || flags > CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = HANDLE_MARK | (flags ? value : 0);
	return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
					CUcontext ctx, unsigned int defaultLaunchValue,
					unsigned int flags)
{
	(void)ctx;
	return DRIVER_CALL(cuGraphConditionalHandleCreate, NULL, NULL,
			   create_handle(pHandle_out, hGraph, defaultLaunchValue, flags));
}

static bool is_valid(const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
	uint32_t most = params->type == CU_GRAPH_COND_TYPE_IF      ? 2
			: params->type == CU_GRAPH_COND_TYPE_WHILE ? 1
								   : SIM_BODIES_MAX;

	return (params->handle & ~VALUE_MASK) == HANDLE_MARK &&
	       (unsigned int)params->type <= CU_GRAPH_COND_TYPE_SWITCH && params->size >= 1 &&
	       params->size <= most;
}

static CUresult add(CUgraphNode *handle, CUgraph graph_handle, CUgraphNodeParams *params)
{
	struct sim_graph *graph = sim_graph_check(graph_handle);

	*handle = NULL;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!is_valid(&params->conditional))
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_node *node =
		sim_graph_add_conditional(graph, params->conditional.type, params->conditional.size,
					  (uint32_t)(params->conditional.handle & VALUE_MASK));
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	params->conditional.phGraph_out = node->handles;
	*handle = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
			   size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	(void)dependencies;
	(void)dependencyData;
	(void)numDependencies;
	return DRIVER_CALL(cuGraphAddNode_v2, NULL, NULL, add(phGraphNode, hGraph, nodeParams));
}
