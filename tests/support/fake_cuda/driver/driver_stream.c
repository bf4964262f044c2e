/* Streams and events of the driver API. */
#include "driver_call.h"

#include <stdatomic.h>

#include "driver_task.h"
#include "sim/sim_clock.h"
#include "sim/sim_event.h"
#include "sim/sim_host.h"

#define NS_PER_MS 1e6

static CUresult create_stream(CUstream *handle, int priority, unsigned int flags)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	*handle = NULL;
	if (error != CUDA_SUCCESS)
		return error;
	*handle = (CUstream)sim_stream_create(context, priority, flags & CU_STREAM_NON_BLOCKING);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return DRIVER_CALL(cuStreamCreate, NULL, NULL, create_stream(phStream, 0, Flags));
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	return DRIVER_CALL(cuStreamCreateWithPriority, NULL, NULL,
			   create_stream(phStream, priority, flags));
}

/* The default streams cannot be destroyed. */
static CUresult destroy_stream(CUstream handle)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, false, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if ((void *)stream != (void *)handle)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_stream_destroy(stream);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
	return DRIVER_CALL(cuStreamDestroy_v2, NULL, NULL, destroy_stream(hStream));
}

static CUresult synchronize_stream(CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (stream->capture)
		return driver_spoil_capture(stream);
	uint64_t start_ns = sim_clock_now();
	sim_stream_synchronize(stream);
	sim_host_waited(stream->context, SIM_SYNC_STREAM, stream->stream_id, start_ns);
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream hStream)
{
	const cuStreamSynchronize_params params = {hStream};

	return DRIVER_CALL(cuStreamSynchronize, &params, NULL, synchronize_stream(hStream, false));
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
	const cuStreamSynchronize_params params = {hStream};

	return DRIVER_CALL(cuStreamSynchronize_ptsz, &params, NULL,
			   synchronize_stream(hStream, true));
}

static CUresult query_stream(CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (stream->capture)
		return driver_spoil_capture(stream);
	uint64_t now_ns = sim_clock_now();
	bool done = sim_stream_is_known(stream) && sim_stream_ready_ns(stream) <= now_ns;
	sim_host_asked(stream->context, SIM_SYNC_STREAM, stream->stream_id, now_ns, done);
	return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream hStream)
{
	return DRIVER_CALL(cuStreamQuery, NULL, NULL, query_stream(hStream, false));
}

CUresult cuStreamQuery_ptsz(CUstream hStream)
{
	return DRIVER_CALL(cuStreamQuery_ptsz, NULL, NULL, query_stream(hStream, true));
}

static CUresult wait_event(CUstream handle, bool per_thread, CUevent event_handle)
{
	struct sim_event *event = sim_event_check(event_handle);
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	driver_join_capture(stream, event);
	if (stream->capture)
		return CUDA_SUCCESS;
	uint64_t start_ns = sim_clock_now();
	sim_stream_wait_until(stream, sim_event_complete_ns(event));
	sim_host_waited(stream->context, SIM_SYNC_WAIT_EVENT, stream->stream_id, start_ns);
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	(void)Flags;
	return DRIVER_CALL(cuStreamWaitEvent, NULL, NULL, wait_event(hStream, false, hEvent));
}

CUresult cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	(void)Flags;
	return DRIVER_CALL(cuStreamWaitEvent_ptsz, NULL, NULL, wait_event(hStream, true, hEvent));
}

static CUresult create_event(CUevent *handle)
{
	*handle = (CUevent)sim_event_create();
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	(void)Flags;
	return DRIVER_CALL(cuEventCreate, NULL, NULL, create_event(phEvent));
}

static CUresult destroy_event(CUevent handle)
{
	struct sim_event *event = sim_event_check(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_event_destroy(event);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
	return DRIVER_CALL(cuEventDestroy_v2, NULL, NULL, destroy_event(hEvent));
}

static CUresult record_event(CUevent event_handle, CUstream handle, bool per_thread)
{
	struct sim_event *event = sim_event_check(event_handle);
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	atomic_store(&event->capture_id, stream->capture_id);
	if (stream->capture)
		return CUDA_SUCCESS;
	uint64_t now_ns = sim_clock_now();
	uint64_t ready_ns = sim_stream_ready_ns(stream);
	sim_event_set(event, ready_ns > now_ns ? ready_ns : now_ns);
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
	return DRIVER_CALL(cuEventRecord, NULL, NULL, record_event(hEvent, hStream, false));
}

CUresult cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
	return DRIVER_CALL(cuEventRecord_ptsz, NULL, NULL, record_event(hEvent, hStream, true));
}

/* An event that was never recorded counts as complete. */
static CUresult synchronize_event(CUevent handle)
{
	struct sim_event *event = sim_event_check(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	uint64_t start_ns = sim_clock_now();
	sim_clock_wait(sim_event_complete_ns(event));
	sim_host_waited(sim_context_current(), SIM_SYNC_EVENT, SIM_ID_NONE, start_ns);
	return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
	return DRIVER_CALL(cuEventSynchronize, NULL, NULL, synchronize_event(hEvent));
}

static CUresult query_event(CUevent handle)
{
	struct sim_event *event = sim_event_check(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	uint64_t now_ns = sim_clock_now();
	bool done = sim_event_is_known(event) && sim_event_complete_ns(event) <= now_ns;
	sim_host_asked(sim_context_current(), SIM_SYNC_EVENT, SIM_ID_NONE, now_ns, done);
	return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventQuery(CUevent hEvent)
{
	return DRIVER_CALL(cuEventQuery, NULL, NULL, query_event(hEvent));
}

static CUresult elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
	struct sim_event *start = sim_event_check(start_handle);
	struct sim_event *end = sim_event_check(end_handle);

	if (!start || !end)
		return CUDA_ERROR_INVALID_HANDLE;
	uint64_t start_ns = sim_event_complete_ns(start);
	uint64_t end_ns = sim_event_complete_ns(end);
	if (start_ns == 0 || end_ns == 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (start_ns > sim_clock_now() || end_ns > sim_clock_now())
		return CUDA_ERROR_NOT_READY;
	*milliseconds = (float)((double)(int64_t)(end_ns - start_ns) / NS_PER_MS);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return DRIVER_CALL(cuEventElapsedTime, NULL, NULL, elapsed(pMilliseconds, hStart, hEnd));
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return DRIVER_CALL(cuEventElapsedTime_v2, NULL, NULL, elapsed(pMilliseconds, hStart, hEnd));
}
