#include "inject/sampling/kernel_sampler.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/device_query.h"
#include "inject/sampling/sampling_session.h"
#include "sampling_stub.h"
#include "tests/inject/test_ring.h"

#define PASSED_MAX 65536u

/* An entry as it came out of the ring. */
struct passed {
	uint32_t device_id, offset, count;
	uint64_t crc;
	const char *reason;
	const char *kernel; /* the first 16 bytes; borrowed until the ring is read again */
	uint32_t kernel_size;
};

static struct test_ring ring;
static struct definition_writer writer;
static struct cupti_library library;
static struct device_query_speed speed;
static _Atomic time_t later_s;
static atomic_bool real_time_is_over;

static struct {
	struct passed entries[PASSED_MAX];
	uint32_t nr, nr_definitions, nr_reasons, nr_notices;
	char reasons[64][32], kernels[PASSED_MAX][16], notice[512];
	uint64_t samples;
} passed;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
struct device_query_speed __wrap_device_query_speed(uint32_t ordinal);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = __real_clock_gettime(clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec -= real_time_is_over ? 10 : 0;
	else
		now->tv_sec += later_s;
	return result;
}

struct device_query_speed __wrap_device_query_speed(uint32_t ordinal)
{
	(void)ordinal;
	return speed;
}

static int set_up(void **state)
{
	(void)state;
	sampling_stub_reset();
	library = sampling_stub_library();
	test_ring_init(&ring);
	writer = DEFINITION_WRITER_INIT(ring.guest);
	memset(&passed, 0, sizeof(passed));
	speed = (struct device_query_speed){132, 1980000, 9};
	real_time_is_over = false;
	kernel_sampler_init(&library, &writer);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kernel_sampler_leave(true);
	test_ring_fini(&ring);
	return 0;
}

static void take_samples(const uint8_t *body, uint32_t size)
{
	struct definition_kernel_samples head;
	struct definition_kernel_sample entry;
	const uint8_t *at = body + sizeof(head);

	memcpy(&head, body, sizeof(head));
	assert_true(head.time_ns > 0 && head.nr_entries > 0);
	assert_true(head.nr_entries * sizeof(entry) <= size - sizeof(head));
	passed.nr_definitions++;
	for (uint32_t i = 0; i < head.nr_entries; i++, at += sizeof(entry)) {
		struct passed *to = &passed.entries[passed.nr];
		uint32_t name_at = (uint32_t)(sizeof(head) + head.nr_entries * sizeof(entry));

		memcpy(&entry, at, sizeof(entry));
		assert_true(passed.nr < PASSED_MAX && entry.count > 0 && entry.reason < 64);
		*to = (struct passed){.device_id = head.device_id,
				      .crc = head.cubin_crc,
				      .offset = entry.offset,
				      .count = entry.count,
				      .reason = passed.reasons[entry.reason],
				      .kernel = passed.kernels[passed.nr],
				      .kernel_size = size - name_at};
		snprintf(passed.kernels[passed.nr], sizeof(passed.kernels[0]), "%.*s",
			 (int)to->kernel_size, (const char *)body + name_at);
		passed.samples += entry.count;
		passed.nr++;
	}
}

static void take_reason(const uint8_t *body, uint32_t size)
{
	struct definition_stall_reason head;

	memcpy(&head, body, sizeof(head));
	assert_true(head.index < 64 && size > sizeof(head));
	assert_string_equal(passed.reasons[head.index], "");
	snprintf(passed.reasons[head.index], sizeof(passed.reasons[0]), "%.*s",
		 (int)(size - sizeof(head)), (const char *)body + sizeof(head));
	passed.nr_reasons++;
}

/* Reads what was passed on, and gives the ring its room back. */
static void read_ring(void)
{
	static uint8_t body[DEFINITION_SIZE_MAX];
	uint32_t type;

	for (int size; (size = test_ring_definition(&ring, &type, body, sizeof(body))) >= 0;) {
		if (type == DEFINITION_KERNEL_SAMPLES)
			take_samples(body, (uint32_t)size);
		if (type == DEFINITION_STALL_REASON)
			take_reason(body, (uint32_t)size);
		if (type != DEFINITION_NOTICE)
			continue;
		assert_int_equal(((struct definition_notice *)(void *)body)->code,
				 NOTICE_NO_KERNEL_SAMPLES);
		passed.nr_notices++;
		snprintf(passed.notice, sizeof(passed.notice), "%.*s",
			 size - (int)sizeof(struct definition_notice),
			 (const char *)body + sizeof(struct definition_notice));
	}
	test_ring_release(&ring);
}

static uint64_t counted(enum ledger_reason reason)
{
	uint64_t sum = 0;

	for (uint32_t device = 0; device < RECORD_DEVICES_MAX; device++)
		sum += test_ring_ledger(&ring, device, reason).count;
	return sum;
}

/* The first of these is the sum of the others and of what was passed on. */
static void assert_ledger(uint64_t all, uint64_t other, uint64_t lost)
{
	read_ring();
	assert_int_equal(counted(LEDGER_KERNEL_SAMPLES), all);
	assert_int_equal(counted(LEDGER_KERNEL_SAMPLE_OTHER), other);
	assert_int_equal(counted(LEDGER_KERNEL_SAMPLE_LOST), lost);
	assert_int_equal(passed.samples, all - other - lost);
}

/* The next step takes a look. */
static void step(void)
{
	later_s++;
	kernel_sampler_step();
}

static void begin(uint32_t nr)
{
	kernel_sampler_context(STUB_CONTEXT(nr), nr % 64);
	step();
	assert_true(sampling_stub.contexts[nr].on);
}

static void assert_entry(uint32_t at, uint32_t device_id, uint64_t crc, const char *kernel,
			 uint32_t offset, const char *reason, uint32_t count)
{
	const struct passed *entry = &passed.entries[at];

	assert_true(at < passed.nr);
	assert_int_equal(entry->device_id, device_id);
	assert_int_equal(entry->crc, crc);
	assert_string_equal(entry->kernel, kernel);
	assert_int_equal(entry->offset, offset);
	assert_string_equal(entry->reason, reason);
	assert_int_equal(entry->count, count);
}

/* ---- what is passed on */

static void entries_are_those_of_cupti_kernel_by_kernel(void **state)
{
	struct stub_instruction waiting[] = {
		{7, 0x10, 1, "a", {5, 0, 2}}, {7, 0x20, 2, "b", {0, 3, 0}},
		{7, 0x30, 1, "a", {0, 0, 1}}, {8, 0x10, 1, "a", {4, 0, 0}},
		{7, 0x40, 3, "a", {6, 0, 0}}, /* another function of the same name */
		{7, 0x50, 1, "a", {0, 0, 0}},
	};

	(void)state;
	begin(2);
	sampling_stub_wait(2, waiting, 6);
	sampling_stub.contexts[2].other = 100;
	sampling_stub.contexts[2].dropped = 10;
	step();
	assert_ledger(131, 100, 10);
	assert_int_equal(passed.nr_definitions, 4);
	assert_int_equal(passed.nr, 6);
	assert_entry(0, 2, 7, "a", 0x10, "long_scoreboard", 5);
	assert_entry(1, 2, 7, "a", 0x10, "barrier", 2);
	assert_entry(2, 2, 7, "a", 0x30, "barrier", 1);
	assert_entry(3, 2, 7, "b", 0x20, "selected", 3);
	assert_entry(4, 2, 8, "a", 0x10, "long_scoreboard", 4);
	assert_entry(5, 2, 7, "a", 0x40, "long_scoreboard", 6);
	assert_int_equal(passed.nr_reasons, 3);
	assert_int_equal(sampling_stub.contexts[2].nr_enabled, 1);
}

static void looks_go_on_until_nothing_remains(void **state)
{
	static struct stub_instruction waiting[5000];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, i % 7, "k", {1 + i % 3, 0, 0}};
	begin(0);
	sampling_stub_wait(0, waiting, 5000);
	step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 3);
	assert_ledger(9999, 0, 0);
	assert_int_equal(passed.nr, 5000);
	/* each instruction once */
	static uint8_t seen[5000];
	for (uint32_t i = 0; i < passed.nr; i++) {
		assert_int_equal(seen[passed.entries[i].offset / 16]++, 0);
		assert_int_equal(passed.entries[i].count, 1 + passed.entries[i].offset / 16 % 3);
	}
}

static void a_kernel_with_many_entries_needs_several_definitions(void **state)
{
	static struct stub_instruction waiting[2048];

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 2, 3}};
	begin(0);
	sampling_stub_wait(0, waiting, 2048);
	step();
	assert_ledger(2048 * 6, 0, 0);
	assert_int_equal(passed.nr_definitions, 2);
	assert_int_equal(passed.nr, 3 * 2048);
	for (uint32_t i = 0; i < passed.nr; i++) {
		assert_int_equal(passed.entries[i].offset, 16 * (i / 3));
		assert_int_equal(passed.entries[i].count, 1 + i % 3);
		assert_int_equal(passed.entries[i].kernel_size, 1);
	}
}

static void names_are_cut_and_may_be_missing(void **state)
{
	static char longest[RECORD_NAME_MAX + 1], longer[RECORD_NAME_MAX + 100];
	static struct stub_instruction waiting[2048];

	(void)state;
	memset(longest, 'l', RECORD_NAME_MAX);
	memset(longer, 'm', sizeof(longer) - 1);
	begin(0);
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, longest, {1, 1, 1}};
	sampling_stub_wait(0, waiting, 2048);
	step();
	waiting[0] = (struct stub_instruction){1, 0, 1, longer, {1, 0, 0}};
	waiting[1] = (struct stub_instruction){1, 0, 1, NULL, {1, 0, 0}};
	waiting[2] = (struct stub_instruction){1, 16, 1, NULL, {1, 0, 0}};
	waiting[3] = (struct stub_instruction){1, 16, 1, "", {1, 0, 0}};
	sampling_stub_wait(0, waiting, 4);
	step();
	assert_ledger(3 * 2048 + 4, 0, 0);
	assert_int_equal(passed.nr_definitions, 2 + 3);
	for (uint32_t i = 0; i < 3 * 2048; i++)
		assert_int_equal(passed.entries[i].kernel_size, RECORD_NAME_MAX);
	assert_int_equal(passed.entries[3 * 2048].kernel_size, RECORD_NAME_MAX);
	assert_string_equal(passed.entries[3 * 2048].kernel, "mmmmmmmmmmmmmmm");
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(passed.entries[3 * 2048 + i].kernel_size, 0);
}

static void totals_of_cupti_need_not_be_those_of_its_parts(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = 5;
	sampling_stub.contexts[0].other = 3;
	step();
	assert_ledger(18, 3, 5);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = -7;
	sampling_stub.contexts[0].dropped = 2;
	step();
	assert_ledger(18 + 12, 3, 7);
}

static void looks_are_half_a_second_apart(void **state)
{
	(void)state;
	begin(0);
	for (int i = 0; i < 20; i++)
		kernel_sampler_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 0);
	step();
	kernel_sampler_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 1);
}

static void the_end_passes_on_what_was_left(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].other = 4;
	kernel_sampler_end(false);
	kernel_sampler_end(false);
	assert_ledger(14, 4, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	/* the next window */
	step();
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 2);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_end(true);
	assert_ledger(24, 4, 0);
	assert_int_equal(passed.nr_reasons, 3);
}

static void periods_fit_the_gpu(void **state)
{
	(void)state;
	begin(0);
	assert_int_equal(sampling_stub.period, 25);
	speed.compute_major = 10;
	begin(1);
	assert_int_equal(sampling_stub.period, 0);
	speed = (struct device_query_speed){132, 0, 9};
	begin(2);
	assert_int_equal(sampling_stub.period, 0);
	speed = (struct device_query_speed){0};
	begin(3);
	assert_int_equal(sampling_stub.period, 0);
	for (uint32_t sms = 1; sms < 300; sms += 7) {
		uint32_t period = sampling_session_period(sms, 1500000);
		double rate = sms * 1.5e9 / (double)(1ull << period);

		assert_true(rate <= SAMPLING_SAMPLES_PER_SECOND);
		assert_true(rate > SAMPLING_SAMPLES_PER_SECOND / 2.0);
	}
	assert_int_equal(sampling_session_period(UINT32_MAX, UINT32_MAX), 31);
	assert_int_equal(sampling_session_period(1, 10), 5);
}

/* ---- full, refused */

static void a_full_buffer_ends_the_session_and_begins_another(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	for (uint32_t round = 1; round <= 20; round++) {
		sampling_stub_wait(0, waiting, 1);
		sampling_stub.contexts[0].look_result = CUPTI_ABI_OUT_OF_MEMORY;
		step();
		sampling_stub.contexts[0].look_result = 0;
		assert_int_equal(sampling_stub.contexts[0].nr_disabled, round);
		assert_int_equal(sampling_stub.contexts[0].nr_enabled, round + 1);
	}
	assert_ledger(200, 0, 0);
	assert_int_equal(passed.nr_notices, 0);
}

static void a_buffer_that_is_always_full_is_given_up(void **state)
{
	(void)state;
	begin(0);
	sampling_stub.contexts[0].look_result = CUPTI_ABI_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < 20; i++)
		step();
	assert_ledger(0, 0, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 8);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 8);
	assert_int_equal(passed.nr_notices, 1);
}

static void a_session_that_fails_is_ended_and_said(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].look_result = 3;
	for (uint32_t i = 0; i < 5; i++)
		step();
	assert_ledger(10, 0, 0);
	assert_int_equal(passed.nr_notices, 1);
	assert_non_null(strstr(passed.notice, "GPU 0 are not sampled (CUPTI's error 3)"));
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 1);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
}

static void a_refusal_is_said_once_and_is_final(void **state)
{
	static const struct {
		int result;
		const char *why;
	} refusals[] = {{35, "CAP_SYS_ADMIN"},
			{27, "does not support"},
			{8, "not enough memory"},
			{2, "DCGM"},
			{1, "DCGM"},
			{999, "DCGM"}};

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		sampling_stub.enable_result = refusals[i].result;
		kernel_sampler_context(STUB_CONTEXT(i), i);
		for (int k = 0; k < 4; k++)
			step();
		read_ring();
		assert_int_equal(passed.nr_notices, i + 1);
		assert_non_null(strstr(passed.notice, refusals[i].why));
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 1);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled, 0);
	}
	assert_false(kernel_sampler_has_begun());
	assert_false(kernel_sampler_needs_code());
	sampling_stub.enable_result = 0;
	begin(7);
	assert_true(kernel_sampler_has_begun());
	assert_true(kernel_sampler_needs_code());
}

static void a_session_that_cannot_be_configured_is_ended(void **state)
{
	(void)state;
	sampling_stub.configure_result = 1;
	kernel_sampler_context(STUB_CONTEXT(0), 0);
	step();
	step();
	sampling_stub.configure_result = 0;
	sampling_stub.reasons_result = 27;
	kernel_sampler_context(STUB_CONTEXT(1), 1);
	step();
	step();
	sampling_stub.reasons_result = 0;
	sampling_stub.nr_reasons = 0;
	kernel_sampler_context(STUB_CONTEXT(2), 2);
	step();
	step();
	assert_ledger(0, 0, 0);
	assert_int_equal(passed.nr_notices, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 1);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled, 1);
		assert_false(sampling_stub.contexts[i].on);
	}
	/* more than there is room for: the first ones count */
	sampling_stub.nr_reasons = 1000;
	begin(3);
	read_ring();
	assert_int_equal(passed.nr_notices, 3);
}

static void old_libraries_are_not_called(void **state)
{
	(void)state;
	library.version = CUPTI_ABI_VERSION_12_4 - 1;
	kernel_sampler_context(STUB_CONTEXT(0), 0);
	step();
	step();
	library = sampling_stub_library();
	library.sampling_get = NULL;
	kernel_sampler_context(STUB_CONTEXT(1), 1);
	step();
	step();
	library.version = 19; /* as little as a guest takes */
	library.sampling_enable = NULL;
	kernel_sampler_meet(STUB_CONTEXT(2));
	step();
	assert_ledger(0, 0, 0);
	assert_int_equal(passed.nr_notices, 3);
	assert_non_null(strstr(passed.notice, "does not support"));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 0);
}

/* ---- contexts */

static void reasons_have_one_number_on_all_gpus(void **state)
{
	struct stub_instruction even[] = {{1, 0, 1, "k", {1, 2, 3}}},
				odd[] = {{1, 0, 1, "k", {4, 5, 6}}};

	(void)state;
	begin(0);
	begin(1);
	sampling_stub_wait(0, even, 1);
	sampling_stub_wait(1, odd, 1);
	step();
	assert_ledger(21, 0, 0);
	assert_int_equal(passed.nr_reasons, 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_entry(3 * i, i, 1, "k", 0, "long_scoreboard", 3 * i + 1);
		assert_entry(3 * i + 1, i, 1, "k", 0, "selected", 3 * i + 2);
		assert_entry(3 * i + 2, i, 1, "k", 0, "barrier", 3 * i + 3);
	}
}

static void a_second_context_of_a_gpu_waits_for_its_turn(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	kernel_sampler_context(STUB_CONTEXT(64), 0);
	for (int i = 0; i < 4; i++)
		step();
	read_ring();
	assert_int_equal(passed.nr_notices, 1);
	assert_non_null(strstr(passed.notice, "further context of GPU 0"));
	assert_int_equal(sampling_stub.contexts[64].nr_enabled, 0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].on = true;
	kernel_sampler_forget(STUB_CONTEXT(0));
	step();
	assert_true(sampling_stub.contexts[64].on);
	assert_ledger(10, 0, 0);
	assert_int_equal(passed.nr_notices, 1);
}

static void more_contexts_than_fit_are_said_and_cost_launches_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		kernel_sampler_context(STUB_CONTEXT(i), i);
	kernel_sampler_context(STUB_CONTEXT(70), 6);
	library.get_device_id = NULL; /* may not be asked */
	for (int i = 0; i < 3; i++) {
		kernel_sampler_meet(STUB_CONTEXT(71));
		step();
	}
	read_ring();
	assert_int_equal(passed.nr_notices, 1);
	assert_non_null(strstr(passed.notice, "more than 64"));
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		assert_true(sampling_stub.contexts[i].on);
	assert_int_equal(sampling_stub.contexts[70].nr_enabled, 0);
	/* one that goes makes room */
	library = sampling_stub_library();
	kernel_sampler_forget(STUB_CONTEXT(6));
	kernel_sampler_meet(STUB_CONTEXT(70));
	step();
	assert_true(sampling_stub.contexts[70].on);
}

static void contexts_from_before_are_met_at_launches(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		kernel_sampler_meet(STUB_CONTEXT(5));
	step();
	assert_int_equal(sampling_stub.contexts[5].nr_enabled, 1);
	kernel_sampler_meet(STUB_CONTEXT(5));
	step();
	assert_int_equal(sampling_stub.contexts[5].nr_enabled, 1);
}

static void a_context_that_is_destroyed_gives_its_last_samples(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_forget(STUB_CONTEXT(0));
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_ledger(10, 0, 0);
	step();
	kernel_sampler_end(true);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	/* another one may get the same address */
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	step();
	assert_ledger(20, 0, 0);
}

static void nothing_is_known_of_contexts_after_cupti_was_left(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	begin(0);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_leave(false);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_ledger(10, 0, 0);
	for (int i = 0; i < 3; i++)
		step();
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 1);
	kernel_sampler_meet(STUB_CONTEXT(0));
	step();
	assert_true(sampling_stub.contexts[0].on);
	kernel_sampler_leave(true);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
}

/* ---- no room */

static void samples_without_room_are_counted_exactly(void **state)
{
	static struct stub_instruction waiting[2048];
	uint64_t given = 0;

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, i % 16, "k", {1 + i, 2, 3}};
	begin(0);
	for (uint32_t round = 0; round < 40; round++) {
		sampling_stub_wait(0, waiting, 2048);
		sampling_stub.contexts[0].dropped = 1;
		step();
	}
	given = 40ull * (2048 * 2049 / 2 + 2048 * 5 + 1);
	uint64_t lost = counted(LEDGER_KERNEL_SAMPLE_LOST);
	assert_true(lost > 40 && lost < given);
	/* others still find room */
	assert_true(record_ring_define(ring.guest, DEFINITION_MODULE, waiting, 60000, NULL, 0));
	assert_ledger(given, 0, lost);
	sampling_stub_wait(0, waiting, 2048);
	step();
	assert_ledger(given / 40 * 41 - 1, 0, lost);
}

static void reasons_that_find_no_room_come_later(void **state)
{
	static uint8_t text[60000];
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {1, 2, 3}}};
	uint32_t size = sizeof(text);

	(void)state;
	for (; size; size /= 2)
		while (record_ring_define(ring.guest, DEFINITION_MODULE, text, size, NULL, 0))
			;
	while (record_ring_define(ring.guest, DEFINITION_MODULE, text, 0, NULL, 0))
		;
	begin(0);
	read_ring();
	assert_int_equal(passed.nr_reasons, 0);
	sampling_stub_wait(0, waiting, 1);
	step();
	assert_ledger(6, 0, 0);
	assert_int_equal(passed.nr_reasons, 3);
	assert_entry(0, 0, 1, "k", 0, "long_scoreboard", 1);
	assert_entry(2, 0, 1, "k", 0, "barrier", 3);
}

/* ---- threads */

static pthread_t destroyer;
static bool has_destroyer;

static void *destroy_it(void *unused)
{
	(void)unused;
	kernel_sampler_forget(STUB_CONTEXT(0));
	return NULL;
}

static void destroy_in_look(void)
{
	if (has_destroyer)
		return;
	has_destroyer = true;
	assert_int_equal(pthread_create(&destroyer, NULL, destroy_it, NULL), 0);
	if (real_time_is_over)
		pthread_join(destroyer, NULL);
}

static void a_context_destroyed_in_a_look_waits_for_the_look(void **state)
{
	static struct stub_instruction waiting[5000];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 0, 0}};
	begin(0);
	sampling_stub_wait(0, waiting, 5000);
	has_destroyer = false;
	sampling_stub.in_look = destroy_in_look;
	step();
	pthread_join(destroyer, NULL);
	assert_ledger(5000, 0, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_int_equal(passed.nr_notices, 0);
}

/* The look sees at its end that the context is gone, and calls CUPTI for it no more. */
static void a_context_that_cannot_wait_for_the_look_goes(void **state)
{
	static struct stub_instruction waiting[5000];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 0, 0}};
	begin(0);
	sampling_stub_wait(0, waiting, 5000);
	has_destroyer = false;
	real_time_is_over = true;
	sampling_stub.in_look = destroy_in_look;
	step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 1);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 0);
	assert_ledger(2048, 0, 0);
	sampling_stub.contexts[0].on = false; /* as CUPTI does with the context */
	begin(0);
	assert_int_equal(passed.nr_notices, 0);
}

static void *use_contexts(void *argument)
{
	const uint32_t nr = (uint32_t)(uintptr_t)argument;
	static struct stub_instruction waiting[2] = {{1, 0, 1, "k", {10, 0, 0}},
						     {1, 16, 1, "k", {10, 0, 0}}};

	for (int i = 0; i < 300; i++) {
		kernel_sampler_context(STUB_CONTEXT(nr), nr);
		for (int k = 0; k < 3; k++) {
			kernel_sampler_meet(STUB_CONTEXT(nr));
			sched_yield();
		}
		sampling_stub_wait(nr, waiting, 2);
		kernel_sampler_forget(STUB_CONTEXT(nr));
	}
	return NULL;
}

static void *look_often(void *until)
{
	while (!atomic_load((atomic_bool *)until)) {
		later_s++;
		kernel_sampler_step();
	}
	return NULL;
}

static void threads_make_and_destroy_contexts_while_samples_are_taken(void **state)
{
	static atomic_bool done;
	pthread_t users[3], helper;

	(void)state;
	done = false;
	assert_int_equal(pthread_create(&helper, NULL, look_often, &done), 0);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&users[i], NULL, use_contexts, (void *)i), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(users[i], NULL);
	done = true;
	pthread_join(helper, NULL);
	read_ring();
	assert_int_equal(passed.nr_notices, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(sampling_stub.contexts[i].on);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled,
				 sampling_stub.contexts[i].nr_enabled);
	}
	assert_ledger(counted(LEDGER_KERNEL_SAMPLES), 0, counted(LEDGER_KERNEL_SAMPLE_LOST));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(entries_are_those_of_cupti_kernel_by_kernel),
		TEST(looks_go_on_until_nothing_remains),
		TEST(a_kernel_with_many_entries_needs_several_definitions),
		TEST(names_are_cut_and_may_be_missing),
		TEST(totals_of_cupti_need_not_be_those_of_its_parts),
		TEST(looks_are_half_a_second_apart),
		TEST(the_end_passes_on_what_was_left),
		TEST(periods_fit_the_gpu),
		TEST(a_full_buffer_ends_the_session_and_begins_another),
		TEST(a_buffer_that_is_always_full_is_given_up),
		TEST(a_session_that_fails_is_ended_and_said),
		TEST(a_refusal_is_said_once_and_is_final),
		TEST(a_session_that_cannot_be_configured_is_ended),
		TEST(old_libraries_are_not_called),
		TEST(reasons_have_one_number_on_all_gpus),
		TEST(a_second_context_of_a_gpu_waits_for_its_turn),
		TEST(more_contexts_than_fit_are_said_and_cost_launches_nothing),
		TEST(contexts_from_before_are_met_at_launches),
		TEST(a_context_that_is_destroyed_gives_its_last_samples),
		TEST(nothing_is_known_of_contexts_after_cupti_was_left),
		TEST(samples_without_room_are_counted_exactly),
		TEST(reasons_that_find_no_room_come_later),
		TEST(a_context_destroyed_in_a_look_waits_for_the_look),
		TEST(a_context_that_cannot_wait_for_the_look_goes),
		TEST(threads_make_and_destroy_contexts_while_samples_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
