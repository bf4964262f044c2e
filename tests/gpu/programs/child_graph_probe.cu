/* Which handles and ids CUPTI tells of nodes in child and conditional graphs, and which of them answer the ids
 * that records carry. Each scenario runs in a process of its own: an error or a crash ends that one alone.
 * Usage: child_graph_probe LIBCUPTI [SCENARIO] */
#include <cinttypes>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALARM_S 60

__device__ unsigned turns;

template <int N> __global__ void tagged(float *p)
{
	p[threadIdx.x] += N;
}

__global__ void set_value(cudaGraphConditionalHandle handle, unsigned value)
{
	turns = 0;
	cudaGraphSetConditional(handle, value);
}

__global__ void count_turns(cudaGraphConditionalHandle handle, unsigned limit)
{
	turns++;
	cudaGraphSetConditional(handle, turns < limit);
}

static void *cupti;
template <typename F> static F find(const char *name)
{
	return (F)dlsym(cupti, name);
}
#define CUPTI(name, ...) find<decltype(&name)>(#name)(__VA_ARGS__)

#define TRY(call)                                                                                          \
	do {                                                                                               \
		auto error_ = (call);                                                                      \
		if (error_ != 0)                                                                           \
			printf("  ERROR %d in %s\n", (int)error_, #call);                                  \
	} while (0)

/* What a node is known as: its handle as a callback told it, and what makes it recognisable. */
struct known {
	CUgraphNode node;
	CUgraph graph;
	CUgraphExec exec;
	std::string label;
	int type;
	uint64_t created_id; /* at the callback that told it first */
	uint64_t exec_created_id, exit_id, later_id;
	bool dead;
};

struct moment_id {
	uint64_t id;
	size_t handle;
	const char *moment;
};

static std::vector<known> nodes;
static std::vector<moment_id> answers;
static std::string label;
static cudaStream_t stream;
static float *memory;
static sigjmp_buf escape;
static volatile sig_atomic_t guarded;
static uint32_t records, exact, wrong, unknown_ids;

static void crashed(int number)
{
	if (guarded)
		siglongjmp(escape, number);
	_exit(100 + number);
}

template <typename F> static bool guard(F what)
{
	bool fine = true;

	guarded = 1;
	if (sigsetjmp(escape, 1) == 0)
		what();
	else
		fine = false;
	guarded = 0;
	return fine;
}

static uint64_t id_of(CUgraphNode node)
{
	uint64_t id = 0;

	if (!node || CUPTI(cuptiGetGraphNodeId, node, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static uint32_t graph_id_of(CUgraph graph)
{
	uint32_t id = 0;

	if (!graph || CUPTI(cuptiGetGraphId, graph, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static uint32_t exec_id_of(CUgraphExec exec)
{
	uint32_t id = 0;

	if (!exec || CUPTI(cuptiGetGraphExecId, exec, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static known *find_node(CUgraphNode node)
{
	for (size_t i = nodes.size(); i-- > 0;) {
		if (nodes[i].node == node && !nodes[i].dead)
			return &nodes[i];
	}
	return nullptr;
}

static const char *name_of(uint32_t cbid)
{
	static const char *const names[] = {"GRAPH_CREATED",       "GRAPH_DESTROY",	   "GRAPH_CLONED",
					    "NODE_CREATE_STARTING", "NODE_CREATED",	   "NODE_DESTROY",
					    "DEPENDENCY_CREATED",  "DEPENDENCY_DESTROY", "EXEC_CREATE_STARTING",
					    "EXEC_CREATED",	   "EXEC_DESTROY",	   "NODE_CLONED"};

	if (cbid >= 9 && cbid <= 20)
		return names[cbid - 9];
	return cbid == 22 ? "NODE_UPDATED" : cbid == 23 ? "NODE_SET_PARAMS" : "?";
}

/* All remembered nodes again: prints those that answer otherwise than at first. */
static void ask_again(const char *moment)
{
	uint32_t same = 0, silent = 0, other = 0;

	for (size_t i = 0; i < nodes.size(); i++) {
		uint64_t id = 0;

		if (nodes[i].dead)
			continue;
		if (!guard([&] { id = id_of(nodes[i].node); })) {
			printf("    again at %s: n%zu CRASHES\n", moment, i);
			nodes[i].dead = true;
			continue;
		}
		answers.push_back({id, i, moment});
		same += id == nodes[i].created_id;
		silent += id == 0;
		other += id != 0 && id != nodes[i].created_id;
		if (id != nodes[i].created_id)
			printf("    again at %s: n%zu (%s) %" PRIx64 " was %" PRIx64 "\n", moment, i,
			       nodes[i].label.c_str(), id, nodes[i].created_id);
	}
	printf("    again at %s: %u same, %u other, %u silent\n", moment, same, other, silent);
}

static void remember(uint32_t cbid, const CUpti_GraphData *data)
{
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
		nodes.push_back({data->node, data->graph, data->graphExec, label, data->nodeType, id_of(data->node)});
	known *node = find_node(data->node), *original = find_node(data->originalNode);

	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && !node) {
		nodes.push_back({data->node, data->graph, data->graphExec, "", data->nodeType, id_of(data->node)});
		node = &nodes.back();
		original = find_node(data->originalNode);
	}
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		node->label = original ? original->label : "?unknown original";
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING && node)
		node->dead = true;
}

static void handle_name(char *text, size_t size, CUgraphNode node)
{
	known *found = find_node(node);

	if (!node)
		snprintf(text, size, "-");
	else if (!found)
		snprintf(text, size, "%p=%" PRIx64, (void *)node, id_of(node));
	else
		snprintf(text, size, "n%zu=%" PRIx64 "(%s)", (size_t)(found - nodes.data()), id_of(node), found->label.c_str());
}

static void on_graph(uint32_t cbid, const CUpti_GraphData *data)
{
	char node[160], original[160], dependency[160];

	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING)
		handle_name(node, sizeof(node), data->node);
	remember(cbid, data);
	if (cbid != CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING)
		handle_name(node, sizeof(node), data->node);
	handle_name(original, sizeof(original), data->originalNode);
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED)
		handle_name(dependency, sizeof(dependency), data->dependency);
	else
		snprintf(dependency, sizeof(dependency), "%p", (void *)data->dependency);
	printf("    %-20s graph %p=%u of %p=%u node %s of %s type %d dep %s exec %p=%u\n", name_of(cbid), (void *)data->graph,
	       graph_id_of(data->graph), (void *)data->originalGraph,
	       data->originalGraph ? graph_id_of(data->originalGraph) : 0, node, original, (int)data->nodeType, dependency,
	       (void *)data->graphExec, exec_id_of(data->graphExec));
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
		ask_again("EXEC_CREATED");
}

static void callback(void *, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		if (cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED && cbid <= CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS &&
		    cbid != 21)
			on_graph(cbid, (const CUpti_GraphData *)((const CUpti_ResourceData *)data)->resourceDescriptor);
		return;
	}
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;

	if (!strstr(call->functionName, "raph") && !strstr(call->functionName, "Capture"))
		return;
	printf("   %s %s correlation %u\n", call->callbackSite == CUPTI_API_ENTER ? ">" : "<", call->functionName,
	       call->correlationId);
	if (call->callbackSite == CUPTI_API_EXIT &&
	    (strstr(call->functionName, "Instantiate") || strstr(call->functionName, "ExecUpdate") ||
	     strstr(call->functionName, "ChildGraphNodeSetParams") || strstr(call->functionName, "GraphLaunch")))
		ask_again(call->functionName);
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*max = 0;
}

static void tell_record(const char *kind, const char *name, uint32_t graph, uint64_t node, uint32_t correlation)
{
	bool created = false, matched = false;

	if (!graph && !node)
		return;
	records++;
	printf("  record %s %s graph %u node %" PRIx64 " correlation %u\n", kind, name, graph, node, correlation);
	for (size_t i = 0; i < nodes.size(); i++) {
		if (nodes[i].created_id == node) {
			printf("      at its creation n%zu (%s)\n", i, nodes[i].label.c_str());
			created = true;
			matched = matched || strcmp(nodes[i].label.c_str(), name) == 0;
		}
	}
	for (const moment_id &answer : answers) {
		if (answer.id == node && nodes[answer.handle].created_id != node)
			printf("      at %s n%zu (%s)\n", answer.moment, answer.handle, nodes[answer.handle].label.c_str());
	}
	exact += created && matched;
	wrong += created && !matched;
	unknown_ids += !created;
}

static const char *kernel_label(const char *mangled)
{
	static char text[64];
	int number;

	if (sscanf(mangled, "_Z6taggedILi%dE", &number) == 1)
		snprintf(text, sizeof(text), "k%d", number);
	else
		snprintf(text, sizeof(text), "%s", strstr(mangled, "count_turns") ? "count_turns" : "set_value");
	return text;
}

static void complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;

	while (valid && CUPTI(cuptiActivityGetNextRecord, buffer, valid, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			const CUpti_ActivityKernel10 *kernel = (const CUpti_ActivityKernel10 *)record;
			tell_record("kernel", kernel_label(kernel->name), kernel->graphId, kernel->graphNodeId,
				    kernel->correlationId);
		} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			const CUpti_ActivityMemcpy6 *copy = (const CUpti_ActivityMemcpy6 *)record;
			tell_record("memcpy", "copy", copy->graphId, copy->graphNodeId, copy->correlationId);
		} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			const CUpti_ActivityMemset4 *fill = (const CUpti_ActivityMemset4 *)record;
			tell_record("memset", "fill", fill->graphId, fill->graphNodeId, fill->correlationId);
		}
	}
	free(buffer);
}

static CUpti_SubscriberHandle subscriber;

static void setup(void)
{
	cudaFree(nullptr);
	TRY(CUPTI(cuptiSubscribe, &subscriber, callback, nullptr));
	TRY(CUPTI(cuptiActivityRegisterCallbacks, request, complete));
	TRY(CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	TRY(CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY));
	TRY(CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMSET));
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaMalloc(&memory, 1 << 20));
	for (uint32_t cbid = CUPTI_CBID_RESOURCE_GRAPH_CREATED; cbid <= CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS; cbid++) {
		if (cbid != 21)
			TRY(CUPTI(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid));
	}
	TRY(CUPTI(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
}

/* Building blocks: the label of a node is the name under which its record is expected. */
template <int N> static cudaGraphNode_t add(cudaGraph_t graph, std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;
	void *arguments[] = {&memory};
	cudaKernelNodeParams params = {};

	params.func = (void *)tagged<N>;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	label = "k" + std::to_string(N);
	TRY(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

static cudaGraphNode_t add_set(cudaGraph_t graph, cudaGraphConditionalHandle handle, unsigned value, bool counts,
			       std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;
	void *arguments[] = {&handle, &value};
	cudaKernelNodeParams params = {};

	params.func = counts ? (void *)count_turns : (void *)set_value;
	params.gridDim = dim3(1);
	params.blockDim = dim3(1);
	params.kernelParams = arguments;
	label = counts ? "count_turns" : "set_value";
	TRY(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

static cudaGraphNode_t add_child(cudaGraph_t graph, cudaGraph_t child, std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;

	label = "child";
	TRY(cudaGraphAddChildGraphNode(&node, graph, after.data(), after.size(), child));
	return node;
}

static cudaGraphNode_t add_empty(cudaGraph_t graph, std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;

	label = "empty";
	TRY(cudaGraphAddEmptyNode(&node, graph, after.data(), after.size()));
	return node;
}

static cudaGraphNode_t add_fill(cudaGraph_t graph, std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;
	cudaMemsetParams params = {};

	params.dst = memory + 4096;
	params.elementSize = 1;
	params.width = 1024;
	params.height = 1;
	label = "fill";
	TRY(cudaGraphAddMemsetNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

static cudaGraphNode_t add_copy(cudaGraph_t graph, std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;

	label = "copy";
	TRY(cudaGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), memory + 8192, memory, 1024,
				     cudaMemcpyDeviceToDevice));
	return node;
}

static cudaGraphNode_t add_conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle,
				       cudaGraphConditionalNodeType type, unsigned size, std::vector<cudaGraph_t> *bodies,
				       std::vector<cudaGraphNode_t> after = {})
{
	cudaGraphNode_t node = nullptr;
	cudaGraphNodeParams params = {};

	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = size;
	label = "conditional";
	TRY(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
	bodies->clear();
	for (unsigned i = 0; node && i < size; i++) {
		bodies->push_back(params.conditional.phGraph_out[i]);
		printf("  body %u of the conditional node: graph %p=%u\n", i, (void *)bodies->back(), graph_id_of(bodies->back()));
	}
	return node;
}

template <int N> static void launch(cudaStream_t on)
{
	label = "k" + std::to_string(N);
	tagged<N><<<1, 32, 0, on>>>(memory);
	TRY(cudaGetLastError());
}

template <int A, int B> static cudaGraph_t capture_pair(void)
{
	cudaGraph_t graph = nullptr;

	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	launch<A>(stream);
	launch<B>(stream);
	label = "fill";
	TRY(cudaMemsetAsync(memory + 4096, 0, 1024, stream));
	label = "copy";
	TRY(cudaMemcpyAsync(memory + 8192, memory, 1024, cudaMemcpyDeviceToDevice, stream));
	TRY(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraph_t new_graph(void)
{
	cudaGraph_t graph = nullptr;

	TRY(cudaGraphCreate(&graph, 0));
	return graph;
}

/* What the driver can be asked about it outside of callbacks: the child graphs of remembered handles. */
static void look_into(const char *moment)
{
	for (size_t i = 0; i < nodes.size(); i++) {
		CUgraph inner = nullptr;
		CUgraphNode within[64];
		size_t count = 64;

		if (nodes[i].dead || nodes[i].type != CU_GRAPH_NODE_TYPE_GRAPH)
			continue;
		bool fine = guard([&] {
			CUresult error = cuGraphChildGraphNodeGetGraph(nodes[i].node, &inner);
			printf("  %s: child of n%zu: %d graph %p=%u:", moment, i, (int)error, (void *)inner,
			       error ? 0 : graph_id_of(inner));
			if (error || cuGraphGetNodes(inner, within, &count) != CUDA_SUCCESS)
				count = 0;
			for (size_t k = 0; k < count; k++)
				printf(" %p=%" PRIx64, (void *)within[k], id_of(within[k]));
		});
		printf("%s\n", fine ? "" : " CRASHES");
	}
}

static void tools_ids(void)
{
	static const char *const names[] = {"cuGraphNodeGetToolsId", "cuGraphNodeGetLocalId", "cuGraphNodeGetContainingGraph",
					    "cuGraphGetId", "cuGraphExecGetId"};

	for (const char *name : names)
		printf("  %s: %s\n", name, dlsym(RTLD_DEFAULT, name) ? "there" : "absent");
}

static void flush(const char *what)
{
	uint32_t before = records;

	printf("  -- records of %s\n", what);
	exact = wrong = unknown_ids = 0;
	TRY(cudaStreamSynchronize(stream));
	TRY(CUPTI(cuptiActivityFlushAll, 1));
	printf("  -- %s: %u records; id told at creation with the right label %u, with another label %u, untold %u\n", what,
	       records - before, exact, wrong, unknown_ids);
	fflush(stdout);
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec = nullptr;

	label = "?instantiated";
	TRY(cudaGraphInstantiate(&exec, graph, 0));
	if (exec)
		printf("  graph %u instantiated as %u\n", graph_id_of(graph), exec_id_of(exec));
	ask_again("after instantiate");
	return exec;
}

static void replay(cudaGraphExec_t exec, const char *what)
{
	if (!exec)
		return;
	TRY(cudaGraphLaunch(exec, stream));
	flush(what);
}

static void run(cudaGraph_t graph)
{
	cudaGraphExec_t exec = instantiate(graph);

	replay(exec, "the first replay");
	ask_again("after a replay");
	replay(exec, "the second replay");
	look_into("after the replays");
	exec = instantiate(graph);
	replay(exec, "a second executable graph");
}

/* --- scenarios ------------------------------------------------------------------------------------------- */

static void plain_child(void)
{
	cudaGraph_t child = capture_pair<1, 2>(), parent = new_graph();
	cudaGraphNode_t first = add<3>(parent), middle = add_child(parent, child, {first});

	add<4>(parent, {middle});
	cudaGraph_t inner = nullptr;
	TRY(cudaGraphChildGraphNodeGetGraph(middle, &inner));
	printf("  cudaGraphChildGraphNodeGetGraph: %p=%u\n", (void *)inner, graph_id_of(inner));
	run(parent);
}

static void child_then_added_to(void)
{
	cudaGraph_t child = capture_pair<1, 2>(), parent = new_graph(), inner = nullptr;
	cudaGraphNode_t middle = add_child(parent, child);

	TRY(cudaGraphChildGraphNodeGetGraph(middle, &inner));
	add<3>(inner);
	add<4>(parent, {middle});
	run(parent);
}

static cudaGraph_t three_levels(void)
{
	cudaGraph_t lowest = new_graph(), middle = new_graph(), top = new_graph();

	add<2>(lowest, {add<1>(lowest)});
	cudaGraphNode_t a = add<3>(middle), b = add_child(middle, lowest, {a});
	add<4>(middle, {b});
	cudaGraphNode_t c = add<5>(top), d = add_child(top, middle, {c}), e = add<6>(top, {d});
	cudaGraphNode_t f = add_child(top, lowest, {e});
	add<7>(top, {f});
	return top;
}

static void two_levels(void)
{
	run(three_levels());
}

static void same_child_twice(void)
{
	cudaGraph_t child = capture_pair<1, 2>(), parent = new_graph();
	cudaGraphNode_t first = add_child(parent, child), between = add<3>(parent, {first});

	add_child(parent, child, {between});
	run(parent);
}

static void clone_with_children(void)
{
	cudaGraph_t top = three_levels(), clone = nullptr;

	label = "?cloned";
	TRY(cudaGraphClone(&clone, top));
	run(clone);
	printf("  and the original\n");
	run(top);
}

static void unordered(void)
{
	/* Dependencies run against the order of creation, inside and outside. */
	cudaGraph_t child = new_graph(), parent = new_graph();
	cudaGraphNode_t last = add<1>(child), first = add<2>(child), side = add<3>(child);

	TRY(cudaGraphAddDependencies(child, &first, &last, nullptr, 1));
	cudaGraphNode_t end = add<4>(parent), node = add_child(parent, child), begin = add<5>(parent);
	add<6>(parent);
	TRY(cudaGraphAddDependencies(parent, &node, &end, nullptr, 1));
	TRY(cudaGraphAddDependencies(parent, &begin, &node, nullptr, 1));
	(void)side;
	run(parent);
}

static void gaps(void)
{
	/* A node that was removed leaves a gap in the numbers; nodes without records; a child without nodes. */
	cudaGraph_t child = new_graph(), parent = new_graph(), hollow = new_graph();
	cudaGraphNode_t a = add<1>(child), b = add_empty(child, {a}), gone = add<2>(child), c = add_fill(child, {b});

	add_copy(child, {c});
	TRY(cudaGraphDestroyNode(gone));
	add<3>(child, {c});
	cudaGraphNode_t d = add_empty(parent), removed = add<4>(parent), h = add_child(parent, hollow, {d});
	cudaGraphNode_t e = add_child(parent, child, {h});

	TRY(cudaGraphDestroyNode(removed));
	add<5>(parent, {e});
	run(parent);
}

static void captured_child(void)
{
	/* A graph launch into a captured stream is a child graph. */
	cudaGraph_t graph = capture_pair<1, 2>(), outer = nullptr;
	cudaGraphExec_t exec = instantiate(graph);

	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	launch<3>(stream);
	label = "child";
	TRY(cudaGraphLaunch(exec, stream));
	launch<4>(stream);
	TRY(cudaStreamEndCapture(stream, &outer));
	run(outer);
}

static void update(void)
{
	cudaGraph_t first = new_graph(), second = new_graph(), replacement = capture_pair<8, 7>();
	cudaGraphExecUpdateResultInfo info = {};
	cudaGraphNode_t middle = add_child(first, capture_pair<1, 2>(), {add<3>(first)});

	add<4>(first, {middle});
	add<6>(second, {add_child(second, capture_pair<9, 10>(), {add<5>(second)})});
	cudaGraphExec_t exec = instantiate(first);
	replay(exec, "before the update");
	label = "?updated";
	TRY(cudaGraphExecUpdate(exec, second, &info));
	printf("  update: %d\n", (int)info.result);
	replay(exec, "after the update");
	label = "?set child";
	TRY(cudaGraphExecChildGraphNodeSetParams(exec, middle, replacement));
	replay(exec, "after cudaGraphExecChildGraphNodeSetParams");
	cudaGraph_t inner = nullptr;
	cudaGraphNode_t inside[8];
	size_t count = 8;
	TRY(cudaGraphChildGraphNodeGetGraph(middle, &inner));
	TRY(cudaGraphGetNodes(inner, inside, &count));
	void *arguments[] = {&memory};
	cudaKernelNodeParams params = {};
	params.func = (void *)tagged<11>;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	label = "k11";
	TRY(cudaGraphExecKernelNodeSetParams(exec, inside[0], &params));
	replay(exec, "after cudaGraphExecKernelNodeSetParams of a child's node");
}

static void destroyed(void)
{
	/* Originals that are gone before and after instantiation. */
	cudaGraph_t child = capture_pair<1, 2>(), parent = new_graph();

	add_child(parent, child, {add<3>(parent)});
	TRY(cudaGraphDestroy(child));
	cudaGraphExec_t exec = instantiate(parent);
	TRY(cudaGraphDestroy(parent));
	replay(exec, "originals destroyed");
	TRY(cudaGraphExecDestroy(exec));
}

static void conditional_if(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
	cudaGraphNode_t set = add_set(graph, handle, 1, false, {add<1>(graph)});
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies, {set});
	if (bodies.size() == 1)
		add_fill(bodies[0], {add<3>(bodies[0], {add<2>(bodies[0])})});
	add<4>(graph, {node});
	run(graph);
}

static void conditional_if_else(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
	cudaGraphNode_t set = add_set(graph, handle, 0, false);
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeIf, 2, &bodies, {set});
	if (bodies.size() == 2) {
		add<1>(bodies[0]);
		add<3>(bodies[1], {add<2>(bodies[1])});
	}
	add<4>(graph, {node});
	run(graph);
}

static void capture_into(cudaGraph_t body, cudaGraphConditionalHandle handle)
{
	cudaGraph_t same = nullptr;

	TRY(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
	launch<2>(stream);
	launch<3>(stream);
	label = "copy";
	TRY(cudaMemcpyAsync(memory + 8192, memory, 1024, cudaMemcpyDeviceToDevice, stream));
	label = "count_turns";
	count_turns<<<1, 1, 0, stream>>>(handle, 3);
	TRY(cudaStreamEndCapture(stream, &same));
	printf("  captured into %p, got %p\n", (void *)body, (void *)same);
}

static void conditional_while(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	cudaGraphNode_t set = add_set(graph, handle, 1, false);
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeWhile, 1, &bodies, {set});
	if (bodies.size() == 1)
		capture_into(bodies[0], handle);
	add<4>(graph, {node});
	run(graph);
}

static void conditional_switch(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
	cudaGraphNode_t set = add_set(graph, handle, 1, false);
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeSwitch, 3, &bodies, {set});
	if (bodies.size() == 3) {
		add<1>(bodies[0]);
		add<2>(bodies[1]);
		add<3>(bodies[2]);
	}
	add<4>(graph, {node});
	run(graph);
}

static void conditional_nested(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle outer, inner;
	std::vector<cudaGraph_t> bodies, innermost;

	TRY(cudaGraphConditionalHandleCreate(&outer, graph, 0, 0));
	TRY(cudaGraphConditionalHandleCreate(&inner, graph, 0, 0));
	cudaGraphNode_t first = add<5>(graph), set = add_set(graph, outer, 1, false, {first});
	cudaGraphNode_t node = add_conditional(graph, outer, cudaGraphCondTypeIf, 1, &bodies, {set});
	if (bodies.size() == 1) {
		cudaGraph_t body = bodies[0];
		cudaGraphNode_t a = add<1>(body), b = add_set(body, inner, 1, false, {a});
		cudaGraphNode_t c = add_conditional(body, inner, cudaGraphCondTypeIf, 1, &innermost, {b});
		if (innermost.size() == 1)
			add<2>(innermost[0]);
		add<3>(body, {c});
	}
	add<4>(graph, {node});
	run(graph);
}

static void conditional_with_child(void)
{
	cudaGraph_t graph = new_graph(), child = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	add<6>(child, {add<5>(child)});
	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	cudaGraphNode_t before = add_child(graph, child);
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies, {before});
	if (bodies.size() == 1)
		add<2>(bodies[0], {add_child(bodies[0], child, {add<1>(bodies[0])})});
	add_child(graph, child, {node});
	run(graph);
}

static void conditional_in_child(void)
{
	cudaGraph_t child = new_graph(), graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, child, 1, cudaGraphCondAssignDefault));
	add_conditional(child, handle, cudaGraphCondTypeIf, 1, &bodies, {add<1>(child)});
	if (bodies.size() == 1)
		add<2>(bodies[0]);
	add_child(graph, child, {add<3>(graph)});
	run(graph);
}

static cudaGraph_t conditional_graph(bool other)
{
	cudaGraph_t graph = new_graph();
	cudaGraphConditionalHandle handle;
	std::vector<cudaGraph_t> bodies;

	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	cudaGraphNode_t first = other ? add<11>(graph) : add<1>(graph);
	cudaGraphNode_t node = add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies, {first});
	if (bodies.size() == 1 && other)
		add<12>(bodies[0]);
	else if (bodies.size() == 1)
		add<2>(bodies[0]);
	if (other)
		add<13>(graph, {node});
	else
		add<3>(graph, {node});
	return graph;
}

static void conditional_update_and_clone(void)
{
	cudaGraph_t first = conditional_graph(false), second = conditional_graph(true), clone = nullptr;
	cudaGraphExecUpdateResultInfo info = {};
	cudaGraphExec_t exec = instantiate(first);

	replay(exec, "before the update");
	label = "?updated";
	TRY(cudaGraphExecUpdate(exec, second, &info));
	printf("  update: %d\n", (int)info.result);
	replay(exec, "after the update");
	label = "?cloned";
	TRY(cudaGraphClone(&clone, second));
	if (clone)
		run(clone);
}

static void chosen_handles(void)
{
	cudaGraph_t graph = three_levels();
	cudaGraphExec_t exec = instantiate(graph);

	tools_ids();
	look_into("after instantiate");
	replay(exec, "a replay");
}

struct scenario {
	const char *name;
	void (*run)(void);
};

static const scenario scenarios[] = {
	{"plain_child", plain_child},
	{"child_then_added_to", child_then_added_to},
	{"two_levels", two_levels},
	{"same_child_twice", same_child_twice},
	{"clone_with_children", clone_with_children},
	{"unordered", unordered},
	{"gaps", gaps},
	{"captured_child", captured_child},
	{"update", update},
	{"destroyed", destroyed},
	{"chosen_handles", chosen_handles},
	{"conditional_if", conditional_if},
	{"conditional_if_else", conditional_if_else},
	{"conditional_while", conditional_while},
	{"conditional_switch", conditional_switch},
	{"conditional_nested", conditional_nested},
	{"conditional_with_child", conditional_with_child},
	{"conditional_in_child", conditional_in_child},
	{"conditional_update_and_clone", conditional_update_and_clone},
};

static int run_scenario(const char *name)
{
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	alarm(ALARM_S);
	for (const scenario &scenario : scenarios) {
		if (strcmp(scenario.name, name) != 0)
			continue;
		setup();
		scenario.run();
		fflush(stdout);
		_exit(0);
	}
	return 2;
}

int main(int argc, char **argv)
{
	cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
	if (!cupti)
		return 2;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (argc > 2)
		return run_scenario(argv[2]);
	for (const scenario &scenario : scenarios) {
		int status = 0;
		pid_t child;

		printf("== %s\n", scenario.name);
		fflush(stdout);
		child = fork();
		if (child == 0) {
			execl("/proc/self/exe", argv[0], argv[1], scenario.name, (char *)nullptr);
			_exit(127);
		}
		waitpid(child, &status, 0);
		printf("== %s: %s %d\n", scenario.name, WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}
