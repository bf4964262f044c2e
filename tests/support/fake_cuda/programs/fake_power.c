/* Work of known power in phases, for tests of energy.
 *
 *   fake_power PHASE:READINGS...
 *
 * A phase ends when a fake NVML was read so many times more (FAKE_NVML_LOG), so that a busy machine has longer ones. In
 * each, which is the name of a kernel, the program launches that kernel, of 10 ms, again and again, and waits for it
 * each time. The phase "idle" does nothing on the GPU. "hot+cold" launches these kernels in turn, as a loop does whose
 * steps are all alike. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fake_cuda.h"

#define KERNELS   16
#define KERNEL_NS 10000000
#define LOG_LINE  3   /* bytes of a reading */
#define PHASE_S   100 /* a phase that lasts so long has failed */

static struct fake_cuda_kernel kernels[KERNELS];

static void require(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "fake_power: %s: %s\n", what, cudaGetErrorString(error));
	exit(2);
}

/* Returns how many times a device was read. */
static uint64_t readings(void)
{
	const char *path = getenv("FAKE_NVML_LOG");
	struct stat log;

	if (!path) {
		fprintf(stderr, "fake_power: FAKE_NVML_LOG is not set\n");
		exit(2);
	}
	return stat(path, &log) == 0 ? (uint64_t)log.st_size / LOG_LINE : 0;
}

static struct fake_cuda_kernel *kernel_of(const char *name)
{
	int i = 0;

	while (i < KERNELS && kernels[i].name && strcmp(kernels[i].name, name) != 0)
		i++;
	if (i == KERNELS) {
		fprintf(stderr, "fake_power: more than %d kernels\n", KERNELS);
		exit(2);
	}
	if (!kernels[i].name)
		kernels[i] = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(
			name, FAKE_CUDA_FIXED_NS(KERNEL_NS));
	return &kernels[i];
}

static void launch(const char *name)
{
	require(cudaLaunchKernel(kernel_of(name), (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, 0),
		"launch");
	require(cudaDeviceSynchronize(), "device wait");
}

/* Plays a phase of these kernels. */
static void play(char *const *names, uint32_t nr_names, uint64_t count)
{
	const uint64_t until = readings() + count;
	const time_t begin = time(NULL);

	for (uint32_t i = 0; readings() < until || i % nr_names; i++) {
		const char *name = names[i % nr_names];

		if (time(NULL) - begin > PHASE_S) {
			fprintf(stderr, "fake_power: %s: NVML is not read\n", name);
			exit(2);
		}
		if (strcmp(name, "idle") == 0)
			nanosleep(&(struct timespec){.tv_nsec = KERNEL_NS}, NULL);
		else
			launch(name);
	}
}

static void play_phase(char *phase, uint64_t count)
{
	char *names[KERNELS];
	uint32_t nr_names = 0;

	for (char *at = strtok(phase, "+"); at && nr_names < KERNELS; at = strtok(NULL, "+"))
		names[nr_names++] = at;
	if (nr_names)
		play(names, nr_names, count);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *colon = strchr(argv[i], ':');

		if (!colon) {
			fprintf(stderr, "fake_power: %s: no PHASE:READINGS\n", argv[i]);
			return 2;
		}
		*colon = '\0';
		play_phase(argv[i], strtoull(colon + 1, NULL, 10));
	}
	return 0;
}
