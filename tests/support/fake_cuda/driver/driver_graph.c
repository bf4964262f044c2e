/* Graphs of the driver API. */
#include "driver_call.h"

#include "driver_task.h"
#include "sim/sim_graph.h"

static CUresult create(CUgraph *handle)
{
	*handle = (CUgraph)sim_graph_create();
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	(void)flags;
	return DRIVER_CALL(cuGraphCreate, NULL, NULL, create(phGraph));
}

static CUresult destroy(CUgraph handle)
{
	struct sim_graph *graph = sim_graph_check(handle);

	if (!graph || graph->embedded)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_destroy(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
	return DRIVER_CALL(cuGraphDestroy, NULL, NULL, destroy(hGraph));
}

static CUresult copy(CUgraph *twin, CUgraph handle)
{
	struct sim_graph *graph = sim_graph_check(handle);

	*twin = NULL;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (graph->conditional)
		return CUDA_ERROR_NOT_SUPPORTED;
	*twin = (CUgraph)sim_graph_clone(graph);
	return *twin ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	return DRIVER_CALL(cuGraphClone, NULL, NULL, copy(phGraphClone, originalGraph));
}

/* Nodes run in the order in which they are added, which satisfies every dependency: a node can only
 * depend on those before it. */
static CUresult add(CUgraphNode *handle, CUgraph graph_handle, CUgraphNodeType type,
		    const struct sim_task *task, const struct sim_graph *child)
{
	struct sim_graph *graph = sim_graph_check(graph_handle);

	*handle = NULL;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraphNode)sim_graph_add(graph, type, task, child);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult driver_kernel_node_task(const CUDA_KERNEL_NODE_PARAMS *params, struct sim_task *task)
{
	const CUlaunchConfig config = {
		.gridDimX = params->gridDimX,
		.gridDimY = params->gridDimY,
		.gridDimZ = params->gridDimZ,
		.blockDimX = params->blockDimX,
		.blockDimY = params->blockDimY,
		.blockDimZ = params->blockDimZ,
		.sharedMemBytes = params->sharedMemBytes,
	};

	return driver_kernel_task(&config, params->func, false, task);
}

static CUresult add_kernel(CUgraphNode *node, CUgraph graph, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct sim_task task;
	CUresult error = driver_kernel_node_task(params, &task);

	return error == CUDA_SUCCESS ? add(node, graph, CU_GRAPH_NODE_TYPE_KERNEL, &task, NULL)
				     : error;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	(void)dependencies;
	(void)numDependencies;
	return DRIVER_CALL(cuGraphAddKernelNode_v2, NULL, driver_kernel_symbol(nodeParams->func),
			   add_kernel(phGraphNode, hGraph, nodeParams));
}

static CUDA_KERNEL_NODE_PARAMS of_version_1(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
	return (CUDA_KERNEL_NODE_PARAMS){
		.func = old->func,
		.gridDimX = old->gridDimX,
		.gridDimY = old->gridDimY,
		.gridDimZ = old->gridDimZ,
		.blockDimX = old->blockDimX,
		.blockDimY = old->blockDimY,
		.blockDimZ = old->blockDimZ,
		.sharedMemBytes = old->sharedMemBytes,
	};
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	const CUDA_KERNEL_NODE_PARAMS params = of_version_1(nodeParams);

	(void)dependencies;
	(void)numDependencies;
	return DRIVER_CALL(cuGraphAddKernelNode, NULL, driver_kernel_symbol(params.func),
			   add_kernel(phGraphNode, hGraph, &params));
}

/* Linear memory only: no arrays, no pitch between rows. */
static CUresult copy_task(const CUDA_MEMCPY3D *params, struct sim_task *task)
{
	const void *from = params->srcMemoryType == CU_MEMORYTYPE_HOST
				   ? params->srcHost
				   : (const void *)(uintptr_t)params->srcDevice;
	void *to = params->dstMemoryType == CU_MEMORYTYPE_HOST
			   ? params->dstHost
			   : (void *)(uintptr_t)params->dstDevice;

	if (params->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
	    params->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params->Height > 1 &&
	    (params->srcPitch != params->WidthInBytes || params->dstPitch != params->WidthInBytes))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!from || !to || params->WidthInBytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	driver_copy_task(to, from,
			 params->WidthInBytes * (params->Height ? params->Height : 1) *
				 (params->Depth ? params->Depth : 1),
			 true, task);
	return CUDA_SUCCESS;
}

static CUresult add_copy(CUgraphNode *node, CUgraph graph, const CUDA_MEMCPY3D *params)
{
	struct sim_task task;
	CUresult error = copy_task(params, &task);

	return error == CUDA_SUCCESS ? add(node, graph, CU_GRAPH_NODE_TYPE_MEMCPY, &task, NULL)
				     : error;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	(void)dependencies;
	(void)numDependencies;
	(void)ctx;
	return DRIVER_CALL(cuGraphAddMemcpyNode, NULL, NULL,
			   add_copy(phGraphNode, hGraph, copyParams));
}

static CUresult add_fill(CUgraphNode *node, CUgraph graph, const CUDA_MEMSET_NODE_PARAMS *params)
{
	struct sim_task task;

	if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->height > 1 && params->pitch != params->width * params->elementSize)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUresult error = driver_fill_task(params->dst, params->value,
					  params->width * (params->height ? params->height : 1),
					  params->elementSize, true, &task);
	return error == CUDA_SUCCESS ? add(node, graph, CU_GRAPH_NODE_TYPE_MEMSET, &task, NULL)
				     : error;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	(void)dependencies;
	(void)numDependencies;
	(void)ctx;
	return DRIVER_CALL(cuGraphAddMemsetNode, NULL, NULL,
			   add_fill(phGraphNode, hGraph, memsetParams));
}

static CUresult add_child(CUgraphNode *node, CUgraph graph, CUgraph child_handle)
{
	struct sim_graph *child = sim_graph_check(child_handle);

	*node = NULL;
	if (!child || child_handle == graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (child->conditional)
		return CUDA_ERROR_NOT_SUPPORTED;
	return add(node, graph, CU_GRAPH_NODE_TYPE_GRAPH, NULL, child);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				  const CUgraphNode *dependencies, size_t numDependencies,
				  CUgraph childGraph)
{
	(void)dependencies;
	(void)numDependencies;
	return DRIVER_CALL(cuGraphAddChildGraphNode, NULL, NULL,
			   add_child(phGraphNode, hGraph, childGraph));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			     const CUgraphNode *dependencies, size_t numDependencies)
{
	(void)dependencies;
	(void)numDependencies;
	return DRIVER_CALL(cuGraphAddEmptyNode, NULL, NULL,
			   add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_EMPTY, NULL, NULL));
}

static CUresult get_child(CUgraphNode handle, CUgraph *graph)
{
	const struct sim_node *node = sim_graph_check_node(handle);

	if (!node || node->type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = node->handles[0];
	return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	return DRIVER_CALL(cuGraphChildGraphNodeGetGraph, NULL, NULL, get_child(hNode, phGraph));
}

static CUresult destroy_node(CUgraphNode handle)
{
	struct sim_node *node = sim_graph_check_node(handle);

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_remove(node);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
	return DRIVER_CALL(cuGraphDestroyNode, NULL, NULL, destroy_node(hNode));
}

/* nodes NULL: only counts; else *count is what there is room for, and the rest of the room becomes
 * NULL. */
static CUresult get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	const struct sim_graph *graph = sim_graph_check(handle);
	size_t total = 0;

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		if (nodes && total == *count)
			return CUDA_SUCCESS;
		if (nodes)
			nodes[total] = (CUgraphNode)node;
		total++;
	}
	for (size_t i = total; nodes && i < *count; i++)
		nodes[i] = NULL;
	*count = total;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	return DRIVER_CALL(cuGraphGetNodes, NULL, NULL, get_nodes(hGraph, nodes, numNodes));
}

static CUresult get_type(CUgraphNode handle, CUgraphNodeType *type)
{
	const struct sim_node *node = sim_graph_check_node(handle);

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	return DRIVER_CALL(cuGraphNodeGetType, NULL, NULL, get_type(hNode, type));
}
