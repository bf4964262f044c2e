/* Uses fake CUDA, forks, lets the child end through exit(), goes on, and leaves as its argument
 * says (exit, kill). Prints "child 0" if the child ended well. */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

static FAKE_CUDA_KERNEL(before, FAKE_CUDA_FIXED_NS(1000));
static FAKE_CUDA_KERNEL(after, FAKE_CUDA_FIXED_NS(1000));

static void launch(struct fake_cuda_kernel *kernel, int times)
{
	for (int i = 0; i < times; i++)
		if (cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) !=
		    cudaSuccess)
			exit(3);
	if (cudaDeviceSynchronize() != cudaSuccess)
		exit(3);
}

int main(int argc, char **argv)
{
	int status = -1;

	launch(before, 100);
	pid_t child = fork();
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
	launch(after, 50);
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		raise(SIGKILL);
	return 0;
}
