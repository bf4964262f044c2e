/* Stream capture on fake CUDA: what becomes a node, and what makes a capture invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "graph_fixture.h"
#include "listener.h"

static void a_captured_launch_creates_a_node_and_leaves_no_record(void **state)
{
	enum cudaStreamCaptureStatus status;

	(void)state;
	begin();
	assert_int_equal(cudaStreamIsCapturing(stream, &status), cudaSuccess);
	assert_int_equal(status, cudaStreamCaptureStatusActive);
	assert_int_equal(listener_launch(first, stream), cudaSuccess);
	cudaGraph_t graph = end();
	assert_int_equal(cudaStreamIsCapturing(stream, &status), cudaSuccess);
	assert_int_equal(status, cudaStreamCaptureStatusNone);
	listener_finish();
	assert_int_equal(seen.nr_records, 0);

	const struct seen_graph *created = nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0);
	assert_int_equal(created->node_id, (uint64_t)graph_id(graph) << 32);
	assert_int_equal(created->graph_id, graph_id(graph));
	assert_int_equal(created->type, CU_GRAPH_NODE_TYPE_KERNEL);
	/* Between ENTER and EXIT of the driver's launch. */
	const struct seen_call *enter = &seen.calls[created->call - 1];
	assert_int_equal(enter->cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	assert_int_equal(enter->site, CUPTI_API_ENTER);
	assert_true(enter->correlation_id > 0);
	assert_int_equal(seen.calls[created->call].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	assert_int_equal(seen.calls[created->call].result, CUDA_SUCCESS);
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

static void captured_copies_and_memsets_happen_when_the_graph_is_launched(void **state)
{
	char source[BYTES], target[BYTES];

	(void)state;
	memset(source, 'x', sizeof(source));
	memset(target, '-', sizeof(target));
	begin();
	assert_int_equal(cudaMemcpyAsync(memory, source, BYTES, cudaMemcpyHostToDevice, stream),
			 cudaSuccess);
	assert_int_equal(cudaMemsetAsync(memory, 'y', BYTES / 2, stream), cudaSuccess);
	assert_int_equal(cudaMemcpyAsync(target, memory, BYTES, cudaMemcpyDeviceToHost, stream),
			 cudaSuccess);
	cudaGraph_t graph = end();
	cudaGraphExec_t exec = instantiate(graph);
	assert_int_equal(target[0], '-');
	launch(exec);
	listener_finish();

	assert_int_equal(target[0], 'y');
	assert_int_equal(target[BYTES - 1], 'x');
	assert_int_equal(nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0)->type,
			 CU_GRAPH_NODE_TYPE_MEMCPY);
	assert_int_equal(nth(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 1)->type,
			 CU_GRAPH_NODE_TYPE_MEMSET);
	assert_int_equal(seen.nr_records, 3);
	assert_int_equal(seen.records[1].kind, CUPTI_ACTIVITY_KIND_MEMSET);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(seen.records[i].graph_id, exec_id(exec));
		assert_int_equal(seen.records[i].graph_node_id,
				 ((uint64_t)exec_id(exec) << 32) + i);
	}
	discard(exec, graph);
}

static void a_synchronizing_call_makes_the_capture_invalid(void **state)
{
	cudaGraph_t graph;

	(void)state;
	begin();
	assert_int_equal(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	assert_int_equal(listener_launch(first, stream), cudaErrorStreamCaptureInvalidated);
	assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	assert_null(graph);
	assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
	assert_int_equal(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed),
			 cudaErrorStreamCaptureUnsupported);
	assert_int_equal(listener_launch(first, stream), cudaSuccess);
}

static void a_stream_joins_a_capture_by_an_event(void **state)
{
	cudaStream_t side;
	cudaEvent_t event;
	size_t count_of_nodes = 0;
	enum cudaStreamCaptureStatus status;

	(void)state;
	assert_int_equal(cudaStreamCreate(&side), cudaSuccess);
	assert_int_equal(cudaEventCreate(&event), cudaSuccess);
	begin();
	assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
	assert_int_equal(cudaStreamWaitEvent(side, event, 0), cudaSuccess);
	assert_int_equal(listener_launch(first, side), cudaSuccess);
	assert_int_equal(cudaEventRecord(event, side), cudaSuccess);
	assert_int_equal(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
	cudaGraph_t graph;
	assert_int_equal(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
	graph = end();
	assert_int_equal(cudaStreamIsCapturing(side, &status), cudaSuccess);
	assert_int_equal(status, cudaStreamCaptureStatusNone);
	assert_int_equal(cudaGraphGetNodes(graph, NULL, &count_of_nodes), cudaSuccess);
	assert_int_equal(count_of_nodes, 1);
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
	assert_int_equal(cudaEventDestroy(event), cudaSuccess);
	assert_int_equal(cudaStreamDestroy(side), cudaSuccess);
}

static void a_launch_of_a_graph_into_a_capture_is_refused(void **state)
{
	cudaGraph_t nothing;

	(void)state;
	cudaGraph_t graph = capture_two();
	cudaGraphExec_t exec = instantiate(graph);
	begin();
	assert_int_equal(cudaGraphLaunch(exec, stream), cudaErrorStreamCaptureUnsupported);
	assert_int_equal(cudaStreamEndCapture(stream, &nothing), cudaErrorStreamCaptureInvalidated);
	listener_finish();
	assert_int_equal(seen.nr_records, 0);
	discard(exec, graph);
}

static _Atomic int held_has_ended;
static _Atomic uint64_t held_start_ns;

static void held_begins(struct fake_cuda_open *open, uint64_t start_ns)
{
	(void)open;
	held_start_ns = start_ns;
}

static bool held_ends(struct fake_cuda_open *open, uint64_t *end_ns)
{
	(void)open;
	*end_ns = held_start_ns + 1;
	return held_has_ended;
}

static void an_event_behind_a_context_ends_with_the_work_of_all_its_streams(void **state)
{
	static struct fake_cuda_open held = {.begin = held_begins, .end = held_ends};
	CUcontext context;
	CUevent event;
	cudaStream_t side;

	(void)state;
	assert_int_equal(cudaStreamCreate(&side), cudaSuccess);
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
	assert_int_equal(cuEventCreate(&event, 0), CUDA_SUCCESS);
	fake_cuda_open_next(&held);
	assert_int_equal(listener_launch(first, side), cudaSuccess);
	assert_int_equal(cuCtxRecordEvent(context, event), CUDA_SUCCESS);
	assert_int_equal(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	held_has_ended = 1;
	assert_int_equal(cuEventSynchronize(event), CUDA_SUCCESS);
	assert_int_equal(cuEventQuery(event), CUDA_SUCCESS);
	assert_int_equal(cuEventDestroy(event), CUDA_SUCCESS);
	assert_int_equal(cudaStreamDestroy(side), cudaSuccess);
}

static void an_event_behind_a_context_makes_its_captures_invalid(void **state)
{
	cudaGraph_t nothing;
	CUcontext context;
	CUevent event;

	(void)state;
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
	assert_int_equal(cuEventCreate(&event, 0), CUDA_SUCCESS);
	begin();
	assert_int_equal(cuCtxRecordEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cudaStreamEndCapture(stream, &nothing), cudaErrorStreamCaptureInvalidated);
	assert_int_equal(cuEventDestroy(event), CUDA_SUCCESS);
}

#define CAPTURE_TEST(name) cmocka_unit_test_setup_teardown(name, listener_start, listener_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CAPTURE_TEST(a_captured_launch_creates_a_node_and_leaves_no_record),
		CAPTURE_TEST(captured_copies_and_memsets_happen_when_the_graph_is_launched),
		CAPTURE_TEST(a_synchronizing_call_makes_the_capture_invalid),
		CAPTURE_TEST(a_stream_joins_a_capture_by_an_event),
		CAPTURE_TEST(a_launch_of_a_graph_into_a_capture_is_refused),
		CAPTURE_TEST(an_event_behind_a_context_ends_with_the_work_of_all_its_streams),
		CAPTURE_TEST(an_event_behind_a_context_makes_its_captures_invalid),
	};

	return cmocka_run_group_tests(tests, open_device, NULL);
}
