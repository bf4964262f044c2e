/* Launches take less of their stacks while they cost more than is allowed. The meter's sums stand for the clock. */
#include "inject/launch/cost_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/options/cost_option.h"

#define ALLOWED 2000u /* 2 % */
#define CALLS   6400u /* in a turn */
#define TURN_NS 100000000u

#define LANES 41u

struct program {
	struct cost_limit limit;
	uint64_t now_ns;
	uint64_t sums[LANES][RECORD_METER_WORDS];
	uint64_t each_ns[COST_LEVELS]; /* what a call costs at each level */
};

static const int64_t burst_ns =
	(int64_t)COST_LIMIT_THREAD_NS / 100000 * ALLOWED + COST_LIMIT_FIXED_NS; /* 45 ms */

static int set_up(void **state)
{
	struct program *program = calloc(1, sizeof(*program));

	program->limit.allowed = ALLOWED;
	program->limit.has_python = true;
	*state = program;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Adds what a lane's thread launched in thread_ns. */
static void launch(struct program *program, uint32_t lane, uint64_t calls, uint64_t thread_ns)
{
	uint64_t *sums = program->sums[lane];
	uint64_t ns = calls * program->each_ns[program->limit.level];

	sums[RECORD_METER_METERED] += calls / 64;
	sums[RECORD_METER_CALLS] += calls;
	sums[RECORD_METER_ENTRY_NS] += ns / 5;
	sums[RECORD_METER_NATIVE_NS] += ns / 5;
	sums[RECORD_METER_PYTHON_NS] += ns / 5;
	sums[RECORD_METER_INTERN_NS] += ns / 5;
	sums[RECORD_METER_EXIT_NS] += ns / 5;
	sums[RECORD_METER_THREAD_NS] += thread_ns;
}

/* Judges after TURN_NS, of which 2 ms are allowed. */
static enum cost_verdict judge(struct program *program)
{
	program->now_ns += TURN_NS;
	for (uint32_t lane = 0; lane < LANES; lane++)
		cost_limit_take(&program->limit, lane, program->sums[lane], program->now_ns);
	return cost_limit_judge(&program->limit, program->now_ns);
}

/* Lets the program's first thread launch for TURN_NS. */
static enum cost_verdict turn(struct program *program, uint64_t calls)
{
	launch(program, 0, calls, TURN_NS);
	return judge(program);
}

static void add_stacks(struct program *program, uint64_t nr, uint64_t each_ns)
{
	program->sums[0][RECORD_METER_STACKS] += nr;
	program->sums[0][RECORD_METER_STACK_NS] += nr * each_ns;
}

static void set_each(struct program *program, uint64_t whole, uint64_t python, uint64_t leaf,
		     uint64_t none)
{
	program->each_ns[COST_LEVEL_WHOLE] = whole;
	program->each_ns[COST_LEVEL_PYTHON] = python;
	program->each_ns[COST_LEVEL_LEAF] = leaf;
	program->each_ns[COST_LEVEL_NONE] = none;
}

/* Makes up to `most` turns. Returns how many there were up to the first verdict that says something. */
static uint32_t turns_until_news(struct program *program, uint64_t calls, uint32_t most)
{
	for (uint32_t i = 1; i <= most; i++)
		if (turn(program, calls) != COST_VERDICT_SAME)
			return i;
	return most + 1;
}

static void cost_that_is_allowed_changes_nothing(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 0, 0, 0); /* 1.984 % */
	assert_int_equal(turns_until_news(program, CALLS, 100000), 100001);
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
}

static void a_burst_that_the_rest_pays_for_changes_nothing(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 0, 0, 0);
	for (uint32_t burst = 0; burst < 3; burst++) {
		/* 14 turns of 4.96 % owe 41.4 ms, and 3,000 of 1.86 % save more. */
		assert_int_equal(turns_until_news(program, CALLS * 5 / 2, 14), 15);
		assert_int_equal(turns_until_news(program, CALLS * 15 / 16, 3000), 3001);
	}
	assert_int_equal(program->limit.lanes[0].balance_ns, burst_ns);
}

/* Those that the scheduler interrupts count as the longest metered call. */
static void new_stacks_at_the_start_change_nothing(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 0, 0, 0);
	add_stacks(program, 16, 31000000);
	add_stacks(program, 240, 80000);
	assert_int_equal(turns_until_news(program, CALLS, 3000), 3001);
}

static void new_stacks_without_end_cost_too_much(void **state)
{
	struct program *program = *state;
	uint32_t turns = 0;

	set_each(program, 240, 100, 100, 100); /* 1.536 % */
	do {
		add_stacks(program, 20, 50000); /* 1 % more */
		turns++;
	} while (turn(program, CALLS) == COST_VERDICT_SAME);
	assert_int_equal(turns, 84); /* 0.536 ms of 45 each */
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(program->limit.share, 2536);
}

static void each_level_that_costs_too_much_for_long_is_left(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 800, 600, 400);
	assert_int_equal(turns_until_news(program, CALLS, 100), 11); /* 4.4 ms of 45 */
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(program->limit.share, 6400);               /* before */
	assert_int_equal(turns_until_news(program, CALLS, 100), 4); /* 3.12 ms of 11.25 */
	assert_int_equal(program->limit.level, COST_LEVEL_LEAF);
	assert_int_equal(program->limit.share, 5120);
	assert_int_equal(turns_until_news(program, CALLS, 100), 7); /* 1.84 ms of 11.25 */
	assert_int_equal(program->limit.level, COST_LEVEL_NONE);
	assert_int_equal(program->limit.share, 3840);
}

static void a_limit_that_cannot_be_kept_is_said_once(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 800, 600, 400);
	while (program->limit.level != COST_LEVEL_NONE)
		turn(program, CALLS);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(turn(program, CALLS), COST_VERDICT_SAME);
	assert_int_equal(turn(program, CALLS), COST_VERDICT_EXCEEDED); /* 0.56 ms of 11.25 */
	assert_int_equal(program->limit.share, 2560);
	assert_int_equal(turns_until_news(program, CALLS, 1000), 1001);
	/* However much is owed, it is paid back at last. */
	assert_int_equal(turns_until_news(program, CALLS / 4, 1000),
			 100); /* 1.36 ms of three bursts */
	assert_int_equal(program->limit.level, COST_LEVEL_LEAF);
}

static void without_python_there_is_no_level_of_its_frames(void **state)
{
	struct program *program = *state;

	program->limit.has_python = false;
	set_each(program, 1000, 1000, 300, 200);
	turns_until_news(program, CALLS, 100);
	assert_int_equal(program->limit.level, COST_LEVEL_LEAF);
	turns_until_news(program, CALLS, 10000);
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
}

/* From a burst of debt to one of credit. */
static void stacks_come_back_when_a_burst_is_saved(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 200, 100, 50);
	turns_until_news(program, CALLS, 100);
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(turns_until_news(program, CALLS, 1000), 130); /* 0.72 ms of 93.4 */
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
	assert_int_equal(program->limit.share, 1280);
	assert_int_equal(turns_until_news(program, CALLS, 1000), 21); /* 4.4 ms of 90 */
}

/* Some turns have none of its launches, and some have many. */
static void the_cost_of_a_long_run_is_what_is_allowed(void **state)
{
	struct program *program = *state;
	const uint32_t turns = 20000;
	uint32_t at[COST_LEVELS] = {0}, changes = 0;
	uint64_t random = 1, ns = 0;

	set_each(program, 600, 250, 100, 50); /* on average 3.84 % and 1.6 % */
	for (uint32_t i = 0; i < turns; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;

		uint64_t calls = (random >> 33) % (2 * CALLS);
		ns += calls * program->each_ns[program->limit.level];
		at[program->limit.level]++;
		changes += turn(program, calls) != COST_VERDICT_SAME;
		assert_true((int64_t)ns <= 2000000 * (int64_t)(i + 1) + burst_ns + 5680000);
	}
	assert_int_equal(at[COST_LEVEL_LEAF] + at[COST_LEVEL_NONE], 0);
	assert_true(ns > 2000000ull * turns * 95 / 100);
	assert_true(changes < turns / 100);
}

/* Forty threads make a block of calls each 6.4 s, and one launches without end. */
static void threads_that_hardly_launch_hide_nothing(void **state)
{
	struct program *program = *state;
	uint32_t turns = 0;

	set_each(program, 1000, 800, 600, 400);
	do {
		for (uint32_t lane = 1; lane < LANES; lane++)
			if ((turns + lane) % 64 == 0)
				launch(program, lane, 64, 64 * TURN_NS);
		turns++;
	} while (turn(program, CALLS) == COST_VERDICT_SAME);
	assert_int_equal(turns, 11); /* as alone */
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(program->limit.share, 6400);
	assert_int_equal(turns_until_news(program, CALLS, 100), 4);
	assert_int_equal(turns_until_news(program, CALLS, 100), 7);
	assert_int_equal(program->limit.level, COST_LEVEL_NONE);
	/* Nor do they bring stacks back. */
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t lane = 1; lane < LANES; lane++)
			if ((i + lane) % 64 == 0)
				launch(program, lane, 64, 64 * TURN_NS);
		turn(program, CALLS);
		assert_int_equal(program->limit.level, COST_LEVEL_NONE);
	}
}

/* Their costs never add up: each has its own time. */
static void threads_below_the_limit_change_nothing(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 0, 0, 0);
	for (uint32_t i = 0; i < 10000; i++) {
		for (uint32_t lane = 1; lane < LANES; lane++)
			if ((i + lane) % 3 == 0)
				launch(program, lane, 3 * CALLS, 3 * TURN_NS);
		assert_int_equal(turn(program, CALLS), COST_VERDICT_SAME);
	}
}

/* After a long time below the limit, the share is that of the time above. */
static void no_verdict_names_a_share_below_the_limit(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 100, 100, 100);
	assert_int_equal(turns_until_news(program, CALLS / 64, 100000), 100001); /* 0.1 % */
	assert_int_equal(turns_until_news(program, CALLS / 2, 1000), 75);        /* 1.2 ms of 90 */
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(program->limit.share, 3200);
}

/* Time that a thread rests is saved when it is over, and before its next call says so. */
static void a_thread_that_rests_saves(void **state)
{
	struct program *program = *state;
	uint32_t turns = 1;

	set_each(program, 1000, 800, 600, 400);
	while (program->limit.level != COST_LEVEL_LEAF)
		turn(program, CALLS);
	const int64_t owed_ns = burst_ns - program->limit.lanes[0].balance_ns;
	while (judge(program) == COST_VERDICT_SAME)
		turns++;
	assert_int_equal(turns, (owed_ns + 1999999) / 2000000);
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_int_equal(judge(program), COST_VERDICT_CHANGED);
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
	assert_int_equal(judge(program), COST_VERDICT_SAME);
}

static void percentages_are_read_exactly(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint32_t share;
	} cases[] = {
		{NULL, 0, 0},
		{"", 0, 0},
		{"2%", 0, 2000},
		{"2", 0, 2000},
		{"0.5%", 0, 500},
		{"0.001", 0, 1},
		{"100%", 0, 100000},
		{"12.345%", 0, 12345},
		{"0", -EINVAL, 0},
		{"0.0009", -EINVAL, 0},
		{"100.001", -EINVAL, 0},
		{"4294969296", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"2 %", -EINVAL, 0},
		{"2%%", -EINVAL, 0},
		{"two", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t share = 7;

		assert_int_equal(cost_option_parse(cases[i].text, &share), cases[i].result);
		assert_int_equal(share, cases[i].share);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cost_that_is_allowed_changes_nothing),
		TEST(a_burst_that_the_rest_pays_for_changes_nothing),
		TEST(new_stacks_at_the_start_change_nothing),
		TEST(new_stacks_without_end_cost_too_much),
		TEST(each_level_that_costs_too_much_for_long_is_left),
		TEST(a_limit_that_cannot_be_kept_is_said_once),
		TEST(without_python_there_is_no_level_of_its_frames),
		TEST(stacks_come_back_when_a_burst_is_saved),
		TEST(the_cost_of_a_long_run_is_what_is_allowed),
		TEST(threads_that_hardly_launch_hide_nothing),
		TEST(threads_below_the_limit_change_nothing),
		TEST(no_verdict_names_a_share_below_the_limit),
		TEST(a_thread_that_rests_saves),
		cmocka_unit_test(percentages_are_read_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
