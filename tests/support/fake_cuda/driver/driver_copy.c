/* Copies and memsets of the driver API. Data is moved when the call is made, time is
 * counted on the stream. */
#include "driver_call.h"

#include <errno.h>
#include <stddef.h>

#include "driver_task.h"
#include "sim/sim_memory.h"

struct copy {
	void *destination;
	const void *source;
	size_t bytes;
	CUstream stream;
	bool per_thread, asynchronous;
};

static void classify(struct sim_operation *operation, bool from_device, bool to_device)
{
	static const char *const names[2][2] = {{"HtoH", "HtoD"}, {"DtoH", "DtoD"}};
	static const CUpti_ActivityMemcpyKind kinds[2][2] = {
		{CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD},
		{CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD},
	};

	operation->name = names[from_device][to_device];
	operation->copy_kind = (uint8_t)kinds[from_device][to_device];
}

void driver_copy_task(void *to, const void *from, size_t size_bytes, bool asynchronous,
		      struct sim_task *task)
{
	enum sim_memory_place source = sim_memory_place(from);
	enum sim_memory_place destination = sim_memory_place(to);

	*task = (struct sim_task){
		.operation = {.kind = SIM_MEMCPY,
			      .bytes = size_bytes,
			      .source_kind = (uint8_t)source,
			      .destination_kind = (uint8_t)destination,
			      .asynchronous = asynchronous},
		.destination = to,
		.source = from,
	};
	classify(&task->operation, source == SIM_ON_DEVICE, destination == SIM_ON_DEVICE);
}

CUresult driver_submit(const struct sim_task *task, struct sim_stream *stream)
{
	int error = sim_task_submit(task, stream);

	if (error == 0)
		return CUDA_SUCCESS;
	return error == -ECANCELED ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
				   : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult run_copy(const struct copy *copy)
{
	struct sim_task task;
	struct sim_stream *stream;
	CUresult error = driver_find_stream(copy->stream, copy->per_thread, &stream);

	if (error != CUDA_SUCCESS || copy->bytes == 0)
		return error;
	if (!copy->asynchronous && stream->capture)
		return driver_spoil_capture(stream);
	driver_copy_task(copy->destination, copy->source, copy->bytes, copy->asynchronous, &task);
	error = driver_submit(&task, stream);
	if (error == CUDA_SUCCESS && !copy->asynchronous &&
	    task.operation.copy_kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		sim_stream_synchronize(stream);
	return error;
}

#define ANY_MEMORY (-1)

static bool lies(const void *address, int on_device)
{
	return on_device == ANY_MEMORY ||
	       (sim_memory_place(address) == SIM_ON_DEVICE) == (on_device != 0);
}

/* Fails where an address is not of the kind of memory that the function's name says. */
static CUresult run_named(const struct copy *copy, int from_device, int to_device)
{
	if (copy->bytes &&
	    (!lies(copy->source, from_device) || !lies(copy->destination, to_device)))
		return CUDA_ERROR_INVALID_VALUE;
	return run_copy(copy);
}

/* The arguments of every copy function lie like this, whatever their types are called. */
struct copy_params {
	uint64_t destination, source;
	size_t bytes;
	CUstream stream;
};

_Static_assert(sizeof(cuMemcpyHtoDAsync_v2_params) == sizeof(struct copy_params),
	       "arguments of an asynchronous copy");
_Static_assert(offsetof(cuMemcpyHtoDAsync_v2_params, hStream) ==
		       offsetof(struct copy_params, stream),
	       "stream");

#define COPY(api, to_type, from_type, from_device, to_device, is_per_thread)                       \
	CUresult api(to_type dst, from_type src, size_t ByteCount)                                 \
	{                                                                                          \
		const struct copy_params params = {(uintptr_t)dst, (uintptr_t)src, ByteCount,      \
						   NULL};                                          \
		const struct copy copy = {.destination = (void *)(uintptr_t)dst,                   \
					  .source = (const void *)(uintptr_t)src,                  \
					  .bytes = ByteCount,                                      \
					  .per_thread = (is_per_thread)};                          \
		return DRIVER_CALL(api, &params, NULL, run_named(&copy, from_device, to_device));  \
	}

#define COPY_ASYNC(api, to_type, from_type, from_device, to_device, is_per_thread)                 \
	CUresult api(to_type dst, from_type src, size_t ByteCount, CUstream hStream)               \
	{                                                                                          \
		const struct copy_params params = {(uintptr_t)dst, (uintptr_t)src, ByteCount,      \
						   hStream};                                       \
		const struct copy copy = {.destination = (void *)(uintptr_t)dst,                   \
					  .source = (const void *)(uintptr_t)src,                  \
					  .bytes = ByteCount,                                      \
					  .stream = hStream,                                       \
					  .per_thread = (is_per_thread),                           \
					  .asynchronous = true};                                   \
		return DRIVER_CALL(api, &params, NULL, run_named(&copy, from_device, to_device));  \
	}

COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *, false, true, false)
COPY(cuMemcpyHtoD_v2_ptds, CUdeviceptr, const void *, false, true, true)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr, true, false, false)
COPY(cuMemcpyDtoH_v2_ptds, void *, CUdeviceptr, true, false, true)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, true, true, false)
COPY(cuMemcpyDtoD_v2_ptds, CUdeviceptr, CUdeviceptr, true, true, true)
COPY(cuMemcpy, CUdeviceptr, CUdeviceptr, ANY_MEMORY, ANY_MEMORY, false)
COPY(cuMemcpy_ptds, CUdeviceptr, CUdeviceptr, ANY_MEMORY, ANY_MEMORY, true)

COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, false, true, false)
COPY_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, const void *, false, true, true)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, true, false, false)
COPY_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, void *, CUdeviceptr, true, false, true)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, true, true, false)
COPY_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, CUdeviceptr, true, true, true)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, ANY_MEMORY, ANY_MEMORY, false)
COPY_ASYNC(cuMemcpyAsync_ptsz, CUdeviceptr, CUdeviceptr, ANY_MEMORY, ANY_MEMORY, true)

struct fill {
	CUdeviceptr destination;
	uint32_t value;
	size_t count;
	size_t width; /* bytes of one element: 1 or 4 */
	CUstream stream;
	bool per_thread, asynchronous;
};

CUresult driver_fill_task(CUdeviceptr to, uint32_t value, size_t count, size_t width,
			  bool asynchronous, struct sim_task *task)
{
	*task = (struct sim_task){
		.operation = {.kind = SIM_MEMSET,
			      .name = "",
			      .bytes = count * width,
			      .memset_value = value,
			      .destination_kind = SIM_ON_DEVICE,
			      .asynchronous = asynchronous},
		.destination = (void *)(uintptr_t)to,
		.width = width,
	};
	return sim_memory_place(task->destination) == SIM_ON_DEVICE ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}

static CUresult run_fill(const struct fill *fill)
{
	struct sim_task task;
	struct sim_stream *stream;
	CUresult error = driver_find_stream(fill->stream, fill->per_thread, &stream);

	if (error != CUDA_SUCCESS || fill->count == 0)
		return error;
	if (!fill->asynchronous && stream->capture)
		return driver_spoil_capture(stream);
	error = driver_fill_task(fill->destination, fill->value, fill->count, fill->width,
				 fill->asynchronous, &task);
	return error == CUDA_SUCCESS ? driver_submit(&task, stream) : error;
}

/* params_type: where a wider value would lie otherwise, generated_cuda_meta.h decides. */
#define FILL(api, params_type, value_type, is_per_thread)                                          \
	CUresult api(CUdeviceptr dstDevice, value_type value, size_t N)                            \
	{                                                                                          \
		const params_type params = {dstDevice, value, N};                                  \
		const struct fill fill = {.destination = dstDevice,                                \
					  .value = value,                                          \
					  .count = N,                                              \
					  .width = sizeof(value_type),                             \
					  .per_thread = (is_per_thread)};                          \
		return DRIVER_CALL(api, &params, NULL, run_fill(&fill));                           \
	}

#define FILL_ASYNC(api, params_type, value_type, is_per_thread)                                    \
	CUresult api(CUdeviceptr dstDevice, value_type value, size_t N, CUstream hStream)          \
	{                                                                                          \
		const params_type params = {dstDevice, value, N, hStream};                         \
		const struct fill fill = {.destination = dstDevice,                                \
					  .value = value,                                          \
					  .count = N,                                              \
					  .width = sizeof(value_type),                             \
					  .stream = hStream,                                       \
					  .per_thread = (is_per_thread),                           \
					  .asynchronous = true};                                   \
		return DRIVER_CALL(api, &params, NULL, run_fill(&fill));                           \
	}

FILL(cuMemsetD8_v2, cuMemsetD8_v2_params, unsigned char, false)
FILL(cuMemsetD8_v2_ptds, cuMemsetD8_v2_params, unsigned char, true)
FILL(cuMemsetD32_v2, cuMemsetD32_v2_params, unsigned int, false)
FILL(cuMemsetD32_v2_ptds, cuMemsetD32_v2_params, unsigned int, true)
FILL_ASYNC(cuMemsetD8Async, cuMemsetD8Async_params, unsigned char, false)
FILL_ASYNC(cuMemsetD8Async_ptsz, cuMemsetD8Async_params, unsigned char, true)
FILL_ASYNC(cuMemsetD32Async, cuMemsetD32Async_params, unsigned int, false)
FILL_ASYNC(cuMemsetD32Async_ptsz, cuMemsetD32Async_params, unsigned int, true)
