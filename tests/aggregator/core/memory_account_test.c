#include "memory_account_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto/record.h"

static void the_peak_is_what_lived_at_once_and_when_it_was_first_reached(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	memory_account_fixture_alloc(fixture, 20, 0x2000, 50, 2);
	memory_account_fixture_free(fixture, 30, 0x1000);
	memory_account_fixture_alloc(fixture, 40, 0x3000, 90, 3);
	memory_account_fixture_free(fixture, 50, 0x3000);
	memory_account_fixture_alloc(fixture, 60, 0x3000, 100, 3);
	memory_account_fixture_finish(fixture);
	struct memory_sums sums = memory_account_fixture_device(fixture);
	assert_int_equal(sums.allocs, 4);
	assert_int_equal(sums.alloc_bytes, 340);
	assert_int_equal(sums.frees, 2);
	assert_int_equal(sums.free_bytes, 190);
	assert_int_equal(sums.live_count, 2);
	assert_int_equal(sums.live_bytes, 150);
	assert_int_equal(sums.peak_bytes, 150);
	assert_int_equal(sums.peak_ns, 20); /* reached again at 60 */
	assert_int_equal(sums.first_ns, 10);
	assert_int_equal(sums.last_ns, 60);
	assert_int_equal(memory_account_fixture_row(fixture, 1).peak_bytes, 100);
	assert_int_equal(memory_account_fixture_row(fixture, 2).peak_bytes, 50);
	assert_int_equal(memory_account_fixture_row(fixture, 3).peak_bytes, 0);
	assert_int_equal(memory_account_fixture_row(fixture, 1).live_bytes, 0);
	assert_int_equal(memory_account_fixture_row(fixture, 2).live_bytes, 50);
	assert_int_equal(memory_account_fixture_row(fixture, 3).live_bytes, 100);
}

static void devices_and_spaces_have_accounts_of_their_own(void **state)
{
	static const struct {
		uint32_t device_id;
		uint8_t kind;
		enum memory_space space;
	} cases[] = {
		{0, MEMORY_KIND_DEVICE, MEMORY_SPACE_DEVICE},
		{1, MEMORY_KIND_ARRAY, MEMORY_SPACE_DEVICE},
		{2, MEMORY_KIND_POOL, MEMORY_SPACE_DEVICE},
		{0, MEMORY_KIND_MANAGED, MEMORY_SPACE_MANAGED},
		{0, MEMORY_KIND_PINNED, MEMORY_SPACE_HOST},
	};
	struct memory_account_fixture *fixture = *state;

	for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_event event = memory_account_fixture_event(1 + i, 0x1000 * (1 + i));

		event.device_id = cases[i].device_id;
		event.kind = cases[i].kind;
		event.bytes = 10 + i;
		memory_account_fixture_add(fixture, &event);
	}
	memory_account_fixture_finish(fixture);
	for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_sums sums =
			memory_account_fixture_sums(fixture, cases[i].device_id, cases[i].space);

		assert_int_equal(sums.live_bytes, 10 + i);
		assert_int_equal(sums.peak_bytes, 10 + i);
		assert_int_equal(sums.peak_ns, 1 + i);
	}
	assert_int_equal(memory_account_fixture_sums(fixture, 0, MEMORY_SPACE_DEVICE).allocs, 1);
}

static void the_hosts_memory_is_of_no_device(void **state)
{
	struct memory_account_fixture *fixture = *state;
	struct memory_event event = memory_account_fixture_event(1, 0x1000);

	event.device_id = 1;
	event.kind = MEMORY_KIND_PINNED;
	event.bytes = 10;
	memory_account_fixture_add(fixture, &event);
	event.address = 0x2000;
	event.device_id = 2;
	event.kind = 200; /* no kind */
	memory_account_fixture_add(fixture, &event);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_sums(fixture, 0, MEMORY_SPACE_HOST).live_bytes, 20);
	assert_int_equal(memory_account_fixture_sums(fixture, 1, MEMORY_SPACE_HOST).allocs, 0);
}

static void a_free_takes_from_the_allocations_device_whatever_it_claims(void **state)
{
	struct memory_account_fixture *fixture = *state;
	struct memory_event event = memory_account_fixture_event(20, 0x1000);

	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	event.is_free = 1;
	event.device_id = 3;
	event.kind = MEMORY_KIND_POOL;
	event.bytes = 5;
	event.tid = 99;
	event.stack_id = 4;
	memory_account_fixture_add(fixture, &event);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 0);
	assert_int_equal(memory_account_fixture_device(fixture).free_bytes, 100);
	assert_int_equal(memory_account_fixture_row(fixture, 1).live_count, 0);
	assert_int_equal(memory_account_fixture_sums(fixture, 3, MEMORY_SPACE_DEVICE).frees, 0);
}

static void a_free_without_an_allocation_is_counted(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_free(fixture, 10, 0x5000);
	memory_account_fixture_alloc(fixture, 20, 0x1000, 100, 1);
	memory_account_fixture_free(fixture, 30, 0x1000);
	memory_account_fixture_free(fixture, 40, 0x1000);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).unknown_frees, 2);
	assert_int_equal(memory_account_fixture_device(fixture).frees, 3);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 0);
	assert_int_equal(memory_account_fixture_device(fixture).peak_bytes, 100);
}

static void an_allocation_that_is_reported_twice_counts_once(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).allocs, 1);
	assert_int_equal(memory_account_fixture_device(fixture).duplicates, 1);
	assert_int_equal(memory_account_fixture_device(fixture).replaced, 0);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 100);
}

static void an_allocation_in_anothers_place_ends_it(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	memory_account_fixture_alloc(fixture, 20, 0x1000, 30, 2);
	memory_account_fixture_free(fixture, 20 + MEMORY_ACCOUNT_OWED_NS + 1, 0x1000);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).replaced, 1);
	assert_int_equal(memory_account_fixture_device(fixture).peak_bytes, 100);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 0);
	assert_int_equal(memory_account_fixture_device(fixture).unknown_frees, 0);
}

static void a_free_timed_a_little_late_belongs_to_the_one_before(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_alloc(fixture, 10, 0x1000, 100, 1);
	memory_account_fixture_alloc(fixture, 20, 0x1000, 30, 2);
	memory_account_fixture_free(fixture, 21, 0x1000);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).replaced, 0);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 30);
	assert_int_equal(memory_account_fixture_row(fixture, 2).live_count, 1);
	assert_int_equal(memory_account_fixture_device(fixture).peak_bytes, 100);
}

static void events_are_taken_in_order_within_the_window(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_limit(fixture, (struct memory_account_options){.window_ns = 1000});
	memory_account_fixture_free(fixture, 900, 0x1000);
	memory_account_fixture_alloc(fixture, 500, 0x1000, 100, 1);
	assert_int_equal(memory_account_waiting(fixture->account), 2);
	memory_account_fixture_alloc(fixture, 1501, 0x2000, 1, 1);
	assert_int_equal(memory_account_waiting(fixture->account), 2); /* the first was taken */
	memory_account_fixture_alloc(fixture, 400, 0x3000, 7, 2);      /* before what was taken */
	assert_int_equal(memory_account_waiting(fixture->account), 2);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).late, 1);
	assert_int_equal(memory_account_fixture_device(fixture).unknown_frees, 0);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 8);
	assert_int_equal(memory_account_fixture_device(fixture).first_ns, 400);
}

static void the_window_holds_no_more_than_it_may(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_limit(fixture, (struct memory_account_options){.waiting_max = 10});
	for (uint64_t i = 0; i < 100; i++) {
		memory_account_fixture_alloc(fixture, 1000 + i, 0x1000 * (1 + i), 1, 1);
		assert_true(memory_account_waiting(fixture->account) <= 10);
	}
	assert_int_equal(memory_account_fixture_device(fixture).allocs, 90);
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).allocs, 100);
	assert_int_equal(memory_account_fixture_device(fixture).late, 0);
}

static void more_live_allocations_than_the_limit_are_counted(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_limit(fixture, (struct memory_account_options){.live_max = 3});
	for (uint64_t i = 1; i <= 5; i++)
		memory_account_fixture_alloc(fixture, i, 0x1000 * i, 10, 1);
	for (uint64_t i = 1; i <= 5; i++)
		memory_account_fixture_free(fixture, 10 + i, 0x1000 * i);
	memory_account_fixture_alloc(fixture, 20, 0x9000, 1, 1);
	memory_account_fixture_alloc(fixture, 21, 0, 1, 1); /* no address */
	memory_account_fixture_finish(fixture);
	assert_int_equal(memory_account_fixture_device(fixture).untracked, 3);
	assert_int_equal(memory_account_fixture_device(fixture).unknown_frees, 2);
	assert_int_equal(memory_account_fixture_device(fixture).peak_bytes, 30);
	assert_int_equal(memory_account_fixture_device(fixture).live_bytes, 1);
}

static void sums_stick_at_their_maximum(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_fixture_alloc(fixture, 1, 0x1000, UINT64_MAX, 1);
	memory_account_fixture_alloc(fixture, 2, 0x2000, UINT64_MAX, 2);
	memory_account_fixture_free(fixture, 3, 0x1000);
	memory_account_fixture_free(fixture, 4, 0x2000);
	memory_account_fixture_alloc(fixture, 5, 0x3000, 1, 3);
	memory_account_fixture_finish(fixture);
	assert_true(memory_account_fixture_device(fixture).alloc_bytes == MEMORY_ACCOUNT_STUCK);
	assert_true(memory_account_fixture_device(fixture).live_bytes == MEMORY_ACCOUNT_STUCK);
	assert_true(memory_account_fixture_device(fixture).peak_bytes == MEMORY_ACCOUNT_STUCK);
	assert_int_equal(memory_account_fixture_device(fixture).live_count, 1);
	assert_int_equal(memory_account_fixture_row(fixture, 3).live_bytes, 1);
}

static void devices_beyond_all_rows_are_one(void **state)
{
	struct memory_account_fixture *fixture = *state;

	for (uint64_t i = 0; i < 100; i++) {
		struct memory_event event = memory_account_fixture_event(1 + i, 0x1000 * (1 + i));

		event.device_id = i < 50 ? (uint32_t)(RECORD_DEVICES_MAX + i) : UINT32_MAX;
		event.bytes = 1;
		memory_account_fixture_add(fixture, &event);
	}
	memory_account_fixture_finish(fixture);
	assert_int_equal(
		memory_account_fixture_sums(fixture, RECORD_DEVICES_MAX - 1, MEMORY_SPACE_DEVICE)
			.live_bytes,
		100);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, memory_account_fixture_set_up,                       \
					memory_account_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_what_lived_at_once_and_when_it_was_first_reached),
		TEST(devices_and_spaces_have_accounts_of_their_own),
		TEST(the_hosts_memory_is_of_no_device),
		TEST(a_free_takes_from_the_allocations_device_whatever_it_claims),
		TEST(a_free_without_an_allocation_is_counted),
		TEST(an_allocation_that_is_reported_twice_counts_once),
		TEST(an_allocation_in_anothers_place_ends_it),
		TEST(a_free_timed_a_little_late_belongs_to_the_one_before),
		TEST(events_are_taken_in_order_within_the_window),
		TEST(the_window_holds_no_more_than_it_may),
		TEST(more_live_allocations_than_the_limit_are_counted),
		TEST(sums_stick_at_their_maximum),
		TEST(devices_beyond_all_rows_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
