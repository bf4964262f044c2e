#include "launch_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/stack_table.h"
#include "inject/cupti/module_load.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_probe.h"
#include "inject/launch/launch_thread.h"
#include "unwind/unwind_table.h"

static void launch_has_one_record_with_its_stack(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];
	uint64_t frames[RECORD_STACK_DEPTH];

	launch_fixture_on_a_thread(fixture, launch_fixture_twice);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].correlation_id, 10);
	assert_int_equal(records[1].correlation_id, 11);
	assert_int_equal(records[0].cbid, 307);
	assert_int_equal(records[0].window, 2);
	assert_int_equal(records[0].flags, 0);
	assert_int_equal(records[0].tid, fixture->tid);
	assert_true(records[0].time_ns > 0 && records[0].time_ns <= records[1].time_ns);
	assert_true(record_ring_read_stack(fixture->ring.agent, records[0].stack_id, frames) >= 4);
	assert_int_equal(records[0].stack_id, records[1].stack_id);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2);
}

static void mark_steps(struct launch_fixture *fixture)
{
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP_END, 0);
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP, 5);
	launch_callback_mark(&fixture->launch, RECORD_MARK_RANGES, 0);
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP_END, 0);
}

static void the_end_of_a_step_has_its_number(void **state)
{
	static const uint32_t numbers[] = {0, 5, 0, 5};
	struct launch_fixture *fixture = *state;
	struct launch_record records[5];

	launch_fixture_on_a_thread(fixture, mark_steps);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 5), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(records[i].correlation_id, numbers[i]);
}

static void fail_one(struct launch_fixture *fixture)
{
	launch_fixture_call(fixture, 307, 5);
	launch_fixture_end(fixture, 307, 5, 700);
	launch_fixture_call(fixture, 514, 6);
	launch_fixture_end(fixture, 514, 6, 0);
}

static void failed_launch_has_a_second_record_and_counts_once(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	launch_fixture_on_a_thread(fixture, fail_one);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_equal(records[1].correlation_id, 5);
	assert_int_equal(records[1].flags, RECORD_LAUNCH_FAILED);
	assert_int_equal(records[2].flags, RECORD_LAUNCH_MANY);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_FAILED), 1);
}

static void nest_calls(struct launch_fixture *fixture)
{
	launch_fixture_call(fixture, 307, 1);
	launch_fixture_call(fixture, 652, 1); /* the same launch_fixture_call, seen from inside */
	launch_fixture_call(fixture, 653, 1);
	launch_fixture_end(fixture, 653, 1, 0);
	launch_fixture_end(fixture, 652, 1, 0);
	launch_fixture_end(fixture, 307, 1, 0);
	launch_fixture_call(fixture, 307, 2);
	launch_fixture_end(fixture, 307, 2, 0);
	launch_fixture_call(fixture, 307, 3); /* its exit never comes */
	launch_fixture_call(fixture, 307, 4);
	launch_fixture_end(fixture, 307, 4, 0);
}

static void call_within_a_call_of_the_same_id_is_not_counted(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[8];

	launch_fixture_on_a_thread(fixture, nest_calls);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 8), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(records[i].correlation_id, i + 1);
}

static void overflow_the_lane(struct launch_fixture *fixture)
{
	for (uint32_t id = 1; id <= TEST_RING_LAUNCHES + 10; id++) {
		launch_fixture_call(fixture, 307, id);
		launch_fixture_end(fixture, 307, id, 0);
	}
}

static void full_lane_drops_and_counts(void **state)
{
	struct launch_fixture *fixture = *state;
	static struct launch_record records[TEST_RING_LAUNCHES + 10];

	launch_fixture_on_a_thread(fixture, overflow_the_lane);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, TEST_RING_LAUNCHES + 10),
			 TEST_RING_LAUNCHES);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), TEST_RING_LAUNCHES + 10);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_RING_FULL), 10);
}

static void take_all_lanes_and_launch(struct launch_fixture *fixture)
{
	while (record_ring_claim_lane(fixture->ring.guest) >= 0)
		;
	launch_fixture_call(fixture, 307, 1);
	launch_fixture_end(fixture, 307, 1, 0);
	launch_fixture_call(fixture, 307, 2);
	launch_fixture_end(fixture, 307, 2, 999);
}

static void launch_without_a_lane_is_counted(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_fixture_on_a_thread(fixture, take_all_lanes_and_launch);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_NO_LANE), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_FAILED), 1);
}

static void ended_thread_gives_its_lane_back(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[64];

	for (uint32_t i = 0; i < 3 * TEST_RING_LANES; i++)
		launch_fixture_on_a_thread(fixture, launch_fixture_twice);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_NO_LANE), 0);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 64), 6 * TEST_RING_LANES);
}

static void keep_errno(struct launch_fixture *fixture)
{
	errno = EXDEV;
	launch_fixture_call(fixture, 307, 1);
	launch_fixture_end(fixture, 307, 1, 1);
	fixture->tid = (uint32_t)errno;
}

static void errno_of_the_application_is_kept(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_fixture_on_a_thread(fixture, keep_errno);
	assert_int_equal(fixture->tid, EXDEV);
}

static pthread_key_t late_key;
static struct launch_fixture *late_fixture;

static void launch_late(void *user)
{
	(void)user;
	launch_fixture_call(late_fixture, 307, 50);
	launch_fixture_end(late_fixture, 307, 50, 0);
}

static void launch_with_a_late_destructor(struct launch_fixture *fixture)
{
	late_fixture = fixture;
	pthread_setspecific(late_key, fixture);
	launch_fixture_call(fixture, 307, 1);
	launch_fixture_end(fixture, 307, 1, 0);
}

static void launch_after_the_threads_end_is_counted(void **state)
{
	struct launch_fixture *fixture = *state;

	/* A key made after the guest's: its destructor runs after, too. */
	pthread_key_create(&late_key, launch_late);
	launch_fixture_on_a_thread(fixture, launch_with_a_late_destructor);
	pthread_key_delete(late_key);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_NO_LANE), 1);
}

static void fill_the_stack_table(struct launch_fixture *fixture)
{
	for (uint64_t i = 1; i <= TEST_RING_STACKS; i++)
		record_ring_add_stack(fixture->ring.guest, &i, 1);
	launch_fixture_twice(fixture);
}

static void launch_without_room_for_its_stack_is_recorded_and_counted(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	launch_fixture_on_a_thread(fixture, fill_the_stack_table);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].stack_id, RECORD_STACK_FULL);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_STACK_TABLE_FULL), 2);
}

static void wait_and_load(struct launch_fixture *fixture)
{
	launch_fixture_call(fixture, 17, 30);
	launch_fixture_end(fixture, 17, 30, 0);
	launch_fixture_call(fixture, 19, 31);
	launch_fixture_call(fixture, 20, 31); /* within it */
	launch_fixture_end(fixture, 20, 31, 0);
	launch_fixture_end(fixture, 19, 31, 0);
	launch_fixture_call(fixture, 23, 32);
	launch_fixture_end(fixture, 23, 32, 500); /* no such function */
}

static void calls_without_gpu_work_leave_a_stack_and_are_no_launches(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];
	struct module_load loads[2];

	launch_fixture_on_a_thread(fixture, wait_and_load);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(records[i].correlation_id, 30 + i);
		assert_true(records[i].flags & RECORD_LAUNCH_HOST);
		assert_false(records[i].flags & RECORD_LAUNCH_FAILED);
		assert_int_not_equal(records[i].stack_id, RECORD_STACK_NONE);
	}
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 0);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_FAILED), 0);
	/* Outermost loads alone are timed, failed ones too. */
	assert_true(module_load_take(&loads[0]));
	assert_true(module_load_take(&loads[1]));
	assert_int_equal(loads[0].correlation_id, 31);
	assert_int_equal(loads[0].begin_ns, records[1].time_ns);
	assert_true(loads[0].end_ns >= loads[0].begin_ns);
	assert_int_equal(loads[1].correlation_id, 32);
	assert_false(module_load_take(&loads[0]));
}

static void poll(struct launch_fixture *fixture)
{
	launch_fixture_call(fixture, 120, 40);
	launch_fixture_end(fixture, 120, 40, 600); /* not ready */
	launch_fixture_call(fixture, 120, 41);
	launch_fixture_end(fixture, 120, 41, 0);
	launch_fixture_call(fixture, 307, 42);
	launch_fixture_end(fixture, 307, 42, 0);
}

static void a_poll_is_recorded_when_it_finds_all_done(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	launch_fixture_on_a_thread(fixture, poll);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].correlation_id, 41);
	assert_int_equal(records[0].cbid, 120);
	assert_int_equal(records[0].flags, RECORD_LAUNCH_HOST);
	assert_int_not_equal(records[0].stack_id, RECORD_STACK_NONE);
	assert_int_equal(records[1].correlation_id, 42);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 1);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCH_FAILED), 0);
}

static void fill_the_load_queue(struct launch_fixture *fixture)
{
	while (module_load_put(&(struct module_load){0}))
		;
	wait_and_load(fixture);
}

static void loads_that_find_no_room_are_counted(void **state)
{
	struct launch_fixture *fixture = *state;
	struct module_load load;

	launch_fixture_on_a_thread(fixture, fill_the_load_queue);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_RECORDS), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_RECORD_RING_FULL), 2);
	while (module_load_take(&load))
		;
}

/* As the kernel counts watchers. */
static void launch_watched(struct launch_fixture *fixture)
{
	launch_probe_semaphore++;
	launch_fixture_twice(fixture);
	launch_probe_semaphore--;
	launch_fixture_call(fixture, 307, 12);
	launch_fixture_end(fixture, 307, 12, 0);
}

static void a_launch_that_the_agent_watches_is_not_walked(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	launch_fixture_on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_equal(records[0].stack_id, RECORD_STACK_PROBE);
	assert_int_equal(records[1].stack_id, RECORD_STACK_PROBE);
	assert_true(records[2].stack_id > RECORD_STACK_NONE &&
		    records[2].stack_id <= TEST_RING_STACKS);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 3);
}

static void a_launch_that_somebody_else_watches_is_walked(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	launch_fixture_on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(records[i].stack_id > RECORD_STACK_NONE &&
			    records[i].stack_id <= TEST_RING_STACKS);
}

static void an_agent_that_leaves_the_stacks_to_the_guest_gets_its_walk(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	record_ring_probe(fixture->ring.agent, false);
	launch_fixture_on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_not_equal(records[0].stack_id, RECORD_STACK_PROBE);
}

/* The kernel has no Python frames to give, and who wants none at all gets none. */
static void stacks_without_native_frames_stay_the_guests(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	fixture->launch.capture.options.mode = STACK_MODE_NONE;
	launch_fixture_on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(records[i].stack_id, RECORD_STACK_NONE);
}

static void table_of_calls_is_sorted_and_knows_what_has_many_records(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < LAUNCH_CBIDS; i++)
		assert_true(launch_cbids[i - 1].cbid < launch_cbids[i].cbid);
	assert_int_equal(launch_cbid_flags(307), 0);
	assert_int_equal(launch_cbid_flags(515), RECORD_LAUNCH_MANY);
	assert_int_equal(launch_cbid_flags(796), RECORD_LAUNCH_MANY);
	assert_int_equal(launch_cbid_flags(1), 0);
	assert_int_equal(launch_cbid_flags(0xffffffff), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_end_of_a_step_has_its_number,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(launch_has_one_record_with_its_stack,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(failed_launch_has_a_second_record_and_counts_once,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(call_within_a_call_of_the_same_id_is_not_counted,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(full_lane_drops_and_counts, launch_fixture_set_up,
						launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(launch_without_a_lane_is_counted,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(ended_thread_gives_its_lane_back,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(errno_of_the_application_is_kept,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(launch_after_the_threads_end_is_counted,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			launch_without_room_for_its_stack_is_recorded_and_counted,
			launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			calls_without_gpu_work_leave_a_stack_and_are_no_launches,
			launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(a_poll_is_recorded_when_it_finds_all_done,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(loads_that_find_no_room_are_counted,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(a_launch_that_the_agent_watches_is_not_walked,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(a_launch_that_somebody_else_watches_is_walked,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			an_agent_that_leaves_the_stacks_to_the_guest_gets_its_walk,
			launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test_setup_teardown(stacks_without_native_frames_stay_the_guests,
						launch_fixture_set_up, launch_fixture_tear_down),
		cmocka_unit_test(table_of_calls_is_sorted_and_knows_what_has_many_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
