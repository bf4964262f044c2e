#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"

FAKE_CUDA_KERNEL(fixed, FAKE_CUDA_FIXED_NS(2500));
FAKE_CUDA_KERNEL(varying, FAKE_CUDA_UNIFORM_NS(1000, 5000, 7));
FAKE_CUDA_KERNEL(queued, FAKE_CUDA_FIXED_NS(100000));
FAKE_CUDA_KERNEL(lasting, FAKE_CUDA_FIXED_NS(20000000));

static uint32_t count_calls(CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			    CUpti_ApiCallbackSite site)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < seen.nr_calls; i++)
		count += seen.calls[i].domain == domain && seen.calls[i].cbid == cbid &&
			 seen.calls[i].site == site;
	return count;
}

static void runtime_and_nested_driver_callbacks_share_a_correlation_id(void **state)
{
	(void)state;
	assert_int_equal(listener_launch(fixed, NULL), cudaSuccess);
	assert_int_equal(seen.nr_calls, 4);
	assert_int_equal(seen.calls[0].cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	assert_int_equal(seen.calls[1].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	assert_int_equal(seen.calls[2].site, CUPTI_API_EXIT);
	assert_int_equal(seen.calls[3].domain, CUPTI_CB_DOMAIN_RUNTIME_API);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(seen.calls[i].correlation_id, seen.calls[0].correlation_id);
		assert_string_equal(seen.calls[i].symbol, "fixed");
	}
	uint32_t first = seen.calls[0].correlation_id;
	assert_int_equal(listener_launch(fixed, NULL), cudaSuccess);
	assert_int_equal(seen.calls[4].correlation_id, first + 1);
}

static void frame_pointers_lead_from_the_callback_to_the_application(void **state)
{
	bool found = false;

	(void)state;
	/* Through a pointer, so that it is listener_launch() itself and no clone of it that is
	 * called. */
	cudaError_t (*volatile call)(struct fake_cuda_kernel *, cudaStream_t) = listener_launch;
	seen.walk = true;
	assert_int_equal(call(fixed, NULL), cudaSuccess);
	seen.walk = false;
	for (size_t i = 0; i < 16; i++)
		found |= seen.frames[i] - (uintptr_t)&listener_launch < 256;
	assert_true(found);
}

static void a_kernel_record_has_its_launchs_id_and_its_exact_duration(void **state)
{
	(void)state;
	listener_launch_many(fixed, NULL, 3);
	listener_finish();
	assert_int_equal(seen.nr_records, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(seen.records[i].correlation_id, seen.calls[4 * i].correlation_id);
		assert_int_equal(seen.records[i].end_ns - seen.records[i].start_ns, 2500);
		assert_string_equal(seen.records[i].name, "fixed");
		assert_int_equal(seen.records[i].stream_id, 7);
		assert_true(i == 0 || seen.records[i].start_ns >= seen.records[i - 1].end_ns);
	}
}

static void a_second_subscriber_is_refused_until_the_first_leaves(void **state)
{
	CUpti_SubscriberHandle second;

	(void)state;
	assert_int_equal(listener_subscribe_as(&second),
			 CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(cuptiUnsubscribe(seen.subscriber), CUPTI_SUCCESS);
	assert_int_equal(listener_subscribe_as(&second), CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableCallback(1, second, CUPTI_CB_DOMAIN_DRIVER_API, 100000),
			 CUPTI_ERROR_INVALID_PARAMETER);
}

static void a_taken_or_broken_cupti_says_so(void **state)
{
	CUpti_SubscriberHandle second;

	(void)state;
	assert_int_equal(cuptiUnsubscribe(seen.subscriber), CUPTI_SUCCESS);
	fake_cuda_set("FAKE_CUPTI_TAKEN", 1);
	assert_int_equal(listener_subscribe_as(&second),
			 CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	fake_cuda_set("FAKE_CUPTI_TAKEN", 0);
	fake_cuda_set("FAKE_CUPTI_INIT_FAIL", CUPTI_ERROR_NOT_INITIALIZED);
	assert_int_equal(listener_subscribe_as(&second), CUPTI_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY),
			 CUPTI_ERROR_NOT_INITIALIZED);
	fake_cuda_set("FAKE_CUPTI_INIT_FAIL", 0);
	assert_int_equal(fake_cuda_set("FAKE_CUPTI_NONSENSE", 1), -2);
}

static void streams_have_ids_of_their_own_and_no_stream_has_two(void **state)
{
	cudaStream_t streams[3];
	CUcontext context;
	uint32_t id;

	(void)state;
	uint32_t created = seen.resources[CUPTI_CBID_RESOURCE_STREAM_CREATED];
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cudaStreamCreate(&streams[i]), cudaSuccess);
		listener_launch_many(varying, streams[i], 1);
	}
	listener_launch_many(varying, cudaStreamPerThread, 1);
	listener_finish();
	assert_int_equal(seen.resources[CUPTI_CBID_RESOURCE_STREAM_CREATED], created + 3);
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cuptiGetStreamIdEx(context, streams[i], 0, &id), CUPTI_SUCCESS);
		assert_int_equal(id, seen.records[i].stream_id);
		for (int other = 0; other < i; other++)
			assert_int_not_equal(id, seen.records[other].stream_id);
		assert_int_equal(cudaStreamDestroy(streams[i]), cudaSuccess);
	}
	assert_int_equal(cuptiGetStreamIdEx(context, NULL, 1, &id), CUPTI_SUCCESS);
	assert_int_equal(id, seen.records[3].stream_id);
	assert_int_not_equal(id, 7);
}

static void copies_and_memsets_move_data_and_leave_records(void **state)
{
	char host[4096], back[4096];
	void *memory;

	(void)state;
	memset(host, 3, sizeof(host));
	assert_int_equal(cudaMalloc(&memory, 8192), cudaSuccess);
	assert_int_equal(cudaMemcpy(memory, host, 4096, cudaMemcpyHostToDevice), cudaSuccess);
	assert_int_equal(cudaMemcpy((char *)memory + 4096, memory, 4096, cudaMemcpyDefault),
			 cudaSuccess);
	assert_int_equal(cudaMemset(memory, 9, 100), cudaSuccess);
	assert_int_equal(cudaMemcpy(back, (char *)memory + 4096, 4096, cudaMemcpyDeviceToHost),
			 cudaSuccess);
	assert_memory_equal(host, back, 4096);
	assert_int_equal(cudaMemcpy(back, memory, 4096, cudaMemcpyHostToDevice),
			 cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	listener_finish();
	assert_int_equal(seen.nr_records, 4);
	assert_int_equal(seen.records[0].copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	assert_int_equal(seen.records[1].copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
	assert_int_equal(seen.records[2].kind, CUPTI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(seen.records[2].bytes, 100);
	assert_int_equal(seen.records[3].copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	assert_int_equal(seen.records[3].bytes, 4096);
	assert_int_equal(cudaFree(memory), cudaSuccess);
	assert_int_equal(cudaFree(memory), cudaErrorInvalidValue);
}

static void a_failed_launch_has_callbacks_with_the_error_and_no_record(void **state)
{
	(void)state;
	fake_cuda_set("FAKE_CUDA_FAIL_LAUNCH", 1);
	assert_int_equal(listener_launch(fixed, NULL), cudaErrorLaunchOutOfResources);
	fake_cuda_set("FAKE_CUDA_FAIL_LAUNCH", 0);
	assert_int_equal(seen.calls[2].result, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(
		cudaLaunchKernel(fixed, (dim3){1, 1, 1}, (dim3){4096, 1, 1}, NULL, 0, NULL),
		cudaErrorInvalidConfiguration);
	assert_int_equal(seen.calls[6].result, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cudaLaunchKernel(&seen, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	listener_finish();
	assert_int_equal(seen.nr_records, 0);
}

static void dropped_records_are_counted_once(void **state)
{
	(void)state;
	listener_dropped();
	fake_cuda_set("FAKE_CUPTI_DROP", 5);
	listener_launch_many(fixed, NULL, 50);
	listener_finish();
	assert_int_equal(seen.nr_records, 40);
	assert_int_equal(listener_dropped(), 10);
	assert_int_equal(listener_dropped(), 0);
}

static void without_a_buffer_records_are_dropped_and_counted(void **state)
{
	(void)state;
	listener_dropped();
	seen.refuse_buffers = true;
	listener_launch_many(fixed, NULL, 7);
	listener_finish();
	assert_int_equal(seen.nr_records, 0);
	assert_int_equal(listener_dropped(), 7);
}

static void some_records_come_without_times_if_asked_for(void **state)
{
	uint32_t zeroed = 0;

	(void)state;
	fake_cuda_set("FAKE_CUPTI_ZERO_TIME", 4);
	listener_launch_many(fixed, NULL, 40);
	listener_finish();
	assert_int_equal(seen.nr_records, 40);
	for (uint32_t i = 0; i < 40; i++)
		zeroed += seen.records[i].start_ns == 0 && seen.records[i].end_ns == 0;
	assert_int_equal(zeroed, 10);
}

static void the_last_kernels_can_run_on_until_a_forced_flush_shows_them_without_end(void **state)
{
	(void)state;
	fake_cuda_set("FAKE_CUDA_RUN_ON", 2);
	listener_launch_many(fixed, NULL, 5);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 0);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(seen.records[i].end_ns == 0, i >= 3);
}

static void records_are_not_delivered_before_their_operations_end(void **state)
{
	(void)state;
	assert_int_equal(listener_launch(lasting, NULL), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 0);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 1);
	assert_int_equal(seen.records[0].end_ns - seen.records[0].start_ns, 20000000);
}

static void late_buffers_wait_for_a_forced_flush(void **state)
{
	(void)state;
	fake_cuda_set("FAKE_CUPTI_LATE", 2);
	listener_launch_many(fixed, NULL, 500);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 0);
	assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	assert_int_equal(seen.nr_records, 500);
}

static void a_shuffled_buffer_holds_the_same_records_in_another_order(void **state)
{
	uint64_t sum = 0, expected = 0;
	bool in_order = true;

	(void)state;
	fake_cuda_set("FAKE_CUPTI_SHUFFLE", 11);
	listener_launch_many(varying, NULL, 60);
	listener_finish();
	assert_int_equal(seen.nr_records, 60);
	for (uint32_t i = 0; i < 60; i++) {
		sum += seen.records[i].correlation_id;
		expected += seen.calls[4 * i].correlation_id;
		in_order &= i == 0 ||
			    seen.records[i].correlation_id > seen.records[i - 1].correlation_id;
	}
	assert_int_equal(sum, expected);
	assert_false(in_order);
}

static void cupti_can_be_finalized_in_an_exit_callback_and_subscribed_anew(void **state)
{
	(void)state;
	listener_launch_many(fixed, NULL, 10);
	seen.finalize_at_exit = true;
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(seen.nr_records, 10);
	uint32_t calls = seen.nr_calls;
	listener_launch_many(fixed, NULL, 10);
	assert_int_equal(seen.nr_calls, calls);
	listener_subscribe();
	listener_launch_many(fixed, NULL, 10);
	assert_int_equal(seen.calls[calls].correlation_id, 1);
	listener_finish();
	assert_int_equal(seen.nr_records, 20);
}

static void *launch_on_a_thread(void *argument)
{
	cudaStream_t streams[4];

	cudaSetDevice((int)(intptr_t)argument);
	for (int s = 0; s < 4; s++)
		cudaStreamCreate(&streams[s]);
	for (int i = 0; i < 400; i++)
		listener_launch(varying, streams[i % 4]);
	cudaDeviceSynchronize();
	for (int s = 0; s < 4; s++)
		cudaStreamDestroy(streams[s]);
	return NULL;
}

static int compare_ids(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Kernel callbacks and records of several threads meet one to one on the correlation id. */
static void four_threads_on_two_devices_lose_nothing(void **state)
{
	static uint32_t launched[1600], recorded[1600];
	uint32_t nr_launched = 0, device_records[2] = {0, 0};
	pthread_t threads[4];

	(void)state;
	for (intptr_t t = 0; t < 4; t++)
		assert_int_equal(
			pthread_create(&threads[t], NULL, launch_on_a_thread, (void *)(t % 2)), 0);
	for (int t = 0; t < 4; t++)
		pthread_join(threads[t], NULL);
	listener_finish();
	assert_int_equal(seen.nr_records, 1600);
	assert_int_equal(count_calls(CUPTI_CB_DOMAIN_DRIVER_API,
				     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_EXIT),
			 1600);
	for (uint32_t i = 0; i < seen.nr_calls; i++) {
		if (seen.calls[i].domain == CUPTI_CB_DOMAIN_DRIVER_API &&
		    seen.calls[i].cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
		    seen.calls[i].site == CUPTI_API_ENTER)
			launched[nr_launched++] = seen.calls[i].correlation_id;
	}
	for (uint32_t i = 0; i < 1600; i++) {
		recorded[i] = seen.records[i].correlation_id;
		device_records[seen.records[i].device_id]++;
	}
	qsort(launched, 1600, sizeof(launched[0]), compare_ids);
	qsort(recorded, 1600, sizeof(recorded[0]), compare_ids);
	assert_int_equal(nr_launched, 1600);
	assert_memory_equal(launched, recorded, sizeof(launched));
	assert_int_equal(device_records[0], 800);
	assert_int_equal(device_records[1], 800);
}

static void ptx_names_kernels_and_may_give_their_duration(void **state)
{
	static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
				  "// flamegrid-fake-ns: 4321\n.visible .entry timed(\n) { ret; }\n"
				  "// .entry commented_out\n.visible .entry other() { ret; }\n";
	CUmodule module;
	CUfunction timed, other;

	(void)state;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&timed, module, "commented_out"),
			 CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuModuleGetFunction(&timed, module, "timed"), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&other, module, "other"), CUDA_SUCCESS);
	assert_int_equal(fake_cuda_set_kernel_ns("other", 77, 77), 0);
	assert_int_equal(fake_cuda_set_kernel_ns("other", 78, 77), -22);
	assert_int_equal(cuLaunchKernel(timed, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(cuLaunchKernel(other, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	listener_finish();
	assert_int_equal(seen.nr_records, 2);
	assert_int_equal(seen.records[0].end_ns - seen.records[0].start_ns, 4321);
	assert_int_equal(seen.records[1].end_ns - seen.records[1].start_ns, 77);
	assert_int_equal(cuModuleLoadData(&module, "not a module"), CUDA_ERROR_INVALID_IMAGE);
}

static void events_measure_device_time(void **state)
{
	cudaEvent_t before, after;
	float milliseconds;

	(void)state;
	assert_int_equal(cudaEventCreate(&before), cudaSuccess);
	assert_int_equal(cudaEventCreate(&after), cudaSuccess);
	assert_int_equal(cudaEventRecord(before, NULL), cudaSuccess);
	listener_launch_many(lasting, NULL, 1);
	assert_int_equal(cudaEventRecord(after, NULL), cudaSuccess);
	assert_int_equal(cudaEventQuery(after), cudaErrorNotReady);
	assert_int_equal(cudaEventSynchronize(after), cudaSuccess);
	assert_int_equal(cudaEventElapsedTime(&milliseconds, before, after), cudaSuccess);
	assert_true(milliseconds >= 20.0f);
	assert_int_equal(cudaEventDestroy(before), cudaSuccess);
	assert_int_equal(cudaEventDestroy(after), cudaSuccess);
}

static void a_launch_waits_while_1024_operations_are_outstanding_on_its_stream(void **state)
{
	uint64_t before_ns, after_ns;

	(void)state;
	assert_int_equal(cuptiGetTimestamp(&before_ns), CUPTI_SUCCESS);
	listener_launch_many(queued, NULL, 1024 + 50);
	assert_int_equal(cuptiGetTimestamp(&after_ns), CUPTI_SUCCESS);
	assert_true(after_ns - before_ns >= 50 * 100000);
	listener_finish();
	assert_int_equal(seen.nr_records, 1024 + 50);
}

static void created_contexts_have_their_own_id_and_stale_ones_are_refused(void **state)
{
	CUcontext context, popped;
	uint32_t id, device_id;

	(void)state;
	uint32_t created = seen.resources[CUPTI_CBID_RESOURCE_CONTEXT_CREATED];
	assert_int_equal(cuCtxCreate(&context, NULL, 0, 1), CUDA_SUCCESS);
	assert_int_equal(seen.resources[CUPTI_CBID_RESOURCE_CONTEXT_CREATED], created + 1);
	assert_int_equal(cuptiGetContextId(context, &id), CUPTI_SUCCESS);
	assert_int_equal(cuptiGetDeviceId(context, &device_id), CUPTI_SUCCESS);
	assert_int_equal(device_id, 1);
	listener_launch_many(fixed, NULL, 1);
	listener_finish();
	assert_int_equal(seen.records[0].context_id, id);
	assert_int_equal(seen.records[0].device_id, 1);
	assert_int_equal(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
	assert_ptr_equal(popped, context);
	assert_int_equal(cuCtxDestroy(context), CUDA_SUCCESS);
	assert_int_equal(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, listener_start, listener_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTENING(runtime_and_nested_driver_callbacks_share_a_correlation_id),
		LISTENING(frame_pointers_lead_from_the_callback_to_the_application),
		LISTENING(a_kernel_record_has_its_launchs_id_and_its_exact_duration),
		LISTENING(a_second_subscriber_is_refused_until_the_first_leaves),
		LISTENING(a_taken_or_broken_cupti_says_so),
		LISTENING(streams_have_ids_of_their_own_and_no_stream_has_two),
		LISTENING(copies_and_memsets_move_data_and_leave_records),
		LISTENING(a_failed_launch_has_callbacks_with_the_error_and_no_record),
		LISTENING(dropped_records_are_counted_once),
		LISTENING(without_a_buffer_records_are_dropped_and_counted),
		LISTENING(some_records_come_without_times_if_asked_for),
		LISTENING(the_last_kernels_can_run_on_until_a_forced_flush_shows_them_without_end),
		LISTENING(records_are_not_delivered_before_their_operations_end),
		LISTENING(late_buffers_wait_for_a_forced_flush),
		LISTENING(a_shuffled_buffer_holds_the_same_records_in_another_order),
		LISTENING(cupti_can_be_finalized_in_an_exit_callback_and_subscribed_anew),
		LISTENING(four_threads_on_two_devices_lose_nothing),
		LISTENING(ptx_names_kernels_and_may_give_their_duration),
		LISTENING(events_measure_device_time),
		LISTENING(a_launch_waits_while_1024_operations_are_outstanding_on_its_stream),
		LISTENING(created_contexts_have_their_own_id_and_stale_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, listener_open_devices, NULL);
}
