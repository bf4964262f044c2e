/* Allocates and frees memory in a known pattern from functions with known names: on a GPU (gcc, -lcudart) and, compiled
 * with FAKE_CUDA, on fake CUDA, which then knows which function each byte came from.
 *
 *   memory_pattern [--devices D] [--threads T] [--rounds N] [--progress FILE]
 *
 * Thread t works on device t % D. Each round: a sawtooth of device memory, blocks of a pool, a pinned and a managed one,
 * all freed again; every 16th round leaks a buffer. Each thread's state is allocated there and freed by main(); the
 * weights of a device are allocated by main() and freed by the device's first thread.
 * --progress writes "PID ROUNDS" to FILE (a pipe, say) after every 10 rounds of the process.
 * Prints for each device "peak DEVICE BYTES" (what the pattern had at most; exact with one thread a device), "leaked
 * DEVICE COUNT BYTES", "used DEVICE BYTES" (the most that cudaMemGetInfo saw, without what was there before). */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FAKE_CUDA
#include "fake_cuda.h"
#define SITE() fake_cuda_call_site(__func__)
#else
#define SITE() ((void)0)
#endif

/* Functions that keep their name and their frame. */
#define NAMED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

#define DEVICES_MAX   64
#define THREADS_MAX   64
#define BLOCKS        8
#define BLOCK_BYTES   (256u << 10)
#define POOL_BYTES    (128u << 10)
#define PINNED_BYTES  (64u << 10)
#define MANAGED_BYTES (32u << 10)
#define LEAK_BYTES    (4u << 10)
#define STATE_BYTES   (1u << 20)
#define WEIGHTS_BYTES (64u << 20)

static struct {
	int devices, threads;
	long rounds;
	int progress; /* descriptor, -1: none */
} options = {1, 1, 100, -1};

static struct {
	_Atomic uint64_t live, peak; /* of device memory */
	_Atomic uint64_t leaked, leaked_bytes, used;
	uint64_t free_before;
	void *weights;
} devices[DEVICES_MAX];
static void *states[THREADS_MAX];
static _Atomic uint64_t rounds_done;

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "memory_pattern: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t now = atomic_load(most);

	while (now < value && !atomic_compare_exchange_weak(most, &now, value))
		;
}

static void count(int device, int64_t bytes)
{
	uint64_t live = atomic_fetch_add(&devices[device].live, (uint64_t)bytes) + (uint64_t)bytes;

	raise_to(&devices[device].peak, live);
}

static void look_at_device(int device)
{
	size_t free_now, total;

	require(cudaMemGetInfo(&free_now, &total), "cudaMemGetInfo");
	if (free_now < devices[device].free_before)
		raise_to(&devices[device].used, devices[device].free_before - free_now);
}

NAMED static void load_weights(int device)
{
	SITE();
	require(cudaMalloc(&devices[device].weights, WEIGHTS_BYTES), __func__);
	count(device, WEIGHTS_BYTES);
}

NAMED static void drop_weights(int device)
{
	count(device, -(int64_t)WEIGHTS_BYTES);
	require(cudaFree(devices[device].weights), __func__);
}

NAMED static void *make_state(int device)
{
	void *state;

	SITE();
	require(cudaMalloc(&state, STATE_BYTES), __func__);
	count(device, STATE_BYTES);
	return state;
}

NAMED static void drop_state(void *state)
{
	require(cudaFree(state), __func__);
}

static size_t block_bytes(long round, int i)
{
	return BLOCK_BYTES * (1 + (size_t)(round + i) % 4);
}

NAMED static void *alloc_block(int device, size_t bytes)
{
	void *block;

	SITE();
	require(cudaMalloc(&block, bytes), __func__);
	count(device, (int64_t)bytes);
	return block;
}

NAMED static void free_block(int device, void *block, size_t bytes)
{
	count(device, -(int64_t)bytes);
	require(cudaFree(block), __func__);
}

NAMED static void sawtooth(int device, long round)
{
	void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = alloc_block(device, block_bytes(round, i));
	if (round % 10 == 0)
		look_at_device(device);
	for (int i = BLOCKS; i > 0; i--)
		free_block(device, blocks[i - 1], block_bytes(round, i - 1));
}

NAMED static void pool_step(int device, cudaStream_t stream)
{
	void *first, *second;

	SITE();
	require(cudaMallocAsync(&first, POOL_BYTES, stream), __func__);
	count(device, POOL_BYTES);
	require(cudaMallocAsync(&second, POOL_BYTES, stream), __func__);
	count(device, POOL_BYTES);
	require(cudaMemsetAsync(first, 1, POOL_BYTES, stream), __func__);
	count(device, -2 * (int64_t)POOL_BYTES);
	require(cudaFreeAsync(first, stream), __func__);
	require(cudaFreeAsync(second, stream), __func__);
}

NAMED static void stage(void)
{
	void *pinned, *managed;

	SITE();
	require(cudaMallocHost(&pinned, PINNED_BYTES), __func__);
	require(cudaMallocManaged(&managed, MANAGED_BYTES, cudaMemAttachGlobal), __func__);
	require(cudaFree(managed), __func__);
	require(cudaFreeHost(pinned), __func__);
}

NAMED static void leak_buffer(int device)
{
	void *buffer;

	SITE();
	require(cudaMalloc(&buffer, LEAK_BYTES), __func__);
	count(device, LEAK_BYTES);
	devices[device].leaked++;
	devices[device].leaked_bytes += LEAK_BYTES;
}

static void tell_progress(void)
{
	char line[64];
	uint64_t done = ++rounds_done;

	if (options.progress < 0 || done % 10)
		return;
	int length =
		snprintf(line, sizeof(line), "%d %llu\n", (int)getpid(), (unsigned long long)done);
	if (write(options.progress, line, (size_t)length) < 0)
		options.progress = -1;
}

NAMED static void *run_thread(void *argument)
{
	int thread = (int)(intptr_t)argument, device = thread % options.devices;
	cudaStream_t stream;

	require(cudaSetDevice(device), "cudaSetDevice");
	require(cudaStreamCreate(&stream), "cudaStreamCreate");
	states[thread] = make_state(device);
	for (long round = 0; round < options.rounds; round++) {
		sawtooth(device, round);
		pool_step(device, stream);
		stage();
		if (round % 16 == 0)
			leak_buffer(device);
		tell_progress();
	}
	if (thread < options.devices)
		drop_weights(device);
	require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
	return NULL;
}

static int read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"devices", required_argument, NULL, 'd'},
		{"threads", required_argument, NULL, 't'},
		{"rounds", required_argument, NULL, 'r'},
		{"progress", required_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'd')
			options.devices = atoi(optarg);
		else if (option == 't')
			options.threads = atoi(optarg);
		else if (option == 'r')
			options.rounds = atol(optarg);
		else if (option == 'p')
			options.progress =
				open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		else
			return -1;
	}
	return options.devices >= 1 && options.devices <= DEVICES_MAX && options.threads >= 1 &&
			       options.threads <= THREADS_MAX && options.threads >= options.devices
		       ? 0
		       : -1;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	if (read_options(argc, argv) < 0) {
		fprintf(stderr, "memory_pattern: bad arguments; its source says which there are\n");
		return 2;
	}
	for (int d = 0; d < options.devices; d++) {
		size_t total;

		require(cudaSetDevice(d), "cudaSetDevice");
		require(cudaMemGetInfo(&devices[d].free_before, &total), "cudaMemGetInfo");
		load_weights(d);
	}
	for (int t = 0; t < options.threads; t++)
		if (pthread_create(&threads[t], NULL, run_thread, (void *)(intptr_t)t) != 0)
			return 2;
	for (int t = 0; t < options.threads; t++)
		pthread_join(threads[t], NULL);
	for (int t = 0; t < options.threads; t++)
		drop_state(states[t]);
	for (int d = 0; d < options.devices; d++)
		printf("peak %d %llu\nleaked %d %llu %llu\nused %d %llu\n", d,
		       (unsigned long long)devices[d].peak, d,
		       (unsigned long long)devices[d].leaked,
		       (unsigned long long)devices[d].leaked_bytes, d,
		       (unsigned long long)devices[d].used);
	return 0;
}
