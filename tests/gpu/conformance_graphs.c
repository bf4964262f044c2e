#include "conformance_graphs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_log.h"

#define MODE_RELAXED   2
#define CAPTURED_NODES 4u /* two kernels, a memset, a copy */
#define REPLAYS        3u
#define SEQUENCE_BYTES 1024u
#define NODE_KERNEL    0u

static void *stream;

static uint32_t count_graphs(const struct conformance_log *log, uint32_t cbid)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < log->nr_graphs; i++)
		count += log->graphs[i].cbid == cbid;
	return count;
}

static uint32_t count_records(const struct conformance_log *log, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < log->nr_records; i++)
		count += log->records[i].kind == kind;
	return count;
}

/* Every graph callback in its order: cbid, then ids in hexadecimal. */
static void tell_sequence(const struct conformance_log *log, const char *of_what)
{
	char text[SEQUENCE_BYTES] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < log->nr_graphs && used < sizeof(text); i++) {
		const struct graph_entry *entry = &log->graphs[i];
		int length;

		if (entry->original_id)
			length = snprintf(text + used, sizeof(text) - used, " %u:%llx<-%llx",
					  entry->cbid, (unsigned long long)entry->node_id,
					  (unsigned long long)entry->original_id);
		else if (entry->node_id)
			length = snprintf(text + used, sizeof(text) - used, " %u:%llx", entry->cbid,
					  (unsigned long long)entry->node_id);
		else
			length = snprintf(text + used, sizeof(text) - used, " %u:g%u:x%u",
					  entry->cbid, entry->graph_id, entry->exec_id);
		used += (size_t)length;
	}
	fact("callbacks of %s:%s", of_what, text);
}

/* The kernels in this order, then a memset and a copy. */
static void *capture(const struct graph_subject *subject, int first, int second)
{
	const int order[2] = {first, second};
	device_address out = subject->memory;
	uint32_t loops = 100;
	void *params[] = {&out, &loops}, *graph = NULL;

	CALL(cuStreamBeginCapture_v2, stream, MODE_RELAXED);
	for (int i = 0; i < 2; i++)
		CALL(cuLaunchKernel, subject->functions[order[i]], 1, 1, 1, 32, 1, 1, 0, stream,
		     params, NULL);
	CALL(cuMemsetD8Async, subject->memory, 3, subject->bytes, stream);
	CALL(cuMemcpyDtoDAsync_v2, subject->memory + subject->bytes, subject->memory,
	     subject->bytes, stream);
	CALL(cuStreamEndCapture, stream, &graph);
	return graph;
}

static struct conformance_log settle(void)
{
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	return conformance_log_read();
}

static void *check_capture(const struct graph_subject *subject)
{
	uint32_t inside = 0, kernels = 0, numbered = 0, launches = 0, graph_id = 0;

	settle(); /* what ran before */
	conformance_log_clear();
	void *graph = capture(subject, 0, 1);
	const struct conformance_log log = settle();
	CALL(cuptiGetGraphId, graph, &graph_id);
	for (uint32_t i = 0, k = 0; i < log.nr_graphs; i++) {
		const struct graph_entry *entry = &log.graphs[i];

		if (entry->cbid != RESOURCE_NODE_CREATED)
			continue;
		numbered += entry->node_id == ((uint64_t)graph_id << 32) + k++;
		kernels += entry->node_type == NODE_KERNEL;
		inside += entry->call_cbid == CBID_LAUNCH_KERNEL && entry->call_correlation_id != 0;
	}
	for (uint32_t i = 0; i < log.nr_calls; i++)
		launches += log.calls[i].cbid == CBID_LAUNCH_KERNEL &&
			    log.calls[i].site == SITE_EXIT && log.calls[i].result == 0 &&
			    log.calls[i].correlation_id != 0;
	tell_sequence(&log, "a capture");
	check(launches == 2, "a captured launch has callbacks with an id and succeeds (%u of 2)",
	      launches);
	check(log.nr_records == 0, "what is captured has no record (%u have)", log.nr_records);
	check(count_graphs(&log, RESOURCE_NODE_CREATED) == CAPTURED_NODES,
	      "GRAPHNODE_CREATED comes for each captured node (%u of %u)",
	      count_graphs(&log, RESOURCE_NODE_CREATED), CAPTURED_NODES);
	fact("%u of the %u created nodes say that they are kernels", kernels, CAPTURED_NODES);
	check(inside == 2,
	      "kernel nodes are created inside the captured cuLaunchKernel, same thread (%u of 2)",
	      inside);
	check(numbered == CAPTURED_NODES,
	      "node ids are (graph id << 32) + k in the order of capture (%u of %u)", numbered,
	      CAPTURED_NODES);
	return graph;
}

/* Each node of an executable graph or a clone was created, then cloned from one of graph's. */
static void check_cloned(const struct conformance_log *log, uint32_t original_graph_id,
			 uint32_t expected, const char *what)
{
	uint32_t created_first = 0, of_original = 0;

	for (uint32_t i = 0; i < log->nr_graphs; i++) {
		const struct graph_entry *cloned = &log->graphs[i];

		if (cloned->cbid != RESOURCE_NODE_CLONED)
			continue;
		of_original += cloned->original_id >> 32 == original_graph_id;
		for (uint32_t e = 0; e < i; e++)
			created_first += log->graphs[e].cbid == RESOURCE_NODE_CREATED &&
					 log->graphs[e].node_id == cloned->node_id;
	}
	check(of_original == expected,
	      "%s: GRAPHNODE_CLONED names each node of the original (%u of %u)", what, of_original,
	      expected);
	check(created_first == count_graphs(log, RESOURCE_NODE_CLONED),
	      "%s: GRAPHNODE_CREATED comes before GRAPHNODE_CLONED (%u of %u)", what, created_first,
	      count_graphs(log, RESOURCE_NODE_CLONED));
}

static void *check_instantiation(void *graph)
{
	void *exec = NULL;
	uint32_t graph_id = 0, exec_id = 0, told = 0, of_exec = 0;

	conformance_log_clear();
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	const struct conformance_log log = conformance_log_read();
	CALL(cuptiGetGraphId, graph, &graph_id);
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	tell_sequence(&log, "an instantiation");
	fact("graph %u was instantiated as executable graph %u", graph_id, exec_id);
	check_cloned(&log, graph_id, CAPTURED_NODES, "instantiation");
	for (uint32_t i = 0; i < log.nr_graphs; i++) {
		told += log.graphs[i].cbid == RESOURCE_EXEC_CREATED &&
			log.graphs[i].exec_id == exec_id;
		of_exec += log.graphs[i].cbid == RESOURCE_NODE_CLONED &&
			   log.graphs[i].node_id >> 32 == exec_id;
	}
	check(told == 1, "GRAPHEXEC_CREATED comes once with the executable graph's id (%u)", told);
	check(of_exec == CAPTURED_NODES,
	      "an executable node's id has the executable graph's in its upper half (%u of %u)",
	      of_exec, CAPTURED_NODES);
	return exec;
}

static bool is_graph_launch(const struct conformance_log *log, uint32_t correlation_id)
{
	for (uint32_t i = 0; i < log->nr_calls; i++) {
		if (log->calls[i].cbid == CBID_GRAPH_LAUNCH &&
		    log->calls[i].correlation_id == correlation_id)
			return true;
	}
	return false;
}

static void replay(void *exec, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		CALL(cuGraphLaunch, exec, stream);
}

static void check_replay(void *exec, const struct graph_subject *subject)
{
	uint32_t exec_id = 0, of_launch = 0, of_exec = 0, of_node = 0, named = 0;

	conformance_log_clear();
	replay(exec, REPLAYS);
	const struct conformance_log log = settle();
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	for (uint32_t i = 0; i < log.nr_records; i++) {
		const struct record_entry *record = &log.records[i];

		of_launch += is_graph_launch(&log, record->correlation_id);
		of_exec += record->graph_id == exec_id;
		of_node += record->graph_node_id >> 32 == exec_id;
		for (uint32_t k = 0; record->kind == KIND_KERNEL && k < 2; k++)
			named += strcmp(record->name, subject->names[k]) == 0 &&
				 record->graph_node_id == ((uint64_t)exec_id << 32) + k;
	}
	fact("%u launches of a graph of 2 kernels, a memset and a copy gave %u kernel, %u memset "
	     "and %u copy records",
	     REPLAYS, count_records(&log, KIND_KERNEL), count_records(&log, KIND_MEMSET),
	     count_records(&log, KIND_MEMCPY));
	check(log.nr_records > 0 && of_launch == log.nr_records,
	      "a node's record carries the graph launch's correlation id (%u of %u)", of_launch,
	      log.nr_records);
	check(of_exec == log.nr_records, "a node's record carries the executable graph's id (%u)",
	      of_exec);
	check(of_node == log.nr_records, "a node's record carries an executable node's id (%u)",
	      of_node);
	check(named == 2 * REPLAYS, "each kernel's record names its node (%u of %u)", named,
	      2 * REPLAYS);
}

static void check_explicit(const struct graph_subject *subject, void *captured)
{
	device_address out = subject->memory;
	uint32_t loops = 100, inside = 0, known = 0, of_launch = 0, of_exec = 0, exec_id = 0;
	void *params[] = {&out, &loops}, *graph = NULL, *nodes[2] = {NULL}, *child = NULL,
	     *exec = NULL;
	const struct kernel_node node = {.function = subject->functions[0],
					 .grid = {1, 1, 1},
					 .block = {32, 1, 1},
					 .params = params};

	conformance_log_clear();
	CALL(cuGraphCreate, &graph, 0);
	CALL(cuGraphAddKernelNode_v2, &nodes[0], graph, NULL, 0, &node);
	CALL(cuGraphAddKernelNode_v2, &nodes[1], graph, nodes, 1, &node);
	struct conformance_log log = conformance_log_read();
	for (uint32_t i = 0; i < log.nr_graphs; i++)
		inside += log.graphs[i].cbid == RESOURCE_NODE_CREATED &&
			  log.graphs[i].call_cbid == CBID_ADD_KERNEL_NODE;
	check(inside == 2, "an added node is created inside cuGraphAddKernelNode_v2 (%u of 2)",
	      inside);
	conformance_log_clear();
	CALL(cuGraphAddChildGraphNode, &child, graph, &nodes[1], 1, captured);
	log = conformance_log_read();
	tell_sequence(&log, "adding a child graph");
	conformance_log_clear();
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	log = conformance_log_read();
	tell_sequence(&log, "instantiating it with its child");
	replay(exec, 1);
	log = settle();
	for (uint32_t i = 0; i < log.nr_records; i++) {
		bool cloned = false;

		for (uint32_t g = 0; g < log.nr_graphs && !cloned; g++)
			cloned = log.graphs[g].cbid == RESOURCE_NODE_CLONED &&
				 log.graphs[g].node_id == log.records[i].graph_node_id;
		known += cloned;
		of_launch += is_graph_launch(&log, log.records[i].correlation_id);
		of_exec += log.records[i].graph_id == exec_id;
		fact("record of kind %u: graph %u, node %llx", log.records[i].kind,
		     log.records[i].graph_id, (unsigned long long)log.records[i].graph_node_id);
	}
	check(count_records(&log, KIND_KERNEL) == 4,
	      "a graph of 2 kernels and a child with 2 gives 4 kernel records (%u)",
	      count_records(&log, KIND_KERNEL));
	check(of_launch == log.nr_records, "a child's records carry the launch's id (%u of %u)",
	      of_launch, log.nr_records);
	fact("%u of %u records carry the executable graph's id %u, %u a node's that "
	     "GRAPHNODE_CLONED told",
	     of_exec, log.nr_records, exec_id, known);
	CALL(cuGraphExecDestroy, exec);
	CALL(cuGraphDestroy, graph);
}

static void tell_update(void *exec, const struct graph_subject *subject, void *graph)
{
	struct update_result result = {0};
	device_address out = subject->memory;
	uint32_t loops = 100;
	void *params[] = {&out, &loops}, *nodes[CAPTURED_NODES] = {NULL};
	size_t count = CAPTURED_NODES;
	const struct kernel_node node = {.function = subject->functions[0],
					 .grid = {1, 1, 1},
					 .block = {32, 1, 1},
					 .params = params};
	void *other = capture(subject, 1, 0);

	conformance_log_clear();
	CALL(cuGraphExecUpdate_v2, exec, other, &result);
	struct conformance_log log = conformance_log_read();
	tell_sequence(&log, "an update");
	check(result.result == 0, "a graph of the same shape updates an executable one (%d)",
	      result.result);
	replay(exec, 1);
	log = settle();
	for (uint32_t i = 0; i < log.nr_records; i++)
		fact("after the update: kind %u %s, graph %u, node %llx", log.records[i].kind,
		     log.records[i].name, log.records[i].graph_id,
		     (unsigned long long)log.records[i].graph_node_id);
	conformance_log_clear();
	CALL(cuGraphGetNodes, graph, nodes, &count);
	CALL(cuGraphExecKernelNodeSetParams_v2, exec, nodes[0], &node);
	log = conformance_log_read();
	tell_sequence(&log, "setting a node's parameters");
	CALL(cuGraphDestroy, other);
}

static void check_clone(void *graph)
{
	void *clone = NULL;
	uint32_t graph_id = 0;

	conformance_log_clear();
	CALL(cuGraphClone, &clone, graph);
	const struct conformance_log log = conformance_log_read();
	CALL(cuptiGetGraphId, graph, &graph_id);
	tell_sequence(&log, "a clone");
	check_cloned(&log, graph_id, CAPTURED_NODES, "clone");
	CALL(cuGraphDestroy, clone);
}

static void check_graph_trace(void *graph)
{
	void *exec = NULL;
	uint32_t exec_id = 0, of_launch = 0, of_exec = 0;

	conformance_log_clear();
	CALL(cuptiActivityEnable, KIND_GRAPH);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	replay(exec, REPLAYS);
	struct conformance_log log = settle();
	for (uint32_t i = 0; i < log.nr_records; i++) {
		of_launch += log.records[i].kind == KIND_GRAPH &&
			     is_graph_launch(&log, log.records[i].correlation_id);
		of_exec += log.records[i].kind == KIND_GRAPH && log.records[i].graph_id == exec_id;
	}
	check(of_launch == REPLAYS && of_exec == REPLAYS,
	      "GRAPH_TRACE gives a record a launch, with its id and the graph's (%u, %u of %u)",
	      of_launch, of_exec, REPLAYS);
	check(log.nr_records == count_records(&log, KIND_GRAPH),
	      "under GRAPH_TRACE nodes have no records (%u have)",
	      log.nr_records - count_records(&log, KIND_GRAPH));
	CALL(cuptiActivityDisable, KIND_GRAPH);
	conformance_log_clear();
	replay(exec, 1);
	log = settle();
	fact("GRAPH_TRACE off again: a launch of the same graph gives %u graph and %u kernel "
	     "records",
	     count_records(&log, KIND_GRAPH), count_records(&log, KIND_KERNEL));
	CALL(cuGraphExecDestroy, exec);
}

static void check_destruction(void *exec, void *graph)
{
	uint32_t graph_id = 0, exec_id = 0, execs = 0, graphs = 0;

	CALL(cuptiGetGraphId, graph, &graph_id);
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	conformance_log_clear();
	CALL(cuGraphExecDestroy, exec);
	struct conformance_log log = conformance_log_read();
	tell_sequence(&log, "the destruction of an executable graph");
	for (uint32_t i = 0; i < log.nr_graphs; i++)
		execs += log.graphs[i].cbid == RESOURCE_EXEC_DESTROYED &&
			 log.graphs[i].exec_id == exec_id;
	check(execs == 1, "GRAPHEXEC_DESTROY_STARTING comes once, the id is still known (%u)",
	      execs);
	conformance_log_clear();
	CALL(cuGraphDestroy, graph);
	log = conformance_log_read();
	tell_sequence(&log, "the destruction of a graph");
	for (uint32_t i = 0; i < log.nr_graphs; i++)
		graphs += log.graphs[i].cbid == RESOURCE_GRAPH_DESTROYED &&
			  log.graphs[i].graph_id == graph_id;
	check(graphs == 1, "GRAPH_DESTROY_STARTING comes once, the id is still known (%u)", graphs);
}

void conformance_graphs_run(const struct graph_subject *subject)
{
	CALL(cuCtxSetCurrent, subject->context);
	CALL(cuStreamCreate, &stream, 0);
	void *graph = check_capture(subject);
	void *exec = check_instantiation(graph);
	check_replay(exec, subject);
	check_explicit(subject, graph);
	check_clone(graph);
	tell_update(exec, subject, graph);
	check_graph_trace(graph);
	check_destruction(exec, graph);
}
