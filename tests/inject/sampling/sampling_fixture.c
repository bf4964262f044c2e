#include "sampling_fixture.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "inject/sampling/kernel_sampler.h"
#include "sampling_stub.h"

struct sampling_fixture sampling_fixture;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
struct device_query_speed __wrap_device_query_speed(uint32_t ordinal);
void __wrap_cupti_host_part_map(const void *function);

/* It maps nothing. */
void __wrap_cupti_host_part_map(const void *function)
{
	sampling_fixture.mapped = function;
	sampling_fixture.nr_enabled_when_mapped = sampling_stub.contexts[0].nr_enabled;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = __real_clock_gettime(clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec -= sampling_fixture.real_time_is_over ? 10 : 0;
	else
		now->tv_sec += sampling_fixture.later_s;
	return result;
}

struct device_query_speed __wrap_device_query_speed(uint32_t ordinal)
{
	(void)ordinal;
	return sampling_fixture.speed;
}

int sampling_fixture_set_up(void **state)
{
	(void)state;
	memset(&sampling_fixture, 0, offsetof(struct sampling_fixture, later_s));
	sampling_stub_reset();
	sampling_fixture.library = sampling_stub_library();
	test_ring_init(&sampling_fixture.ring);
	sampling_fixture.writer = DEFINITION_WRITER_INIT(sampling_fixture.ring.guest);
	sampling_fixture.speed = (struct device_query_speed){1980000, 9};
	sampling_fixture.real_time_is_over = false;
	kernel_sampler_init(&sampling_fixture.library, &sampling_fixture.writer);
	return 0;
}

int sampling_fixture_tear_down(void **state)
{
	(void)state;
	kernel_sampler_leave(true);
	test_ring_fini(&sampling_fixture.ring);
	return 0;
}

static void take_samples(const uint8_t *body, uint32_t size, uint32_t head_size)
{
	struct definition_exact_samples exact = {0};
	struct definition_kernel_sample entry;
	const uint8_t *at = body + head_size;

	memcpy(&exact, body, head_size);
	const struct definition_kernel_samples head = exact.samples;
	assert_true(head.time_ns > 0 && head.nr_entries > 0);
	assert_true(head.nr_entries * sizeof(entry) <= size - head_size);
	sampling_fixture.nr_definitions++;
	for (uint32_t i = 0; i < head.nr_entries; i++, at += sizeof(entry)) {
		struct sampling_passed *to = &sampling_fixture.entries[sampling_fixture.nr];
		uint32_t name_at = (uint32_t)(head_size + head.nr_entries * sizeof(entry));

		memcpy(&entry, at, sizeof(entry));
		assert_true(sampling_fixture.nr < SAMPLING_PASSED_MAX && entry.count > 0 &&
			    entry.reason < 64);
		*to = (struct sampling_passed){
			.device_id = head.device_id,
			.stack_id = exact.stack_id,
			.cbid = exact.cbid,
			.crc = head.cubin_crc,
			.offset = entry.offset,
			.count = entry.count,
			.reason = sampling_fixture.reasons[entry.reason],
			.kernel = sampling_fixture.kernels[sampling_fixture.nr],
			.kernel_size = size - name_at};
		snprintf(sampling_fixture.kernels[sampling_fixture.nr],
			 sizeof(sampling_fixture.kernels[0]), "%.*s", (int)to->kernel_size,
			 (const char *)body + name_at);
		sampling_fixture.samples += entry.count;
		sampling_fixture.nr++;
	}
}

static void take_reason(const uint8_t *body, uint32_t size)
{
	struct definition_stall_reason head;

	memcpy(&head, body, sizeof(head));
	assert_true(head.index < 64 && size > sizeof(head));
	assert_string_equal(sampling_fixture.reasons[head.index], "");
	snprintf(sampling_fixture.reasons[head.index], sizeof(sampling_fixture.reasons[0]), "%.*s",
		 (int)(size - sizeof(head)), (const char *)body + sizeof(head));
	sampling_fixture.nr_reasons++;
}

void sampling_fixture_read(void)
{
	static uint8_t body[DEFINITION_SIZE_MAX];
	uint32_t type;

	for (int size; (size = test_ring_definition(&sampling_fixture.ring, &type, body,
						    sizeof(body))) >= 0;) {
		if (type == DEFINITION_KERNEL_SAMPLES)
			take_samples(body, (uint32_t)size,
				     sizeof(struct definition_kernel_samples));
		if (type == DEFINITION_EXACT_SAMPLES)
			take_samples(body, (uint32_t)size, sizeof(struct definition_exact_samples));
		if (type == DEFINITION_STALL_REASON)
			take_reason(body, (uint32_t)size);
		if (type != DEFINITION_NOTICE)
			continue;
		assert_int_equal(((struct definition_notice *)(void *)body)->code,
				 NOTICE_NO_KERNEL_SAMPLES);
		sampling_fixture.nr_notices++;
		snprintf(sampling_fixture.notice, sizeof(sampling_fixture.notice), "%.*s",
			 size - (int)sizeof(struct definition_notice),
			 (const char *)body + sizeof(struct definition_notice));
	}
	test_ring_release(&sampling_fixture.ring);
}

uint64_t sampling_fixture_counted(enum ledger_reason reason)
{
	uint64_t sum = 0;

	for (uint32_t device = 0; device < RECORD_DEVICES_MAX; device++)
		sum += test_ring_ledger(&sampling_fixture.ring, device, reason).count;
	return sum;
}

void sampling_fixture_ledger(uint64_t all, uint64_t other, uint64_t lost)
{
	sampling_fixture_read();
	assert_int_equal(sampling_fixture_counted(LEDGER_KERNEL_SAMPLES), all);
	assert_int_equal(sampling_fixture_counted(LEDGER_KERNEL_SAMPLE_OTHER), other);
	assert_int_equal(sampling_fixture_counted(LEDGER_KERNEL_SAMPLE_LOST), lost);
	assert_int_equal(sampling_fixture.samples, all - other - lost);
}

void sampling_fixture_step(void)
{
	sampling_fixture.later_s += 2;
	kernel_sampler_step();
}

void sampling_fixture_begin(uint32_t nr)
{
	kernel_sampler_context(STUB_CONTEXT(nr), nr % 64);
	sampling_fixture_step();
	assert_true(sampling_stub.contexts[nr].on);
}

void sampling_fixture_entry(uint32_t at, uint32_t device_id, uint64_t crc, const char *kernel,
			    uint32_t offset, const char *reason, uint32_t count)
{
	const struct sampling_passed *entry = &sampling_fixture.entries[at];

	assert_true(at < sampling_fixture.nr);
	assert_int_equal(entry->device_id, device_id);
	assert_int_equal(entry->crc, crc);
	assert_string_equal(entry->kernel, kernel);
	assert_int_equal(entry->offset, offset);
	assert_string_equal(entry->reason, reason);
	assert_int_equal(entry->count, count);
}
