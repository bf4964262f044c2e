#include "inject/window/window_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000000ull

static void assert_wanted(const struct window_schedule *schedule, uint64_t now_ns, bool wanted,
			  uint64_t next_ns)
{
	uint64_t next;

	assert_int_equal(window_schedule_wanted(schedule, now_ns, &next), wanted);
	assert_int_equal(next, next_ns);
}

static void the_whole_run_is_wanted_by_default(void **state)
{
	const struct window_schedule schedule = {0};

	(void)state;
	assert_wanted(&schedule, 5 * S, true, UINT64_MAX);
}

static void a_delay_and_an_end_bound_it(void **state)
{
	const struct window_schedule schedule = {
		.options = {.from_ns = 10 * S, .until_ns = 20 * S}};

	(void)state;
	assert_wanted(&schedule, 9 * S, false, 10 * S);
	assert_wanted(&schedule, 10 * S, true, 20 * S);
	assert_wanted(&schedule, 20 * S, false, UINT64_MAX);
}

static void a_duty_cycle_is_aligned_to_the_clock(void **state)
{
	const struct window_schedule schedule = {
		.options = {.on_ns = S, .period_ns = 30 * S, .from_ns = 59 * S}};

	(void)state;
	assert_wanted(&schedule, 30 * S, false, 59 * S);
	assert_wanted(&schedule, 59 * S, false, 60 * S);
	assert_wanted(&schedule, 60 * S, true, 61 * S);
	assert_wanted(&schedule, 61 * S, false, 90 * S);
}

static void a_range_must_be_open_as_often_as_it_was_opened(void **state)
{
	struct window_schedule schedule = {.options = {.range = WINDOW_RANGE_PROFILER}};

	(void)state;
	assert_wanted(&schedule, S, false, UINT64_MAX);
	window_schedule_range(&schedule, true);
	window_schedule_range(&schedule, true);
	window_schedule_range(&schedule, false);
	assert_wanted(&schedule, S, true, UINT64_MAX);
	window_schedule_range(&schedule, false);
	window_schedule_range(&schedule, false);
	assert_wanted(&schedule, S, false, UINT64_MAX);
	window_schedule_range(&schedule, true);
	assert_wanted(&schedule, S, true, UINT64_MAX);
}

static void commands_go_before_options(void **state)
{
	struct window_schedule schedule = {.options = {.dormant = true}};

	(void)state;
	assert_wanted(&schedule, S, false, UINT64_MAX);
	window_schedule_command(&schedule,
				&(struct record_ring_command){.action = RECORD_RING_COMMAND_START,
							      .from_ns = 5 * S,
							      .until_ns = 7 * S});
	assert_wanted(&schedule, 4 * S, false, 5 * S);
	assert_wanted(&schedule, 5 * S, true, 7 * S);
	assert_wanted(&schedule, 7 * S, false, UINT64_MAX);
	window_schedule_command(&schedule,
				&(struct record_ring_command){.action = RECORD_RING_COMMAND_START});
	assert_wanted(&schedule, 8 * S, true, UINT64_MAX);
	window_schedule_command(&schedule,
				&(struct record_ring_command){.action = RECORD_RING_COMMAND_STOP});
	assert_wanted(&schedule, 8 * S, false, UINT64_MAX);
	schedule.options.dormant = false;
	assert_wanted(&schedule, 8 * S, false, UINT64_MAX);
	window_schedule_command(&schedule,
				&(struct record_ring_command){.action = RECORD_RING_COMMAND_NONE});
	assert_wanted(&schedule, 8 * S, true, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_run_is_wanted_by_default),
		cmocka_unit_test(a_delay_and_an_end_bound_it),
		cmocka_unit_test(a_duty_cycle_is_aligned_to_the_clock),
		cmocka_unit_test(a_range_must_be_open_as_often_as_it_was_opened),
		cmocka_unit_test(commands_go_before_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
