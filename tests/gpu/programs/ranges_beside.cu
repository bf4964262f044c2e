/* Ranges beside what they must not delay: captures of other threads and graphs, and pairs of kernels that wait for each other as
   NCCL's do, with NCCL's names. If anything runs one kernel of a pair before it launches the other, the program never ends.

     ranges_beside SECONDS [captures] [pairs]

   Prints "kernels N", which ran, with those of graphs; "captures N", "broken N", "pairs N", and "longest SECONDS", which a
   capture took. Exit status: 1 if a capture broke. */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>
#include <cooperative_groups.h>
#include <nvtx3/nvToolsExt.h>

#define OK(call)                                                                                   \
	do {                                                                                       \
		const auto result = (call);                                                        \
		if (static_cast<int>(result) != 0) {                                               \
			fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result));              \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

using seconds_clock = std::chrono::steady_clock;

static std::atomic<unsigned long> kernels, captures, broken, pairs;
static seconds_clock::time_point end;
static std::atomic<double> longest;

static double seconds_since(seconds_clock::time_point begin)
{
	return std::chrono::duration<double>(seconds_clock::now() - begin).count();
}

__global__ void work(float *numbers, int turns)
{
	float number = numbers[threadIdx.x];

	for (int turn = 0; turn < turns; turn++)
		number = number * 1.0001f + 0.5f;
	numbers[threadIdx.x] = number;
}

/* Ends once its other has begun as well. */
extern "C" __global__ void ncclDevKernel_Meet(volatile int *begun, int own, int number)
{
	begun[own] = number;
	while (begun[1 - own] < number)
		;
}

extern "C" __global__ void all_blocks_meet(float *numbers)
{
	cooperative_groups::this_grid().sync();
	numbers[threadIdx.x] += 1;
}

struct lane {
	cudaStream_t stream;
	cudaGraphExec_t runnable;
	float *numbers;
	std::minstd_rand random;

	explicit lane(unsigned seed) : random(seed + 1)
	{
		OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		OK(cudaMalloc(&numbers, 1024 * sizeof(float)));
	}

	unsigned below(unsigned limit) { return random() % limit; }

	void launch_some()
	{
		for (unsigned rest = below(6); rest; rest--) {
			work<<<1 + below(200), 256, 0, stream>>>(numbers, 1 << below(14));
			OK(cudaGetLastError());
			kernels++;
		}
	}

	void pause(unsigned us) { std::this_thread::sleep_for(std::chrono::microseconds(below(us))); }
};

static void make_ranges(lane &own)
{
	static const char *const names[] = {"forward", "backward", "optimizer", "loss"};
	void *arguments[] = {&own.numbers};

	while (seconds_clock::now() < end) {
		unsigned depth = 1 + own.below(4);

		for (unsigned level = 0; level < depth; level++) {
			nvtxRangePushA(names[own.below(4)]);
			own.launch_some();
		}
		if (own.below(4) == 0) {
			OK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(all_blocks_meet), 8, 128, arguments, 0, own.stream));
			kernels++;
		}
		for (unsigned level = 0; level < depth; level++) {
			own.launch_some();
			nvtxRangePop();
		}
		if (own.below(8) == 0)
			work<<<8, 4096, 0, own.stream>>>(own.numbers, 1), cudaGetLastError(); /* fails: too many threads */
		if (own.below(4) == 0)
			OK(cudaStreamSynchronize(own.stream));
		own.pause(2000);
	}
	OK(cudaStreamSynchronize(own.stream));
}

/* Returns whether the captured graph is whole. Each is launched as the first, since instantiating one may wait for the GPU. */
static bool capture(lane &own, cudaGraph_t *graph)
{
	if (cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
		return false;
	for (int i = 0; i < 3; i++)
		work<<<4, 256, 0, own.stream>>>(own.numbers, 100);
	own.pause(500);
	return cudaStreamEndCapture(own.stream, graph) == cudaSuccess;
}

static void make_captures(lane &own)
{
	while (seconds_clock::now() < end) {
		const auto begin = seconds_clock::now();
		cudaGraph_t graph;

		if (capture(own, &graph)) {
			for (double took = seconds_since(begin), before = longest; took > before && !longest.compare_exchange_weak(before, took);)
				;
			captures++;
			OK(cudaGraphLaunch(own.runnable, own.stream));
			kernels += 3;
			OK(cudaStreamSynchronize(own.stream));
			OK(cudaGraphDestroy(graph));
		} else {
			broken++;
		}
		own.pause(9000);
	}
}

static void make_pairs(lane &first, lane &second, int *begun)
{
	for (int number = 1; seconds_clock::now() < end; number++) {
		ncclDevKernel_Meet<<<1, 1, 0, first.stream>>>(begun, 0, number);
		first.pause(300);
		ncclDevKernel_Meet<<<1, 1, 0, second.stream>>>(begun, 1, number);
		OK(cudaGetLastError());
		kernels += 2;
		pairs++;
		if (number % 8 == 0) {
			OK(cudaStreamSynchronize(first.stream));
			first.pause(60000); /* time for ranges */
		}
	}
	OK(cudaStreamSynchronize(second.stream));
}

static bool has(int argc, char **argv, const char *word)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], word))
			return true;
	return false;
}

/* All that may wait for the GPU is done before the first pair: with one of its kernels running, it would wait for ever. */
int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<lane>> lanes;
	std::vector<std::thread> threads;
	int *begun;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); /* else streams share queues */
	OK(cudaSetDevice(0));
	OK(cudaMalloc(&begun, 2 * sizeof(int)));
	OK(cudaMemset(begun, 0, 2 * sizeof(int)));
	for (unsigned i = 0; i < 7; i++) {
		cudaGraph_t graph;

		lanes.push_back(std::make_unique<lane>(i));
		if (!capture(*lanes[i], &graph))
			return fputs("nothing can be captured\n", stderr), 2;
		OK(cudaGraphInstantiate(&lanes[i]->runnable, graph, 0));
		OK(cudaGraphUpload(lanes[i]->runnable, lanes[i]->stream));
		OK(cudaGraphDestroy(graph));
	}
	OK(cudaDeviceSynchronize());
	end = seconds_clock::now() + std::chrono::milliseconds(static_cast<long>(1000 * atof(argc > 1 ? argv[1] : "5")));
	for (unsigned i = 0; i < 3; i++)
		threads.emplace_back(make_ranges, std::ref(*lanes[i]));
	for (unsigned i = 3; i < 5 && has(argc, argv, "captures"); i++)
		threads.emplace_back(make_captures, std::ref(*lanes[i]));
	if (has(argc, argv, "pairs"))
		threads.emplace_back(make_pairs, std::ref(*lanes[5]), std::ref(*lanes[6]), begun);
	for (auto &thread : threads)
		thread.join();
	OK(cudaDeviceSynchronize());
	printf("kernels %lu\ncaptures %lu\nbroken %lu\npairs %lu\nlongest %.3f\n", kernels.load(), captures.load(), broken.load(), pairs.load(),
	       longest.load());
	return broken != 0;
}
