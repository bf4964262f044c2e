/* The same of the runtime API. */
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>

#include "runtime_call.h"

cudaError_t cudaProfilerStart(void)
{
	return RUNTIME_CALL(cudaProfilerStart, cudaProfilerStart_v4000, NULL,
			    BOUND(cuProfilerStart()));
}

cudaError_t cudaProfilerStop(void)
{
	return RUNTIME_CALL(cudaProfilerStop, cudaProfilerStop_v4000, NULL,
			    BOUND(cuProfilerStop()));
}
