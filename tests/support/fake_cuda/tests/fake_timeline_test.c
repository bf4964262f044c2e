/* Records of fake CUDA besides work: waits, overhead, unified memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define BUFFER_BYTES  (64u << 10)
#define KEPT_MAX      256u
#define MANAGED_BYTES (5u << 20)

static struct {
	uint32_t nr_syncs, nr_overheads, nr_unified;
	CUpti_ActivitySynchronization2 syncs[KEPT_MAX];
	CUpti_ActivityOverhead3 overheads[KEPT_MAX];
	CUpti_ActivityUnifiedMemoryCounter3 unified[KEPT_MAX];
} kept;

static FAKE_CUDA_KERNEL(timeline_kernel, FAKE_CUDA_FIXED_NS(30000));

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION && kept.nr_syncs < KEPT_MAX)
			memcpy(&kept.syncs[kept.nr_syncs++], record, sizeof(kept.syncs[0]));
		if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD && kept.nr_overheads < KEPT_MAX)
			memcpy(&kept.overheads[kept.nr_overheads++], record,
			       sizeof(kept.overheads[0]));
		if (record->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER &&
		    kept.nr_unified < KEPT_MAX)
			memcpy(&kept.unified[kept.nr_unified++], record, sizeof(kept.unified[0]));
	}
	free(buffer);
}

static int start(void **state)
{
	(void)state;
	memset(&kept, 0, sizeof(kept));
	return cudaSetDevice(0) == cudaSuccess &&
			       cuptiActivityRegisterCallbacks(request, complete) == CUPTI_SUCCESS
		       ? 0
		       : -1;
}

static int stop(void **state)
{
	(void)state;
	cudaDeviceSynchronize();
	/* Or the flush would leave a record, in a buffer that is forgotten. */
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD);
	cuptiActivityFlushAll(1);
	return cuptiFinalize() == CUPTI_SUCCESS ? 0 : -1;
}

static void launch(cudaStream_t stream)
{
	assert_int_equal(cudaLaunchKernel(timeline_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL,
					  0, stream),
			 cudaSuccess);
}

static void each_wait_has_a_record_of_its_sort(void **state)
{
	cudaStream_t stream;
	cudaEvent_t event;

	(void)state;
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
	assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
	assert_int_equal(cudaEventCreate(&event), cudaSuccess);
	launch(stream);
	assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
	assert_int_equal(cudaStreamWaitEvent(0, event, 0), cudaSuccess);
	assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
	launch(stream);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(kept.nr_syncs, 4);
	static const int types[] = {2, 1, 3, 4};
	for (uint32_t i = 0; i < 4; i++) {
		const CUpti_ActivitySynchronization2 *sync = &kept.syncs[i];

		assert_int_equal(sync->type, types[i]);
		assert_true(sync->correlationId > 0);
		assert_true(sync->start > 0 && sync->start <= sync->end);
		assert_true(sync->contextId > 0);
		assert_int_equal(sync->streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE,
				 types[i] == 1 || types[i] == 4);
		assert_true(i == 0 || sync->correlationId > kept.syncs[i - 1].correlationId);
	}
	assert_int_equal(cudaEventDestroy(event), cudaSuccess);
	assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void only_the_first_launch_of_a_kernel_loads_it(void **state)
{
	static FAKE_CUDA_KERNEL(loaded_kernel, FAKE_CUDA_FIXED_NS(1000));

	(void)state;
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), CUPTI_SUCCESS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cudaLaunchKernel(loaded_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1},
						  NULL, 0, 0),
				 cudaSuccess);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(kept.nr_overheads, 1);
	assert_int_equal(kept.overheads[0].overheadKind, 5 << 16);
	assert_true(kept.overheads[0].correlationId > 0);
	assert_int_equal(kept.overheads[0].end - kept.overheads[0].start, 5000);
	/* The flush itself is told by the next one. */
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(kept.nr_overheads, 2);
	assert_int_equal(kept.overheads[1].overheadKind, 1 << 16);
	assert_int_equal(kept.overheads[1].correlationId, 0);
}

static void count_on(CUpti_ActivityUnifiedMemoryCounterKind kind)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config = {
		.scope = (CUpti_ActivityUnifiedMemoryCounterScope)2, .kind = kind, .enable = 1};

	assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(&config, 1), CUPTI_SUCCESS);
}

static uint64_t sum_of(int kind)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < kept.nr_unified; i++)
		if ((int)kept.unified[i].counterKind == kind)
			sum += kept.unified[i].value;
	return sum;
}

static void what_does_not_lie_there_migrates_once(void **state)
{
	const struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
	void *memory;

	(void)state;
	count_on(1);
	count_on(2);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER),
			 CUPTI_SUCCESS);
	assert_int_equal(fake_cuda_traces(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), 1);
	assert_int_equal(cudaMallocManaged(&memory, MANAGED_BYTES, cudaMemAttachGlobal),
			 cudaSuccess);
	for (int i = 0; i < 2; i++)
		assert_int_equal(cudaMemPrefetchAsync(memory, MANAGED_BYTES, device, 0, 0),
				 cudaSuccess);
	assert_int_equal(fake_cuda_touch((char *)memory + (1 << 20), 1 << 20, -1), 0);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(sum_of(1), MANAGED_BYTES);
	assert_int_equal(sum_of(2), 1 << 20);
	assert_int_equal(kept.nr_unified, 3 + 1); /* 2 + 2 + 1 MiB there; faults are not counted */
	assert_int_equal(kept.unified[0].dstId, 0);
	assert_int_equal(cudaFree(memory), cudaSuccess);
	assert_int_equal(fake_cuda_touch(memory, 1, -1), -1);
}

static void a_counter_that_there_is_not_is_refused(void **state)
{
	CUpti_ActivityUnifiedMemoryCounterConfig configs[2] = {{.kind = 1, .enable = 1},
							       {.kind = 99, .enable = 1}};

	(void)state;
	assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(configs, 2),
			 CUPTI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(NULL, 1),
			 CUPTI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(configs, 0),
			 CUPTI_ERROR_INVALID_PARAMETER);
}

static void a_library_has_its_kernels(void **state)
{
	CUlibrary library;
	CUkernel kernel;
	CUfunction function;

	(void)state;
	assert_int_equal(cuLibraryLoadData(&library, ".version 7.0\n.entry in_library() {}", NULL,
					   NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "in_library"), CUDA_SUCCESS);
	assert_int_equal(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
	assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "another"), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_wait_has_a_record_of_its_sort),
		TEST(only_the_first_launch_of_a_kernel_loads_it),
		TEST(what_does_not_lie_there_migrates_once),
		TEST(a_counter_that_there_is_not_is_refused),
		TEST(a_library_has_its_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
