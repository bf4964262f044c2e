/* What the guest records on request: CUPTI's records of waits, overhead and unified memory; loads of code. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/capture/activity_buffers.h"
#include "inject/capture/guest_sizes.h"
#include "inject/cupti/activity_record.h"
#include "inject/cupti/buffer_pool.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/module_load.h"
#include "inject/cupti/name_table.h"
#include "inject/cupti/unified_memory.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_thread.h"
#include "proto/options/record_options.h"
#include "tests/inject/test_ring.h"

#define RECORD_BYTES                                                                               \
	104u /* of each record here; the largest of the three is that of unified memory */

static int next_record(uint8_t *buffer, size_t valid_size, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;

	if (next >= buffer + valid_size)
		return 12; /* MAX_LIMIT_REACHED */
	*record = next;
	return 0;
}

static struct cupti_library library = {.version = 130001, .activity_get_next_record = next_record};

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
	context_devices_clear();
	test_ring_init(&fixture->ring);
	fixture->definitions = DEFINITION_WRITER_INIT(fixture->ring.guest);
	assert_int_equal(activity_buffers_init(fixture->ring.guest, &fixture->definitions, &library,
					       NULL, 3, &sizes),
			 0);
	activity_buffers_request(&fixture->buffer, &fixture->size, &max_records);
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

	fixture->used += RECORD_BYTES;
	put32(record, 0, kind);
	return record;
}

static void add_wait(struct fixture *fixture, uint32_t type, uint32_t context_id, uint64_t end_ns)
{
	uint8_t *record = add(fixture, CUPTI_ABI_KIND_SYNC);

	put32(record, CUPTI_SYNC_TYPE, type);
	put64(record, CUPTI_SYNC_START, 1000);
	put64(record, CUPTI_SYNC_END, end_ns);
	put32(record, CUPTI_SYNC_CORRELATION, 77);
	put32(record, CUPTI_SYNC_CONTEXT, context_id);
	put32(record, CUPTI_SYNC_STREAM, type == 4 ? CUPTI_ABI_SYNC_INVALID : 13);
}

static uint32_t complete(struct fixture *fixture, struct gpu_record *records, uint32_t max)
{
	activity_buffers_complete(NULL, 0, fixture->buffer, fixture->size, fixture->used);
	return test_ring_activity(&fixture->ring, records, max);
}

static uint64_t count(struct fixture *fixture, uint32_t device_id, enum ledger_reason reason)
{
	return test_ring_ledger(&fixture->ring, device_id, reason).count;
}

static void a_wait_has_the_device_of_its_context(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	context_devices_put(5, 2);
	add_wait(fixture, 3, 5, 1500);
	add_wait(fixture, 4, 5, 1600);
	assert_int_equal(complete(fixture, records, 4), 2);
	assert_int_equal(records[0].kind, RECORD_GPU_SYNC);
	assert_int_equal(records[0].copy_kind, 3);
	assert_int_equal(records[0].start_ns, 1000);
	assert_int_equal(records[0].end_ns, 1500);
	assert_int_equal(records[0].correlation_id, 77);
	assert_int_equal(records[0].context_id, 5);
	assert_int_equal(records[0].stream_id, 13);
	assert_int_equal(records[0].device_id, 2);
	assert_int_equal(records[0].window, 3);
	assert_int_equal(records[0].name_id, RECORD_NAME_NONE);
	assert_int_equal(records[1].stream_id, 0);
	assert_int_equal(count(fixture, 2, LEDGER_RECORDS), 2);
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_NO_DEVICE), 0);
}

static void a_wait_on_an_unknown_context_is_kept_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	add_wait(fixture, 1, 6, 1500);
	assert_int_equal(complete(fixture, records, 4), 1);
	assert_int_equal(records[0].device_id, RECORD_DEVICE_NONE);
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_NO_DEVICE), 1);
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_RECORDS), 1);
}

static void work_tells_the_device_of_its_context(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];
	uint8_t *memset_record = add(fixture, CUPTI_ABI_KIND_MEMSET);

	put64(memset_record, CUPTI_MEMORY_START, 10);
	put64(memset_record, CUPTI_MEMORY_END, 20);
	put32(memset_record, CUPTI_MEMORY_DEVICE, 4);
	put32(memset_record, CUPTI_MEMORY_CONTEXT, 9);
	add_wait(fixture, 4, 9, 1500);
	assert_int_equal(complete(fixture, records, 4), 2);
	assert_int_equal(records[1].device_id, 4);
}

static void times_that_cannot_be_count_as_those_of_work_do(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];

	context_devices_put(5, 2);
	add_wait(fixture, 4, 5, 999);
	add_wait(fixture, 4, 5, 0);
	assert_int_equal(complete(fixture, records, 4), 0);
	assert_int_equal(count(fixture, 2, LEDGER_RECORDS), 2);
	assert_int_equal(count(fixture, 2, LEDGER_INVALID_TIME), 1);
	assert_int_equal(count(fixture, 2, LEDGER_STILL_RUNNING), 1);
}

static uint8_t *add_overhead(struct fixture *fixture, uint32_t kind, uint32_t object)
{
	uint8_t *record = add(fixture, CUPTI_ABI_KIND_OVERHEAD);

	put32(record, CUPTI_OVERHEAD_KIND, kind);
	put32(record, CUPTI_OVERHEAD_OBJECT_KIND, object);
	put32(record, CUPTI_OVERHEAD_DEVICE, 1);
	put32(record, CUPTI_OVERHEAD_CONTEXT, 2);
	put32(record, CUPTI_OVERHEAD_STREAM, 3);
	put64(record, CUPTI_OVERHEAD_START, 100);
	put64(record, CUPTI_OVERHEAD_END, 300);
	put32(record, CUPTI_OVERHEAD_CORRELATION, 55);
	put64(record, CUPTI_OVERHEAD_DATA, 0);
	return record;
}

static void overhead_is_of_what_its_object_says(void **state)
{
	static const struct {
		uint32_t kind, object;
		uint8_t copy_kind;
		uint32_t device_id, context_id, stream_id;
	} cases[] = {
		{1, 1, 1, RECORD_DEVICE_NONE, 0, 0},
		{1 << 16, 2, RECORD_OVERHEAD_CUPTI + 1, RECORD_DEVICE_NONE, 0, 0},
		{5 << 16, 3, RECORD_OVERHEAD_CUPTI + 5, 1, 0, 0},
		{8 << 16, 4, RECORD_OVERHEAD_CUPTI + 8, 1, 2, 0},
		{3 << 16, 5, RECORD_OVERHEAD_CUPTI + 3, 1, 2, 3},
	};
	struct fixture *fixture = *state;
	struct gpu_record records[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		add_overhead(fixture, cases[i].kind, cases[i].object);
	assert_int_equal(complete(fixture, records, 8), sizeof(cases) / sizeof(cases[0]));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(records[i].kind, RECORD_GPU_OVERHEAD);
		assert_int_equal(records[i].copy_kind, cases[i].copy_kind);
		assert_int_equal(records[i].device_id, cases[i].device_id);
		assert_int_equal(records[i].context_id, cases[i].context_id);
		assert_int_equal(records[i].stream_id, cases[i].stream_id);
		assert_int_equal(records[i].correlation_id, 55);
		assert_int_equal(records[i].end_ns - records[i].start_ns, 200);
	}
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_NO_DEVICE), 0);
}

static void overhead_of_an_old_cupti_has_no_correlation_id(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t *record = add_overhead(fixture, 1, 1);
	struct gpu_record read;
	const char *name;

	assert_int_equal(activity_record_read(record, CUPTI_ABI_VERSION_12_2, &read, &name),
			 ACTIVITY_VALID);
	assert_int_equal(read.correlation_id, 55);
	assert_int_equal(activity_record_read(record, CUPTI_ABI_VERSION_12_2 - 1, &read, &name),
			 ACTIVITY_VALID);
	assert_int_equal(read.correlation_id, 0);
}

/* A leak, or a second free, is the sanitizers' to find. */
static void further_data_of_overhead_is_freed(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[4];
	uint8_t *record = add_overhead(fixture, CUPTI_ABI_OVERHEAD_COMMAND_BUFFER_FULL, 1);

	put64(record, CUPTI_OVERHEAD_DATA, (uintptr_t)malloc(16));
	/* No such data in that of another kind: */
	record = add_overhead(fixture, 5 << 16, 1);
	put64(record, CUPTI_OVERHEAD_DATA, 0xdead);
	assert_int_equal(complete(fixture, records, 4), 2);
}

static void unified_memory_keeps_device_bytes_and_address(void **state)
{
	enum { HOST = 0xffffffffu, SIZE = 65536 };
	static const struct {
		uint32_t kind, source, destination, device_id;
		uint64_t end_ns, bytes;
	} cases[] = {
		{CUPTI_ABI_UNIFIED_HTOD, HOST, 2, 2, 300, SIZE},
		{CUPTI_ABI_UNIFIED_DTOH, 3, HOST, 3, 300, SIZE},
		{CUPTI_ABI_UNIFIED_DTOD, 3, 1, 1, 300, SIZE},
		{CUPTI_ABI_UNIFIED_GPU_FAULT, 2, 9, 2, 300, 0},
		{CUPTI_ABI_UNIFIED_CPU_FAULT, 2, 2, HOST, 100, 0},
		{CUPTI_ABI_UNIFIED_THROTTLING, 1, 9, 1, 300, 0},
		{CUPTI_ABI_UNIFIED_THRASHING, 3, 3, HOST, 100, SIZE},
		{CUPTI_ABI_UNIFIED_REMOTE_MAP, 1, 2, 2, 100, SIZE},
	};
	struct fixture *fixture = *state;
	struct gpu_record records[8];

	for (size_t i = 0; i < 8; i++) {
		uint8_t *record = add(fixture, CUPTI_ABI_KIND_UNIFIED);

		put32(record, CUPTI_UNIFIED_KIND, cases[i].kind);
		put64(record, CUPTI_UNIFIED_VALUE, SIZE);
		put64(record, CUPTI_UNIFIED_START, 100);
		/* What is a moment has no end that means anything. */
		put64(record, CUPTI_UNIFIED_END, cases[i].end_ns == 100 ? 7 : 300);
		put64(record, CUPTI_UNIFIED_ADDRESS, 0x7f0000000000);
		put32(record, CUPTI_UNIFIED_SOURCE, cases[i].source);
		put32(record, CUPTI_UNIFIED_DESTINATION, cases[i].destination);
	}
	assert_int_equal(complete(fixture, records, 8), 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(records[i].kind, RECORD_GPU_UNIFIED);
		assert_int_equal(records[i].copy_kind, cases[i].kind);
		assert_int_equal(records[i].device_id, cases[i].device_id);
		assert_int_equal(records[i].start_ns, 100);
		assert_int_equal(records[i].end_ns, cases[i].end_ns);
		assert_int_equal(records[i].bytes, cases[i].bytes);
		assert_int_equal(records[i].address, 0x7f0000000000);
		assert_int_equal(records[i].correlation_id, 0);
		assert_int_equal(records[i].capture_stack_id, RECORD_STACK_NONE);
	}
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_NO_DEVICE), 0);
	assert_int_equal(count(fixture, LEDGER_DEVICE_NONE, LEDGER_CAPTURE_UNKNOWN), 0);
}

static void a_record_of_the_guests_own_is_as_if_cupti_had_delivered_it(void **state)
{
	const struct gpu_record load = {.start_ns = 10,
					.end_ns = 30,
					.correlation_id = 8,
					.device_id = 1,
					.context_id = 2,
					.kind = RECORD_GPU_MODULE};
	struct fixture *fixture = *state;
	struct gpu_record record;

	activity_buffers_put(&load, "cuModuleLoadData");
	assert_int_equal(test_ring_activity(&fixture->ring, &record, 1), 1);
	assert_int_equal(record.kind, RECORD_GPU_MODULE);
	assert_int_equal(record.end_ns, 30);
	assert_int_equal(record.name_id, 1);
	assert_int_equal(record.window, 3);
	assert_int_equal(count(fixture, 1, LEDGER_RECORDS), 1);
}

static void contexts_keep_their_devices_up_to_as_many_as_fit(void **state)
{
	(void)state;
	context_devices_clear();
	assert_int_equal(context_devices_get(1), RECORD_DEVICE_NONE);
	for (uint32_t i = 0; i < CONTEXT_DEVICES_MAX; i++)
		context_devices_put(1 + i * 3, i % RECORD_DEVICES_MAX);
	context_devices_put(1, 7);      /* never another device */
	context_devices_put(999999, 1); /* no room */
	for (uint32_t i = 0; i < CONTEXT_DEVICES_MAX; i++)
		assert_int_equal(context_devices_get(1 + i * 3), i % RECORD_DEVICES_MAX);
	assert_int_equal(context_devices_get(999999), RECORD_DEVICE_NONE);
	context_devices_clear();
	context_devices_put(1, RECORD_DEVICES_MAX);
	assert_int_equal(context_devices_get(1), RECORD_DEVICE_NONE);
}

static void loads_are_taken_in_order_and_refused_beyond_the_queue(void **state)
{
	struct module_load load = {0};

	(void)state;
	assert_false(module_load_take(&load));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MODULE_LOAD_QUEUE; i++)
			assert_true(module_load_put(&(struct module_load){.correlation_id = i}));
		assert_false(module_load_put(&load));
		for (uint32_t i = 0; i < MODULE_LOAD_QUEUE; i++) {
			assert_true(module_load_take(&load));
			assert_int_equal(load.correlation_id, i);
		}
		assert_false(module_load_take(&load));
	}
}

#define PUTTERS     4u
#define PUTS_EACH   20000u
#define PUTTER_BITS 24u

static void *put_many(void *user)
{
	uint32_t putter = *(const uint32_t *)user;

	for (uint32_t i = 0; i < PUTS_EACH;) {
		const struct module_load load = {.correlation_id = putter << PUTTER_BITS | i,
						 .begin_ns = i};

		i += module_load_put(&load);
	}
	return NULL;
}

static void threads_put_loads_at_once_and_none_is_lost(void **state)
{
	uint32_t numbers[PUTTERS], next[PUTTERS] = {0};
	pthread_t threads[PUTTERS];
	struct module_load load;

	(void)state;
	for (uint32_t i = 0; i < PUTTERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, &numbers[i]), 0);
	}
	for (uint32_t taken = 0; taken < PUTTERS * PUTS_EACH;) {
		if (!module_load_take(&load))
			continue;
		uint32_t putter = load.correlation_id >> PUTTER_BITS;

		assert_in_range(putter, 0, PUTTERS - 1);
		assert_int_equal(load.correlation_id & ((1u << PUTTER_BITS) - 1), next[putter]);
		assert_int_equal(load.begin_ns, next[putter]);
		next[putter]++;
		taken++;
	}
	for (uint32_t i = 0; i < PUTTERS; i++)
		pthread_join(threads[i], NULL);
	assert_false(module_load_take(&load));
}

/* Calls without GPU work: what they wait for or load, and that they are no launches. */
static void calls_without_gpu_work_have_their_flags(void **state)
{
	(void)state;
	assert_int_equal(launch_cbid_flags(17), RECORD_LAUNCH_HOST);
	assert_int_equal(launch_cbid_flags(440), RECORD_LAUNCH_HOST);
	assert_int_equal(launch_cbid_flags(678), RECORD_LAUNCH_HOST | RECORD_LAUNCH_MANY);
	assert_int_equal(launch_cbid_find(19)->option, RECORD_OPTION_MODULES);
	assert_int_equal(launch_cbid_find(126)->option, RECORD_OPTION_SYNC);
	assert_int_equal(launch_cbid_find(307)->option, 0);
	assert_null(launch_cbid_find(16));
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++)
		assert_int_equal((launch_cbids[i].flags & RECORD_LAUNCH_HOST) != 0,
				 launch_cbids[i].option != 0);
}

static struct {
	uint32_t known_kinds, scope, nr_configured, enabled;
} unified;

static int configure(struct cupti_unified_config *configs, uint32_t count_)
{
	for (uint32_t i = 0; i < count_; i++) {
		assert_int_equal(configs[i].enable, 1);
		if (configs[i].kind > unified.known_kinds ||
		    (unified.scope && configs[i].scope != unified.scope))
			return 1;
	}
	unified.nr_configured = count_;
	return 0;
}

static int enable(uint32_t kind)
{
	unified.enabled = kind;
	return 0;
}

static void unified_memory_takes_what_this_cupti_knows(void **state)
{
	static const struct {
		uint32_t known, scope, configured, enabled;
		int result;
	} cases[] = {{8, 0, 8, CUPTI_ABI_KIND_UNIFIED, 0}, {7, 0, 4, CUPTI_ABI_KIND_UNIFIED, 0},
		     {4, 0, 4, CUPTI_ABI_KIND_UNIFIED, 0}, {8, 1, 8, CUPTI_ABI_KIND_UNIFIED, 0},
		     {4, 1, 4, CUPTI_ABI_KIND_UNIFIED, 0}, {3, 0, 0, 0, 1}};
	struct cupti_library knowing = {.activity_enable = enable};

	(void)state;
	assert_int_not_equal(unified_memory_start(&knowing), CUPTI_ABI_SUCCESS);
	knowing.configure_unified_memory = configure;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unified.known_kinds = cases[i].known;
		unified.scope = cases[i].scope;
		unified.nr_configured = unified.enabled = 0;
		assert_int_equal(unified_memory_start(&knowing), cases[i].result);
		assert_int_equal(unified.nr_configured, cases[i].configured);
		assert_int_equal(unified.enabled, cases[i].enabled);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_has_the_device_of_its_context),
		TEST(a_wait_on_an_unknown_context_is_kept_and_counted),
		TEST(work_tells_the_device_of_its_context),
		TEST(times_that_cannot_be_count_as_those_of_work_do),
		TEST(overhead_is_of_what_its_object_says),
		TEST(overhead_of_an_old_cupti_has_no_correlation_id),
		TEST(further_data_of_overhead_is_freed),
		TEST(unified_memory_keeps_device_bytes_and_address),
		TEST(a_record_of_the_guests_own_is_as_if_cupti_had_delivered_it),
		cmocka_unit_test(contexts_keep_their_devices_up_to_as_many_as_fit),
		cmocka_unit_test(loads_are_taken_in_order_and_refused_beyond_the_queue),
		cmocka_unit_test(threads_put_loads_at_once_and_none_is_lost),
		cmocka_unit_test(calls_without_gpu_work_have_their_flags),
		cmocka_unit_test(unified_memory_takes_what_this_cupti_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
