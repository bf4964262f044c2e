/* Managed memory of the driver API: allocation, prefetches, and accesses that the program declares. */
#include "driver_call.h"

#include <string.h>

#include "fake_cuda.h"
#include "sim/sim_clock.h"
#include "sim/sim_host.h"
#include "sim/sim_managed.h"

#define COPY_LATENCY_NS   1000u
#define COPY_BYTES_PER_NS 20u
#define FAULT_NS          10000u

/* What a migration, or an access that causes one, is about. */
struct movement {
	struct sim_stream *stream; /* NULL: of no stream */
	int target;
	bool faults;
	uint64_t program_counter;
};

static CUresult allocate(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);
	void *memory;

	*dptr = 0;
	if (error != CUDA_SUCCESS)
		return error;
	if (bytesize == 0 || flags == 0)
		return CUDA_ERROR_INVALID_VALUE;
	memory = sim_managed_alloc(bytesize, context);
	*dptr = (CUdeviceptr)(uintptr_t)memory;
	return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	return DRIVER_CALL(cuMemAllocManaged, NULL, NULL, allocate(dptr, bytesize, flags));
}

static uint64_t place_id(int place)
{
	return place == SIM_MANAGED_HOST ? SIM_ID_NONE : (uint32_t)place;
}

static void note(enum sim_unified detail, const char *name, struct sim_operation *operation,
		 int ordinal)
{
	operation->kind = SIM_UNIFIED;
	operation->copy_kind = (uint8_t)detail;
	operation->uncorrelated = true;
	sim_host_note(operation, name, ordinal);
}

static void note_fault(const struct movement *movement, uint64_t address, uint64_t now_ns)
{
	struct sim_operation fault = {.address = address, .start_ns = now_ns};

	if (movement->target == SIM_MANAGED_HOST) {
		fault.end_ns = now_ns;
		fault.value = movement->program_counter;
		note(SIM_UNIFIED_CPU_FAULT, "CPU page fault", &fault, SIM_NO_ORDINAL);
		return;
	}
	fault.end_ns = now_ns + FAULT_NS;
	fault.value = 1;
	fault.source = (uint32_t)movement->target;
	note(SIM_UNIFIED_GPU_FAULT, "GPU page fault", &fault, movement->target);
}

static void moved(void *context, int source, uint64_t address, uint64_t bytes)
{
	const struct movement *movement = context;
	uint64_t now_ns = sim_clock_now();
	uint64_t ready_ns = movement->stream ? sim_stream_ready_ns(movement->stream) : 0;
	struct sim_operation operation = {
		.address = address,
		.bytes = bytes,
		.value = bytes,
		.source = (uint32_t)place_id(source),
		.destination = (uint32_t)place_id(movement->target),
		.start_ns = ready_ns > now_ns ? ready_ns : now_ns,
	};

	if (movement->faults)
		note_fault(movement, address, now_ns);
	operation.end_ns = operation.start_ns + COPY_LATENCY_NS + bytes / COPY_BYTES_PER_NS;
	if (movement->stream)
		sim_stream_wait_until(movement->stream, operation.end_ns);
	if (source == SIM_MANAGED_HOST)
		note(SIM_UNIFIED_HTOD, "migration HtoD", &operation, movement->target);
	else if (movement->target == SIM_MANAGED_HOST)
		note(SIM_UNIFIED_DTOH, "migration DtoH", &operation, source);
	else
		note(SIM_UNIFIED_DTOD, "migration DtoD", &operation, movement->target);
}

static CUresult prefetch(CUdeviceptr address, size_t count, CUmemLocation location, CUstream handle,
			 bool per_thread)
{
	struct movement movement = {.target = SIM_MANAGED_HOST};
	CUresult error = driver_find_stream(handle, per_thread, &movement.stream);

	if (error != CUDA_SUCCESS)
		return error;
	if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		if (!sim_device_visible(location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		movement.target = location.id;
	}
	return sim_managed_move(address, count, movement.target, moved, &movement) == 0
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
			       unsigned int flags, CUstream hStream)
{
	(void)flags;
	return DRIVER_CALL(cuMemPrefetchAsync_v2, NULL, NULL,
			   prefetch(devPtr, count, location, hStream, false));
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location,
				    unsigned int flags, CUstream hStream)
{
	(void)flags;
	return DRIVER_CALL(cuMemPrefetchAsync_v2_ptsz, NULL, NULL,
			   prefetch(devPtr, count, location, hStream, true));
}

int fake_cuda_touch(const void *address, size_t size_bytes, int device)
{
	struct movement movement = {
		.target = device < 0 ? SIM_MANAGED_HOST : device,
		.faults = true,
		.program_counter = (uintptr_t)__builtin_return_address(0),
	};

	if (device >= 0 && !sim_device_visible(device))
		return -1;
	return sim_managed_move((uintptr_t)address, size_bytes, movement.target, moved,
				&movement) == 0
		       ? 0
		       : -1;
}
