#include "inject/sampling/kernel_sampler.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

#include "inject/sampling/sampling_session.h"
#include "sampling_fixture.h"
#include "sampling_stub.h"

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
	sampling_fixture_begin(2);
	sampling_stub_wait(2, waiting, 6);
	sampling_stub.contexts[2].other = 100;
	sampling_stub.contexts[2].dropped = 10;
	sampling_fixture_step();
	sampling_fixture_ledger(131, 100, 10);
	assert_int_equal(sampling_fixture.nr_definitions, 4);
	assert_int_equal(sampling_fixture.nr, 6);
	sampling_fixture_entry(0, 2, 7, "a", 0x10, "long_scoreboard", 5);
	sampling_fixture_entry(1, 2, 7, "a", 0x10, "barrier", 2);
	sampling_fixture_entry(2, 2, 7, "a", 0x30, "barrier", 1);
	sampling_fixture_entry(3, 2, 7, "b", 0x20, "selected", 3);
	sampling_fixture_entry(4, 2, 8, "a", 0x10, "long_scoreboard", 4);
	sampling_fixture_entry(5, 2, 7, "a", 0x40, "long_scoreboard", 6);
	assert_int_equal(sampling_fixture.nr_reasons, 3);
	assert_int_equal(sampling_stub.contexts[2].nr_enabled, 1);
}

static void looks_go_on_until_nothing_remains(void **state)
{
	static struct stub_instruction waiting[20000];

	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, i % 7, "k", {1 + i % 3, 0, 0}};
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 20000);
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 2);
	sampling_fixture_ledger(39999, 0, 0);
	assert_int_equal(sampling_fixture.nr, 20000);
	/* each instruction once */
	static uint8_t seen[20000];
	for (uint32_t i = 0; i < sampling_fixture.nr; i++) {
		assert_int_equal(seen[sampling_fixture.entries[i].offset / 16]++, 0);
		assert_int_equal(sampling_fixture.entries[i].count,
				 1 + sampling_fixture.entries[i].offset / 16 % 3);
	}
}

static void a_kernel_with_many_entries_needs_several_definitions(void **state)
{
	static struct stub_instruction waiting[2048];

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 2, 3}};
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 2048);
	sampling_fixture_step();
	sampling_fixture_ledger(2048 * 6, 0, 0);
	assert_int_equal(sampling_fixture.nr_definitions, 2);
	assert_int_equal(sampling_fixture.nr, 3 * 2048);
	for (uint32_t i = 0; i < sampling_fixture.nr; i++) {
		assert_int_equal(sampling_fixture.entries[i].offset, 16 * (i / 3));
		assert_int_equal(sampling_fixture.entries[i].count, 1 + i % 3);
		assert_int_equal(sampling_fixture.entries[i].kernel_size, 1);
	}
}

static void names_are_cut_and_may_be_missing(void **state)
{
	static char longest[RECORD_NAME_MAX + 1], longer[RECORD_NAME_MAX + 100];
	static struct stub_instruction waiting[2048];

	(void)state;
	memset(longest, 'l', RECORD_NAME_MAX);
	memset(longer, 'm', sizeof(longer) - 1);
	sampling_fixture_begin(0);
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, longest, {1, 1, 1}};
	sampling_stub_wait(0, waiting, 2048);
	sampling_fixture_step();
	waiting[0] = (struct stub_instruction){1, 0, 1, longer, {1, 0, 0}};
	waiting[1] = (struct stub_instruction){1, 0, 1, NULL, {1, 0, 0}};
	waiting[2] = (struct stub_instruction){1, 16, 1, NULL, {1, 0, 0}};
	waiting[3] = (struct stub_instruction){1, 16, 1, "", {1, 0, 0}};
	sampling_stub_wait(0, waiting, 4);
	sampling_fixture_step();
	sampling_fixture_ledger(3 * 2048 + 4, 0, 0);
	assert_int_equal(sampling_fixture.nr_definitions, 2 + 3);
	for (uint32_t i = 0; i < 3 * 2048; i++)
		assert_int_equal(sampling_fixture.entries[i].kernel_size, RECORD_NAME_MAX);
	assert_int_equal(sampling_fixture.entries[3 * 2048].kernel_size, RECORD_NAME_MAX);
	assert_string_equal(sampling_fixture.entries[3 * 2048].kernel, "mmmmmmmmmmmmmmm");
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(sampling_fixture.entries[3 * 2048 + i].kernel_size, 0);
}

static void totals_of_cupti_need_not_be_those_of_its_parts(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = 5;
	sampling_stub.contexts[0].other = 3;
	sampling_fixture_step();
	sampling_fixture_ledger(18, 3, 5);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = -7;
	sampling_stub.contexts[0].dropped = 2;
	sampling_fixture_step();
	sampling_fixture_ledger(18 + 12, 3, 7);
}

static void the_first_look_comes_soon_and_later_ones_are_a_second_apart(void **state)
{
	(void)state;
	sampling_fixture_begin(0);
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 0);
	kernel_sampler_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 1);
	for (int i = 0; i < 5; i++)
		sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 6);
	for (int i = 0; i < 20; i++)
		kernel_sampler_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 6);
	sampling_fixture_step();
	kernel_sampler_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 7);
}

/* A loader that does not know libnvperf_host lets CUPTI sample nothing, unless it is mapped. */
static void host_part_of_cupti_is_mapped_before_a_session(void **state)
{
	(void)state;
	sampling_fixture_begin(0);
	assert_ptr_equal(sampling_fixture.mapped, sampling_stub_library().sampling_enable);
	assert_int_equal(sampling_fixture.nr_enabled_when_mapped, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 1);
}

/* The ledger refuses numbers that nothing can reach, and with them all others of the process. */
static void absurd_totals_of_cupti_are_bounded(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};
	const uint64_t most = 1u << 30;

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = INT64_MAX;
	sampling_fixture_step();
	sampling_fixture_ledger(most, 0, most - 10);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].wrong = 0;
	sampling_stub.contexts[0].other = UINT64_MAX - 3;
	sampling_stub.contexts[0].dropped = UINT64_MAX - 5;
	sampling_fixture_step();
	sampling_fixture_ledger(3 * most + 10, most, 2 * most - 10);
}

static void the_end_passes_on_what_was_left(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].other = 4;
	kernel_sampler_end(false);
	kernel_sampler_end(false);
	sampling_fixture_ledger(14, 4, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	/* the next window */
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 2);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_end(true);
	sampling_fixture_ledger(24, 4, 0);
	assert_int_equal(sampling_fixture.nr_reasons, 3);
}

static void periods_fit_the_gpu(void **state)
{
	(void)state;
	sampling_fixture_begin(0);
	assert_int_equal(sampling_stub.period, 20);
	sampling_fixture.speed.compute_major = 10;
	sampling_fixture_begin(1);
	assert_int_equal(sampling_stub.period, 0);
	sampling_fixture.speed = (struct device_query_speed){0, 9};
	sampling_fixture_begin(2);
	assert_int_equal(sampling_stub.period, 0);
	sampling_fixture.speed = (struct device_query_speed){0};
	sampling_fixture_begin(3);
	assert_int_equal(sampling_stub.period, 0);
	for (uint32_t khz = 200000; khz < 3000000; khz += 70000) {
		uint32_t period = sampling_session_period(khz, SAMPLING_LOOKS_PER_SECOND);
		double rate = khz * 1e3 / (double)(1ull << period);

		assert_true(rate <= SAMPLING_LOOKS_PER_SECOND);
		assert_true(rate > SAMPLING_LOOKS_PER_SECOND / 2.0);
	}
	assert_int_equal(sampling_session_period(UINT32_MAX, SAMPLING_LOOKS_PER_SECOND), 31);
	assert_int_equal(sampling_session_period(10, SAMPLING_LOOKS_PER_SECOND), 5);
}

/* ---- full, refused */

static void a_full_buffer_ends_the_session_and_begins_another(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	for (uint32_t round = 1; round <= 20; round++) {
		sampling_stub_wait(0, waiting, 1);
		sampling_stub.contexts[0].look_result = CUPTI_ABI_OUT_OF_MEMORY;
		sampling_fixture_step();
		sampling_stub.contexts[0].look_result = 0;
		assert_int_equal(sampling_stub.contexts[0].nr_disabled, round);
		assert_int_equal(sampling_stub.contexts[0].nr_enabled, round + 1);
	}
	sampling_fixture_ledger(200, 0, 0);
	assert_int_equal(sampling_fixture.nr_notices, 0);
}

static void a_buffer_that_is_always_full_is_given_up(void **state)
{
	(void)state;
	sampling_fixture_begin(0);
	sampling_stub.contexts[0].look_result = CUPTI_ABI_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < 20; i++)
		sampling_fixture_step();
	sampling_fixture_ledger(0, 0, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 8);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 8);
	assert_int_equal(sampling_fixture.nr_notices, 1);
}

static void a_session_that_fails_is_ended_and_said(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].look_result = 3;
	for (uint32_t i = 0; i < 5; i++)
		sampling_fixture_step();
	sampling_fixture_ledger(10, 0, 0);
	assert_int_equal(sampling_fixture.nr_notices, 1);
	assert_non_null(
		strstr(sampling_fixture.notice, "CUDA device 0 are not sampled (CUPTI's error 3)"));
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 1);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
}

static void a_refusal_is_said_once_and_is_final(void **state)
{
	static const struct {
		int result;
		const char *why;
	} refusals[] = {{35, "CAP_SYS_ADMIN"},
			{43, "MIG"},
			{27, "does not support"},
			{8, "not enough memory"},
			{2, "DCGM"},
			{1, "DCGM"},
			{999, "DCGM"}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		sampling_stub.enable_result = refusals[i].result;
		kernel_sampler_context(STUB_CONTEXT(i), i);
		for (int k = 0; k < 4; k++)
			sampling_fixture_step();
		sampling_fixture_read();
		assert_int_equal(sampling_fixture.nr_notices, i + 1);
		assert_non_null(strstr(sampling_fixture.notice, refusals[i].why));
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 1);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled, 0);
	}
	assert_false(kernel_sampler_has_begun());
	assert_false(kernel_sampler_needs_code());
	sampling_stub.enable_result = 0;
	sampling_fixture_begin(7);
	assert_true(kernel_sampler_has_begun());
	assert_true(kernel_sampler_needs_code());
}

static void a_session_that_cannot_be_configured_is_ended(void **state)
{
	(void)state;
	sampling_stub.configure_result = 1;
	kernel_sampler_context(STUB_CONTEXT(0), 0);
	sampling_fixture_step();
	sampling_fixture_step();
	sampling_stub.configure_result = 0;
	sampling_stub.reasons_result = 27;
	kernel_sampler_context(STUB_CONTEXT(1), 1);
	sampling_fixture_step();
	sampling_fixture_step();
	sampling_stub.reasons_result = 0;
	sampling_stub.nr_reasons = 0;
	kernel_sampler_context(STUB_CONTEXT(2), 2);
	sampling_fixture_step();
	sampling_fixture_step();
	sampling_fixture_ledger(0, 0, 0);
	assert_int_equal(sampling_fixture.nr_notices, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 1);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled, 1);
		assert_false(sampling_stub.contexts[i].on);
	}
	/* more than there is room for: the first ones count */
	sampling_stub.nr_reasons = 1000;
	sampling_fixture_begin(3);
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 3);
}

static void old_libraries_are_not_called(void **state)
{
	(void)state;
	sampling_fixture.library.version = CUPTI_ABI_VERSION_12_4 - 1;
	kernel_sampler_context(STUB_CONTEXT(0), 0);
	sampling_fixture_step();
	sampling_fixture_step();
	sampling_fixture.library = sampling_stub_library();
	sampling_fixture.library.sampling_get = NULL;
	kernel_sampler_context(STUB_CONTEXT(1), 1);
	sampling_fixture_step();
	sampling_fixture_step();
	sampling_fixture.library.version = 19; /* as little as a guest takes */
	sampling_fixture.library.sampling_enable = NULL;
	kernel_sampler_meet(STUB_CONTEXT(2));
	sampling_fixture_step();
	sampling_fixture_ledger(0, 0, 0);
	assert_int_equal(sampling_fixture.nr_notices, 3);
	assert_non_null(strstr(sampling_fixture.notice, "does not support"));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sampling_stub.contexts[i].nr_enabled, 0);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, sampling_fixture_set_up, sampling_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(entries_are_those_of_cupti_kernel_by_kernel),
		TEST(looks_go_on_until_nothing_remains),
		TEST(a_kernel_with_many_entries_needs_several_definitions),
		TEST(names_are_cut_and_may_be_missing),
		TEST(totals_of_cupti_need_not_be_those_of_its_parts),
		TEST(absurd_totals_of_cupti_are_bounded),
		TEST(host_part_of_cupti_is_mapped_before_a_session),
		TEST(the_first_look_comes_soon_and_later_ones_are_a_second_apart),
		TEST(the_end_passes_on_what_was_left),
		TEST(periods_fit_the_gpu),
		TEST(a_full_buffer_ends_the_session_and_begins_another),
		TEST(a_buffer_that_is_always_full_is_given_up),
		TEST(a_session_that_fails_is_ended_and_said),
		TEST(a_refusal_is_said_once_and_is_final),
		TEST(a_session_that_cannot_be_configured_is_ended),
		TEST(old_libraries_are_not_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
