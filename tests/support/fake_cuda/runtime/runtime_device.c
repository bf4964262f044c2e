/* Devices, initialization and errors of the runtime API. */
#include <pthread.h>
#include <stdio.h>

#include "driver/driver_versions.h"
#include "runtime_call.h"
#include "sim/sim_context.h"
#include "sim/sim_device.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext retained[SIM_DEVICES_MAX]; /* under lock */

static __thread struct {
	int device;
	cudaError_t last_error;
} thread;

static const struct {
	CUresult driver;
	cudaError_t runtime;
	const char *name, *text;
} errors[] = {
	{CUDA_SUCCESS, cudaSuccess, "cudaSuccess", "no error"},
	{CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue, "cudaErrorInvalidValue",
	 "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation",
	 "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError, "cudaErrorInitializationError",
	 "initialization error"},
	{CUDA_ERROR_DEINITIALIZED, cudaErrorCudartUnloading, "cudaErrorCudartUnloading",
	 "driver shutting down"},
	{CUDA_ERROR_NO_DEVICE, cudaErrorNoDevice, "cudaErrorNoDevice",
	 "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
	 "invalid device ordinal"},
	{CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized",
	 "invalid device context"},
	{CUDA_ERROR_INVALID_HANDLE, cudaErrorInvalidResourceHandle,
	 "cudaErrorInvalidResourceHandle", "invalid resource handle"},
	{CUDA_ERROR_NOT_READY, cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, cudaErrorLaunchOutOfResources,
	 "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
	{CUDA_ERROR_ILLEGAL_STATE, cudaErrorIllegalState, "cudaErrorIllegalState",
	 "not in this state"},
	{CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported, "cudaErrorNotSupported", "not supported"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported,
	 "cudaErrorStreamCaptureUnsupported", "not allowed on a captured stream"},
	{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated,
	 "cudaErrorStreamCaptureInvalidated", "the capture was made invalid before"},
	{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cudaErrorStreamCaptureUnmatched,
	 "cudaErrorStreamCaptureUnmatched", "another stream began this capture"},
	{CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cudaErrorGraphExecUpdateFailure,
	 "cudaErrorGraphExecUpdateFailure", "the graph has another shape"},
	/* The driver has no numbers of its own for these. */
	{CUDA_ERROR_UNKNOWN, cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
	 "invalid configuration argument"},
	{CUDA_ERROR_UNKNOWN, cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
	 "invalid device function"},
	{CUDA_ERROR_UNKNOWN, cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

#define NR_ERRORS (sizeof(errors) / sizeof(errors[0]))

cudaError_t runtime_error_of(CUresult result)
{
	for (size_t i = 0; i < NR_ERRORS && errors[i].driver != CUDA_ERROR_UNKNOWN; i++) {
		if (errors[i].driver == result)
			return errors[i].runtime;
	}
	return cudaErrorUnknown;
}

cudaError_t runtime_remember(cudaError_t error)
{
	if (error != cudaSuccess && error != cudaErrorNotReady)
		thread.last_error = error;
	return error;
}

cudaError_t runtime_initialize(void)
{
	static _Atomic bool done;

	if (done)
		return cudaSuccess;
	CUresult result = cuInit(0);
	done = result == CUDA_SUCCESS;
	return runtime_error_of(result);
}

static cudaError_t bind_device(int device)
{
	CUresult result = CUDA_SUCCESS;

	if (!sim_device_visible(device))
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&lock);
	if (!retained[device])
		result = cuDevicePrimaryCtxRetain(&retained[device], device);
	CUcontext context = retained[device];
	pthread_mutex_unlock(&lock);
	if (result == CUDA_SUCCESS)
		result = cuCtxSetCurrent(context);
	return runtime_error_of(result);
}

cudaError_t runtime_bind_context(void)
{
	return sim_context_current() ? cudaSuccess : bind_device(thread.device);
}

static cudaError_t set_device(int device)
{
	cudaError_t error = bind_device(device);

	if (error == cudaSuccess)
		thread.device = device;
	return error;
}

cudaError_t cudaSetDevice(int device)
{
	return RUNTIME_CALL(cudaSetDevice, cudaSetDevice_v3020, NULL, set_device(device));
}

static cudaError_t get_device(int *device)
{
	*device = thread.device;
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
	return RUNTIME_CALL(cudaGetDevice, cudaGetDevice_v3020, NULL, get_device(device));
}

static cudaError_t get_device_count(int *count)
{
	return runtime_error_of(cuDeviceGetCount(count));
}

cudaError_t cudaGetDeviceCount(int *count)
{
	*count = 0;
	return RUNTIME_CALL(cudaGetDeviceCount, cudaGetDeviceCount_v3020, NULL,
			    get_device_count(count));
}

static cudaError_t synchronize_device(void)
{
	cudaError_t error = runtime_bind_context();

	return error == cudaSuccess ? runtime_error_of(cuCtxSynchronize()) : error;
}

cudaError_t cudaDeviceSynchronize(void)
{
	return RUNTIME_CALL(cudaDeviceSynchronize, cudaDeviceSynchronize_v3020, NULL,
			    synchronize_device());
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	return RUNTIME_ANSWER(cudaDriverGetVersion, cudaDriverGetVersion_v3020,
			      runtime_error_of(cuDriverGetVersion(driverVersion)));
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	return RUNTIME_ANSWER(cudaRuntimeGetVersion, cudaRuntimeGetVersion_v3020,
			      runtime_error_of(cuDriverGetVersion(runtimeVersion)));
}

static cudaError_t take_last_error(void)
{
	cudaError_t error = thread.last_error;

	thread.last_error = cudaSuccess;
	return error;
}

cudaError_t cudaGetLastError(void)
{
	return RUNTIME_ANSWER(cudaGetLastError, cudaGetLastError_v3020, take_last_error());
}

cudaError_t cudaPeekAtLastError(void)
{
	return RUNTIME_ANSWER(cudaPeekAtLastError, cudaPeekAtLastError_v3020, thread.last_error);
}

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < NR_ERRORS; i++) {
		if (errors[i].runtime == error)
			return errors[i].name;
	}
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < NR_ERRORS; i++) {
		if (errors[i].runtime == error)
			return errors[i].text;
	}
	return "unrecognized error code";
}
