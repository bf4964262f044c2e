/* Contexts of the driver API. */
#include "driver_call.h"

#include "driver_task.h"
#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_event.h"
#include "sim/sim_host.h"

CUresult driver_find_context(CUcontext handle, struct sim_context **context)
{
	*context = handle ? sim_context_check(handle) : sim_context_current();
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult driver_find_stream(CUstream handle, bool per_thread, struct sim_stream **stream)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	*stream = NULL;
	if (error != CUDA_SUCCESS)
		return error;
	*stream = sim_stream_resolve(context, handle, per_thread);
	return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult retain_primary(CUcontext *pctx, CUdevice dev)
{
	*pctx = NULL;
	if (!sim_device_visible(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*pctx = (CUcontext)sim_context_primary_retain(dev);
	return *pctx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	return DRIVER_CALL(cuDevicePrimaryCtxRetain, NULL, NULL, retain_primary(pctx, dev));
}

static CUresult release_primary(CUdevice dev)
{
	if (!sim_device_visible(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return sim_context_primary_release(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return DRIVER_CALL(cuDevicePrimaryCtxRelease, NULL, NULL, release_primary(dev));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return DRIVER_CALL(cuDevicePrimaryCtxRelease_v2, NULL, NULL, release_primary(dev));
}

static CUresult primary_state(CUdevice dev, unsigned int *flags, int *active)
{
	if (!sim_device_visible(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = sim_context_primary_active(dev);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	return DRIVER_CALL(cuDevicePrimaryCtxGetState, NULL, NULL,
			   primary_state(dev, flags, active));
}

/* The new context becomes current on top of the old one. */
static CUresult create_context(CUcontext *pctx, CUdevice dev)
{
	*pctx = NULL;
	if (!sim_device_visible(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	struct sim_context *context = sim_context_create(dev);
	if (!context || !sim_context_push(context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pctx = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	return DRIVER_CALL(cuCtxCreate_v2, NULL, NULL, create_context(pctx, dev));
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
			CUdevice dev)
{
	(void)flags;
	(void)ctxCreateParams;
	return DRIVER_CALL(cuCtxCreate_v4, NULL, NULL, create_context(pctx, dev));
}

static CUresult destroy_context(CUcontext ctx)
{
	struct sim_context *context = sim_context_check(ctx);

	if (!context || context->primary || context->parent)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_context_destroy(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	return DRIVER_CALL(cuCtxDestroy_v2, NULL, NULL, destroy_context(ctx));
}

static CUresult set_current(CUcontext ctx)
{
	struct sim_context *context = sim_context_check(ctx);

	if (ctx && !context)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_context_set_current(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	return DRIVER_CALL(cuCtxSetCurrent, NULL, NULL, set_current(ctx));
}

static CUresult get_current(CUcontext *pctx)
{
	*pctx = (CUcontext)sim_context_current();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	return DRIVER_CALL(cuCtxGetCurrent, NULL, NULL, get_current(pctx));
}

static CUresult push_current(CUcontext ctx)
{
	struct sim_context *context = sim_context_check(ctx);

	return context && sim_context_push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	return DRIVER_CALL(cuCtxPushCurrent_v2, NULL, NULL, push_current(ctx));
}

static CUresult pop_current(CUcontext *pctx)
{
	struct sim_context *context = sim_context_pop();

	if (pctx)
		*pctx = (CUcontext)context;
	return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	return DRIVER_CALL(cuCtxPopCurrent_v2, NULL, NULL, pop_current(pctx));
}

static CUresult current_device(CUdevice *device)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	if (error == CUDA_SUCCESS)
		*device = context->ordinal;
	return error;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	return DRIVER_CALL(cuCtxGetDevice, NULL, NULL, current_device(device));
}

static CUresult synchronize(void)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);
	uint64_t start_ns = sim_clock_now();

	if (error != CUDA_SUCCESS)
		return error;
	sim_context_synchronize(context);
	sim_host_waited(context, SIM_SYNC_CONTEXT, SIM_ID_NONE, start_ns);
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	return DRIVER_CALL(cuCtxSynchronize, NULL, NULL, synchronize());
}

static bool is_captured(struct sim_context *context)
{
	bool is = false;

	pthread_mutex_lock(&context->lock);
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
		if (stream->capture) {
			driver_spoil_capture(stream);
			is = true;
		}
	pthread_mutex_unlock(&context->lock);
	return is;
}

static CUresult record_event(CUcontext handle, CUevent event_handle)
{
	struct sim_event *event = sim_event_check(event_handle);
	struct sim_context *context;
	CUresult error = driver_find_context(handle, &context);

	if (sim_config_get(SIM_NO_CONTEXT_EVENTS))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (error != CUDA_SUCCESS)
		return error;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (is_captured(context))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sim_event_set_behind(event, context);
	return CUDA_SUCCESS;
}

CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
	return DRIVER_CALL(cuCtxRecordEvent, NULL, NULL, record_event(hCtx, hEvent));
}
