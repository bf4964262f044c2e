// One thread with two GPUs: all-reduces beside kernels on two streams of each GPU, and a CUDA graph on each. Ends with "done".
#include <cstdio>
#include <cstdlib>
#include <nccl.h>

#define OK(call)                                                  \
	do {                                                      \
		const auto result = (call);                       \
		if (static_cast<int>(result) != 0) {              \
			fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result)); \
			exit(2);                                  \
		}                                                 \
	} while (0)

static const int size = 1 << 20, gpus = 2, steps = 150;

__global__ void work(float *numbers, int turns)
{
	float *number = &numbers[blockIdx.x * blockDim.x + threadIdx.x];

	for (int turn = 0; turn < turns; turn++)
		*number = *number * 1.0001f + 0.5f;
}

static float *shared[gpus], *own[gpus];
static cudaStream_t first[gpus], second[gpus];
static cudaGraphExec_t graphs[gpus];

static void prepare(int gpu)
{
	cudaGraph_t graph;

	OK(cudaSetDevice(gpu));
	OK(cudaMalloc(&shared[gpu], size * sizeof(float)));
	OK(cudaMalloc(&own[gpu], size * sizeof(float)));
	OK(cudaStreamCreateWithFlags(&first[gpu], cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&second[gpu], cudaStreamNonBlocking));
	OK(cudaStreamBeginCapture(second[gpu], cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 5; i++)
		work<<<size / 256, 256, 0, second[gpu]>>>(own[gpu], 50);
	OK(cudaStreamEndCapture(second[gpu], &graph));
	OK(cudaGraphInstantiate(&graphs[gpu], graph, 0));
}

static void synchronize()
{
	for (int gpu = 0; gpu < gpus; gpu++) {
		OK(cudaSetDevice(gpu));
		OK(cudaDeviceSynchronize());
	}
}

int main()
{
	const int devices[gpus] = {0, 1};
	ncclComm_t comms[gpus];

	OK(ncclCommInitAll(comms, gpus, devices));
	for (int gpu = 0; gpu < gpus; gpu++)
		prepare(gpu);
	for (int step = 1; step <= steps; step++) {
		for (int gpu = 0; gpu < gpus; gpu++) {
			OK(cudaSetDevice(gpu));
			work<<<size / 256, 256, 0, second[gpu]>>>(own[gpu], 200);
			OK(cudaGraphLaunch(graphs[gpu], second[gpu]));
			work<<<size / 256, 256, 0, first[gpu]>>>(shared[gpu], 100);
		}
		OK(ncclGroupStart());
		for (int gpu = 0; gpu < gpus; gpu++)
			OK(ncclAllReduce(shared[gpu], shared[gpu], size, ncclFloat, ncclSum, comms[gpu], first[gpu]));
		OK(ncclGroupEnd());
		if (step % 10 == 0)
			synchronize();
	}
	synchronize();
	for (int gpu = 0; gpu < gpus; gpu++)
		ncclCommDestroy(comms[gpu]);
	puts("done");
	return 0;
}
