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

struct program {
	struct cost_limit limit;
	uint64_t sums[RECORD_METER_WORDS];
	uint64_t each_ns[COST_LEVELS]; /* what a call costs at each level */
};

static int set_up(void **state)
{
	struct program *program = calloc(1, sizeof(*program));

	program->limit.allowed = ALLOWED;
	*state = program;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Lets the program launch for TURN_NS. Returns whether the level changed. */
static bool turn(struct program *program, uint64_t calls)
{
	uint64_t *sums = program->sums;
	uint64_t ns = calls * program->each_ns[program->limit.level];

	sums[RECORD_METER_METERED] += calls / 64;
	sums[RECORD_METER_CALLS] += calls;
	sums[RECORD_METER_ENTRY_NS] += ns / 5;
	sums[RECORD_METER_NATIVE_NS] += ns / 5;
	sums[RECORD_METER_PYTHON_NS] += ns / 5;
	sums[RECORD_METER_INTERN_NS] += ns / 5;
	sums[RECORD_METER_EXIT_NS] += ns / 5;
	sums[RECORD_METER_THREAD_NS] += TURN_NS;
	return cost_limit_judge(&program->limit, sums);
}

static void set_each(struct program *program, uint64_t whole, uint64_t python, uint64_t leaf,
		     uint64_t none)
{
	program->each_ns[COST_LEVEL_WHOLE] = whole;
	program->each_ns[COST_LEVEL_PYTHON] = python;
	program->each_ns[COST_LEVEL_LEAF] = leaf;
	program->each_ns[COST_LEVEL_NONE] = none;
}

static void cost_that_is_allowed_changes_nothing(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 0, 0, 0); /* 1.984 % */
	for (uint32_t i = 0; i < 100; i++)
		assert_false(turn(program, CALLS));
	assert_int_equal(program->limit.share, 1984);
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
}

static void each_turn_that_costs_too_much_goes_one_level_down(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 800, 600, 400);
	assert_true(turn(program, CALLS));
	assert_int_equal(program->limit.share, 6400);
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	assert_true(turn(program, CALLS));
	assert_int_equal(program->limit.level, COST_LEVEL_LEAF);
	assert_true(turn(program, CALLS));
	assert_int_equal(program->limit.level, COST_LEVEL_NONE);
	assert_false(turn(program, CALLS)); /* there is no lower one */
	assert_int_equal(program->limit.level, COST_LEVEL_NONE);
	assert_int_equal(program->limit.share, 2560);
}

static void new_stacks_cost_too(void **state)
{
	struct program *program = *state;

	set_each(program, 310, 100, 100, 100);
	program->sums[RECORD_METER_STACK_NS] += 20000; /* 0.02 % more */
	assert_true(turn(program, CALLS));
	assert_int_equal(program->limit.share, 2004);
}

static void few_metered_calls_are_judged_with_those_that_follow(void **state)
{
	struct program *program = *state;

	set_each(program, 1000, 0, 0, 0);
	assert_false(turn(program, CALLS / 2));
	assert_int_equal(program->limit.share, 0);
	assert_true(turn(program, CALLS / 2)); /* 100 metered in 200 ms */
	assert_int_equal(program->limit.share, 3200);
}

static void fewer_launches_bring_whole_stacks_back(void **state)
{
	struct program *program = *state;

	set_each(program, 500, 200, 100, 50);
	assert_true(turn(program, CALLS));
	assert_int_equal(program->limit.level, COST_LEVEL_PYTHON);
	/* Whole stacks would cost 3.2 %, so they stay away, ... */
	assert_false(turn(program, CALLS));
	/* ... also when they would cost 1.6 %, but not when they cost less than 1.5 %. */
	program->limit.each_ns[COST_LEVEL_WHOLE] = 248;
	assert_false(turn(program, CALLS));
	assert_int_equal(program->limit.each_ns[COST_LEVEL_WHOLE], 248 - 15);
	assert_true(turn(program, CALLS)); /* 233 ns */
	assert_int_equal(program->limit.level, COST_LEVEL_WHOLE);
}

/* The level goes up and down, but most of the time the cost is what is allowed. */
static void a_level_that_was_too_dear_is_tried_again_but_seldom(void **state)
{
	struct program *program = *state;
	uint32_t at[COST_LEVELS] = {0};

	set_each(program, 600, 250, 100, 50); /* 3.84 %, 1.6 % */
	for (uint32_t i = 0; i < 1000; i++) {
		turn(program, CALLS);
		at[program->limit.level]++;
	}
	assert_int_equal(at[COST_LEVEL_LEAF] + at[COST_LEVEL_NONE], 0);
	assert_int_equal(at[COST_LEVEL_WHOLE], 58);
	assert_int_equal(at[COST_LEVEL_PYTHON], 942);
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
		TEST(each_turn_that_costs_too_much_goes_one_level_down),
		TEST(new_stacks_cost_too),
		TEST(few_metered_calls_are_judged_with_those_that_follow),
		TEST(fewer_launches_bring_whole_stacks_back),
		TEST(a_level_that_was_too_dear_is_tried_again_but_seldom),
		cmocka_unit_test(percentages_are_read_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
