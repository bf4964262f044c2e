/* Marks what it does by flamegrid.h, around launches whose kernels are called after where they stand.
 *
 *   api_program ranges | training N | windows N | cut N | early N | threads N | fork | until FILE */
#include <cuda_runtime_api.h>
#include <flamegrid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

/* Fake CUDA keeps kernels, as a real one would keep code. */
static struct kept {
	struct fake_cuda_kernel kernel;
	struct kept *next;
} * all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static struct fake_cuda_kernel *kernel_of(const char *name)
{
	struct kept *kept;

	pthread_mutex_lock(&all_lock);
	for (kept = all; kept && strcmp(kept->kernel.name, name) != 0; kept = kept->next)
		;
	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		kept->kernel = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(
			strdup(name), FAKE_CUDA_FIXED_NS(1000));
		kept->next = all;
		all = kept;
	}
	pthread_mutex_unlock(&all_lock);
	return &kept->kernel;
}

static void launch_on(const char *name, cudaStream_t stream)
{
	if (cudaLaunchKernel(kernel_of(name), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream) !=
	    cudaSuccess)
		abort();
}

static void launch(const char *name)
{
	launch_on(name, NULL);
}

static void *step_and_end(void *nothing)
{
	flamegrid_step();
	launch("in_ending_thread");
	return nothing;
}

static void ranges(void)
{
	cudaStream_t stream;
	pthread_t thread;

	flamegrid_range_push("before CUDA");
	launch("in_before_cuda");
	flamegrid_range_push("inner");
	launch("in_inner");
	flamegrid_range_pop();
	flamegrid_range_pop();
	flamegrid_range_pop(); /* of nothing */
	launch("in_nothing");

	flamegrid_step();
	launch("in_step");
	flamegrid_range_push("forward");
	launch("in_step_forward");
	flamegrid_step(); /* the range stays open, outside of the new step */
	launch("in_forward_step");
	flamegrid_range_pop();
	launch("in_step_again");
	flamegrid_step_end();
	flamegrid_step_end(); /* of nothing */
	launch("in_nothing");

	pthread_create(&thread, NULL, step_and_end, NULL);
	pthread_join(thread, NULL);
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	flamegrid_name_stream(stream, "prefetch");
	flamegrid_name_stream((void *)(uintptr_t)0x12345678u, "no stream");
	flamegrid_name_stream(NULL, NULL);
	launch_on("on_prefetch", stream);
}

static void training(long nr)
{
	for (long i = 1; i <= nr; i++) {
		char name[32];

		snprintf(name, sizeof(name), "in_step_%ld", i);
		flamegrid_step();
		launch(name);
		cudaDeviceSynchronize();
	}
	flamegrid_step_end();
	launch("after_steps");
}

static void windows(long nr)
{
	flamegrid_stop(); /* of nothing */
	for (long i = 1; i <= nr; i++) {
		char name[32];

		snprintf(name, sizeof(name), "in_window_%ld", i);
		launch("outside");
		cudaDeviceSynchronize();
		flamegrid_start();
		launch(name);
		cudaDeviceSynchronize();
		flamegrid_stop();
		launch("outside");
	}
}

/* Each window ends within the step that began in it. */
static void cut(long nr)
{
	for (long i = 1; i <= nr; i++) {
		flamegrid_start();
		flamegrid_step();
		launch("in_window");
		cudaDeviceSynchronize();
		flamegrid_stop();
		launch("outside");
	}
}

/* The window is open when CUDA starts. */
static void early(long nr)
{
	flamegrid_stop();
	flamegrid_start();
	for (long i = 0; i < nr; i++)
		launch("inside");
	cudaDeviceSynchronize();
	flamegrid_stop();
	launch("outside");
}

static void *launch_in_ranges(void *argument)
{
	char name[32];

	snprintf(name, sizeof(name), "thread %ld", (long)(intptr_t)argument);
	for (int i = 0; i < 200; i++) {
		flamegrid_range_push(name);
		launch("inside");
		flamegrid_range_pop();
	}
	return NULL;
}

static void threads(long nr)
{
	pthread_t thread[16];

	for (long i = 0; i < nr && i < 16; i++)
		pthread_create(&thread[i], NULL, launch_in_ranges, (void *)(intptr_t)i);
	for (long i = 0; i < nr && i < 16; i++)
		pthread_join(thread[i], NULL);
}

/* The child calls everything, with the parent's ranges open. */
static void forks(void)
{
	int status = -1;

	flamegrid_start();
	flamegrid_range_push("parent");
	launch("before_fork");
	pid_t child = fork();
	if (child == 0) {
		flamegrid_step();
		flamegrid_range_push("child");
		flamegrid_stop();
		flamegrid_start();
		flamegrid_name_stream(NULL, "child");
		flamegrid_range_pop();
		flamegrid_step_end();
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	launch("after_fork");
	cudaDeviceSynchronize();
	flamegrid_range_pop();
	flamegrid_stop();
}

/* Launches in ranges until the file is there; the first range is opened before an agent may come. */
static void until(const char *file)
{
	flamegrid_range_push("whole run");
	while (access(file, F_OK) != 0) {
		flamegrid_range_push("round");
		launch("in_round");
		cudaDeviceSynchronize();
		flamegrid_range_pop();
		launch("between");
		usleep(1000);
	}
	flamegrid_range_pop();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "1";
	long nr = atol(argument);

	if (strcmp(mode, "ranges") == 0)
		ranges();
	else if (strcmp(mode, "training") == 0)
		training(nr);
	else if (strcmp(mode, "windows") == 0)
		windows(nr);
	else if (strcmp(mode, "cut") == 0)
		cut(nr);
	else if (strcmp(mode, "early") == 0)
		early(nr);
	else if (strcmp(mode, "threads") == 0)
		threads(nr);
	else if (strcmp(mode, "fork") == 0)
		forks();
	else if (strcmp(mode, "until") == 0)
		until(argument);
	else
		return 2;
	cudaDeviceSynchronize();
	return 0;
}
