/* Allocations and frees of the driver API; of managed memory only the frees. */
#include "driver_call.h"

#include "driver_task.h"
#include "sim/sim_managed.h"
#include "sim/sim_memory.h"

#define PITCH_BYTES 512u

static CUresult allocate_in(void **memory, size_t size_bytes, enum sim_memory_place place,
			    const struct sim_stream *stream)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	*memory = NULL;
	if (error != CUDA_SUCCESS)
		return error;
	if (size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if ((place == SIM_ON_DEVICE || place == SIM_ARRAY) &&
	    size_bytes > SIM_DEVICE_MEMORY_BYTES - sim_memory_used(context->device->index))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*memory = sim_memory_alloc(size_bytes, place, context, stream);
	return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate(void **memory, size_t size_bytes, enum sim_memory_place place)
{
	return allocate_in(memory, size_bytes, place, NULL);
}

static CUresult allocate_address(CUdeviceptr *dptr, size_t bytesize, enum sim_memory_place place)
{
	void *memory;
	CUresult error = allocate(&memory, bytesize, place);

	*dptr = (CUdeviceptr)(uintptr_t)memory;
	return error;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	return DRIVER_CALL(cuMemAlloc_v2, NULL, NULL,
			   allocate_address(dptr, bytesize, SIM_ON_DEVICE));
}

static CUresult allocate_pitch(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
	return allocate_address(dptr, *pitch * height, SIM_ON_DEVICE);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
			    unsigned int ElementSizeBytes)
{
	(void)ElementSizeBytes;
	return DRIVER_CALL(cuMemAllocPitch_v2, NULL, NULL,
			   allocate_pitch(dptr, pPitch, WidthInBytes, Height));
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return DRIVER_CALL(cuMemAllocHost_v2, NULL, NULL, allocate(pp, bytesize, SIM_PINNED));
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	(void)Flags;
	return DRIVER_CALL(cuMemHostAlloc_v2, NULL, NULL, allocate(pp, bytesize, SIM_PINNED));
}

static size_t element_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	default:
		return 4;
	}
}

static CUresult create_array(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
	void *memory;
	size_t rows = descriptor->Height ? descriptor->Height : 1;
	CUresult error = allocate(&memory,
				  descriptor->Width * rows * descriptor->NumChannels *
					  element_bytes(descriptor->Format),
				  SIM_ARRAY);

	*pHandle = memory;
	return error;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	return DRIVER_CALL(cuArrayCreate_v2, NULL, NULL, create_array(pHandle, pAllocateArray));
}

static CUresult release(void *memory, enum sim_memory_place place, const struct sim_stream *stream)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	if (error != CUDA_SUCCESS || !memory)
		return error;
	if (place == SIM_ON_DEVICE)
		sim_managed_forget(memory);
	return sim_memory_free(memory, place, context, stream) == 0 ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}

/* Frees wait for the device, as the real ones do. */
static CUresult release_device(CUdeviceptr dptr)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	if (error != CUDA_SUCCESS)
		return error;
	sim_context_synchronize(context);
	return release((void *)(uintptr_t)dptr, SIM_ON_DEVICE, NULL);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	return DRIVER_CALL(cuMemFree_v2, NULL, NULL, release_device(dptr));
}

CUresult cuMemFreeHost(void *p)
{
	return DRIVER_CALL(cuMemFreeHost, NULL, NULL, release(p, SIM_PINNED, NULL));
}

CUresult cuArrayDestroy(CUarray hArray)
{
	return DRIVER_CALL(cuArrayDestroy, NULL, NULL, release(hArray, SIM_ARRAY, NULL));
}

static CUresult allocate_async(CUdeviceptr *dptr, size_t bytesize, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	void *memory = NULL;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error == CUDA_SUCCESS && stream->capture)
		error = driver_spoil_capture(stream);
	if (error == CUDA_SUCCESS)
		error = allocate_in(&memory, bytesize, SIM_ON_DEVICE, stream);
	*dptr = (CUdeviceptr)(uintptr_t)memory;
	return error;
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return DRIVER_CALL(cuMemAllocAsync, NULL, NULL,
			   allocate_async(dptr, bytesize, hStream, false));
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return DRIVER_CALL(cuMemAllocAsync_ptsz, NULL, NULL,
			   allocate_async(dptr, bytesize, hStream, true));
}

static CUresult release_async(CUdeviceptr dptr, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	CUresult error = driver_find_stream(handle, per_thread, &stream);

	if (error == CUDA_SUCCESS && stream->capture)
		error = driver_spoil_capture(stream);
	return error == CUDA_SUCCESS ? release((void *)(uintptr_t)dptr, SIM_ON_DEVICE, stream)
				     : error;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	return DRIVER_CALL(cuMemFreeAsync, NULL, NULL, release_async(dptr, hStream, false));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	return DRIVER_CALL(cuMemFreeAsync_ptsz, NULL, NULL, release_async(dptr, hStream, true));
}

static CUresult memory_info(size_t *free, size_t *total)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	if (error != CUDA_SUCCESS)
		return error;
	*total = SIM_DEVICE_MEMORY_BYTES;
	*free = *total - sim_memory_used(context->device->index);
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	return DRIVER_CALL(cuMemGetInfo_v2, NULL, NULL, memory_info(free, total));
}
