/* Which functions are CUDA's by their name, as the linker knows it. Frames of a runtime that is linked
 * statically lie in the application's own file, so nothing else tells them from the application.
 * Pure; any thread. */
#ifndef CUDA_NAME_H
#define CUDA_NAME_H

#include <stddef.h>

enum cuda_name {
	CUDA_NAME_NONE,  /* the application's */
	CUDA_NAME_API,   /* cudaLaunchKernel, cuLaunchKernelEx: what an application calls */
	CUDA_NAME_INNER, /* __cudart803, __cudaPushCallConfiguration: behind it */
	CUDA_NAME_STUB, /* between the application and it: what nvcc makes of kernel<<<…>>>(), and
			  * cuda_runtime.h's templates around API functions */
};

enum cuda_name cuda_name_of(const char *name, size_t size);

#endif
