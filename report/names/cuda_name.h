/* Tells CUDA's functions from the application's by their linker names. A runtime that is linked statically lies in
 * the application's own file, so nothing but the name tells them apart. Pure; any thread. */
#ifndef CUDA_NAME_H
#define CUDA_NAME_H

#include <stddef.h>

enum cuda_name {
	CUDA_NAME_NONE,  /* belongs to the application */
	CUDA_NAME_API,   /* an application calls it: cudaLaunchKernel, cuLaunchKernelEx */
	CUDA_NAME_INNER, /* lies behind such a call: __cudart803, libcudart_static_<hash> */
	/* lies between the application and such a call: the function that nvcc makes of kernel<<<…>>>(), and the
	 * templates of cuda_runtime.h */
	CUDA_NAME_STUB,
};

/* name: as a linker has it, without a NUL; also of an inlined function. */
enum cuda_name cuda_name_of(const char *name, size_t size);

#endif
