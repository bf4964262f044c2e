/* When GPM's counters were what NVML tells of them: a kernel on all multiprocessors for a random time, then none, and
 * readings beside it.
 * Usage: gpm_delay PERIOD-US SECONDS
 * Lines: "on BEGIN END" of each time with the kernel, and "gpm BEFORE NOW SM-ACTIVE" of each reading: its time and that
 * of the one before, and the use between them in percent. Times are seconds of CLOCK_MONOTONIC. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

#define KERNEL_NS 1000000ull
#define LEAST_S   0.05
#define MORE_S    0.6 /* at most */
#define SM_UTIL   2   /* NVML_GPM_METRIC_SM_UTIL */

/* nvml.h of CUDA 13, which machines with the driver alone lack */
struct metric {
	unsigned int id;
	int result;
	double value;
	const char *names[3];
};

struct metrics {
	unsigned int version, count;
	void *before, *now;
	metric list[333];
};

static std::atomic<bool> is_over;

static double seconds()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

__device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void spin()
{
	const unsigned long long end_ns = now_ns() + KERNEL_NS;

	while (now_ns() < end_ns)
		;
}

static double random_s(unsigned long long *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return LEAST_S + (*state >> 40) / (double)(1 << 24) * MORE_S;
}

static void work()
{
	unsigned long long state = 7;

	while (!is_over) {
		const double begin = seconds(), end = begin + random_s(&state);

		while (seconds() < end) {
			spin<<<132, 256>>>();
			if (cudaDeviceSynchronize() != cudaSuccess)
				exit(2);
		}
		printf("on %.6f %.6f\n", begin, seconds());
		usleep((useconds_t)(random_s(&state) * 1e6));
	}
}

template <typename... Arguments> static int call(const char *name, Arguments... arguments)
{
	static void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	void *function = library ? dlsym(library, name) : nullptr;

	if (!function) {
		fprintf(stderr, "gpm_delay: no %s\n", name);
		exit(2);
	}
	return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

int main(int argc, char **argv)
{
	static metrics between;
	void *device, *samples[2];

	if (argc != 3) {
		fprintf(stderr, "usage: gpm_delay PERIOD-US SECONDS\n");
		return 2;
	}
	if (call("nvmlInit_v2") || call("nvmlDeviceGetHandleByIndex_v2", 0u, &device) ||
	    call("nvmlGpmSampleAlloc", &samples[0]) || call("nvmlGpmSampleAlloc", &samples[1]) || cudaFree(nullptr) != cudaSuccess)
		return 2;
	std::thread worker(work);
	const double end = seconds() + atof(argv[2]);
	call("nvmlGpmSampleGet", device, samples[0]);
	double before = seconds();
	for (int newest = 0; seconds() < end; newest = !newest) {
		usleep((useconds_t)atoi(argv[1]));
		const double now = seconds();
		call("nvmlGpmSampleGet", device, samples[!newest]);
		between.version = between.count = 1;
		between.before = samples[newest];
		between.now = samples[!newest];
		between.list[0].id = SM_UTIL;
		if (call("nvmlGpmMetricsGet", &between) == 0 && between.list[0].result == 0)
			printf("gpm %.6f %.6f %.3f\n", before, now, between.list[0].value);
		before = now;
	}
	is_over = true;
	worker.join();
	return 0;
}
