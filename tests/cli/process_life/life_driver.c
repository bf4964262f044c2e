/* A program that has no runtime library: it opens libcuda by name, as JIT compilers and Go programs do. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context = NULL;
	CUmodule module = NULL;
	CUfunction kernel = NULL;
	int failed = 0;

	if (!library || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) ||
	    CALL(cuCtxSetCurrent, context) || CALL(cuModuleLoadData, &module, module_text) ||
	    CALL(cuModuleGetFunction, &kernel, module, "jitted"))
		return 1;
	for (int i = 0; i < 300; i++)
		failed += CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) !=
			  CUDA_SUCCESS;
	printf("failed %d, sync %d\n", failed, (int)CALL(cuCtxSynchronize));
	return 0;
}
