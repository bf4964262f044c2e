#include "conformance_inner.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_log.h"

#define MODE_RELAXED      2
#define TYPE_CONDITIONAL  13
#define CONDITION_IF      0
#define ASSIGN_DEFAULT    1u
#define NOT_SUPPORTED     801
#define CAPTURE_REFUSED   900
#define NUMBER(node_id)   ((uint32_t)(node_id))
#define GRAPH_OF(node_id) ((uint32_t)((node_id) >> 32))

static void *stream;

static struct conformance_log settle(void)
{
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	return conformance_log_read();
}

/* By its number within its graph a node tells its kernel. */
static void *add(const struct graph_subject *subject, void *graph, uint32_t which)
{
	device_address out = subject->memory;
	uint32_t loops = 100;
	void *params[] = {&out, &loops}, *node = NULL;
	const struct kernel_node kernel = {.function = subject->functions[which],
					   .grid = {1, 1, 1},
					   .block = {32, 1, 1},
					   .params = params};

	CALL(cuGraphAddKernelNode_v2, &node, graph, NULL, 0, &kernel);
	return node;
}

static void add_child(void *graph, void *child)
{
	void *node = NULL;

	CALL(cuGraphAddChildGraphNode, &node, graph, NULL, 0, child);
}

/* Numbers 0 to 3: a kernel, another, a memset, a copy within the device. */
static void *capture(const struct graph_subject *subject)
{
	device_address out = subject->memory;
	uint32_t loops = 100;
	void *params[] = {&out, &loops}, *graph = NULL;

	CALL(cuStreamBeginCapture_v2, stream, MODE_RELAXED);
	for (int i = 0; i < 2; i++)
		CALL(cuLaunchKernel, subject->functions[i], 1, 1, 1, 32, 1, 1, 0, stream, params,
		     NULL);
	CALL(cuMemsetD8Async, subject->memory, 3, subject->bytes, stream);
	CALL(cuMemcpyDtoDAsync_v2, subject->memory + subject->bytes, subject->memory,
	     subject->bytes, stream);
	CALL(cuStreamEndCapture, stream, &graph);
	return graph;
}

/* The id that the copy has once the executable graph is there: what it answers, or answered last. */
static uint64_t late_id(const struct conformance_log *log, uint32_t cloned)
{
	const struct graph_entry *entry = &log->graphs[cloned];
	uint64_t id = 0;

	for (uint32_t i = cloned + 1; i < log->nr_graphs; i++) {
		if (log->graphs[i].cbid == RESOURCE_NODE_DESTROYED &&
		    log->graphs[i].node == entry->node)
			return log->graphs[i].node_id;
	}
	CALL(cuptiGetGraphNodeId, entry->node, &id);
	return id;
}

static bool fits(const struct graph_subject *subject, const struct record_entry *record,
		 uint32_t number)
{
	if (number == 2)
		return record->kind == KIND_MEMSET;
	if (number == 3)
		return record->kind == KIND_MEMCPY;
	return record->kind == KIND_KERNEL && strcmp(record->name, subject->names[number % 2]) == 0;
}

/* Records of a graph that was instantiated in `made`: each is the run of one copy, by its late id. */
static void check_records(const struct graph_subject *subject, const struct conformance_log *made,
			  const struct conformance_log *ran, uint32_t expected, const char *what)
{
	uint32_t known = 0, fitting = 0, twice = 0;

	for (uint32_t r = 0; r < ran->nr_records; r++) {
		const struct record_entry *record = &ran->records[r];
		uint32_t found = 0;

		for (uint32_t g = 0; g < made->nr_graphs; g++) {
			if (made->graphs[g].cbid != RESOURCE_NODE_CLONED ||
			    late_id(made, g) != record->graph_node_id)
				continue;
			found++;
			fitting += fits(subject, record, NUMBER(made->graphs[g].original_id));
		}
		known += found > 0;
		twice += found > 1;
	}
	check(ran->nr_records == expected, "%s gives %u records (%u)", what, expected,
	      ran->nr_records);
	check(known == expected && twice == 0,
	      "%s: each record has the id that one copy's handle answers later (%u of %u, %u "
	      "twice)",
	      what, known, expected, twice);
	check(fitting == expected, "%s: and that copy's original is the record's work (%u of %u)",
	      what, fitting, expected);
}

/* Copies of the log stay: it is cleared before the launch. */
static struct conformance_log keep(const struct conformance_log *log)
{
	static struct graph_entry entries[1024];
	struct conformance_log kept = *log;

	kept.nr_graphs = log->nr_graphs < 1024 ? log->nr_graphs : 1024;
	memcpy(entries, log->graphs, kept.nr_graphs * sizeof(entries[0]));
	kept.graphs = entries;
	return kept;
}

static uint32_t first(const struct conformance_log *log, uint32_t cbid)
{
	uint32_t i = 0;

	while (i < log->nr_graphs && log->graphs[i].cbid != cbid)
		i++;
	return i;
}

static void check_order(const struct conformance_log *log, void *exec, const char *what)
{
	uint32_t begin = first(log, RESOURCE_GRAPH_CREATED), cloned = 0, late = 0;
	uint32_t starting = first(log, RESOURCE_EXEC_STARTING);

	check(begin < log->nr_graphs && log->graphs[begin].graph == exec,
	      "%s begins with GRAPH_CREATED, whose graph is the executable one", what);
	for (uint32_t i = 0; i < log->nr_graphs; i++) {
		bool is_copy = log->graphs[i].cbid == RESOURCE_NODE_CLONED;

		cloned += is_copy && i > begin && i < starting;
		late += is_copy && (i < begin || i > starting);
		late += log->graphs[i].cbid == RESOURCE_NODE_DESTROYED && i < starting;
		late += log->graphs[i].cbid == RESOURCE_GRAPH_CREATED && i > starting;
	}
	check(starting < log->nr_graphs && log->graphs[starting].exec == exec,
	      "%s: GRAPHEXEC_CREATE_STARTING names the executable graph", what);
	check(cloned > 0 && late == 0,
	      "%s: all is copied before, and what goes goes after that (%u copies, %u not so)",
	      what, cloned, late);
}

static void run_inner(const struct graph_subject *subject, void *graph, uint32_t expected,
		      const char *what)
{
	void *exec = NULL;

	conformance_log_clear();
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	struct conformance_log log = conformance_log_read();
	const struct conformance_log made = keep(&log);
	check_order(&made, exec, what);
	conformance_log_clear();
	CALL(cuGraphLaunch, exec, stream);
	log = settle();
	check_records(subject, &made, &log, expected, what);
	CALL(cuGraphExecDestroy, exec);
}

static void check_children(const struct graph_subject *subject)
{
	void *child = capture(subject), *middle = NULL, *top = NULL, *clone = NULL;

	CALL(cuGraphCreate, &middle, 0);
	add(subject, middle, 0);
	add(subject, middle, 1);
	add_child(middle, child);
	CALL(cuGraphCreate, &top, 0);
	add_child(top, middle);
	add(subject, top, 1);
	add_child(top, child);
	add_child(top, child);
	run_inner(subject, top, 15, "a graph with children at two levels and one twice");
	CALL(cuGraphClone, &clone, top);
	CALL(cuGraphDestroy, top);
	CALL(cuGraphDestroy, middle);
	CALL(cuGraphDestroy, child);
	run_inner(subject, clone, 15, "its clone, the originals destroyed");
	CALL(cuGraphDestroy, clone);
}

static void check_gap(const struct graph_subject *subject)
{
	void *graph = NULL, *gone, *exec = NULL;
	uint32_t exec_id = 0, like = 0;

	CALL(cuGraphCreate, &graph, 0);
	add(subject, graph, 0);
	gone = add(subject, graph, 1);
	add(subject, graph, 0);
	add(subject, graph, 1);
	CALL(cuGraphDestroyNode, gone);
	conformance_log_clear();
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuptiGetGraphExecId, exec, &exec_id);
	const struct conformance_log log = conformance_log_read();
	for (uint32_t i = 1; i < log.nr_graphs; i++) {
		const struct graph_entry *cloned = &log.graphs[i], *created = cloned - 1;

		if (cloned->cbid != RESOURCE_NODE_CLONED)
			continue;
		like += GRAPH_OF(cloned->node_id) == exec_id &&
			NUMBER(cloned->node_id) == NUMBER(cloned->original_id) &&
			created->cbid == RESOURCE_NODE_CREATED && created->node == cloned->node;
		fact("a copy of node %u was created as %u", NUMBER(cloned->original_id),
		     NUMBER(created->node_id));
	}
	check(like == 3,
	      "a copy is told right after it was created, and has its original's number (%u of 3)",
	      like);
	CALL(cuGraphExecDestroy, exec);
	CALL(cuGraphDestroy, graph);
}

static void *add_condition(void *graph, void *context, unsigned int value)
{
	struct conditional_node params = {
		.type = TYPE_CONDITIONAL, .condition = CONDITION_IF, .size = 1, .context = context};
	void *node = NULL;

	CALL(cuGraphConditionalHandleCreate, &params.handle, graph, context, value, ASSIGN_DEFAULT);
	CALL(cuGraphAddNode_v2, &node, graph, NULL, NULL, 0, &params);
	return params.bodies ? params.bodies[0] : NULL;
}

static void check_conditional(const struct graph_subject *subject)
{
	device_address out = subject->memory;
	uint32_t loops = 100, uncorrelated = 0;
	void *params[] = {&out, &loops}, *graph = NULL, *exec = NULL, *other = NULL;

	CALL(cuGraphCreate, &graph, 0);
	add(subject, graph, 0);
	void *body = add_condition(graph, subject->context, 1);
	void *branch = add_condition(graph, subject->context, 0);
	if (!body || !branch)
		return;
	CALL(cuStreamBeginCaptureToGraph, stream, body, NULL, NULL, 0, MODE_RELAXED);
	for (int i = 0; i < 2; i++)
		CALL(cuLaunchKernel, subject->functions[i], 1, 1, 1, 32, 1, 1, 0, stream, params,
		     NULL);
	CALL(cuStreamEndCapture, stream, &other);
	check(other == body, "what is captured into a body is the body");
	add(subject, branch, 0);
	conformance_log_clear();
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	struct conformance_log log = conformance_log_read();
	const struct conformance_log made = keep(&log);
	check_order(&made, exec, "a graph with conditional nodes");
	conformance_log_clear();
	CALL(cuGraphLaunch, exec, stream);
	log = settle();
	check_records(subject, &made, &log, 3,
		      "a graph with a body that runs and one that does not");
	for (uint32_t i = 0; i < log.nr_records; i++)
		uncorrelated += log.records[i].correlation_id == 0;
	check(uncorrelated == 2, "a body's records have no correlation id (%u of 2)", uncorrelated);
	check(cuGraphInstantiateWithFlags(&other, graph, 0) == NOT_SUPPORTED,
	      "a graph with conditional nodes is instantiated once");
	check(cuGraphClone(&other, graph) == NOT_SUPPORTED, "and has no clones");
	CALL(cuGraphExecDestroy, exec);
	CALL(cuGraphDestroy, graph);
}

static void check_refused_capture(const struct graph_subject *subject)
{
	void *graph = capture(subject), *exec = NULL, *outer = NULL;

	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuStreamBeginCapture_v2, stream, MODE_RELAXED);
	int refused = cuGraphLaunch(exec, stream);
	check(refused == CAPTURE_REFUSED, "a graph's launch cannot be captured (%d)", refused);
	check(cuStreamEndCapture(stream, &outer) != 0, "and spoils the capture");
	CALL(cuGraphExecDestroy, exec);
	CALL(cuGraphDestroy, graph);
}

void conformance_inner_run(const struct graph_subject *subject)
{
	CALL(cuCtxSetCurrent, subject->context);
	CALL(cuStreamCreate, &stream, 0);
	check_children(subject);
	check_gap(subject);
	check_conditional(subject);
	check_refused_capture(subject);
}
