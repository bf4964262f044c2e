#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "node-agent/kernel/stack_merge.h"

#define FRAMES_MAX 16u

/* native: a letter a frame, leaf first, 'L' an evaluation loop; python: a digit a frame, a '|' behind each that ends
 * its segment. What comes out, in the same letters; marks are '?' (missing), '!' (mismatch) and '.' (truncated). */
static void check(enum stack_mode mode, const char *native, const char *python, bool complete,
		  bool cut, const char *wanted)
{
	bool is_loop[FRAMES_MAX] = {false}, segment_end[FRAMES_MAX] = {false}, differ;
	struct stack_merge_item items[2 * FRAMES_MAX + STACK_MERGE_MARKS];
	char digits[FRAMES_MAX] = "", got[64] = "";
	struct stack_merge_input input = {.is_loop = is_loop,
					  .segment_end = segment_end,
					  .nr_native = (uint32_t)strlen(native),
					  .complete = complete,
					  .cut = cut,
					  .mode = mode};

	for (uint32_t i = 0; native[i]; i++)
		is_loop[i] = native[i] == 'L';
	for (; *python; python++) {
		if (*python == '|')
			segment_end[input.nr_python - 1] = true;
		else
			digits[input.nr_python++] = *python;
	}
	uint32_t nr = stack_merge(&input, items, &differ);
	assert_true(nr <= input.nr_native + input.nr_python + STACK_MERGE_MARKS);
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t number = items[i].number;

		got[i] = items[i].kind == STACK_MERGE_NATIVE   ? native[number]
			 : items[i].kind == STACK_MERGE_PYTHON ? digits[number]
			 : number == STACK_MARK_MISSING        ? '?'
			 : number == STACK_MARK_MISMATCH       ? '!'
							       : '.';
	}
	assert_string_equal(got, wanted);
	assert_int_equal(differ, strchr(wanted, '!') != NULL);
}

static void leaf_stacks_are_native_down_to_the_first_loop(void **state)
{
	(void)state;
	check(STACK_MODE_LEAF, "abLcLd", "12|3|", true, false, "ab123");
	check(STACK_MODE_LEAF, "LcLd", "12|3|", true, false, "123");
	check(STACK_MODE_LEAF, "abL", "12|3|", false, false, "ab123");
}

static void full_stacks_have_a_segment_in_place_of_each_loop(void **state)
{
	(void)state;
	check(STACK_MODE_FULL, "abLcLd", "12|3|", true, false, "ab12c3d");
	check(STACK_MODE_FULL, "abL", "12|3|", false, false, "ab12?3");
	check(STACK_MODE_FULL, "ab", "1|", false, false, "ab?1");
}

static void what_does_not_fit_stands_side_by_side(void **state)
{
	(void)state;
	check(STACK_MODE_FULL, "abLcLd", "12|", true, false, "abLcLd!12");
	check(STACK_MODE_FULL, "abLc", "1|2|", true, false, "abLc!12");
	check(STACK_MODE_FULL, "aLcL", "1|", false, false, "aLcL?!1");
	check(STACK_MODE_LEAF, "abc", "1|", true, false, "abc!1");
}

static void missing_native_frames_are_marked(void **state)
{
	(void)state;
	check(STACK_MODE_LEAF, "ab", "1|2|", false, false, "ab?12");
	check(STACK_MODE_LEAF, "", "1|", false, false, "?1");
}

static void without_python_frames_stacks_are_native(void **state)
{
	(void)state;
	for (enum stack_mode mode = STACK_MODE_LEAF; mode < STACK_MODES; mode++)
		check(mode, "abLc", "", true, false, "abLc");
	check(STACK_MODE_NATIVE, "abLc", "1|", true, false, "abLc");
}

static void python_stacks_are_pythons_alone(void **state)
{
	(void)state;
	check(STACK_MODE_PYTHON, "abLc", "1|2|", true, false, "12");
}

static void frames_that_were_left_out_are_marked(void **state)
{
	(void)state;
	check(STACK_MODE_LEAF, "aL", "12", false, true, "a12.");
	check(STACK_MODE_PYTHON, "aL", "12", true, true, "12.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_stacks_are_native_down_to_the_first_loop),
		cmocka_unit_test(full_stacks_have_a_segment_in_place_of_each_loop),
		cmocka_unit_test(what_does_not_fit_stands_side_by_side),
		cmocka_unit_test(missing_native_frames_are_marked),
		cmocka_unit_test(without_python_frames_stacks_are_native),
		cmocka_unit_test(python_stacks_are_pythons_alone),
		cmocka_unit_test(frames_that_were_left_out_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
