/* As cuda.h beside it: for machines without a CUDA Toolkit. */
#ifndef FAKE_CUDA_MINIMAL_CUDA_PROFILER_H
#define FAKE_CUDA_MINIMAL_CUDA_PROFILER_H

#include <cuda.h>

CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

#endif
