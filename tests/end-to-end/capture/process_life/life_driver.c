/* A program that has no runtime library: it opens libcuda by name, as JIT compilers and Go programs do. Before, it
 * opens the libraries that LIFE_OPEN names, with a colon between them, for itself alone. It runs on real CUDA, too;
 * "child" and "after" as argument print what the driver says in a forked child, and after its own exit handler; a
 * number is how many launches to make, with pauses. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAUNCHES 300

static const char module_text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	"// flamegrid-fake-ns: 1000\n.visible .entry jitted()\n{\n\tret;\n}\n";

#define CALL(name, ...)                                                                            \
	({                                                                                         \
		void *symbol = dlsym(library, #name);                                              \
		__typeof__(name) *function;                                                        \
		memcpy(&function, &symbol, sizeof(function));                                      \
		function ? function(__VA_ARGS__) : CUDA_ERROR_UNKNOWN;                             \
	})

static void open_libraries(void)
{
	char text[1024] = "";

	if (getenv("LIFE_OPEN"))
		snprintf(text, sizeof(text), "%s", getenv("LIFE_OPEN"));
	for (char *path = strtok(text, ":"); path; path = strtok(NULL, ":"))
		printf("%s %s\n", dlopen(path, RTLD_NOW | RTLD_LOCAL) ? "opened" : "no", path);
}

static void *library;

static void say_after(void)
{
	printf("after CUDA's exit handler: %d\n", (int)CALL(cuCtxSynchronize));
}

static void say_in_child(void)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		printf("in a forked child: %d\n", (int)CALL(cuCtxSynchronize));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	open_libraries();
	library = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context = NULL;
	CUmodule module = NULL;
	CUfunction kernel = NULL;
	int failed = 0, count = LAUNCHES;

	if (argc > 1 && strcmp(argv[1], "after") == 0)
		atexit(say_after);
	if (!library || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) ||
	    CALL(cuCtxSetCurrent, context) || CALL(cuModuleLoadData, &module, module_text) ||
	    CALL(cuModuleGetFunction, &kernel, module, "jitted"))
		return 1;
	if (argc > 1 && atoi(argv[1]) > 0)
		count = atoi(argv[1]);
	for (int i = 0; i < count; i++) {
		if (count != LAUNCHES)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		failed += CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) !=
			  CUDA_SUCCESS;
	}
	printf("failed %d, sync %d\n", failed, (int)CALL(cuCtxSynchronize));
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		say_in_child();
	return 0;
}
