/* Launches kernels and copies in known numbers from functions with known names, for tests of what
 * profiles them.
 *
 *   fake_launches [--devices D] [--streams S] [--threads T] [--launches N] [--kernels K]
 * [--mangled] [--one-name]
 *                 [--nccl] [--copies M] [--sync-every N] [--no-final-sync] [--forever] [--shapes N]
 *                 [--progress FILE] [--exit return|_exit|kill9-self|abort]
 *                 [--lock before|after]
 *
 * Thread t works on device t % D: N launches in turn over K kernels and S streams, then M rounds of
 * copies.
 * --shapes: the kernels are launched with N configurations in turn, round by round; else with one.
 * --one-name: all K functions launch kernel 0, function i with a grid i + 1 deep.
 * --nccl: the last of the K kernels has the name of one of NCCL's.
 * --progress writes "PID LAUNCHES" to FILE (a pipe, say) after every 1,000 launches of the process.
 * --lock: calls mlockall() for all memory, before CUDA starts or after that, and prints
 * "resident KIB" and "locked KIB" at the end.
 * Kernel i is launched by launch_from_k<i>(), called by step(), called by run_thread(). Prints
 * "ready PID" before the first launch, and at the end "launched DEVICE KERNEL COUNT", "copied
 * DEVICE KIND COUNT" and "failed COUNT". */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"

/* Functions that keep their name and their frame. */
#if __has_attribute(noipa)
#define NAMED __attribute__((noipa))
#else
#define NAMED __attribute__((noinline))
#endif

#define KERNELS       16
#define DEVICES_MAX   64
#define STREAMS_MAX   256
#define COPY_BYTES    65536u
#define PROGRESS_STEP 1000u

/* Even kernels last the same each time, odd ones vary. */
#define DURATION(i) 1000 + 250 * (i), 1000 + 250 * (i) + ((i) % 2) * 3000, (i)
#define PLAIN(i)    FAKE_CUDA_KERNEL_INIT("k" #i, DURATION(i))
#define MANGLED(i)  FAKE_CUDA_KERNEL_INIT("_ZN7trainer6kernelILi" #i "EEEvPfi", DURATION(i))
#define SIXTEEN(of)                                                                                \
	of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9), of(10), of(11),      \
		of(12), of(13), of(14), of(15)

static struct fake_cuda_kernel plain_kernels[KERNELS] = {SIXTEEN(PLAIN)};
static struct fake_cuda_kernel mangled_kernels[KERNELS] = {SIXTEEN(MANGLED)};

static const struct fake_cuda_kernel nccl_kernel = FAKE_CUDA_KERNEL_INIT(
	"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", 4000,
	9000, 1);

static struct {
	int devices, streams, threads, kernels;
	long launches, copies, sync_every, shapes;
	bool forever, no_final_sync, nccl, one_name;
	const char *how_to_exit, *lock;
	_Atomic int progress; /* descriptor, -1: none */
	struct fake_cuda_kernel *set;
} options = {.devices = 1,
	     .streams = 1,
	     .threads = 1,
	     .kernels = 4,
	     .launches = 1000,
	     .shapes = 1,
	     .how_to_exit = "return",
	     .progress = -1,
	     .set = plain_kernels};

static struct {
	_Atomic uint64_t kernels[KERNELS];
	_Atomic uint64_t to_device, to_host, inside, fills;
} done[DEVICES_MAX];
static _Atomic uint64_t failed, launched;

#define LAUNCHER(i)                                                                                \
	NAMED static cudaError_t launch_from_k##i(cudaStream_t stream, unsigned int shape)         \
	{                                                                                          \
		cudaError_t error = cudaLaunchKernel(                                              \
			&options.set[options.one_name ? 0 : i],                                    \
			(dim3){8 + shape, 1, options.one_name ? 1 + i : 1},                        \
			(dim3){64 << shape % 3, 1, 1}, NULL, 1024 * shape, stream);                \
		__asm__ volatile("");                                                              \
		return error;                                                                      \
	}
LAUNCHER(0)
LAUNCHER(1)
LAUNCHER(2)
LAUNCHER(3)
LAUNCHER(4)
LAUNCHER(5)
LAUNCHER(6)
LAUNCHER(7)
LAUNCHER(8)
LAUNCHER(9)
LAUNCHER(10)
LAUNCHER(11)
LAUNCHER(12)
LAUNCHER(13)
LAUNCHER(14)
LAUNCHER(15)

#define LAUNCHER_NAME(i) launch_from_k##i
static cudaError_t (*const launchers[KERNELS])(cudaStream_t,
					       unsigned int) = {SIXTEEN(LAUNCHER_NAME)};

/* A reader that went away is no reason to stop. */
static void tell_progress(uint64_t count)
{
	char line[64];
	int length =
		snprintf(line, sizeof(line), "%d %llu\n", (int)getpid(), (unsigned long long)count);

	if (write(options.progress, line, (size_t)length) < 0)
		options.progress = -1;
}

NAMED static void step(int device, long i, cudaStream_t stream)
{
	int kernel = (int)(i % options.kernels);

	if (launchers[kernel](stream, (unsigned int)(i / options.kernels % options.shapes)) !=
	    cudaSuccess) {
		failed++;
		return;
	}
	done[device].kernels[kernel]++;
	uint64_t count = ++launched;
	if (options.progress >= 0 && count % PROGRESS_STEP == 0)
		tell_progress(count);
}

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_launches: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

NAMED static void copy_batch(int device, cudaStream_t stream)
{
	static char host[COPY_BYTES];
	void *memory;

	require(cudaMalloc(&memory, 2 * COPY_BYTES), "cudaMalloc");
	for (long i = 0; i < options.copies; i++) {
		require(cudaMemcpy(memory, host, COPY_BYTES, cudaMemcpyHostToDevice), "cudaMemcpy");
		require(cudaMemsetAsync((char *)memory + COPY_BYTES, 1, COPY_BYTES, stream),
			"cudaMemsetAsync");
		require(cudaMemcpyAsync((char *)memory + COPY_BYTES, memory, COPY_BYTES,
					cudaMemcpyDeviceToDevice, stream),
			"cudaMemcpyAsync");
		done[device].to_device++;
		done[device].fills++;
		done[device].inside++;
	}
	require(cudaFree(memory), "cudaFree");
}

NAMED static void *run_thread(void *argument)
{
	int device = (int)(intptr_t)argument % options.devices;
	cudaStream_t streams[STREAMS_MAX];

	require(cudaSetDevice(device), "cudaSetDevice");
	for (int s = 0; s < options.streams; s++)
		require(cudaStreamCreate(&streams[s]), "cudaStreamCreate");
	for (long i = 0; options.forever || i < options.launches; i++) {
		step(device, i, streams[i / options.kernels % options.streams]);
		if (options.sync_every && (i + 1) % options.sync_every == 0)
			require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	}
	if (options.copies)
		copy_batch(device, streams[0]);
	if (!options.no_final_sync)
		require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return NULL;
}

static void print_counts(void)
{
	for (int d = 0; d < options.devices; d++) {
		for (int k = 0; k < options.kernels; k++) {
			if (done[d].kernels[k])
				printf("launched %d %s %llu\n", d, options.set[k].name,
				       (unsigned long long)done[d].kernels[k]);
		}
		if (done[d].to_device)
			printf("copied %d HtoD %llu\ncopied %d DtoD %llu\ncopied %d memset %llu\n",
			       d, (unsigned long long)done[d].to_device, d,
			       (unsigned long long)done[d].inside, d,
			       (unsigned long long)done[d].fills);
	}
	printf("failed %llu\n", (unsigned long long)failed);
	fflush(stdout);
}

static const struct option long_options[] = {
	{"devices", required_argument, NULL, 'd'},
	{"streams", required_argument, NULL, 's'},
	{"threads", required_argument, NULL, 't'},
	{"launches", required_argument, NULL, 'n'},
	{"kernels", required_argument, NULL, 'k'},
	{"copies", required_argument, NULL, 'c'},
	{"sync-every", required_argument, NULL, 'y'},
	{"shapes", required_argument, NULL, 'h'},
	{"exit", required_argument, NULL, 'e'},
	{"mangled", no_argument, NULL, 'm'},
	{"no-final-sync", no_argument, NULL, 'x'},
	{"forever", no_argument, NULL, 'f'},
	{"progress", required_argument, NULL, 'p'},
	{"nccl", no_argument, NULL, 'l'},
	{"one-name", no_argument, NULL, 'o'},
	{"lock", required_argument, NULL, 'M'},
	{NULL, 0, NULL, 0},
};

static bool read_option(int option, const char *value)
{
	switch (option) {
	case 'd':
		options.devices = atoi(value);
		break;
	case 's':
		options.streams = atoi(value);
		break;
	case 't':
		options.threads = atoi(value);
		break;
	case 'n':
		options.launches = atol(value);
		break;
	case 'k':
		options.kernels = atoi(value);
		break;
	case 'c':
		options.copies = atol(value);
		break;
	case 'y':
		options.sync_every = atol(value);
		break;
	case 'h':
		options.shapes = atol(value);
		break;
	case 'e':
		options.how_to_exit = value;
		break;
	case 'm':
		options.set = mangled_kernels;
		break;
	case 'x':
		options.no_final_sync = true;
		break;
	case 'f':
		options.forever = true;
		break;
	case 'o':
		options.one_name = true;
		break;
	case 'l':
		options.nccl = true;
		break;
	case 'M':
		options.lock = value;
		break;
	case 'p':
		options.progress = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		break;
	default:
		return false;
	}
	return true;
}

static bool read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (!read_option(option, optarg))
			return false;
	}
	return options.devices >= 1 && options.devices <= DEVICES_MAX && options.streams >= 1 &&
	       options.streams <= STREAMS_MAX && options.threads >= 1 && options.threads <= 1024 &&
	       options.kernels >= 1 && options.kernels <= KERNELS && options.shapes >= 1 &&
	       options.shapes <= 64;
}

static int leave(void)
{
	if (strcmp(options.how_to_exit, "_exit") == 0)
		_exit(0);
	if (strcmp(options.how_to_exit, "kill9-self") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(options.how_to_exit, "abort") == 0)
		abort();
	return 0;
}

static void lock_memory(const char *when)
{
	if (!options.lock || strcmp(options.lock, when) != 0)
		return;
	if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
		return;
	perror("fake_launches: mlockall");
	exit(2);
}

static void print_memory(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			printf("resident %ld\n", kib);
		else if (sscanf(line, "VmLck: %ld", &kib) == 1)
			printf("locked %ld\n", kib);
	}
	if (status)
		fclose(status);
}

int main(int argc, char **argv)
{
	pthread_t threads[1024];

	if (!read_options(argc, argv)) {
		fprintf(stderr, "fake_launches: bad arguments; its source says which there are\n");
		return 2;
	}
	if (options.nccl)
		options.set[options.kernels - 1] = nccl_kernel;
	signal(SIGPIPE, SIG_IGN);
	lock_memory("before");
	require(cudaSetDevice(0), "cudaSetDevice");
	lock_memory("after");
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int t = 0; t < options.threads; t++) {
		if (pthread_create(&threads[t], NULL, run_thread, (void *)(intptr_t)t) != 0)
			return 2;
	}
	for (int t = 0; t < options.threads; t++)
		pthread_join(threads[t], NULL);
	print_counts();
	if (options.lock)
		print_memory();
	return leave();
}
