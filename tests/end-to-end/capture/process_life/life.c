#include "life.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

char **life_arguments;

static FAKE_CUDA_KERNEL(step, FAKE_CUDA_FIXED_NS(1000));

cudaError_t life_launch(int count)
{
	cudaError_t first = cudaSuccess;

	for (int i = 0; i < count; i++) {
		cudaError_t error =
			cudaLaunchKernel(step, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);

		if (first == cudaSuccess)
			first = error;
	}
	return first;
}

void life_work(const char *name, int count)
{
	cudaError_t error = life_launch(count);

	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	life_say("%s %d %s", name, count, cudaGetErrorName(error));
}

void life_say(const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	int size = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	line[size] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)size + 1) < 0)
		_exit(98);
}

void life_say_status(const char *who, int status)
{
	if (WIFSIGNALED(status))
		life_say("%s: signal %d", who, WTERMSIG(status));
	else
		life_say("%s: status %d", who, WEXITSTATUS(status));
}

void life_become(const char *name)
{
	execl("/proc/self/exe", life_arguments[0], name, (char *)NULL);
	_exit(97);
}

int main(int argc, char **argv)
{
	const struct life_sample *const groups[] = {life_ends, life_children, life_threads,
						    life_signals, life_limits};
	const size_t nr = sizeof(groups) / sizeof(groups[0]);

	life_arguments = argv;
	for (size_t group = 0; group < nr; group++) {
		for (const struct life_sample *sample = groups[group]; sample->name; sample++) {
			if (argc < 2 && sample->name[0] != '-')
				printf("%zu %s\n", group, sample->name);
			else if (argc > 1 && strcmp(sample->name, argv[1]) == 0)
				return sample->run();
		}
	}
	return argc < 2 ? 0 : 96;
}
