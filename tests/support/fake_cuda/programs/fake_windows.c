/* Launches in known numbers within and outside of marked ranges, for tests of capture windows.
 *
 *   fake_windows [--rounds R] [--inside I] [--outside O] [--threads T] [--devices D] [--graphs]
 *                [--wait device|stream|event|none] [--hold] [--long L] [--steps] [--milliseconds M]
 *                [--until FILE]
 *
 * In each of R rounds the main thread launches O kernels (kernel "outside") and waits for the device, calls
 * cudaProfilerStart(), launches I kernels (kernel "inside", from inside_window()), waits as it was told to, calls
 * cudaProfilerStop(), and launches O kernels again. T - 1 other threads launch kernel "other" and wait for their stream, from
 * the first round to the last. With --devices thread t works on device t % D.
 * With --graphs what is launched inside is a graph of one kernel, captured before the first round.
 * With --steps what is launched inside of round R, from 1, is kernel "stepR".
 * With --hold the last kernel of a round's inside does not end before the next round begins (a kernel that waits for the
 * host), for which FAKE_CUDA_RUN_ON must not be set.
 * With --long L the wait before cudaProfilerStart() is also for a kernel "long" that lasts L milliseconds.
 * With --milliseconds rounds go on for so long, whatever R is; with --until, until FILE exists, and each begins with making
 * FILE.round, if that is not there.
 * Prints "inside COUNT", "outside COUNT" and "other COUNT" of launched kernels, and "rounds R". */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"

#if __has_attribute(noipa)
#define NAMED __attribute__((noipa))
#else
#define NAMED __attribute__((noinline))
#endif

static struct fake_cuda_kernel inside = FAKE_CUDA_KERNEL_INIT("inside", FAKE_CUDA_FIXED_NS(2000));
static struct fake_cuda_kernel outside = FAKE_CUDA_KERNEL_INIT("outside", FAKE_CUDA_FIXED_NS(1000));
static struct fake_cuda_kernel lasting = FAKE_CUDA_KERNEL_INIT("long", FAKE_CUDA_FIXED_NS(0));
static struct fake_cuda_kernel other = FAKE_CUDA_KERNEL_INIT("other", FAKE_CUDA_FIXED_NS(1500));

static struct {
	long rounds, inside, outside, threads, devices, milliseconds, lasting;
	bool graphs, hold, steps;
	const char *wait, *until;
} options = {
	.rounds = 10, .inside = 100, .outside = 50, .threads = 1, .devices = 1, .wait = "device"};

#define STEPS_MAX 1024

static long round_nr; /* from 0 */
static _Atomic uint64_t nr_other;
static _Atomic bool over;

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_windows: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

NAMED static void launch(struct fake_cuda_kernel *kernel, cudaStream_t stream)
{
	require(cudaLaunchKernel(kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream),
		"launch");
}

/* "step1" and so on, a kernel of its own for each round. */
static struct fake_cuda_kernel *kernel_of_step(void)
{
	static struct fake_cuda_kernel steps[STEPS_MAX];
	static char names[STEPS_MAX][32];
	struct fake_cuda_kernel *kernel = &steps[round_nr % STEPS_MAX];

	if (!kernel->name) {
		snprintf(names[round_nr % STEPS_MAX], sizeof(names[0]), "step%ld", round_nr + 1);
		*kernel = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(
			names[round_nr % STEPS_MAX], FAKE_CUDA_FIXED_NS(2000));
	}
	return kernel;
}

NAMED static void inside_window(cudaStream_t stream, cudaGraphExec_t graph)
{
	if (graph)
		require(cudaGraphLaunch(graph, stream), "graph launch");
	else
		launch(options.steps ? kernel_of_step() : &inside, stream);
	__asm__ volatile("");
}

NAMED static void outside_window(cudaStream_t stream)
{
	launch(&outside, stream);
	__asm__ volatile("");
}

static void *launch_others(void *argument)
{
	long index = (long)(intptr_t)argument;
	cudaStream_t stream;

	require(cudaSetDevice((int)(index % options.devices)), "device");
	require(cudaStreamCreate(&stream), "stream");
	while (!over) {
		for (int i = 0; i < 16; i++)
			launch(&other, stream);
		nr_other += 16;
		require(cudaStreamSynchronize(stream), "stream wait");
	}
	return NULL;
}

static void wait_as_told(cudaStream_t stream, cudaEvent_t event)
{
	if (strcmp(options.wait, "device") == 0)
		require(cudaDeviceSynchronize(), "device wait");
	if (strcmp(options.wait, "stream") == 0)
		require(cudaStreamSynchronize(stream), "stream wait");
	if (strcmp(options.wait, "event") == 0) {
		require(cudaEventRecord(event, stream), "event");
		require(cudaEventSynchronize(event), "event wait");
	}
}

static cudaGraphExec_t make_graph(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
	launch(&inside, stream);
	require(cudaStreamEndCapture(stream, &graph), "end of capture");
	require(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	return exec;
}

static void run_round(cudaStream_t stream, cudaStream_t held, cudaEvent_t event,
		      cudaGraphExec_t graph)
{
	for (long i = 0; i < options.outside; i++)
		outside_window(stream);
	if (options.lasting)
		launch(&lasting, stream);
	require(cudaDeviceSynchronize(), "device wait");
	fake_cuda_set("FAKE_CUDA_RUN_ON", 0); /* the host lets the held kernel go */
	require(cudaProfilerStart(), "start");
	for (long i = 0; i < options.inside; i++)
		inside_window(stream, graph);
	if (options.hold) {
		launch(&inside, held);
		fake_cuda_set("FAKE_CUDA_RUN_ON", 1);
	}
	wait_as_told(stream, event);
	require(cudaProfilerStop(), "stop");
	if (options.hold) /* others wait for streams of their own */
		require(cudaStreamSynchronize(stream), "stream wait");
	for (long i = 0; i < options.outside && !options.hold; i++)
		outside_window(stream);
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"inside", required_argument, NULL, 'i'},
		{"outside", required_argument, NULL, 'o'},
		{"threads", required_argument, NULL, 't'},
		{"devices", required_argument, NULL, 'd'},
		{"graphs", no_argument, NULL, 'g'},
		{"wait", required_argument, NULL, 'w'},
		{"hold", no_argument, NULL, 'h'},
		{"steps", no_argument, NULL, 's'},
		{"milliseconds", required_argument, NULL, 'm'},
		{"until", required_argument, NULL, 'u'},
		{"long", required_argument, NULL, 'l'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'r':
			options.rounds = atol(optarg);
			break;
		case 'i':
			options.inside = atol(optarg);
			break;
		case 'o':
			options.outside = atol(optarg);
			break;
		case 't':
			options.threads = atol(optarg);
			break;
		case 'd':
			options.devices = atol(optarg);
			break;
		case 'm':
			options.milliseconds = atol(optarg);
			break;
		case 'l':
			options.lasting = atol(optarg);
			lasting = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(
				"long", FAKE_CUDA_FIXED_NS((uint64_t)options.lasting * 1000000));
			break;
		case 'u':
			options.until = optarg;
			break;
		case 'g':
			options.graphs = true;
			break;
		case 's':
			options.steps = true;
			break;
		case 'h':
			options.hold = true;
			break;
		case 'w':
			options.wait = optarg;
			break;
		default:
			exit(2);
		}
	}
}

static void mark_round(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.round", options.until);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	cudaStream_t stream, held;
	cudaEvent_t event;
	cudaGraphExec_t graph = NULL;
	uint64_t until;
	long rounds = 0;

	parse(argc, argv);
	if (options.threads < 1 || options.threads > 64)
		return 2;
	require(cudaStreamCreate(&stream), "stream");
	require(cudaStreamCreate(&held), "stream");
	require(cudaEventCreate(&event), "event");
	if (options.graphs)
		graph = make_graph(stream);
	for (long i = 1; i < options.threads; i++)
		if (pthread_create(&threads[i], NULL, launch_others, (void *)(intptr_t)i) != 0)
			return 2;
	until = milliseconds() + (uint64_t)options.milliseconds;
	while (options.until          ? access(options.until, F_OK) != 0
	       : options.milliseconds ? milliseconds() < until
				      : rounds < options.rounds) {
		round_nr = rounds;
		if (options.until)
			mark_round();
		run_round(stream, held, event, graph);
		rounds++;
	}
	over = true;
	for (long i = 1; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	fake_cuda_set("FAKE_CUDA_RUN_ON", 0);
	require(cudaDeviceSynchronize(), "device wait");
	printf("inside %ld\noutside %ld\nother %llu\nrounds %ld\n",
	       rounds * (options.inside + options.hold),
	       rounds * options.outside * (options.hold ? 1 : 2), (unsigned long long)nr_other,
	       rounds);
	return 0;
}
