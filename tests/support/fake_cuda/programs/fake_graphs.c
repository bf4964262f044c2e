/* Captures, builds, launches and destroys graphs in known numbers from functions with known names,
 * for tests of what profiles them.
 *
 *   fake_graphs [--devices D] [--threads T] [--kernels K] [--replays N] [--rounds R]
 *               [--explicit E] [--eager L] [--no-clone] [--inner I]
 *
 * Thread t works on device t % D. In each of R rounds it
 *   - launches L kernels eagerly, from layer_a() called by eager_forward();
 *   - captures, in capture_forward(), K kernels in turn from layer_a() (kernel graph_a) and
 *     layer_b() (graph_b), a copy from copy_input() and a memset from clear_output(); instantiates
 *     it and launches it N times from replay();
 *   - unless --no-clone: clones the captured graph, instantiates the clone, launches it N times
 *     from replay_clone(), gives it the captured graph's parameters with cudaGraphExecUpdate and
 *     launches it once more from replay_clone();
 *   - if E > 0: adds, in explicit_graph(), E kernel nodes (graph_c) from add_layer_c() and the
 *     captured graph as a child, and launches that N times from replay_explicit();
 *   - if I > 0: builds, in nested_graph(), a graph with a kernel from add_layer_c() that has the captured graph as a child
 *     twice, and at two levels: in a child that has another kernel from add_layer_c(); instantiates a clone of it and
 *     launches that I times from replay_nested(). And builds, in conditional_graph(), a graph whose first node is a kernel
 *     from add_layer_c(), with a branch that runs (one kernel graph_d from add_layer_d() in branch_body()) and one that does
 *     not, and a loop of two turns (one graph_a from layer_a() captured in loop_body()); launches it I times from
 *     replay_conditional();
 *   - destroys all of them.
 * Prints "ready PID" before the first round, and at the end "launched DEVICE KERNEL COUNT", "copied
 * DEVICE KIND COUNT", "captured COUNT", "eager COUNT" and "graphs COUNT" (launches of graphs). */
#include <cuda_runtime_api.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_cuda.h"

/* Functions that keep their name and their frame. */
#if __has_attribute(noipa)
#define NAMED __attribute__((noipa))
#else
#define NAMED __attribute__((noinline))
#endif

#define DEVICES_MAX 64
#define THREADS_MAX 256
#define COPY_BYTES  65536u

enum { LAYER_A, LAYER_B, LAYER_C, LAYER_D, KERNELS };

#define LOOP_TURNS 2u

static struct fake_cuda_kernel kernels[KERNELS] = {
	FAKE_CUDA_KERNEL_INIT("graph_a", FAKE_CUDA_FIXED_NS(1000)),
	FAKE_CUDA_KERNEL_INIT("graph_b", FAKE_CUDA_FIXED_NS(2000)),
	FAKE_CUDA_KERNEL_INIT("graph_c", FAKE_CUDA_FIXED_NS(3000)),
	FAKE_CUDA_KERNEL_INIT("graph_d", FAKE_CUDA_FIXED_NS(4000)),
};

static struct {
	int devices, threads, kernels, explicit_nodes;
	long replays, rounds, eager, inner;
	bool no_clone;
} options = {1, 1, 8, 2, 100, 1, 0, 0, false};

static struct {
	_Atomic uint64_t kernels[KERNELS];
	_Atomic uint64_t copies, fills;
} done[DEVICES_MAX];
static _Atomic uint64_t captured, eager, graph_launches;

/* One thread's. */
struct worker {
	int device;
	cudaStream_t stream;
	void *memory;
	char host[COPY_BYTES];
};

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_graphs: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

NAMED static void layer_a(cudaStream_t stream)
{
	require(cudaLaunchKernel(&kernels[LAYER_A], (dim3){8, 1, 1}, (dim3){64, 1, 1}, NULL, 0,
				 stream),
		"cudaLaunchKernel");
}

NAMED static void layer_b(cudaStream_t stream)
{
	require(cudaLaunchKernel(&kernels[LAYER_B], (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0,
				 stream),
		"cudaLaunchKernel");
}

NAMED static void copy_input(struct worker *worker)
{
	require(cudaMemcpyAsync(worker->memory, worker->host, COPY_BYTES, cudaMemcpyHostToDevice,
				worker->stream),
		"cudaMemcpyAsync");
}

NAMED static void clear_output(struct worker *worker)
{
	require(cudaMemsetAsync((char *)worker->memory + COPY_BYTES, 0, COPY_BYTES, worker->stream),
		"cudaMemsetAsync");
}

NAMED static void eager_forward(struct worker *worker)
{
	for (long i = 0; i < options.eager; i++)
		layer_a(worker->stream);
	done[worker->device].kernels[LAYER_A] += (uint64_t)options.eager;
	eager += (uint64_t)options.eager;
}

NAMED static cudaGraph_t capture_forward(struct worker *worker)
{
	cudaGraph_t graph;

	require(cudaStreamBeginCapture(worker->stream, cudaStreamCaptureModeThreadLocal),
		"cudaStreamBeginCapture");
	copy_input(worker);
	for (int i = 0; i < options.kernels; i++) {
		if (i % 2 == 0)
			layer_a(worker->stream);
		else
			layer_b(worker->stream);
	}
	clear_output(worker);
	require(cudaStreamEndCapture(worker->stream, &graph), "cudaStreamEndCapture");
	captured += (uint64_t)options.kernels + 2;
	return graph;
}

/* One run of what capture_forward() captured. */
static void count_forward(const struct worker *worker)
{
	int half = options.kernels / 2;

	done[worker->device].kernels[LAYER_A] += (uint64_t)(options.kernels - half);
	done[worker->device].kernels[LAYER_B] += (uint64_t)half;
	done[worker->device].copies++;
	done[worker->device].fills++;
	graph_launches++;
}

NAMED static void replay(const struct worker *worker, cudaGraphExec_t exec)
{
	for (long i = 0; i < options.replays; i++) {
		require(cudaGraphLaunch(exec, worker->stream), "cudaGraphLaunch");
		count_forward(worker);
	}
}

NAMED static void replay_clone(const struct worker *worker, cudaGraphExec_t exec, long count)
{
	for (long i = 0; i < count; i++) {
		require(cudaGraphLaunch(exec, worker->stream), "cudaGraphLaunch");
		count_forward(worker);
	}
}

NAMED static void replay_explicit(const struct worker *worker, cudaGraphExec_t exec)
{
	for (long i = 0; i < options.replays; i++) {
		require(cudaGraphLaunch(exec, worker->stream), "cudaGraphLaunch");
		count_forward(worker);
		done[worker->device].kernels[LAYER_C] += (uint64_t)options.explicit_nodes;
	}
}

NAMED static void add_layer_c(cudaGraph_t graph, cudaGraphNode_t *last)
{
	struct cudaKernelNodeParams params = {
		.func = &kernels[LAYER_C], .gridDim = {2, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t node;

	require(cudaGraphAddKernelNode(&node, graph, *last ? last : NULL, *last ? 1 : 0, &params),
		"cudaGraphAddKernelNode");
	*last = node;
}

NAMED static cudaGraph_t explicit_graph(cudaGraph_t child)
{
	cudaGraph_t graph;
	cudaGraphNode_t last = NULL, child_node;

	require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
	for (int i = 0; i < options.explicit_nodes; i++)
		add_layer_c(graph, &last);
	require(cudaGraphAddChildGraphNode(&child_node, graph, &last, 1, child),
		"cudaGraphAddChildGraphNode");
	return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	require(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
	return exec;
}

static void discard(cudaGraphExec_t exec, cudaGraph_t graph)
{
	require(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
	require(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

NAMED static void run_clone(const struct worker *worker, cudaGraph_t graph)
{
	cudaGraphExecUpdateResultInfo result;
	cudaGraph_t clone;

	require(cudaGraphClone(&clone, graph), "cudaGraphClone");
	cudaGraphExec_t exec = instantiate(clone);
	replay_clone(worker, exec, options.replays);
	require(cudaGraphExecUpdate(exec, graph, &result), "cudaGraphExecUpdate");
	replay_clone(worker, exec, 1);
	discard(exec, clone);
}

static void add_child(cudaGraph_t graph, cudaGraph_t child)
{
	cudaGraphNode_t node;

	require(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child),
		"cudaGraphAddChildGraphNode");
}

static cudaGraph_t create_graph(void)
{
	cudaGraph_t graph;

	require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
	return graph;
}

NAMED static cudaGraph_t nested_graph(cudaGraph_t child)
{
	cudaGraph_t middle = create_graph(), top = create_graph();
	cudaGraphNode_t last = NULL;

	add_layer_c(middle, &last);
	add_child(middle, child);
	last = NULL;
	add_child(top, middle);
	add_layer_c(top, &last);
	add_child(top, child);
	add_child(top, child);
	require(cudaGraphDestroy(middle), "cudaGraphDestroy");
	return top;
}

NAMED static void replay_nested(const struct worker *worker, cudaGraphExec_t exec)
{
	for (long i = 0; i < options.inner; i++) {
		require(cudaGraphLaunch(exec, worker->stream), "cudaGraphLaunch");
		for (int child = 0; child < 3; child++)
			count_forward(worker);
		graph_launches -= 2;
		done[worker->device].kernels[LAYER_C] += 2;
	}
}

NAMED static void add_layer_d(cudaGraph_t graph)
{
	struct cudaKernelNodeParams params = {
		.func = &kernels[LAYER_D], .gridDim = {2, 1, 1}, .blockDim = {32, 1, 1}};
	cudaGraphNode_t node;

	require(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params), "cudaGraphAddKernelNode");
}

/* The bodies; value is what the condition has at every launch. */
static cudaGraph_t *add_conditional(cudaGraph_t graph, unsigned int value,
				    enum cudaGraphConditionalNodeType type, unsigned int size)
{
	struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
	cudaGraphNode_t node;

	params.conditional.type = type;
	params.conditional.size = size;
	require(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, value,
						 cudaGraphCondAssignDefault),
		"cudaGraphConditionalHandleCreate");
	require(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), "cudaGraphAddNode");
	return params.conditional.phGraph_out;
}

NAMED static void branch_body(cudaGraph_t body)
{
	add_layer_d(body);
}

NAMED static void loop_body(const struct worker *worker, cudaGraph_t body)
{
	cudaGraph_t same;

	require(cudaStreamBeginCaptureToGraph(worker->stream, body, NULL, NULL, 0,
					      cudaStreamCaptureModeThreadLocal),
		"cudaStreamBeginCaptureToGraph");
	layer_a(worker->stream);
	require(cudaStreamEndCapture(worker->stream, &same), "cudaStreamEndCapture");
	captured++;
}

NAMED static cudaGraph_t conditional_graph(const struct worker *worker)
{
	cudaGraph_t graph = create_graph();
	cudaGraphNode_t last = NULL;

	add_layer_c(graph, &last);
	cudaGraph_t *branches = add_conditional(graph, 0, cudaGraphCondTypeIf, 2);
	branch_body(branches[0]);
	branch_body(branches[1]);
	loop_body(worker, *add_conditional(graph, LOOP_TURNS, cudaGraphCondTypeWhile, 1));
	return graph;
}

NAMED static void replay_conditional(const struct worker *worker, cudaGraphExec_t exec)
{
	for (long i = 0; i < options.inner; i++) {
		require(cudaGraphLaunch(exec, worker->stream), "cudaGraphLaunch");
		done[worker->device].kernels[LAYER_A] += LOOP_TURNS;
		done[worker->device].kernels[LAYER_C]++;
		done[worker->device].kernels[LAYER_D]++;
		graph_launches++;
	}
}

NAMED static void run_inner(const struct worker *worker, cudaGraph_t graph)
{
	cudaGraph_t nested = nested_graph(graph), clone;
	cudaGraph_t conditional = conditional_graph(worker);

	require(cudaGraphClone(&clone, nested), "cudaGraphClone");
	cudaGraphExec_t exec = instantiate(clone);
	replay_nested(worker, exec);
	discard(exec, clone);
	require(cudaGraphDestroy(nested), "cudaGraphDestroy");
	exec = instantiate(conditional);
	replay_conditional(worker, exec);
	discard(exec, conditional);
}

NAMED static void run_round(struct worker *worker)
{
	eager_forward(worker);
	cudaGraph_t graph = capture_forward(worker);
	cudaGraphExec_t exec = instantiate(graph);
	replay(worker, exec);
	if (!options.no_clone)
		run_clone(worker, graph);
	if (options.explicit_nodes) {
		cudaGraph_t built = explicit_graph(graph);
		cudaGraphExec_t built_exec = instantiate(built);

		replay_explicit(worker, built_exec);
		discard(built_exec, built);
	}
	if (options.inner)
		run_inner(worker, graph);
	require(cudaStreamSynchronize(worker->stream), "cudaStreamSynchronize");
	discard(exec, graph);
}

NAMED static void *run_thread(void *argument)
{
	static struct worker workers[THREADS_MAX];
	struct worker *worker = &workers[(intptr_t)argument];

	worker->device = (int)(intptr_t)argument % options.devices;
	require(cudaSetDevice(worker->device), "cudaSetDevice");
	require(cudaStreamCreate(&worker->stream), "cudaStreamCreate");
	require(cudaMalloc(&worker->memory, (size_t)2 * COPY_BYTES), "cudaMalloc");
	for (long round = 0; round < options.rounds; round++)
		run_round(worker);
	require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	require(cudaFree(worker->memory), "cudaFree");
	return NULL;
}

static void print_counts(void)
{
	for (int d = 0; d < options.devices; d++) {
		for (int k = 0; k < KERNELS; k++)
			printf("launched %d %s %llu\n", d, kernels[k].name,
			       (unsigned long long)done[d].kernels[k]);
		printf("copied %d HtoD %llu\ncopied %d memset %llu\n", d,
		       (unsigned long long)done[d].copies, d, (unsigned long long)done[d].fills);
	}
	printf("captured %llu\neager %llu\ngraphs %llu\n", (unsigned long long)captured,
	       (unsigned long long)eager, (unsigned long long)graph_launches);
	fflush(stdout);
}

static const struct option long_options[] = {
	{"devices", required_argument, NULL, 'd'}, {"threads", required_argument, NULL, 't'},
	{"kernels", required_argument, NULL, 'k'}, {"replays", required_argument, NULL, 'n'},
	{"rounds", required_argument, NULL, 'r'},  {"explicit", required_argument, NULL, 'x'},
	{"eager", required_argument, NULL, 'l'},   {"no-clone", no_argument, NULL, 'c'},
	{"inner", required_argument, NULL, 'i'},   {NULL, 0, NULL, 0},
};

static bool read_option(int option, const char *value)
{
	switch (option) {
	case 'd':
		options.devices = atoi(value);
		return true;
	case 't':
		options.threads = atoi(value);
		return true;
	case 'k':
		options.kernels = atoi(value);
		return true;
	case 'n':
		options.replays = atol(value);
		return true;
	case 'r':
		options.rounds = atol(value);
		return true;
	case 'x':
		options.explicit_nodes = atoi(value);
		return true;
	case 'l':
		options.eager = atol(value);
		return true;
	case 'c':
		options.no_clone = true;
		return true;
	case 'i':
		options.inner = atol(value);
		return true;
	default:
		return false;
	}
}

static bool read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (!read_option(option, optarg))
			return false;
	}
	return options.devices >= 1 && options.devices <= DEVICES_MAX && options.threads >= 1 &&
	       options.threads <= THREADS_MAX && options.kernels >= 0 &&
	       options.explicit_nodes >= 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	if (!read_options(argc, argv)) {
		fprintf(stderr, "fake_graphs: bad arguments; its source says which there are\n");
		return 2;
	}
	require(cudaSetDevice(0), "cudaSetDevice");
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int t = 0; t < options.threads; t++) {
		if (pthread_create(&threads[t], NULL, run_thread, (void *)(intptr_t)t) != 0)
			return 2;
	}
	for (int t = 0; t < options.threads; t++)
		pthread_join(threads[t], NULL);
	print_counts();
	return 0;
}
