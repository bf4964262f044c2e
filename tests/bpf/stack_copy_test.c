#include "tests/support/cmocka_test.h"

#include <string.h>

#include "unwind/unwind_row.h"
#include "node-agent/kernel/stack_copy.h"

#define SP    0x7ffc00001000ull
#define WORDS 64

/* Code at 0x100, 0x200 and so on, each with a rule of its own. */
struct code {
	uint32_t rules[8];
};

static bool find(void *context, uint64_t address, uint32_t *rule)
{
	const struct code *code = context;

	if (address < 0x100 || address >= 0x900)
		return false;
	*rule = code->rules[address / 0x100 - 1];
	return true;
}

static uint64_t words[WORDS];

static struct stack_copy copy_of(uint64_t pc, uint64_t fp)
{
	return (struct stack_copy){
		.pc = pc, .sp = SP, .fp = fp, .bytes = (uint8_t *)words, .size = sizeof(words)};
}

static int set_up(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	return 0;
}

static void rules_lead_to_the_first_function(void **state)
{
	struct code code = {{
		unwind_rule(UNWIND_RSP, 3, -2), /* saves rbp */
		unwind_rule(UNWIND_RBP, 2, -2), /* by its frame pointer */
		unwind_rule_special(UNWIND_OUTERMOST),
	}};
	struct stack_copy copy = copy_of(0x110, 0);
	uint64_t frames[8];
	bool complete;

	(void)state;
	words[1] = SP + 64; /* the caller's rbp */
	words[2] = 0x210;
	words[8] = 0x1234;
	words[9] = 0x310;
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 3);
	assert_true(complete);
	assert_int_equal(frames[0], 0x110);
	assert_int_equal(frames[1], 0x210);
	assert_int_equal(frames[2], 0x310);
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 2, &complete), 2);
	assert_false(complete);
}

/* pop %rbp; pop %r12; ret: before each of the last two. */
static void a_function_about_to_return_has_its_callers_frame_pointer(void **state)
{
	struct code code = {{
		unwind_rule(UNWIND_RSP, 2, -3), /* behind the first pop */
		unwind_rule(UNWIND_RSP, 1, -3), /* behind the second */
		unwind_rule(UNWIND_RBP, 2, -2), /* the caller, by its frame pointer */
		unwind_rule_special(UNWIND_OUTERMOST),
	}};
	uint64_t frames[8];
	bool complete;

	(void)state;
	words[0] = words[1] = 0x310;
	words[8] = 0x1234;
	words[9] = 0x410;
	for (uint64_t pc = 0x110; pc <= 0x210; pc += 0x100) {
		struct stack_copy copy = copy_of(pc, SP + 64);

		assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 3);
		assert_true(complete);
		assert_int_equal(frames[0], pc);
		assert_int_equal(frames[1], 0x310);
		assert_int_equal(frames[2], 0x410);
	}
}

static void a_stack_that_is_cut_ends_there(void **state)
{
	struct code code = {{unwind_rule(UNWIND_RSP, 2, UNWIND_RBP_KEPT)}};
	struct stack_copy copy = copy_of(0x110, 0);
	uint64_t frames[WORDS];
	bool complete;

	(void)state;
	for (int i = 0; i < WORDS; i++)
		words[i] = 0x120;
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, WORDS, &complete), 33);
	assert_false(complete);
	copy.size = 4;
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, WORDS, &complete), 1);
	copy.size = 0;
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, WORDS, &complete), 1);
}

/* A frame of 64 KiB lies between the parts. */
static void walk_goes_on_in_the_second_part(void **state)
{
	struct code code = {{
		unwind_rule(UNWIND_RSP, 2, UNWIND_RBP_KEPT),
		unwind_rule(UNWIND_RBP, 2, -2),
		unwind_rule(UNWIND_RSP, 3, UNWIND_RBP_KEPT),
		unwind_rule_special(UNWIND_OUTERMOST),
	}};
	struct stack_copy copy = copy_of(0x110, SP + 65536 + 64);
	uint64_t frames[8];
	bool complete;

	(void)state;
	copy.parts[0] = (struct stack_copy_part){SP + 65536, 32 * 8};
	words[1] = 0x210;
	words[32 + 8] = 0x1234; /* at the frame pointer */
	words[32 + 9] = 0x310;
	words[32 + 12] = 0x410;
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 4);
	assert_true(complete);
	assert_int_equal(frames[3], 0x410);
	/* The caller's lies in a third. */
	copy.parts[1] = (struct stack_copy_part){SP + 65536 + 8 * 12 + 4096, 32 * 8 + 8 * 12};
	copy.parts[2] = (struct stack_copy_part){SP, 3};
	code.rules[2] = unwind_rule(UNWIND_RSP, 3 + 4096 / 8, UNWIND_RBP_KEPT);
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 4);
	assert_true(complete);
	copy.parts[0].sp += 8 * 32; /* all of it lies below */
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 2);
	assert_false(complete);
	copy.parts[0] = (struct stack_copy_part){UINT64_MAX - 100, UINT32_MAX};
	assert_int_equal(stack_copy_walk(&copy, find, &code, frames, 8, &complete), 2);
}

static void nothing_in_it_is_believed(void **state)
{
	static const uint64_t values[] = {0,      1,        SP - 8,     SP,
					  SP + 8, SP + 504, UINT64_MAX, INT64_MAX};
	const uint32_t rules[] = {
		unwind_rule(UNWIND_RSP, 0, 0),
		unwind_rule(UNWIND_RSP, UNWIND_NUMBER_MAX, -1),
		unwind_rule(UNWIND_RBP, -4096, 4000),
		unwind_rule(UNWIND_RBP, 4095, UNWIND_RBP_LOST),
		unwind_rule(UNWIND_RBP_MEMORY, -5, -2),
		unwind_rule(UNWIND_PLT, 11, UNWIND_RBP_KEPT),
		unwind_rule_far(UNWIND_FAR_MAX, -3),
		unwind_rule_special(UNWIND_SIGNAL),
		unwind_rule_special(UNWIND_UNSUPPORTED),
		UINT32_MAX,
	};
	uint64_t frames[16];
	bool complete;

	(void)state;
	for (size_t i = 0; i < 10 * 8 * 8; i++) {
		struct stack_copy copy = copy_of(0x110, values[i % 8]);
		struct code code;

		for (size_t at = 0; at < 8; at++)
			code.rules[at] = rules[(i / 64 + at) % 10];
		for (size_t at = 0; at < WORDS; at++)
			words[at] = at % 3 ? values[i / 8 % 8] : 0x100 * (at % 8 + 1);
		assert_in_range(stack_copy_walk(&copy, find, &code, frames, 16, &complete), 1, 16);
		for (size_t at = 0; at < STACK_COPY_PARTS; at++)
			copy.parts[at] = (struct stack_copy_part){
				values[(i + at) % 5 + 1], (uint32_t)values[(i + at) % 7] % 600};
		assert_in_range(stack_copy_walk(&copy, find, &code, frames, 16, &complete), 1, 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rules_lead_to_the_first_function, set_up),
		cmocka_unit_test_setup(a_function_about_to_return_has_its_callers_frame_pointer,
				       set_up),
		cmocka_unit_test_setup(a_stack_that_is_cut_ends_there, set_up),
		cmocka_unit_test_setup(walk_goes_on_in_the_second_part, set_up),
		cmocka_unit_test_setup(nothing_in_it_is_believed, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
