/* A library of a user's that launches. */
#include <cuda_runtime_api.h>

#include "fake_cuda.h"

static FAKE_CUDA_KERNEL(from_library, FAKE_CUDA_FIXED_NS(1500));

int life_library_launch(int count);

int life_library_launch(int count)
{
	int failed = 0;

	for (int i = 0; i < count; i++)
		failed += cudaLaunchKernel(from_library, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
					   NULL) != cudaSuccess;
	return failed;
}
