/* Graphs within graphs, in known numbers from functions with known names: a captured child at two levels, twice in one
 * graph, and cloned; a branch that is taken, and a loop whose body is captured. Each graph is launched REPLAYS times.
 * Prints "launched KERNEL COUNT". Usage: inner_graphs [REPLAYS] */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define NAMED  __attribute__((noinline)) static
#define TURNS  3
#define CHILDREN 3

static long replays = 50;
static cudaStream_t stream;
static float *memory;
static __device__ unsigned turns;

#define TRY(call)                                                                                                      \
	do {                                                                                                           \
		cudaError_t error_ = (call);                                                                           \
		if (error_ != cudaSuccess) {                                                                           \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                                \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

__global__ void in_child(float *p)
{
	p[threadIdx.x] += 1;
}

__global__ void in_parent(float *p)
{
	p[threadIdx.x] += 2;
}

__global__ void in_branch(float *p)
{
	p[threadIdx.x] += 3;
}

__global__ void in_loop(float *p, cudaGraphConditionalHandle handle)
{
	p[threadIdx.x] += 4;
	if (threadIdx.x == 0)
		cudaGraphSetConditional(handle, ++turns % TURNS != 0);
}

NAMED cudaGraph_t capture_child()
{
	cudaGraph_t graph;

	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	in_child<<<1, 32, 0, stream>>>(memory);
	TRY(cudaMemsetAsync(memory + 1024, 0, 1024, stream));
	TRY(cudaMemcpyAsync(memory + 2048, memory, 1024, cudaMemcpyDeviceToDevice, stream));
	TRY(cudaStreamEndCapture(stream, &graph));
	return graph;
}

NAMED cudaGraphNode_t add_in(cudaGraph_t graph, const void *kernel, void **arguments)
{
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = (void *)kernel;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	TRY(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
	return node;
}

static void add_child(cudaGraph_t graph, cudaGraph_t child)
{
	cudaGraphNode_t node;

	TRY(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
}

NAMED cudaGraph_t nest(cudaGraph_t child)
{
	void *arguments[] = {&memory};
	cudaGraph_t middle, top, clone;

	TRY(cudaGraphCreate(&middle, 0));
	add_in(middle, (const void *)in_parent, arguments);
	add_child(middle, child);
	TRY(cudaGraphCreate(&top, 0));
	add_child(top, middle);
	add_child(top, child);
	add_child(top, child);
	TRY(cudaGraphClone(&clone, top));
	return clone;
}

static cudaGraph_t add_conditional(cudaGraph_t graph, cudaGraphConditionalNodeType type,
				   cudaGraphConditionalHandle *handle)
{
	cudaGraphNodeParams params = {};
	cudaGraphNode_t node;

	TRY(cudaGraphConditionalHandleCreate(handle, graph, 1, cudaGraphCondAssignDefault));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = *handle;
	params.conditional.type = type;
	params.conditional.size = 1;
	TRY(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
	return params.conditional.phGraph_out[0];
}

NAMED void branch_body(cudaGraph_t body)
{
	void *arguments[] = {&memory};

	add_in(body, (const void *)in_branch, arguments);
}

NAMED void loop_body(cudaGraph_t body, cudaGraphConditionalHandle handle)
{
	cudaGraph_t same;

	TRY(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
	in_loop<<<1, 32, 0, stream>>>(memory, handle);
	TRY(cudaStreamEndCapture(stream, &same));
}

NAMED cudaGraph_t decide()
{
	cudaGraphConditionalHandle handle;
	cudaGraph_t graph;

	TRY(cudaGraphCreate(&graph, 0));
	branch_body(add_conditional(graph, cudaGraphCondTypeIf, &handle));
	cudaGraph_t loop = add_conditional(graph, cudaGraphCondTypeWhile, &handle);
	loop_body(loop, handle);
	return graph;
}

NAMED void replay_nested(cudaGraphExec_t exec)
{
	for (volatile long i = 0; i < replays; i++)
		TRY(cudaGraphLaunch(exec, stream));
}

NAMED void replay_conditional(cudaGraphExec_t exec)
{
	for (volatile long i = 0; i < replays; i++)
		TRY(cudaGraphLaunch(exec, stream));
}

int main(int argc, char **argv)
{
	cudaGraphExec_t nested, conditional;

	replays = argc > 1 ? atol(argv[1]) : replays;
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaMalloc(&memory, 1 << 20));
	TRY(cudaGraphInstantiate(&nested, nest(capture_child()), 0));
	TRY(cudaGraphInstantiate(&conditional, decide(), 0));
	replay_nested(nested);
	replay_conditional(conditional);
	TRY(cudaStreamSynchronize(stream));
	printf("launched in_child %ld\nlaunched in_parent %ld\nlaunched in_branch %ld\nlaunched in_loop %ld\n",
	       CHILDREN * replays, replays, replays, TURNS * replays);
	return 0;
}
