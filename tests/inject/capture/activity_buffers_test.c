#include "inject/capture/activity_buffers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/capture/guest_sizes.h"
#include "inject/cupti/activity_record.h"
#include "inject/cupti/buffer_pool.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/name_table.h"
#include "inject/launch/launch_thread.h"
#include "inject/launch/outstanding_launches.h"
#include "inject/metrics/waiting_work.h"
#include "proto/memory_kind.h"
#include "tests/inject/test_ring.h"

/* The sizes that CUPTI gives its records, version by version; the fields that count never move. */
struct version {
	const char *name;
	size_t kernel, memcpy, peer, memset, allocation;
};

static const struct version versions[] = {
	{"12.0", 208, 88, 96, 88, 112},
	{"12.8", 208, 96, 96, 88, 120},
	{"13.0", 216, 96, 96, 88, 120},
	{"a later one", 264, 112, 120, 104, 128},
};
static const struct version *version = &versions[0];

/* cuptiActivityGetNextRecord for buffers of the current version. */
static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_KIND_MEMCPY:
		return version->memcpy;
	case CUPTI_ABI_KIND_MEMCPY_PEER:
		return version->peer;
	case CUPTI_ABI_KIND_MEMSET:
		return version->memset;
	case CUPTI_ABI_KIND_ALLOCATION:
		return version->allocation;
	default:
		return version->kernel;
	}
}

static int next_record(uint8_t *buffer, size_t valid_size, void **record)
{
	uint8_t *next = buffer;

	if (*record) {
		uint32_t kind;

		memcpy(&kind, *record, sizeof(kind));
		next = (uint8_t *)*record + size_of(kind);
	}
	if (next >= buffer + valid_size)
		return 12; /* MAX_LIMIT_REACHED */
	*record = next;
	return 0;
}

static const struct cupti_library library = {.version = 130001,
					     .activity_get_next_record = next_record};

struct fixture {
	struct test_ring ring;
	struct definition_writer definitions;
	uint8_t *buffer;
	size_t size, used;
};

static void no_end(void)
{
}

static const struct guest_sizes sizes = {
	.nr_buffers = BUFFER_POOL_MAX,
	.buffer_bytes = BUFFER_POOL_BYTES,
	.name_bytes = NAME_TABLE_BYTES,
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	static int started;
	size_t max_records;

	if (!started++)
		assert_int_equal(lifecycle_start(no_end), 0);
	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	version = &versions[2];
	test_ring_init(&fixture->ring);
	fixture->definitions = DEFINITION_WRITER_INIT(fixture->ring.guest);
	assert_int_equal(activity_buffers_init(fixture->ring.guest, &fixture->definitions, &library,
					       NULL, 3, &sizes),
			 0);
	activity_buffers_request(&fixture->buffer, &fixture->size, &max_records);
	assert_non_null(fixture->buffer);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	activity_buffers_fini();
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static void put32(uint8_t *record, size_t offset, uint32_t value)
{
	memcpy(record + offset, &value, sizeof(value));
}

static void put64(uint8_t *record, size_t offset, uint64_t value)
{
	memcpy(record + offset, &value, sizeof(value));
}

static uint8_t *add(struct fixture *fixture, uint32_t kind)
{
	uint8_t *record = fixture->buffer + fixture->used;

	fixture->used += size_of(kind);
	assert_true(fixture->used <= fixture->size);
	put32(record, 0, kind);
	return record;
}

static void add_kernel(struct fixture *fixture, const char *name, uint64_t start_ns,
		       uint64_t end_ns, uint32_t device_id)
{
	uint8_t *record = add(fixture, CUPTI_ABI_KIND_CONCURRENT_KERNEL);

	put64(record, CUPTI_KERNEL_START, start_ns);
	put64(record, CUPTI_KERNEL_END, end_ns);
	put32(record, CUPTI_KERNEL_DEVICE, device_id);
	put32(record, CUPTI_KERNEL_CONTEXT, 5);
	put32(record, CUPTI_KERNEL_STREAM, 7);
	put32(record, CUPTI_KERNEL_CORRELATION, 1234);
	put64(record, CUPTI_KERNEL_GRAPH_NODE, 0x100000002);
	put32(record, CUPTI_KERNEL_GRAPH, 9);
	memcpy(record + CUPTI_KERNEL_NAME, &name, sizeof(name));
}

static void add_memory(struct fixture *fixture, uint32_t kind, uint8_t copy_kind)
{
	uint8_t *record = add(fixture, kind);
	bool peer = kind == CUPTI_ABI_KIND_MEMCPY_PEER;

	record[CUPTI_MEMORY_COPY_KIND] = copy_kind;
	put64(record, CUPTI_MEMORY_BYTES, 4096);
	put64(record, CUPTI_MEMORY_START, 100);
	put64(record, CUPTI_MEMORY_END, 150);
	put32(record, CUPTI_MEMORY_DEVICE, 1);
	put32(record, CUPTI_MEMORY_CONTEXT, 2);
	put32(record, CUPTI_MEMORY_STREAM, 3);
	put32(record, peer ? CUPTI_PEER_CORRELATION : CUPTI_MEMORY_CORRELATION, 77);
	put64(record, peer ? CUPTI_PEER_GRAPH_NODE : CUPTI_MEMORY_GRAPH_NODE, 88);
	put32(record, peer ? CUPTI_PEER_GRAPH : CUPTI_MEMORY_GRAPH, 99);
}

static void complete(struct fixture *fixture)
{
	activity_buffers_complete(NULL, 0, fixture->buffer, fixture->size, fixture->used);
}

static void kernel_of_every_version_is_converted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		size_t max_records;

		version = &versions[i];
		fixture->used = 0;
		add_kernel(fixture, "first", 1000, 1500, 2);
		add_kernel(fixture, "second", 2000, 2000, 2);
		complete(fixture);
		activity_buffers_request(&fixture->buffer, &fixture->size, &max_records);
		assert_int_equal(test_ring_activity(&fixture->ring, records, 4), 2);
		assert_int_equal(records[0].kind, RECORD_GPU_KERNEL);
		assert_int_equal(records[0].start_ns, 1000);
		assert_int_equal(records[0].end_ns, 1500);
		assert_int_equal(records[0].device_id, 2);
		assert_int_equal(records[0].context_id, 5);
		assert_int_equal(records[0].stream_id, 7);
		assert_int_equal(records[0].correlation_id, 1234);
		assert_int_equal(records[0].graph_node_id, 0x100000002);
		assert_int_equal(records[0].graph_id, 9);
		assert_int_equal(records[0].window, 3);
		assert_int_equal(records[0].name_id, 1);
		assert_int_equal(records[1].start_ns, 2000);
		assert_int_equal(records[1].name_id, 2);
	}
}

static void copies_and_fills_of_every_version_are_converted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		size_t max_records;

		version = &versions[i];
		fixture->used = 0;
		add_memory(fixture, CUPTI_ABI_KIND_MEMCPY, 1);
		add_memory(fixture, CUPTI_ABI_KIND_MEMCPY_PEER, 10);
		add_memory(fixture, CUPTI_ABI_KIND_MEMSET, 0xff);
		complete(fixture);
		activity_buffers_request(&fixture->buffer, &fixture->size, &max_records);
		assert_int_equal(test_ring_activity(&fixture->ring, records, 4), 3);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(records[k].kind,
					 k < 2 ? RECORD_GPU_MEMCPY : RECORD_GPU_MEMSET);
			assert_int_equal(records[k].bytes, 4096);
			assert_int_equal(records[k].end_ns - records[k].start_ns, 50);
			assert_int_equal(records[k].device_id, 1);
			assert_int_equal(records[k].context_id, 2);
			assert_int_equal(records[k].stream_id, 3);
			assert_int_equal(records[k].correlation_id, 77);
			assert_int_equal(records[k].graph_node_id, 88);
			assert_int_equal(records[k].graph_id, 99);
			assert_int_equal(records[k].name_id, RECORD_NAME_NONE);
		}
		assert_int_equal(records[0].copy_kind, 1);
		assert_int_equal(records[1].copy_kind, 10);
		assert_int_equal(records[2].copy_kind, 0);
	}
}

static void add_allocation(struct fixture *fixture, uint32_t operation, uint32_t memory_kind,
			   uint32_t in_stream_order)
{
	uint8_t *record = add(fixture, CUPTI_ABI_KIND_ALLOCATION);

	put32(record, CUPTI_ALLOCATION_OPERATION, operation);
	put32(record, CUPTI_ALLOCATION_MEMORY_KIND, memory_kind);
	put32(record, CUPTI_ALLOCATION_CORRELATION, 4321);
	put64(record, CUPTI_ALLOCATION_ADDRESS, 0x7f0012340000);
	put64(record, CUPTI_ALLOCATION_BYTES, 1u << 20);
	put64(record, CUPTI_ALLOCATION_TIME, 555);
	put32(record, CUPTI_ALLOCATION_DEVICE, 1);
	put32(record, CUPTI_ALLOCATION_CONTEXT, 2);
	put32(record, CUPTI_ALLOCATION_STREAM, in_stream_order ? 13 : CUPTI_ABI_NO_ID);
	put32(record, CUPTI_ALLOCATION_ASYNC, in_stream_order);
}

static void allocations_of_every_version_are_converted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		size_t max_records;

		version = &versions[i];
		fixture->used = 0;
		add_allocation(fixture, CUPTI_ABI_ALLOCATE, MEMORY_KIND_PINNED, 0);
		add_allocation(fixture, CUPTI_ABI_RELEASE, MEMORY_KIND_DEVICE, 1);
		complete(fixture);
		activity_buffers_request(&fixture->buffer, &fixture->size, &max_records);
		assert_int_equal(test_ring_activity(&fixture->ring, records, 4), 2);
		assert_int_equal(records[0].kind, RECORD_GPU_ALLOC);
		assert_int_equal(records[0].copy_kind, MEMORY_KIND_PINNED);
		assert_int_equal(records[0].stream_id, 0);
		assert_int_equal(records[1].kind, RECORD_GPU_FREE);
		assert_int_equal(records[1].copy_kind, MEMORY_KIND_POOL);
		assert_int_equal(records[1].stream_id, 13);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(records[k].start_ns, 555);
			assert_int_equal(records[k].end_ns, 555);
			assert_int_equal(records[k].bytes, 1u << 20);
			assert_int_equal(records[k].address, 0x7f0012340000);
			assert_int_equal(records[k].correlation_id, 4321);
			assert_int_equal(records[k].device_id, 1);
			assert_int_equal(records[k].context_id, 2);
			assert_int_equal(records[k].window, 3);
			assert_int_equal(records[k].name_id, RECORD_NAME_NONE);
			assert_int_equal(records[k].capture_stack_id, RECORD_STACK_NONE);
		}
	}
}

static void what_is_neither_allocated_nor_freed_is_unknown(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record record;

	add_allocation(fixture, 0, MEMORY_KIND_DEVICE, 0);
	add_allocation(fixture, CUPTI_ABI_ALLOCATE, 99, 0);
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 1);
	assert_int_equal(record.copy_kind, MEMORY_KIND_UNKNOWN);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_UNKNOWN_RECORD).count,
		1);
}

static void name_is_defined_before_a_record_has_its_id(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record record;
	struct {
		struct definition_name head;
		char text[64];
	} name;
	uint32_t type;

	add_kernel(fixture, "void gemm<float>(int)", 1, 2, 0);
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 1);
	assert_int_equal(test_ring_definition(&fixture->ring, &type, &name, sizeof(name)),
			 (int)(sizeof(name.head) + strlen("void gemm<float>(int)")));
	assert_int_equal(type, DEFINITION_NAME);
	assert_int_equal(name.head.name_id, record.name_id);
	assert_memory_equal(name.text, "void gemm<float>(int)", strlen("void gemm<float>(int)"));
}

static void invalid_times_are_counted_and_not_passed_on(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record record;

	add_kernel(fixture, "zero", 0, 0, 1);
	add_kernel(fixture, "reversed", 20, 10, 1);
	add_kernel(fixture, "no start", 0, 10, 1);
	add_kernel(fixture, "running", 20, 0, 1);
	add_kernel(fixture, "good", 20, 50, 1);
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 1);
	assert_int_equal(record.end_ns, 50);
	assert_int_equal(test_ring_ledger(&fixture->ring, 1, LEDGER_RECORDS).count, 5);
	assert_int_equal(test_ring_ledger(&fixture->ring, 1, LEDGER_RECORDS).ns, 30);
	assert_int_equal(test_ring_ledger(&fixture->ring, 1, LEDGER_INVALID_TIME).count, 3);
	assert_int_equal(test_ring_ledger(&fixture->ring, 1, LEDGER_STILL_RUNNING).count, 1);
}

static void flush_soon(void)
{
}

/* Else nothing would be measured any more (kernel_metrics.h). */
static void a_kernel_of_nccls_without_times_has_ended(void **state)
{
	struct fixture *fixture = *state;

	waiting_work_init(flush_soon);
	waiting_work_launched();
	add_kernel(fixture, "ncclDevKernel_AllReduce", 0, 0, 1);
	assert_false(waiting_work_is_none());
	complete(fixture);
	assert_true(waiting_work_is_none());
}

static void kernel_of_after_the_window_that_still_runs_is_not_lost(void **state)
{
	struct fixture *fixture = *state;

	outstanding_launches_begin(1234, true);
	add_kernel(fixture, "running", 20, 0, 1);
	complete(fixture);
	assert_true(outstanding_launches_is_pending(1234));
	outstanding_launches_reset();
	assert_int_equal(test_ring_ledger(&fixture->ring, 1, LEDGER_STILL_RUNNING).count, 0);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_OUTSIDE_WINDOW).count,
		1);
}

static void unknown_kind_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record record;

	put32(add(fixture, 46), 0, 46);
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 0);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_UNKNOWN_RECORD).count,
		1);
}

static void nameless_kernel_is_passed_on_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record record;

	add_kernel(fixture, NULL, 1, 2, 0);
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 1);
	assert_int_equal(record.name_id, RECORD_NAME_NONE);
	assert_int_equal(test_ring_ledger(&fixture->ring, 0, LEDGER_NAME_LOST).count, 1);
}

static void records_that_find_no_room_are_counted_by_device(void **state)
{
	struct fixture *fixture = *state;
	static struct gpu_record records[TEST_RING_ACTIVITY + 100];

	for (uint32_t i = 0; i < TEST_RING_ACTIVITY + 100; i++)
		add_kernel(fixture, "k", 10, 13, i % 2);
	activity_buffers_hurry(1); /* long ago: no waiting */
	complete(fixture);
	assert_int_equal(test_ring_activity(&fixture->ring, records, TEST_RING_ACTIVITY + 100),
			 TEST_RING_ACTIVITY);
	uint64_t lost = 0, made = 0;
	for (uint32_t device = 0; device < 2; device++) {
		struct ledger_entry full =
			test_ring_ledger(&fixture->ring, device, LEDGER_RECORD_RING_FULL);

		assert_int_equal(full.ns, full.count * 3);
		lost += full.count;
		made += test_ring_ledger(&fixture->ring, device, LEDGER_RECORDS).count;
	}
	assert_int_equal(lost, 100);
	assert_int_equal(made, TEST_RING_ACTIVITY + 100);
}

static void *drain_once(void *user)
{
	struct fixture *fixture = user;
	static struct gpu_record records[TEST_RING_ACTIVITY];
	uint32_t nr = 0;

	while (nr < TEST_RING_ACTIVITY)
		nr += test_ring_activity(&fixture->ring, records, TEST_RING_ACTIVITY - nr);
	test_ring_release(&fixture->ring);
	return NULL;
}

static void full_lane_is_waited_for(void **state)
{
	struct fixture *fixture = *state;
	static struct gpu_record records[64];
	pthread_t thread;

	for (uint32_t i = 0; i < TEST_RING_ACTIVITY + 50; i++)
		add_kernel(fixture, "k", 10, 13, 0);
	assert_int_equal(pthread_create(&thread, NULL, drain_once, fixture), 0);
	complete(fixture);
	pthread_join(thread, NULL);
	assert_int_equal(test_ring_activity(&fixture->ring, records, 64), 50);
	assert_int_equal(test_ring_ledger(&fixture->ring, 0, LEDGER_RECORD_RING_FULL).count, 0);
}

static void launching_thread_never_waits_for_room(void **state)
{
	struct fixture *fixture = *state;
	struct timespec before, after;

	assert_non_null(launch_thread_own(fixture->ring.guest, 1));
	for (uint32_t i = 0; i < TEST_RING_ACTIVITY + 1; i++)
		add_kernel(fixture, "k", 10, 13, 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	complete(fixture);
	clock_gettime(CLOCK_MONOTONIC, &after);
	int64_t took_ns =
		(after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
	assert_true(took_ns < 100000000);
	assert_int_equal(test_ring_ledger(&fixture->ring, 0, LEDGER_RECORD_RING_FULL).count, 1);
}

static void exhausted_pool_gives_a_discard_buffer_and_counts(void **state)
{
	struct fixture *fixture = *state;
	uint8_t *buffer;
	size_t size, max_records;
	struct gpu_record record;

	for (uint32_t i = 1; i < BUFFER_POOL_MAX; i++) {
		activity_buffers_request(&buffer, &size, &max_records);
		assert_int_equal(size, BUFFER_POOL_BYTES);
	}
	activity_buffers_request(&buffer, &size, &max_records);
	assert_non_null(buffer);
	assert_true(size < BUFFER_POOL_BYTES && size >= 4096);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_BUFFER_EXHAUSTED).count,
		1);
	activity_buffers_complete(NULL, 0, buffer, size, 208);
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 0);
}

static uint32_t nr_crowds;

static void note_crowd(void)
{
	nr_crowds++;
}

static void many_buffers_out_ask_for_a_flush_now_and_then(void **state)
{
	uint8_t *buffer;
	size_t size, max_records;

	(void)state;
	nr_crowds = 0;
	activity_buffers_on_crowd(note_crowd);
	for (uint32_t i = 1; i < BUFFER_POOL_MAX; i++)
		activity_buffers_request(&buffer, &size, &max_records);
	assert_int_equal(nr_crowds, BUFFER_POOL_MAX * 3 / 4 / 64);
}

static void verdict_of_each_time_is_as_documented(void **state)
{
	_Alignas(8) uint8_t kernel[216] = {0};
	struct gpu_record record;
	const char *name;
	const struct {
		uint64_t start_ns, end_ns;
		enum activity_verdict verdict;
	} cases[] = {
		{1, 1, ACTIVITY_VALID},        {1, 2, ACTIVITY_VALID},
		{0, 0, ACTIVITY_INVALID_TIME}, {2, 1, ACTIVITY_INVALID_TIME},
		{0, 1, ACTIVITY_INVALID_TIME}, {1, 0, ACTIVITY_STILL_RUNNING},
	};

	(void)state;
	put32(kernel, 0, CUPTI_ABI_KIND_KERNEL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put64(kernel, CUPTI_KERNEL_START, cases[i].start_ns);
		put64(kernel, CUPTI_KERNEL_END, cases[i].end_ns);
		assert_int_equal(activity_record_read(kernel, 130001, &record, &name),
				 cases[i].verdict);
	}
	put32(kernel, 0, 999);
	assert_int_equal(activity_record_read(kernel, 130001, &record, &name), ACTIVITY_UNKNOWN);
	assert_null(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kernel_of_every_version_is_converted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(copies_and_fills_of_every_version_are_converted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(allocations_of_every_version_are_converted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_neither_allocated_nor_freed_is_unknown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(name_is_defined_before_a_record_has_its_id, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(invalid_times_are_counted_and_not_passed_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			kernel_of_after_the_window_that_still_runs_is_not_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kernel_of_nccls_without_times_has_ended, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(unknown_kind_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nameless_kernel_is_passed_on_and_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(records_that_find_no_room_are_counted_by_device,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_lane_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(exhausted_pool_gives_a_discard_buffer_and_counts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_buffers_out_ask_for_a_flush_now_and_then,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(launching_thread_never_waits_for_room, set_up,
						tear_down),
		cmocka_unit_test(verdict_of_each_time_is_as_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
