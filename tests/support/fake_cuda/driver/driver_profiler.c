/* cuProfilerStart and cuProfilerStop: what they mean is the profiler's business. */
#include <cudaProfiler.h>

#include "driver_call.h"

CUresult cuProfilerStart(void)
{
	return DRIVER_CALL(cuProfilerStart, NULL, NULL, CUDA_SUCCESS);
}

CUresult cuProfilerStop(void)
{
	return DRIVER_CALL(cuProfilerStop, NULL, NULL, CUDA_SUCCESS);
}
