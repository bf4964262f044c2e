/* Stream capture. All modes are equal: what would be unsafe in another stream is allowed. */
#include "driver_call.h"

#include <pthread.h>
#include <stdatomic.h>

#include "driver_task.h"
#include "sim/sim_event.h"
#include "sim/sim_graph.h"

static _Atomic uint64_t next_capture_id = 1;

/* into: where the nodes go; NULL: into a new graph. */
static CUresult begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode,
		      struct sim_graph *into)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error != CUDA_SUCCESS)
		return error;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream == stream->context->default_stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	struct sim_graph *graph = into ? into : sim_graph_create();
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&stream->context->lock);
	stream->capture = graph;
	stream->capture_id = atomic_fetch_add(&next_capture_id, 1);
	stream->capture_origin = true;
	pthread_mutex_unlock(&stream->context->lock);
	return CUDA_SUCCESS;
}

/* Also those that joined by an event. */
static void release_streams(struct sim_context *context, uint64_t capture_id)
{
	pthread_mutex_lock(&context->lock);
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next) {
		if (stream->capture_id == capture_id) {
			stream->capture = NULL;
			stream->capture_id = 0;
			stream->capture_origin = false;
		}
	}
	pthread_mutex_unlock(&context->lock);
}

static CUresult end(CUstream handle, bool per_thread, CUgraph *graph_handle)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	*graph_handle = NULL;
	if (error != CUDA_SUCCESS)
		return error;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (!stream->capture_origin)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	struct sim_graph *graph = stream->capture;
	release_streams(stream->context, stream->capture_id);
	if (graph->capture_failed) {
		if (!graph->embedded)
			sim_graph_destroy(graph);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	*graph_handle = (CUgraph)graph;
	return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const struct sim_stream *stream)
{
	if (!stream->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->capture_failed ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult get_status(CUstream handle, bool per_thread, CUstreamCaptureStatus *status)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error == CUDA_SUCCESS)
		*status = status_of(stream);
	return error;
}

CUresult driver_spoil_capture(struct sim_stream *stream)
{
	stream->capture->capture_failed = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void driver_join_capture(struct sim_stream *stream, const struct sim_event *event)
{
	struct sim_context *context = stream->context;
	uint64_t capture_id = atomic_load(&event->capture_id);

	if (capture_id == 0)
		return;
	pthread_mutex_lock(&context->lock);
	for (struct sim_stream *other = context->streams; other; other = other->next) {
		if (other->capture_id == capture_id && !stream->capture) {
			stream->capture = other->capture;
			stream->capture_id = other->capture_id;
		}
	}
	pthread_mutex_unlock(&context->lock);
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return DRIVER_CALL(cuStreamBeginCapture_v2, NULL, NULL, begin(hStream, false, mode, NULL));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	return DRIVER_CALL(cuStreamBeginCapture_v2_ptsz, NULL, NULL,
			   begin(hStream, true, mode, NULL));
}

static CUresult begin_in_graph(CUstream stream, CUgraph handle, CUstreamCaptureMode mode)
{
	struct sim_graph *graph = sim_graph_check(handle);

	return graph ? begin(stream, false, mode, graph) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
				     const CUgraphNode *dependencies,
				     const CUgraphEdgeData *dependencyData, size_t numDependencies,
				     CUstreamCaptureMode mode)
{
	(void)dependencies;
	(void)dependencyData;
	(void)numDependencies;
	return DRIVER_CALL(cuStreamBeginCaptureToGraph, NULL, NULL,
			   begin_in_graph(hStream, hGraph, mode));
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	return DRIVER_CALL(cuStreamEndCapture, NULL, NULL, end(hStream, false, phGraph));
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	return DRIVER_CALL(cuStreamEndCapture_ptsz, NULL, NULL, end(hStream, true, phGraph));
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	return DRIVER_CALL(cuStreamIsCapturing, NULL, NULL,
			   get_status(hStream, false, captureStatus));
}

CUresult cuStreamIsCapturing_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	return DRIVER_CALL(cuStreamIsCapturing_ptsz, NULL, NULL,
			   get_status(hStream, true, captureStatus));
}
