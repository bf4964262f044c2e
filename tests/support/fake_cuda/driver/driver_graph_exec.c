/* Executable graphs of the driver API. */
#include "driver_call.h"

#include "driver_task.h"
#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_graph.h"

static CUresult instantiate(CUgraphExec *handle, CUgraph graph_handle)
{
	struct sim_graph *graph = sim_graph_check(graph_handle);

	*handle = NULL;
	if (!graph || graph->executable)
		return CUDA_ERROR_INVALID_VALUE;
	if (graph->conditional && graph->instantiated)
		return CUDA_ERROR_NOT_SUPPORTED;
	*handle = (CUgraphExec)sim_graph_instantiate(graph);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
				     unsigned long long flags)
{
	(void)flags;
	return DRIVER_CALL(cuGraphInstantiateWithFlags, NULL, NULL,
			   instantiate(phGraphExec, hGraph));
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
			       char *logBuffer, size_t bufferSize)
{
	if (phErrorNode)
		*phErrorNode = NULL;
	if (logBuffer && bufferSize)
		logBuffer[0] = '\0';
	return DRIVER_CALL(cuGraphInstantiate_v2, NULL, NULL, instantiate(phGraphExec, hGraph));
}

static CUresult instantiate_with(CUgraphExec *handle, CUgraph graph,
				 CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult error = instantiate(handle, graph);

	params->hErrNode_out = NULL;
	params->result_out = error == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
						   : CUDA_GRAPH_INSTANTIATE_ERROR;
	return error;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return DRIVER_CALL(cuGraphInstantiateWithParams, NULL, NULL,
			   instantiate_with(phGraphExec, hGraph, instantiateParams));
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return DRIVER_CALL(cuGraphInstantiateWithParams_ptsz, NULL, NULL,
			   instantiate_with(phGraphExec, hGraph, instantiateParams));
}

static CUresult destroy(CUgraphExec handle)
{
	struct sim_graph_exec *exec = sim_graph_check_exec(handle);

	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_exec_destroy(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	return DRIVER_CALL(cuGraphExecDestroy, NULL, NULL, destroy(hGraphExec));
}

static CUresult run(CUgraphExec handle, CUstream stream_handle, bool per_thread)
{
	const struct sim_graph_exec *exec = sim_graph_check_exec(handle);
	struct sim_stream *stream;
	CUresult error = driver_find_stream(stream_handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (driver_launch_fails())
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (stream->capture)
		return driver_spoil_capture(stream);
	return sim_graph_exec_run(exec, stream) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult launch(CUgraphExec exec, CUstream stream, bool per_thread)
{
	uint64_t cost_ns = sim_config_get(SIM_LAUNCH_NS);
	uint64_t begin_ns = cost_ns ? sim_clock_host_ns() : 0;
	CUresult error = run(exec, stream, per_thread);

	sim_truth_count_launch(error != CUDA_SUCCESS);
	if (cost_ns)
		sim_clock_spend(begin_ns, cost_ns);
	return error;
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	const cuGraphLaunch_params params = {hGraphExec, hStream};

	return DRIVER_CALL(cuGraphLaunch, &params, NULL, launch(hGraphExec, hStream, false));
}

CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	const cuGraphLaunch_params params = {hGraphExec, hStream};

	return DRIVER_CALL(cuGraphLaunch_ptsz, &params, NULL, launch(hGraphExec, hStream, true));
}

static CUresult upload(CUgraphExec handle, CUstream stream_handle, bool per_thread)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(stream_handle, per_thread, &stream);

	if (error == CUDA_SUCCESS && !sim_graph_check_exec(handle))
		error = CUDA_ERROR_INVALID_VALUE;
	return error;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	return DRIVER_CALL(cuGraphUpload, NULL, NULL, upload(hGraphExec, hStream, false));
}

CUresult cuGraphUpload_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	return DRIVER_CALL(cuGraphUpload_ptsz, NULL, NULL, upload(hGraphExec, hStream, true));
}

static CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
	struct sim_graph_exec *exec = sim_graph_check_exec(handle);
	const struct sim_graph *graph = sim_graph_check(graph_handle);
	struct sim_node *error_node = NULL;

	info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	info->errorNode = NULL;
	info->errorFromNode = NULL;
	if (!exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_exec_update(exec, graph, &error_node) != 0) {
		info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		info->errorNode = (CUgraphNode)error_node;
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
			      CUgraphExecUpdateResultInfo *resultInfo)
{
	return DRIVER_CALL(cuGraphExecUpdate_v2, NULL, NULL,
			   update(hGraphExec, hGraph, resultInfo));
}

static CUresult set_kernel(CUgraphExec handle, CUgraphNode node_handle,
			   const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct sim_graph_exec *exec = sim_graph_check_exec(handle);
	struct sim_node *node = sim_graph_check_node(node_handle);
	struct sim_task task;

	if (!exec || !node || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult error = driver_kernel_node_task(params, &task);
	if (error != CUDA_SUCCESS)
		return error;
	return sim_graph_exec_set_task(exec, node, &task) == 0 ? CUDA_SUCCESS
							       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return DRIVER_CALL(cuGraphExecKernelNodeSetParams_v2, NULL, NULL,
			   set_kernel(hGraphExec, hNode, nodeParams));
}

static CUresult set_child(CUgraphExec handle, CUgraphNode node_handle, CUgraph graph_handle)
{
	struct sim_graph_exec *exec = sim_graph_check_exec(handle);
	struct sim_node *node = sim_graph_check_node(node_handle);
	const struct sim_graph *graph = sim_graph_check(graph_handle);

	if (!exec || !node || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_exec_set_child(exec, node, graph) == 0 ? CUDA_SUCCESS
								: CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					    CUgraph childGraph)
{
	return DRIVER_CALL(cuGraphExecChildGraphNodeSetParams, NULL, NULL,
			   set_child(hGraphExec, hNode, childGraph));
}
