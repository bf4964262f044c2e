/* Memory, copies and memsets of the runtime API. */
#include "driver/driver_versions.h"
#include "runtime_call.h"
#include "sim/sim_memory.h"

#define DEVICE(address) ((CUdeviceptr)(uintptr_t)(address))

static cudaError_t allocate(void **memory, size_t size, bool pinned)
{
	CUdeviceptr address = 0;
	cudaError_t error = runtime_bind_context();

	*memory = NULL;
	if (error != cudaSuccess || size == 0)
		return error;
	if (pinned)
		return runtime_error_of(cuMemAllocHost_v2(memory, size));
	error = runtime_error_of(cuMemAlloc_v2(&address, size));
	*memory = (void *)(uintptr_t)address;
	return error;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	return RUNTIME_CALL(cudaMalloc, cudaMalloc_v3020, NULL, allocate(devPtr, size, false));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return RUNTIME_CALL(cudaMallocHost, cudaMallocHost_v3020, NULL, allocate(ptr, size, true));
}

static cudaError_t release(void *memory, bool pinned)
{
	cudaError_t error = runtime_bind_context();

	if (error != cudaSuccess || !memory)
		return error;
	return runtime_error_of(pinned ? cuMemFreeHost(memory) : cuMemFree_v2(DEVICE(memory)));
}

cudaError_t cudaFree(void *devPtr)
{
	return RUNTIME_CALL(cudaFree, cudaFree_v3020, NULL, release(devPtr, false));
}

cudaError_t cudaFreeHost(void *ptr)
{
	return RUNTIME_CALL(cudaFreeHost, cudaFreeHost_v3020, NULL, release(ptr, true));
}

static cudaError_t allocate_managed(void **memory, size_t size, unsigned int flags)
{
	CUdeviceptr address = 0;
	cudaError_t error = runtime_bind_context();

	*memory = NULL;
	if (error != cudaSuccess || size == 0)
		return error;
	error = runtime_error_of(cuMemAllocManaged(&address, size, flags));
	*memory = (void *)(uintptr_t)address;
	return error;
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	return RUNTIME_CALL(cudaMallocManaged, cudaMallocManaged_v6000, NULL,
			    allocate_managed(devPtr, size, flags));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr address = 0;
	cudaError_t error =
		RUNTIME_CALL(cudaMallocPitch, cudaMallocPitch_v3020, NULL,
			     BOUND(cuMemAllocPitch_v2(&address, pitch, width, height, 4)));

	*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	*pHost = NULL;
	return RUNTIME_CALL(cudaHostAlloc, cudaHostAlloc_v3020, NULL,
			    BOUND(cuMemHostAlloc(pHost, size, flags)));
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	CUdeviceptr address = 0;
	cudaError_t error = RUNTIME_CALL(cudaMallocAsync, cudaMallocAsync_v11020, NULL,
					 BOUND(cuMemAllocAsync(&address, size, hStream)));

	*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t error = RUNTIME_CALL(cudaMallocAsync_ptsz, cudaMallocAsync_ptsz_v11020, NULL,
					 BOUND(cuMemAllocAsync_ptsz(&address, size, stream)));

	*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return RUNTIME_CALL(cudaFreeAsync, cudaFreeAsync_v11020, NULL,
			    BOUND(cuMemFreeAsync(DEVICE(devPtr), hStream)));
}

cudaError_t cudaFreeAsync_ptsz(void *devPtr, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaFreeAsync_ptsz, cudaFreeAsync_ptsz_v11020, NULL,
			    BOUND(cuMemFreeAsync_ptsz(DEVICE(devPtr), stream)));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	return RUNTIME_CALL(cudaMemGetInfo, cudaMemGetInfo_v3020, NULL,
			    BOUND(cuMemGetInfo_v2(free, total)));
}

static enum cudaMemcpyKind find_kind(void *dst, const void *src)
{
	bool to_device = sim_memory_place(dst) == SIM_ON_DEVICE;

	if (sim_memory_place(src) == SIM_ON_DEVICE)
		return to_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
	return to_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

static CUresult copy_now(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoD_v2(DEVICE(dst), src, count);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoH_v2(dst, DEVICE(src), count);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoD_v2(DEVICE(dst), DEVICE(src), count);
	default:
		return cuMemcpy(DEVICE(dst), DEVICE(src), count);
	}
}

static CUresult copy_on(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			cudaStream_t stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoDAsync_v2(DEVICE(dst), src, count, stream);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoHAsync_v2(dst, DEVICE(src), count, stream);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoDAsync_v2(DEVICE(dst), DEVICE(src), count, stream);
	default:
		return cuMemcpyAsync(DEVICE(dst), DEVICE(src), count, stream);
	}
}

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	cudaError_t error = runtime_bind_context();

	if (error != cudaSuccess)
		return error;
	return runtime_error_of(
		copy_now(dst, src, count, kind == cudaMemcpyDefault ? find_kind(dst, src) : kind));
}

static cudaError_t copy_async(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	cudaError_t error = runtime_bind_context();

	if (error != cudaSuccess)
		return error;
	return runtime_error_of(copy_on(
		dst, src, count, kind == cudaMemcpyDefault ? find_kind(dst, src) : kind, stream));
}

static cudaStream_t own_default(cudaStream_t stream)
{
	return stream ? stream : cudaStreamPerThread;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return RUNTIME_CALL(cudaMemcpy, cudaMemcpy_v3020, NULL, copy(dst, src, count, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	return RUNTIME_CALL(cudaMemcpyAsync, cudaMemcpyAsync_v3020, NULL,
			    copy_async(dst, src, count, kind, stream));
}

cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	return RUNTIME_CALL(cudaMemcpyAsync_ptsz, cudaMemcpyAsync_ptsz_v7000, NULL,
			    copy_async(dst, src, count, kind, own_default(stream)));
}

static cudaError_t fill(void *memory, int value, size_t count)
{
	cudaError_t error = runtime_bind_context();

	if (error != cudaSuccess)
		return error;
	return runtime_error_of(cuMemsetD8_v2(DEVICE(memory), (unsigned char)value, count));
}

static cudaError_t fill_async(void *memory, int value, size_t count, cudaStream_t stream)
{
	cudaError_t error = runtime_bind_context();

	if (error != cudaSuccess)
		return error;
	return runtime_error_of(
		cuMemsetD8Async(DEVICE(memory), (unsigned char)value, count, stream));
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	return RUNTIME_CALL(cudaMemset, cudaMemset_v3020, NULL, fill(devPtr, value, count));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaMemsetAsync, cudaMemsetAsync_v3020, NULL,
			    fill_async(devPtr, value, count, stream));
}

cudaError_t cudaMemsetAsync_ptsz(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	return RUNTIME_CALL(cudaMemsetAsync_ptsz, cudaMemsetAsync_ptsz_v7000, NULL,
			    fill_async(devPtr, value, count, own_default(stream)));
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
				 unsigned int flags, cudaStream_t stream)
{
	const CUmemLocation driver_location = {.type = (CUmemLocationType)location.type,
					       .id = location.id};

	return RUNTIME_CALL(cudaMemPrefetchAsync, cudaMemPrefetchAsync_v12020, NULL,
			    BOUND(cuMemPrefetchAsync_v2(DEVICE(devPtr), count, driver_location,
							flags, stream)));
}
