/* What a program pays that starts threads and processes all the time: threads that launch a few kernels and end, and
 * forks of a process that has launched. Run it alone and under `flamegrid run`; the difference is ours.
 *	start_bench [THREADS [AT-A-TIME [FORKS]]]
 * Prints microseconds: for threads the mean of all, and quartiles of the first launch of a thread; for forks quartiles
 * of fork, and of fork until the child's end. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"

#define LAUNCHES    10
#define STACK_BYTES (128u << 10)

static struct fake_cuda_kernel kernel = FAKE_CUDA_KERNEL_INIT("start_bench", 1000, 1000, 1);

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void launch(void)
{
	const dim3 one = {1, 1, 1};

	if (cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL) != cudaSuccess)
		exit(1);
}

static void *run_thread(void *user)
{
	double *first_us = user, begin_us = now_us();

	launch();
	*first_us = now_us() - begin_us;
	for (int i = 1; i < LAUNCHES; i++)
		launch();
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_quartiles(const char *what, double *us, long nr)
{
	qsort(us, (size_t)nr, sizeof(*us), compare);
	printf("%s: least %.1f, quartiles %.1f %.1f %.1f us\n", what, us[0], us[nr / 4], us[nr / 2],
	       us[nr * 3 / 4]);
}

static void measure_threads(long nr, long at_a_time)
{
	double *first_us = calloc((size_t)nr, sizeof(*first_us)), begin_us = now_us();
	pthread_t *threads = calloc((size_t)at_a_time, sizeof(*threads));
	pthread_attr_t attributes;

	if (!first_us || !threads)
		exit(1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (long done = 0; done < nr; done += at_a_time) {
		long count = nr - done < at_a_time ? nr - done : at_a_time;

		for (long i = 0; i < count; i++)
			if (pthread_create(&threads[i], &attributes, run_thread,
					   &first_us[done + i]) != 0)
				exit(1);
		for (long i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
	}
	printf("threads: %ld, %ld at a time, %d launches each: mean %.1f us\n", nr, at_a_time,
	       LAUNCHES, (now_us() - begin_us) / (double)nr);
	print_quartiles("first launch of a thread", first_us, nr);
	free(first_us);
	free(threads);
}

static void measure_forks(long nr)
{
	double *us = calloc(2 * (size_t)nr, sizeof(*us));

	if (!us)
		exit(1);
	for (long i = 0; i < nr; i++) {
		launch();
		double begin_us = now_us();
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		us[i] = now_us() - begin_us;
		waitpid(child, NULL, 0);
		us[nr + i] = now_us() - begin_us;
	}
	print_quartiles("fork", us, nr);
	print_quartiles("fork and wait", us + nr, nr);
	free(us);
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 10000, at_a_time = argc > 2 ? atol(argv[2]) : 50;
	long forks = argc > 3 ? atol(argv[3]) : 1000;

	launch();
	if (threads > 0 && at_a_time > 0)
		measure_threads(threads, at_a_time);
	if (forks > 0)
		measure_forks(forks);
	return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
