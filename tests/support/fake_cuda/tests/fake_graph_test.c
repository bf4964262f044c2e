/* CUDA graphs on fake CUDA: capture, instantiation, launches, and what CUPTI is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver_versions.h"
#include "graph_fixture.h"
#include "listener.h"

static uint32_t count(CUpti_CallbackId cbid)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < seen.nr_graphs; i++)
		found += seen.graphs[i].cbid == cbid;
	return found;
}

static uint32_t id_of_last(CUpti_CallbackId driver_cbid)
{
	for (uint32_t i = seen.nr_calls; i > 0; i--) {
		const struct seen_call *call = &seen.calls[i - 1];

		if (call->domain == CUPTI_CB_DOMAIN_DRIVER_API && call->cbid == driver_cbid)
			return call->correlation_id;
	}
	return 0;
}

static void instantiation_reports_each_node_as_created_and_then_cloned(void **state)
{
	(void)state;
	cudaGraph_t graph = capture_two();
	seen.nr_graphs = 0;
	cudaGraphExec_t exec = instantiate(graph);
	uint64_t base = (uint64_t)exec_id(exec) << 32, original = (uint64_t)graph_id(graph) << 32;

	assert_int_equal(seen.nr_graphs, 8);
	assert_int_equal(seen.graphs[0].cbid, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
	assert_int_equal(seen.graphs[0].graph_id, exec_id(exec));
	for (uint32_t i = 0; i < 2; i++) {
		const struct seen_graph *created = &seen.graphs[2 * i + 1], *cloned = created + 1;

		assert_int_equal(created->cbid, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
		assert_int_equal(created->node_id, base + i);
		assert_int_equal(cloned->cbid, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
		assert_int_equal(cloned->node_id, base + i);
		assert_int_equal(cloned->original_node_id, original + i);
	}
	assert_int_equal(seen.graphs[5].cbid, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
	assert_int_equal(seen.graphs[6].cbid, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
	assert_int_equal(seen.graphs[6].exec_id, exec_id(exec));
	assert_int_equal(seen.graphs[7].cbid, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
	assert_int_equal(seen.graphs[7].exec_id, exec_id(exec));
	discard(exec, graph);
}

static void a_graph_launch_runs_each_node_with_the_launchs_id(void **state)
{
	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	uint32_t ids[3];
	for (int i = 0; i < 3; i++) {
		launch(exec);
		ids[i] = id_of_last(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
	}
	listener_finish();

	assert_int_equal(seen.nr_records, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const struct seen_record *record = &seen.records[i];

		assert_int_equal(record->correlation_id, ids[i / 2]);
		assert_int_equal(record->graph_id, exec_id(exec));
		assert_int_equal(record->graph_node_id, ((uint64_t)exec_id(exec) << 32) + i % 2);
		assert_string_equal(record->name, i % 2 ? "second" : "first");
		assert_int_equal(record->end_ns - record->start_ns, i % 2 ? 2000 : 1000);
		if (i)
			assert_true(record->start_ns >= seen.records[i - 1].end_ns);
	}
	discard(exec, graph);
}

static void an_ordinary_launch_has_no_graph_ids(void **state)
{
	(void)state;
	assert_int_equal(listener_launch(first, stream), cudaSuccess);
	listener_finish();
	assert_int_equal(seen.nr_records, 1);
	assert_int_equal(seen.records[0].graph_id, 0);
	assert_int_equal(seen.records[0].graph_node_id, 0);
}

static void under_graph_trace_a_launch_gives_one_record(void **state)
{
	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
	launch(exec);
	launch(exec);
	assert_int_equal(listener_launch(first, stream), cudaSuccess);
	listener_finish();

	assert_int_equal(seen.nr_records, 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(seen.records[i].kind, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
		assert_int_equal(seen.records[i].graph_id, exec_id(exec));
		assert_true(seen.records[i].end_ns - seen.records[i].start_ns >= 3000);
	}
	assert_int_equal(seen.records[1].correlation_id,
			 id_of_last(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
	assert_int_equal(seen.records[2].kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	assert_int_equal(seen.records[2].graph_id, 0);
	discard(exec, graph);
}

/* The valid_count of the rows of one kind on the test's stream that were delivered. */
static unsigned long long valid_in_truth(const char *kind)
{
	char path[] = "/tmp/fake_graph_test.XXXXXX", line[1024];
	unsigned long long sum = 0, ran, valid;
	int descriptor = mkstemp(path);

	assert_true(descriptor >= 0);
	close(descriptor);
	assert_int_equal(fake_cuda_write_truth(path), 0);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *name = strstr(line, kind);

		/* The name may be empty. */
		if (line[0] == '#' || !name || name[-1] != '\t')
			continue;
		name = strchr(name, '\t') + 1;
		assert_int_equal(sscanf(strchr(name, '\t'), "%llu %*u %*u %llu", &ran, &valid), 2);
		assert_true(ran >= valid);
		sum += valid;
	}
	fclose(file);
	unlink(path);
	return sum;
}

static void the_truth_counts_the_runs_of_nodes(void **state)
{
	(void)state;
	unsigned long long kernels = valid_in_truth("kernel"), graphs = valid_in_truth("graph");
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	launch(exec);
	launch(exec);
	listener_finish();
	assert_int_equal(valid_in_truth("kernel"), kernels + 4);
	assert_int_equal(valid_in_truth("graph"), graphs);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
	launch(exec);
	listener_finish();
	assert_int_equal(valid_in_truth("kernel"), kernels + 4);
	assert_int_equal(valid_in_truth("graph"), graphs + 1);
	discard(exec, graph);
}

static void an_explicit_node_is_created_within_its_call(void **state)
{
	struct cudaKernelNodeParams params = {
		.func = first, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t nodes[2], got[3];
	size_t room = 3;
	cudaGraph_t graph;

	(void)state;
	assert_int_equal(cudaGraphCreate(&graph, 0), cudaSuccess);
	assert_int_equal(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, &params), cudaSuccess);
	assert_int_equal(cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &params), cudaSuccess);
	const struct seen_graph *created = nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0);
	assert_int_equal(seen.calls[created->call - 1].cbid,
			 CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2);
	assert_int_equal(seen.calls[created->call - 1].site, CUPTI_API_ENTER);
	assert_int_equal(cudaGraphGetNodes(graph, got, &room), cudaSuccess);
	assert_int_equal(room, 2);
	assert_memory_equal(got, nodes, sizeof(nodes));
	assert_null(got[2]);

	cudaGraphExec_t exec = instantiate(graph);
	launch(exec);
	listener_finish();
	assert_int_equal(seen.nr_records, 2);
	params.blockDim = (dim3){4096, 1, 1};
	assert_int_equal(cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &params),
			 cudaErrorInvalidValue);
	discard(exec, graph);
}

static void a_child_graph_runs_as_a_part_of_its_parent(void **state)
{
	cudaGraphNode_t node;
	cudaGraph_t parent;

	(void)state;
	cudaGraph_t child = capture_two();
	assert_int_equal(cudaGraphCreate(&parent, 0), cudaSuccess);
	assert_int_equal(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, child), cudaSuccess);
	assert_int_equal(cudaGraphAddChildGraphNode(&node, parent, &node, 1, child), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(child), cudaSuccess);
	cudaGraphExec_t exec = instantiate(parent);
	launch(exec);
	listener_finish();

	assert_int_equal(seen.nr_records, 4);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t node_id = ((uint64_t)exec_id(exec) << 32) + 2 + i;

		assert_int_equal(seen.records[i].graph_id, exec_id(exec));
		assert_int_equal(seen.records[i].graph_node_id, node_id);
		for (uint32_t g = 0; g < seen.nr_graphs; g++)
			assert_int_not_equal(seen.graphs[g].node_id, node_id);
	}
	discard(exec, parent);
}

static void a_clone_is_reported_with_its_original(void **state)
{
	cudaGraph_t clone;

	(void)state;
	cudaGraph_t graph = capture_two();
	seen.nr_graphs = 0;
	assert_int_equal(cudaGraphClone(&clone, graph), cudaSuccess);
	assert_int_equal(seen.graphs[0].cbid, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
	const struct seen_graph *cloned = nth(CUPTI_CBID_RESOURCE_GRAPH_CLONED, 0);
	assert_int_equal(cloned->graph_id, graph_id(clone));
	assert_int_equal(cloned->original_graph_id, graph_id(graph));
	assert_int_equal(count(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED), 2);
	assert_int_equal(nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 1)->original_node_id,
			 ((uint64_t)graph_id(graph) << 32) + 1);
	assert_int_equal(nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 1)->node_id,
			 ((uint64_t)graph_id(clone) << 32) + 1);
	assert_int_equal(cudaGraphDestroy(clone), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

static void an_update_keeps_the_nodes_and_changes_what_they_do(void **state)
{
	cudaGraphExecUpdateResultInfo info;

	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	begin();
	assert_int_equal(listener_launch(second, stream), cudaSuccess);
	assert_int_equal(listener_launch(second, stream), cudaSuccess);
	cudaGraph_t other = end();
	assert_int_equal(cudaGraphExecUpdate(exec, other, &info), cudaSuccess);
	assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
	const struct seen_graph *updated = nth(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, 0);
	assert_int_equal(updated->original_node_id, (uint64_t)exec_id(exec) << 32);
	assert_int_equal(updated->node_id, (uint64_t)graph_id(other) << 32);
	assert_int_equal(updated->exec_id, exec_id(exec));
	launch(exec);
	listener_finish();
	assert_int_equal(seen.nr_records, 2);
	assert_string_equal(seen.records[0].name, "second");
	assert_int_equal(seen.records[0].graph_node_id, (uint64_t)exec_id(exec) << 32);
	/* The nodes of the graph that was instantiated still name those of the executable one. */
	struct cudaKernelNodeParams params = {
		.func = first, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t nodes[2];
	size_t room = 2;
	assert_int_equal(cudaGraphGetNodes(graph, nodes, &room), cudaSuccess);
	assert_int_equal(cudaGraphExecKernelNodeSetParams(exec, nodes[0], &params), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(other), cudaSuccess);
	discard(exec, graph);
}

static void an_update_with_another_shape_is_refused(void **state)
{
	cudaGraphExecUpdateResultInfo info;

	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	begin();
	assert_int_equal(listener_launch(second, stream), cudaSuccess);
	cudaGraph_t other = end();
	assert_int_equal(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
	assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
	assert_int_equal(count(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED), 0);
	assert_int_equal(cudaGraphDestroy(other), cudaSuccess);
	discard(exec, graph);
}

static void parameters_can_be_set_in_the_executable_graph(void **state)
{
	struct cudaKernelNodeParams params = {
		.func = second, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t nodes[2];
	size_t room = 2;

	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(cudaGraphGetNodes(graph, nodes, &room), cudaSuccess);
	assert_int_equal(cudaGraphExecKernelNodeSetParams(exec, nodes[0], &params), cudaSuccess);
	const struct seen_graph *set = nth(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, 0);
	assert_int_equal(set->node_id, (uint64_t)exec_id(exec) << 32);
	assert_int_equal(set->original_node_id, (uint64_t)graph_id(graph) << 32);
	launch(exec);
	listener_finish();
	assert_string_equal(seen.records[0].name, "second");
	discard(exec, graph);
}

static void destruction_is_reported_for_graphs_and_their_nodes(void **state)
{
	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	uint64_t base = (uint64_t)exec_id(exec) << 32;
	seen.nr_graphs = 0;
	assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
	assert_int_equal(seen.graphs[0].cbid, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
	assert_int_equal(seen.graphs[0].exec_id, base >> 32);
	assert_int_equal(nth(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, 1)->node_id, base + 1);
	seen.nr_graphs = 0;
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
	assert_int_equal(seen.graphs[0].cbid, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
	assert_int_equal(count(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING), 2);
}

static void only_enabled_callbacks_come(void **state)
{
	(void)state;
	assert_int_equal(cuptiEnableDomain(0, seen.subscriber, CUPTI_CB_DOMAIN_RESOURCE),
			 CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableCallback(1, seen.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
					     CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED),
			 CUPTI_SUCCESS);
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(seen.nr_graphs, 2);
	assert_int_equal(seen.graphs[0].cbid, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	discard(exec, graph);
}

static void the_driver_finds_graph_functions_by_their_unversioned_names(void **state)
{
	void *found;

	(void)state;
	assert_int_equal(cuGetProcAddress_v2("cuGraphInstantiate", &found, 13000, 0, NULL),
			 CUDA_SUCCESS);
	assert_ptr_equal(found, (void *)(uintptr_t)cuGraphInstantiateWithFlags);
	assert_int_equal(cuGetProcAddress_v2("cuGraphLaunch", &found, 13000,
					     CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL),
			 CUDA_SUCCESS);
	assert_ptr_equal(found, (void *)(uintptr_t)cuGraphLaunch_ptsz);
	assert_int_equal(cuGetProcAddress_v2("cuGraphAddKernelNode", &found, 13000, 0, NULL),
			 CUDA_SUCCESS);
	assert_ptr_equal(found, (void *)(uintptr_t)cuGraphAddKernelNode_v2);
}

static void the_driver_builds_graphs_of_all_kinds_of_nodes(void **state)
{
	char source[BYTES];
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = source,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = (CUdeviceptr)(uintptr_t)memory,
		.WidthInBytes = BYTES,
		.Height = 1,
		.Depth = 1,
	};
	CUDA_MEMSET_NODE_PARAMS fill = {.dst = (CUdeviceptr)(uintptr_t)memory,
					.value = 0x01020304,
					.elementSize = 4,
					.width = 2,
					.height = 1};
	CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = 0};
	CUgraphNode copied, filled, empty;
	CUgraphNodeType type;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	memset(source, 'z', sizeof(source));
	assert_int_equal(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	assert_int_equal(cuGraphAddMemcpyNode(&copied, graph, NULL, 0, &copy, NULL), CUDA_SUCCESS);
	assert_int_equal(cuGraphAddMemsetNode(&filled, graph, &copied, 1, &fill, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(cuGraphAddEmptyNode(&empty, graph, &filled, 1), CUDA_SUCCESS);
	assert_int_equal(cuGraphNodeGetType(filled, &type), CUDA_SUCCESS);
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMSET);
	copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	assert_int_equal(cuGraphAddMemcpyNode(&copied, graph, NULL, 0, &copy, NULL),
			 CUDA_ERROR_NOT_SUPPORTED);
	fill.elementSize = 3;
	assert_int_equal(cuGraphAddMemsetNode(&filled, graph, NULL, 0, &fill, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphInstantiateWithParams(&exec, graph, &how), CUDA_SUCCESS);
	assert_int_equal(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	assert_int_equal(cuGraphUpload(exec, stream), CUDA_SUCCESS);
	assert_int_equal(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
	listener_finish();
	assert_int_equal(seen.nr_records, 2);
	assert_int_equal(memory[0], 4);
	assert_int_equal(memory[8], 'z');
	seen.nr_graphs = 0;
	assert_int_equal(cuGraphDestroyNode(empty), CUDA_SUCCESS);
	assert_int_equal(count(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING), 1);
	discard(exec, graph);
}

static void what_is_no_graph_is_refused(void **state)
{
	cudaGraphExecUpdateResultInfo info;
	char nothing[256] = {0};
	uint64_t node_id;
	uint32_t id;
	void *handle = nothing;

	(void)state;
	assert_int_equal(cudaGraphDestroy(handle), cudaErrorInvalidValue);
	assert_int_equal(cudaGraphExecDestroy(handle), cudaErrorInvalidValue);
	assert_int_equal(cudaGraphLaunch(handle, stream), cudaErrorInvalidValue);
	assert_int_equal(cudaGraphExecUpdate(handle, handle, &info), cudaErrorInvalidValue);
	assert_int_equal(cuptiGetGraphNodeId(handle, &node_id), CUPTI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cuptiGetGraphId(handle, &id), CUPTI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cuptiGetGraphExecId(handle, &id), CUPTI_ERROR_INVALID_PARAMETER);
}

#define GRAPH_TEST(name) cmocka_unit_test_setup_teardown(name, listener_start, listener_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(instantiation_reports_each_node_as_created_and_then_cloned),
		GRAPH_TEST(a_graph_launch_runs_each_node_with_the_launchs_id),
		GRAPH_TEST(an_ordinary_launch_has_no_graph_ids),
		GRAPH_TEST(under_graph_trace_a_launch_gives_one_record),
		GRAPH_TEST(the_truth_counts_the_runs_of_nodes),
		GRAPH_TEST(an_explicit_node_is_created_within_its_call),
		GRAPH_TEST(a_child_graph_runs_as_a_part_of_its_parent),
		GRAPH_TEST(a_clone_is_reported_with_its_original),
		GRAPH_TEST(an_update_keeps_the_nodes_and_changes_what_they_do),
		GRAPH_TEST(an_update_with_another_shape_is_refused),
		GRAPH_TEST(parameters_can_be_set_in_the_executable_graph),
		GRAPH_TEST(destruction_is_reported_for_graphs_and_their_nodes),
		GRAPH_TEST(only_enabled_callbacks_come),
		GRAPH_TEST(the_driver_finds_graph_functions_by_their_unversioned_names),
		GRAPH_TEST(the_driver_builds_graphs_of_all_kinds_of_nodes),
		GRAPH_TEST(what_is_no_graph_is_refused),
	};

	return cmocka_run_group_tests(tests, open_device, NULL);
}
