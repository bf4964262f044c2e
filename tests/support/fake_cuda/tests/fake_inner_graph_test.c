/* Graphs within graphs on fake CUDA: child graphs at two levels, and the bodies of conditional nodes. */
#include "graph_fixture.h"

#include <stdlib.h>

/* The node that was copied n-th from one of graph_id's: the handle that the callback told. */
static CUgraphNode handles[GRAPHS_MAX];
static uint64_t first_ids[GRAPHS_MAX];
static uint32_t nr_handles;
static CUpti_SubscriberHandle own;

static void remember(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		     const void *data)
{
	const CUpti_ResourceData *resource = data;
	const CUpti_GraphData *graph = resource->resourceDescriptor;

	(void)user;
	assert_int_equal(domain, CUPTI_CB_DOMAIN_RESOURCE);
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
		assert_int_equal(cuptiGetGraphNodeId(graph->node, &first_ids[nr_handles]),
				 CUPTI_SUCCESS);
		handles[nr_handles++] = graph->node;
	}
}

static int start(void **state)
{
	(void)state;
	nr_handles = 0;
	if (cuptiSubscribe(&own, remember, NULL) != CUPTI_SUCCESS)
		return -1;
	return cuptiEnableCallback(1, own, CUPTI_CB_DOMAIN_RESOURCE,
				   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == CUPTI_SUCCESS
		       ? 0
		       : -1;
}

static int stop(void **state)
{
	(void)state;
	return cuptiUnsubscribe(own) == CUPTI_SUCCESS ? 0 : -1;
}

static cudaGraph_t new_graph(void)
{
	cudaGraph_t graph;

	assert_int_equal(cudaGraphCreate(&graph, 0), cudaSuccess);
	return graph;
}

static cudaGraphNode_t add(cudaGraph_t graph, const void *kernel)
{
	struct cudaKernelNodeParams params = {
		.func = (void *)(uintptr_t)kernel, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t node;

	assert_int_equal(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params), cudaSuccess);
	return node;
}

static void add_child(cudaGraph_t graph, cudaGraph_t child)
{
	cudaGraphNode_t node;

	assert_int_equal(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child), cudaSuccess);
}

static struct cudaGraphNodeParams add_conditional(cudaGraph_t graph, unsigned int value,
						  enum cudaGraphConditionalNodeType type,
						  unsigned int size)
{
	struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
	cudaGraphNode_t node;

	params.conditional.type = type;
	params.conditional.size = size;
	assert_int_equal(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, value,
							  cudaGraphCondAssignDefault),
			 cudaSuccess);
	assert_int_equal(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), cudaSuccess);
	return params;
}

static uint64_t id_of(CUgraphNode node)
{
	uint64_t id;

	assert_int_equal(cuptiGetGraphNodeId(node, &id), CUPTI_SUCCESS);
	return id;
}

static void copies_answer_the_executable_graphs_ids_once_it_is_there(void **state)
{
	(void)state;
	cudaGraph_t lowest = new_graph(), middle = new_graph(), top = new_graph();
	add(lowest, first);
	add(middle, first);
	add_child(middle, lowest);
	add(middle, second);
	add(top, first);
	add_child(top, middle);
	add_child(top, lowest);
	add(top, second);
	nr_handles = 0;
	cudaGraphExec_t exec = instantiate(top);
	uint64_t base = (uint64_t)exec_id(exec) << 32;
	/* In the order of the copying; 0: child graphs' nodes, which are gone. */
	const uint32_t numbers[] = {0, 4, 7, 0, 6, 0, 8, 0, 3};

	assert_int_equal(nr_handles, 9);
	for (uint32_t i = 0; i < 9; i++) {
		if (numbers[i] || i == 0)
			assert_int_equal(id_of(handles[i]), base + numbers[i]);
	}
	assert_int_not_equal(first_ids[1] >> 32, base >> 32);
	discard(exec, top);
	assert_int_equal(cudaGraphDestroy(middle), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(lowest), cudaSuccess);
}

static void a_copy_has_the_number_of_its_original(void **state)
{
	(void)state;
	cudaGraph_t graph = new_graph();
	add(graph, first);
	cudaGraphNode_t gone = add(graph, first);
	add(graph, second);
	assert_int_equal(cuGraphDestroyNode(gone), CUDA_SUCCESS);
	nr_handles = 0;
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(nr_handles, 2);
	assert_int_equal(first_ids[1], ((uint64_t)exec_id(exec) << 32) + 2);
	discard(exec, graph);
}

static void the_records_of_a_body_have_no_correlation_id(void **state)
{
	(void)state;
	cudaGraph_t graph = new_graph();
	add(graph, first);
	struct cudaGraphNodeParams loop = add_conditional(graph, 3, cudaGraphCondTypeWhile, 1);
	add(loop.conditional.phGraph_out[0], second);
	cudaGraphExec_t exec = instantiate(graph);
	launch(exec);
	listener_finish();
	assert_int_equal(seen.nr_records, 4);
	assert_int_not_equal(seen.records[0].correlation_id, 0);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(seen.records[i].correlation_id, 0);
		assert_string_equal(seen.records[i].name, "second");
		assert_int_equal(seen.records[i].graph_id, exec_id(exec));
		assert_int_equal(seen.records[i].graph_node_id,
				 ((uint64_t)exec_id(exec) << 32) + 2);
	}
	discard(exec, graph);
}

static void a_branch_runs_by_the_conditions_value(void **state)
{
	(void)state;
	cudaGraph_t graph = new_graph();
	struct cudaGraphNodeParams either = add_conditional(graph, 0, cudaGraphCondTypeIf, 2);
	add(either.conditional.phGraph_out[0], first);
	add(either.conditional.phGraph_out[1], second);
	struct cudaGraphNodeParams one = add_conditional(graph, 2, cudaGraphCondTypeSwitch, 3);
	for (int i = 0; i < 3; i++)
		add(one.conditional.phGraph_out[i], i == 2 ? first : second);
	cudaGraphExec_t exec = instantiate(graph);
	launch(exec);
	listener_finish();
	assert_int_equal(seen.nr_records, 2);
	assert_string_equal(seen.records[0].name, "second");
	assert_string_equal(seen.records[1].name, "first");
	discard(exec, graph);
}

static void a_body_can_be_captured(void **state)
{
	cudaGraph_t body, captured;

	(void)state;
	cudaGraph_t graph = new_graph();
	body = add_conditional(graph, 1, cudaGraphCondTypeIf, 1).conditional.phGraph_out[0];
	assert_int_equal(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0,
						       cudaStreamCaptureModeRelaxed),
			 cudaSuccess);
	assert_int_equal(listener_launch(second, stream), cudaSuccess);
	assert_int_equal(cudaStreamEndCapture(stream, &captured), cudaSuccess);
	assert_ptr_equal(captured, body);
	cudaGraphExec_t exec = instantiate(graph);
	launch(exec);
	listener_finish();
	assert_int_equal(seen.nr_records, 1);
	assert_string_equal(seen.records[0].name, "second");
	discard(exec, graph);
}

static void a_graph_with_conditional_nodes_is_instantiated_once_and_not_copied(void **state)
{
	cudaGraph_t clone;
	cudaGraphExec_t another;
	cudaGraphNode_t node;

	(void)state;
	cudaGraph_t graph = new_graph(), parent = new_graph();
	add_conditional(graph, 1, cudaGraphCondTypeIf, 1);
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(cudaGraphInstantiate(&another, graph, 0), cudaErrorNotSupported);
	assert_int_equal(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
	assert_int_equal(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph),
			 cudaErrorNotSupported);
	discard(exec, graph);
	assert_int_equal(cudaGraphDestroy(parent), cudaSuccess);
}

static void a_child_graph_can_be_given_anothers_parameters(void **state)
{
	CUgraphNode node, inside;
	size_t room = 1;
	CUgraph inner;

	(void)state;
	cudaGraph_t child = new_graph(), other = new_graph(), parent = new_graph();
	add(child, first);
	add(other, second);
	assert_int_equal(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, child), cudaSuccess);
	assert_int_equal(cuGraphChildGraphNodeGetGraph(node, &inner), CUDA_SUCCESS);
	assert_int_equal(cudaGraphGetNodes(inner, &inside, &room), cudaSuccess);
	assert_int_equal(room, 1);
	cudaGraphExec_t exec = instantiate(parent);
	seen.nr_graphs = 0;
	assert_int_equal(cudaGraphExecChildGraphNodeSetParams(exec, node, other), cudaSuccess);
	const struct seen_graph *updated = nth(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, 0);
	assert_int_equal(updated->original_node_id, ((uint64_t)exec_id(exec) << 32) + 1);
	assert_int_equal(updated->node_id, (uint64_t)graph_id(other) << 32);
	launch(exec);
	listener_finish();
	assert_string_equal(seen.records[0].name, "second");
	add(other, second);
	assert_int_equal(cudaGraphExecChildGraphNodeSetParams(exec, node, other),
			 cudaErrorInvalidValue);
	discard(exec, parent);
	assert_int_equal(cudaGraphDestroy(other), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(child), cudaSuccess);
}

static void what_is_no_condition_is_refused(void **state)
{
	struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
	cudaGraphNode_t node;

	(void)state;
	cudaGraph_t graph = new_graph();
	params.conditional.size = 1;
	assert_int_equal(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params),
			 cudaErrorInvalidValue);
	assert_int_equal(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 1, 0),
			 cudaSuccess);
	params.conditional.size = 3;
	assert_int_equal(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params),
			 cudaErrorInvalidValue);
	params.type = cudaGraphNodeTypeKernel;
	assert_int_equal(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params),
			 cudaErrorNotSupported);
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

#define OWN_TEST(name)   cmocka_unit_test_setup_teardown(name, start, stop)
#define GRAPH_TEST(name) cmocka_unit_test_setup_teardown(name, listener_start, listener_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OWN_TEST(copies_answer_the_executable_graphs_ids_once_it_is_there),
		OWN_TEST(a_copy_has_the_number_of_its_original),
		GRAPH_TEST(the_records_of_a_body_have_no_correlation_id),
		GRAPH_TEST(a_branch_runs_by_the_conditions_value),
		GRAPH_TEST(a_body_can_be_captured),
		GRAPH_TEST(a_graph_with_conditional_nodes_is_instantiated_once_and_not_copied),
		GRAPH_TEST(a_child_graph_can_be_given_anothers_parameters),
		GRAPH_TEST(what_is_no_condition_is_refused),
	};

	return cmocka_run_group_tests(tests, open_device, NULL);
}
