#include "inject/launch/launch_callback.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/stack_table.h"
#include "inject/cupti/module_load.h"
#include "inject/launch/cost_limit.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_probe.h"
#include "inject/launch/launch_thread.h"
#include "inject/module_watch.h"
#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"
#include "unwind/unwind_table.h"

struct fixture {
	struct test_ring ring;
	struct launch_callback launch;
	struct definition_writer writer;
	struct module_watch *watch;
	/* What the launching thread does. */
	void (*body)(struct fixture *fixture);
	uint32_t tid;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	test_ring_init(&fixture->ring);
	fixture->launch.ring = fixture->ring.guest;
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->launch.capture = (struct stack_capture){
		.ring = fixture->ring.guest,
		.stacks = stack_table_create(fixture->ring.guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(fixture->ring.guest),
		.options = STACK_OPTIONS_DEFAULT,
	};
	fixture->watch = module_watch_create(&fixture->writer, fixture->launch.capture.tables);
	module_watch_poll(fixture->watch, true);
	unwind_tables_build(fixture->launch.capture.tables, UNWIND_BUILD_ALL);
	fixture->launch.window = 2;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	python_frames_destroy(fixture->launch.capture.python);
	unwind_tables_destroy(fixture->launch.capture.tables);
	stack_table_destroy(fixture->launch.capture.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static __attribute__((noinline)) void call(struct fixture *fixture, uint32_t cbid, uint32_t id)
{
	const struct cupti_callback_data data = {.site = CUPTI_ABI_API_ENTER, .correlation_id = id};

	launch_callback_enter(&fixture->launch, cbid, &data);
	__asm__ volatile("" ::: "memory");
}

static void end(struct fixture *fixture, uint32_t cbid, uint32_t id, int result)
{
	const struct cupti_callback_data data = {
		.site = CUPTI_ABI_API_EXIT, .correlation_id = id, .return_value = &result};

	launch_callback_exit(&fixture->launch, cbid, &data);
}

static void *run_body(void *user)
{
	struct fixture *fixture = user;

	fixture->tid = (uint32_t)syscall(SYS_gettid);
	fixture->body(fixture);
	return NULL;
}

/* A thread of its own for each test: thread state belongs to one ring for good. */
static void on_a_thread(struct fixture *fixture, void (*body)(struct fixture *fixture))
{
	pthread_t thread;

	fixture->body = body;
	assert_int_equal(pthread_create(&thread, NULL, run_body, fixture), 0);
	pthread_join(thread, NULL);
}

static uint64_t count(struct fixture *fixture, enum ledger_reason reason)
{
	return test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, reason).count;
}

static void launch_twice(struct fixture *fixture)
{
	volatile uint32_t end_id = 12; /* one place that calls, not two */

	for (uint32_t id = 10; id < end_id; id++) {
		call(fixture, 307, id);
		end(fixture, 307, id, 0);
	}
}

static void launch_has_one_record_with_its_stack(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];
	uint64_t frames[RECORD_STACK_DEPTH];

	on_a_thread(fixture, launch_twice);
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
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2);
}

static void mark_steps(struct fixture *fixture)
{
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP_END, 0);
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP, 5);
	launch_callback_mark(&fixture->launch, RECORD_MARK_RANGES, 0);
	launch_callback_mark(&fixture->launch, RECORD_MARK_STEP_END, 0);
}

static void the_end_of_a_step_has_its_number(void **state)
{
	static const uint32_t numbers[] = {0, 5, 0, 5};
	struct fixture *fixture = *state;
	struct launch_record records[5];

	on_a_thread(fixture, mark_steps);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 5), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(records[i].correlation_id, numbers[i]);
}

/* In a thread without Python. */
static void launches_take_less_while_they_cost_too_much(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[2];
	uint64_t frames[COST_LEVELS][RECORD_STACK_DEPTH];
	int depths[COST_LEVELS];

	for (uint32_t level = 0; level < COST_LEVELS; level++) {
		cost_limit_set(level);
		on_a_thread(fixture, launch_twice);
		assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
		assert_int_equal(records[0].stack_id, records[1].stack_id);
		depths[level] =
			records[0].stack_id == RECORD_STACK_NONE
				? 0
				: record_ring_read_stack(fixture->ring.agent, records[0].stack_id,
							 frames[level]);
	}
	cost_limit_set(COST_LEVEL_WHOLE);
	/* The guest's own frames differ, and those of the program are the same. */
	assert_true(depths[COST_LEVEL_WHOLE] >= 4);
	assert_true(depths[COST_LEVEL_PYTHON] >= depths[COST_LEVEL_WHOLE]);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(frames[COST_LEVEL_WHOLE][depths[COST_LEVEL_WHOLE] - i],
				 frames[COST_LEVEL_PYTHON][depths[COST_LEVEL_PYTHON] - i]);
	assert_int_equal(depths[COST_LEVEL_LEAF], 2);
	assert_true(stack_word_is_native(frames[COST_LEVEL_LEAF][0]));
	assert_int_equal(frames[COST_LEVEL_LEAF][1], stack_word_mark(STACK_MARK_TRUNCATED));
	assert_int_equal(depths[COST_LEVEL_NONE], 0);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2 * COST_LEVELS);
	assert_int_equal(count(fixture, LEDGER_LESS_PYTHON), 0); /* nothing was left out */
	assert_int_equal(count(fixture, LEDGER_LESS_LEAF), 2);
	assert_int_equal(count(fixture, LEDGER_LESS_NONE), 2);
	assert_int_equal(count(fixture, LEDGER_STACK_TRUNCATED), 0);
}

/* In a thread without Python. */
static void no_level_takes_frames_that_were_not_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[2];

	fixture->launch.capture.options.mode = STACK_MODE_PYTHON;
	for (uint32_t level = 0; level < COST_LEVELS; level++) {
		cost_limit_set(level);
		on_a_thread(fixture, launch_twice);
		assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
		assert_int_equal(records[0].stack_id, RECORD_STACK_NONE);
	}
	cost_limit_set(COST_LEVEL_WHOLE);
	/* There was nothing that could have been left out. */
	assert_int_equal(count(fixture, LEDGER_LESS_PYTHON) + count(fixture, LEDGER_LESS_LEAF) +
				 count(fixture, LEDGER_LESS_NONE),
			 0);
}

static void launch_two_blocks(struct fixture *fixture)
{
	for (uint32_t id = 1; id <= 2 * LAUNCH_METER_PERIOD; id++) {
		call(fixture, 307, id);
		call(fixture, 652, id); /* the same call, seen from inside: it is not counted */
		end(fixture, 652, id, 0);
		end(fixture, 307, id, 0);
	}
}

static void one_launch_of_each_block_is_metered(void **state)
{
	struct fixture *fixture = *state;

	launch_meter_init(LAUNCH_METER_PERIOD);
	on_a_thread(fixture, launch_two_blocks);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2 * LAUNCH_METER_PERIOD);
	assert_int_equal(count(fixture, LEDGER_METER_THREADS), 1);
	assert_int_equal(count(fixture, LEDGER_METER_INTERN), 2);
	assert_int_equal(count(fixture, LEDGER_METER), 2 * LAUNCH_METER_PERIOD);
	assert_int_equal(count(fixture, LEDGER_METER_STACKS), 1);
}

/* In a thread without Python. Stacks are walked, recorded and recognised. */
static void without_python_no_time_is_that_of_python_frames(void **state)
{
	struct fixture *fixture = *state;

	launch_meter_init(1);
	on_a_thread(fixture, launch_two_blocks);
	launch_meter_init(LAUNCH_METER_PERIOD);
	/* A call that was interrupted is in no part. */
	assert_in_range(count(fixture, LEDGER_METER_PYTHON), 1, 2 * LAUNCH_METER_PERIOD);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_METER_PYTHON).ns, 0);
}

static void fail_one(struct fixture *fixture)
{
	call(fixture, 307, 5);
	end(fixture, 307, 5, 700);
	call(fixture, 514, 6);
	end(fixture, 514, 6, 0);
}

static void failed_launch_has_a_second_record_and_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	on_a_thread(fixture, fail_one);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_equal(records[1].correlation_id, 5);
	assert_int_equal(records[1].flags, RECORD_LAUNCH_FAILED);
	assert_int_equal(records[2].flags, RECORD_LAUNCH_MANY);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_FAILED), 1);
}

static void nest_calls(struct fixture *fixture)
{
	call(fixture, 307, 1);
	call(fixture, 652, 1); /* the same call, seen from inside */
	call(fixture, 653, 1);
	end(fixture, 653, 1, 0);
	end(fixture, 652, 1, 0);
	end(fixture, 307, 1, 0);
	call(fixture, 307, 2);
	end(fixture, 307, 2, 0);
	call(fixture, 307, 3); /* its exit never comes */
	call(fixture, 307, 4);
	end(fixture, 307, 4, 0);
}

static void call_within_a_call_of_the_same_id_is_not_counted(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[8];

	on_a_thread(fixture, nest_calls);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 8), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(records[i].correlation_id, i + 1);
}

static void overflow_the_lane(struct fixture *fixture)
{
	for (uint32_t id = 1; id <= TEST_RING_LAUNCHES + 10; id++) {
		call(fixture, 307, id);
		end(fixture, 307, id, 0);
	}
}

static void full_lane_drops_and_counts(void **state)
{
	struct fixture *fixture = *state;
	static struct launch_record records[TEST_RING_LAUNCHES + 10];

	on_a_thread(fixture, overflow_the_lane);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, TEST_RING_LAUNCHES + 10),
			 TEST_RING_LAUNCHES);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), TEST_RING_LAUNCHES + 10);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_RING_FULL), 10);
}

static void take_all_lanes_and_launch(struct fixture *fixture)
{
	while (record_ring_claim_lane(fixture->ring.guest) >= 0)
		;
	call(fixture, 307, 1);
	end(fixture, 307, 1, 0);
	call(fixture, 307, 2);
	end(fixture, 307, 2, 999);
}

static void launch_without_a_lane_is_counted(void **state)
{
	struct fixture *fixture = *state;

	on_a_thread(fixture, take_all_lanes_and_launch);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_NO_LANE), 2);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_FAILED), 1);
}

static void ended_thread_gives_its_lane_back(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[64];

	for (uint32_t i = 0; i < 3 * TEST_RING_LANES; i++)
		on_a_thread(fixture, launch_twice);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_NO_LANE), 0);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 64), 6 * TEST_RING_LANES);
}

static void keep_errno(struct fixture *fixture)
{
	errno = EXDEV;
	call(fixture, 307, 1);
	end(fixture, 307, 1, 1);
	fixture->tid = (uint32_t)errno;
}

static void errno_of_the_application_is_kept(void **state)
{
	struct fixture *fixture = *state;

	on_a_thread(fixture, keep_errno);
	assert_int_equal(fixture->tid, EXDEV);
}

static pthread_key_t late_key;
static struct fixture *late_fixture;

static void launch_late(void *user)
{
	(void)user;
	call(late_fixture, 307, 50);
	end(late_fixture, 307, 50, 0);
}

static void launch_with_a_late_destructor(struct fixture *fixture)
{
	late_fixture = fixture;
	pthread_setspecific(late_key, fixture);
	call(fixture, 307, 1);
	end(fixture, 307, 1, 0);
}

static void launch_after_the_threads_end_is_counted(void **state)
{
	struct fixture *fixture = *state;

	/* A key made after the guest's: its destructor runs after, too. */
	pthread_key_create(&late_key, launch_late);
	on_a_thread(fixture, launch_with_a_late_destructor);
	pthread_key_delete(late_key);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 2);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_NO_LANE), 1);
}

static void fill_the_stack_table(struct fixture *fixture)
{
	for (uint64_t i = 1; i <= TEST_RING_STACKS; i++)
		record_ring_add_stack(fixture->ring.guest, &i, 1);
	launch_twice(fixture);
}

static void launch_without_room_for_its_stack_is_recorded_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	on_a_thread(fixture, fill_the_stack_table);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].stack_id, RECORD_STACK_FULL);
	assert_int_equal(count(fixture, LEDGER_STACK_TABLE_FULL), 2);
}

static void wait_and_load(struct fixture *fixture)
{
	call(fixture, 17, 30);
	end(fixture, 17, 30, 0);
	call(fixture, 19, 31);
	call(fixture, 20, 31); /* within it */
	end(fixture, 20, 31, 0);
	end(fixture, 19, 31, 0);
	call(fixture, 23, 32);
	end(fixture, 23, 32, 500); /* no such function */
}

static void calls_without_gpu_work_leave_a_stack_and_are_no_launches(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];
	struct module_load loads[2];

	on_a_thread(fixture, wait_and_load);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(records[i].correlation_id, 30 + i);
		assert_true(records[i].flags & RECORD_LAUNCH_HOST);
		assert_false(records[i].flags & RECORD_LAUNCH_FAILED);
		assert_int_not_equal(records[i].stack_id, RECORD_STACK_NONE);
	}
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 0);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_FAILED), 0);
	/* Outermost loads alone are timed, failed ones too. */
	assert_true(module_load_take(&loads[0]));
	assert_true(module_load_take(&loads[1]));
	assert_int_equal(loads[0].correlation_id, 31);
	assert_int_equal(loads[0].begin_ns, records[1].time_ns);
	assert_true(loads[0].end_ns >= loads[0].begin_ns);
	assert_int_equal(loads[1].correlation_id, 32);
	assert_false(module_load_take(&loads[0]));
}

static void poll(struct fixture *fixture)
{
	call(fixture, 120, 40);
	end(fixture, 120, 40, 600); /* not ready */
	call(fixture, 120, 41);
	end(fixture, 120, 41, 0);
	call(fixture, 307, 42);
	end(fixture, 307, 42, 0);
}

static void a_poll_is_recorded_when_it_finds_all_done(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	on_a_thread(fixture, poll);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].correlation_id, 41);
	assert_int_equal(records[0].cbid, 120);
	assert_int_equal(records[0].flags, RECORD_LAUNCH_HOST);
	assert_int_not_equal(records[0].stack_id, RECORD_STACK_NONE);
	assert_int_equal(records[1].correlation_id, 42);
	assert_int_equal(records[1].flags, 0);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 1);
	assert_int_equal(count(fixture, LEDGER_LAUNCH_FAILED), 0);
}

static void fill_the_load_queue(struct fixture *fixture)
{
	while (module_load_put(&(struct module_load){0}))
		;
	wait_and_load(fixture);
}

static void loads_that_find_no_room_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct module_load load;

	on_a_thread(fixture, fill_the_load_queue);
	assert_int_equal(count(fixture, LEDGER_RECORDS), 2);
	assert_int_equal(count(fixture, LEDGER_RECORD_RING_FULL), 2);
	while (module_load_take(&load))
		;
}

/* As the kernel counts watchers. */
static void launch_watched(struct fixture *fixture)
{
	launch_probe_semaphore++;
	launch_twice(fixture);
	launch_probe_semaphore--;
	call(fixture, 307, 12);
	end(fixture, 307, 12, 0);
}

static void a_launch_that_the_agent_watches_is_not_walked(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_equal(records[0].stack_id, RECORD_STACK_PROBE);
	assert_int_equal(records[1].stack_id, RECORD_STACK_PROBE);
	assert_true(records[2].stack_id > RECORD_STACK_NONE &&
		    records[2].stack_id <= TEST_RING_STACKS);
	assert_int_equal(count(fixture, LEDGER_LAUNCHES), 3);
}

static void a_launch_that_somebody_else_watches_is_walked(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(records[i].stack_id > RECORD_STACK_NONE &&
			    records[i].stack_id <= TEST_RING_STACKS);
}

static void an_agent_that_leaves_the_stacks_to_the_guest_gets_its_walk(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	record_ring_probe(fixture->ring.agent, false);
	on_a_thread(fixture, launch_watched);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 3);
	assert_int_not_equal(records[0].stack_id, RECORD_STACK_PROBE);
}

/* The kernel has no Python frames to give, and who wants none at all gets none. */
static void stacks_without_native_frames_stay_the_guests(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	fixture->launch.capture.options.mode = STACK_MODE_NONE;
	on_a_thread(fixture, launch_watched);
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
		cmocka_unit_test_setup_teardown(one_launch_of_each_block_is_metered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_python_no_time_is_that_of_python_frames,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_a_step_has_its_number, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(launch_has_one_record_with_its_stack, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(launches_take_less_while_they_cost_too_much, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_level_takes_frames_that_were_not_asked_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_launch_has_a_second_record_and_counts_once,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(call_within_a_call_of_the_same_id_is_not_counted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_lane_drops_and_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(launch_without_a_lane_is_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ended_thread_gives_its_lane_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(errno_of_the_application_is_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(launch_after_the_threads_end_is_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			launch_without_room_for_its_stack_is_recorded_and_counted, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			calls_without_gpu_work_leave_a_stack_and_are_no_launches, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_poll_is_recorded_when_it_finds_all_done, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(loads_that_find_no_room_are_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_launch_that_the_agent_watches_is_not_walked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_launch_that_somebody_else_watches_is_walked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_agent_that_leaves_the_stacks_to_the_guest_gets_its_walk, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(stacks_without_native_frames_stay_the_guests,
						set_up, tear_down),
		cmocka_unit_test(table_of_calls_is_sorted_and_knows_what_has_many_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
