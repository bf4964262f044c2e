/* Streams and events of the runtime API. */
#include "driver/driver_versions.h"
#include "runtime_call.h"

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	return RUNTIME_CALL(cudaStreamCreate, cudaStreamCreate_v3020, NULL,
			    BOUND(cuStreamCreate(pStream, 0)));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	return RUNTIME_CALL(cudaStreamCreateWithFlags, cudaStreamCreateWithFlags_v5000, NULL,
			    BOUND(cuStreamCreate(pStream, flags)));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	return RUNTIME_CALL(cudaStreamCreateWithPriority, cudaStreamCreateWithPriority_v5050, NULL,
			    BOUND(cuStreamCreateWithPriority(pStream, flags, priority)));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return RUNTIME_CALL(cudaStreamDestroy, cudaStreamDestroy_v5050, NULL,
			    BOUND(cuStreamDestroy_v2(stream)));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return RUNTIME_CALL(cudaStreamSynchronize, cudaStreamSynchronize_v3020, NULL,
			    BOUND(cuStreamSynchronize(stream)));
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
	return RUNTIME_CALL(cudaStreamSynchronize_ptsz, cudaStreamSynchronize_ptsz_v7000, NULL,
			    BOUND(cuStreamSynchronize_ptsz(stream)));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return RUNTIME_CALL(cudaStreamQuery, cudaStreamQuery_v3020, NULL,
			    BOUND(cuStreamQuery(stream)));
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
	return RUNTIME_CALL(cudaStreamQuery_ptsz, cudaStreamQuery_ptsz_v7000, NULL,
			    BOUND(cuStreamQuery_ptsz(stream)));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return RUNTIME_CALL(cudaStreamWaitEvent, cudaStreamWaitEvent_v3020, NULL,
			    BOUND(cuStreamWaitEvent(stream, event, flags)));
}

cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return RUNTIME_CALL(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent_ptsz_v7000, NULL,
			    BOUND(cuStreamWaitEvent_ptsz(stream, event, flags)));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return RUNTIME_CALL(cudaEventCreate, cudaEventCreate_v3020, NULL,
			    BOUND(cuEventCreate(event, 0)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return RUNTIME_CALL(cudaEventCreateWithFlags, cudaEventCreateWithFlags_v3020, NULL,
			    BOUND(cuEventCreate(event, flags)));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RUNTIME_CALL(cudaEventDestroy, cudaEventDestroy_v3020, NULL,
			    BOUND(cuEventDestroy_v2(event)));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaEventRecord, cudaEventRecord_v3020, NULL,
			    BOUND(cuEventRecord(event, stream)));
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaEventRecord_ptsz, cudaEventRecord_ptsz_v7000, NULL,
			    BOUND(cuEventRecord_ptsz(event, stream)));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RUNTIME_CALL(cudaEventSynchronize, cudaEventSynchronize_v3020, NULL,
			    BOUND(cuEventSynchronize(event)));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RUNTIME_CALL(cudaEventQuery, cudaEventQuery_v3020, NULL, BOUND(cuEventQuery(event)));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return RUNTIME_CALL(cudaEventElapsedTime, cudaEventElapsedTime_v12080, NULL,
			    BOUND(cuEventElapsedTime_v2(ms, start, end)));
}
