/* What launches cost, by their meter, and what they leave out to cost less. */
#include "launch_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "inject/launch/cost_limit.h"
#include "inject/launch/launch_meter.h"
#include "inject/launch/launch_probe.h"
#include "proto/stack_word.h"

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, launch_fixture_set_up, launch_fixture_tear_down)

/* In a thread without Python. */
static void launches_take_less_while_they_cost_too_much(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[2];
	uint64_t frames[COST_LEVELS][RECORD_STACK_DEPTH];
	int depths[COST_LEVELS];

	for (uint32_t level = 0; level < COST_LEVELS; level++) {
		cost_limit_set(level);
		launch_fixture_on_a_thread(fixture, launch_fixture_twice);
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
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2 * COST_LEVELS);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_PYTHON),
			 0); /* nothing was left out */
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_LEAF), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_NONE), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_STACK_TRUNCATED), 0);
}

/* In a thread without Python. */
static void no_level_takes_frames_that_were_not_asked_for(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[2];

	fixture->launch.capture.options.mode = STACK_MODE_PYTHON;
	for (uint32_t level = 0; level < COST_LEVELS; level++) {
		cost_limit_set(level);
		launch_fixture_on_a_thread(fixture, launch_fixture_twice);
		assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
		assert_int_equal(records[0].stack_id, RECORD_STACK_NONE);
	}
	cost_limit_set(COST_LEVEL_WHOLE);
	/* There was nothing that could have been left out. */
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_PYTHON) +
				 launch_fixture_count(fixture, LEDGER_LESS_LEAF) +
				 launch_fixture_count(fixture, LEDGER_LESS_NONE),
			 0);
}

/* As the kernel counts watchers. */
static void launch_watched(struct launch_fixture *fixture)
{
	launch_probe_semaphore++;
	launch_fixture_twice(fixture);
	launch_probe_semaphore--;
}

static void poll_twice(struct launch_fixture *fixture)
{
	volatile uint32_t end_id = 12;

	for (uint32_t id = 10; id < end_id; id++) {
		launch_fixture_call(fixture, 120, id);
		launch_fixture_end(fixture, 120, id, 0);
	}
}

static void polls_and_watched_launches_take_less_too(void **state)
{
	void (*const bodies[])(struct launch_fixture * fixture) = {launch_watched, poll_twice};
	struct launch_fixture *fixture = *state;
	struct launch_record records[2];
	uint64_t frames[RECORD_STACK_DEPTH];

	for (uint32_t i = 0; i < 2; i++) {
		cost_limit_set(COST_LEVEL_NONE);
		launch_fixture_on_a_thread(fixture, bodies[i]);
		assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
		assert_int_equal(records[0].stack_id, RECORD_STACK_NONE);
		assert_int_equal(records[1].stack_id, RECORD_STACK_NONE);
		assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_NONE), 2 * (i + 1));
		cost_limit_set(COST_LEVEL_LEAF);
		launch_fixture_on_a_thread(fixture, bodies[i]);
		assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
		assert_int_equal(
			record_ring_read_stack(fixture->ring.agent, records[0].stack_id, frames),
			2);
		assert_int_equal(frames[1], stack_word_mark(STACK_MARK_TRUNCATED));
		assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_LEAF), 2 * (i + 1));
	}
	cost_limit_set(COST_LEVEL_WHOLE);
}

/* The agent asked for these stacks, and its kernel has walked them. */
static void stacks_that_the_kernel_walks_stay_whole(void **state)
{
	struct launch_fixture *fixture = *state;
	struct launch_record records[2];

	record_ring_probe(fixture->ring.agent, true);
	cost_limit_set(COST_LEVEL_NONE);
	launch_fixture_on_a_thread(fixture, launch_watched);
	cost_limit_set(COST_LEVEL_WHOLE);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 2), 2);
	assert_int_equal(records[0].stack_id, RECORD_STACK_PROBE);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LESS_NONE), 0);
}

static void launch_two_blocks(struct launch_fixture *fixture)
{
	for (uint32_t id = 1; id <= 2 * LAUNCH_METER_PERIOD; id++) {
		launch_fixture_call(fixture, 307, id);
		launch_fixture_call(
			fixture, 652,
			id); /* the same launch_fixture_call, seen from inside: it is not counted */
		launch_fixture_end(fixture, 652, id, 0);
		launch_fixture_end(fixture, 307, id, 0);
	}
}

static void one_launch_of_each_block_is_metered(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_meter_init(LAUNCH_METER_PERIOD);
	launch_fixture_on_a_thread(fixture, launch_two_blocks);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 2 * LAUNCH_METER_PERIOD);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_THREADS), 1);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_INTERN), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER), 2 * LAUNCH_METER_PERIOD);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_STACKS), 1);
}

/* Those that find work still running, or that fail, leave no record. */
static void poll_two_blocks(struct launch_fixture *fixture)
{
	for (uint32_t id = 1; id <= 4 * LAUNCH_METER_PERIOD; id++) {
		launch_fixture_call(fixture, 120, id);
		launch_fixture_end(fixture, 120, id, id % 2 ? 600 : 0);
	}
}

static void polls_that_leave_a_record_are_metered(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_meter_init(LAUNCH_METER_PERIOD);
	launch_fixture_on_a_thread(fixture, poll_two_blocks);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_ENTRY), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER), 2 * LAUNCH_METER_PERIOD);
	launch_meter_init(1);
	const uint64_t outliers = launch_fixture_count(fixture, LEDGER_METER_OUTLIER);
	launch_fixture_on_a_thread(fixture, poll_two_blocks);
	launch_meter_init(LAUNCH_METER_PERIOD);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER) - outliers +
				 launch_fixture_count(fixture, LEDGER_METER_OUTLIER),
			 4 * LAUNCH_METER_PERIOD);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_THREADS), 2);
	assert_int_equal(launch_fixture_count(fixture, LEDGER_LAUNCHES), 0);
}

static void launch_half_a_block(struct launch_fixture *fixture)
{
	for (uint32_t id = 1; id <= LAUNCH_METER_PERIOD / 2; id++) {
		launch_fixture_call(fixture, 307, id);
		launch_fixture_end(fixture, 307, id, 0);
	}
}

static void a_block_goes_from_thread_to_thread(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_meter_init(LAUNCH_METER_PERIOD);
	for (uint32_t thread = 1; thread <= 6; thread++) {
		launch_fixture_on_a_thread(fixture, launch_half_a_block);
		assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_THREADS), thread);
		assert_int_equal(launch_fixture_count(fixture, LEDGER_METER),
				 thread / 2 * LAUNCH_METER_PERIOD);
		assert_int_equal(launch_fixture_count(fixture, LEDGER_METER_ENTRY), thread / 2);
	}
}

/* In a thread without Python. Stacks are walked, recorded and recognised. */
static void without_python_no_time_is_that_of_python_frames(void **state)
{
	struct launch_fixture *fixture = *state;

	launch_meter_init(1);
	launch_fixture_on_a_thread(fixture, launch_two_blocks);
	launch_meter_init(LAUNCH_METER_PERIOD);
	/* A call that was interrupted is in no part. */
	assert_in_range(launch_fixture_count(fixture, LEDGER_METER_PYTHON), 1,
			2 * LAUNCH_METER_PERIOD);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_METER_PYTHON).ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(launches_take_less_while_they_cost_too_much),
		TEST(no_level_takes_frames_that_were_not_asked_for),
		TEST(polls_and_watched_launches_take_less_too),
		TEST(stacks_that_the_kernel_walks_stay_whole),
		TEST(one_launch_of_each_block_is_metered),
		TEST(polls_that_leave_a_record_are_metered),
		TEST(a_block_goes_from_thread_to_thread),
		TEST(without_python_no_time_is_that_of_python_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
