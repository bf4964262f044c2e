/* As cuda_runtime_api.h beside it: for machines without a CUDA Toolkit. */
#ifndef FAKE_CUDA_MINIMAL_CUDA_PROFILER_API_H
#define FAKE_CUDA_MINIMAL_CUDA_PROFILER_API_H

#include <cuda_runtime_api.h>

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#endif
