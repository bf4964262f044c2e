#include "python/python_eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#if !defined(__x86_64__)
#error "the function below is in x86_64 assembly"
#endif

extern const char loop_start[], loop_end[], cold_start[], cold_end[];

/* Never run: a function whose rarely used part the compiler has moved out, beside one that it only
 * tail-calls. */
__asm__(".pushsection .text\n"
	"loop_start:\n"
	".cfi_startproc\n"
	"nop\n"
	".Lback:\n"
	".rept 6\n"
	"jne .Laway\n"
	".endr\n"
	".rept 6\n"
	"jmp other_start\n"
	".endr\n"
	".cfi_endproc\n"
	"loop_end:\n"
	".popsection\n"
	".pushsection .text.unlikely, \"ax\", @progbits\n"
	"other_start:\n"
	".cfi_startproc\n"
	"nop\n"
	"ret\n"
	".cfi_endproc\n"
	"cold_start:\n"
	".cfi_startproc\n"
	"nop\n"
	".Laway:\n"
	".rept 6\n"
	"jmp .Lback\n"
	".endr\n"
	".cfi_endproc\n"
	"cold_end:\n"
	".popsection\n");

static uint64_t address_of(const char *symbol)
{
	return (uint64_t)(uintptr_t)symbol;
}

static void loop_is_found_with_the_part_that_was_moved_out(void **state)
{
	struct unwind_stops stops;

	(void)state;
	assert_true(python_eval_find(address_of(loop_start), &stops));
	assert_int_equal(stops.nr, 2);
	assert_int_equal(stops.ranges[0].start, address_of(loop_start));
	assert_int_equal(stops.ranges[0].end, address_of(loop_end));
	assert_int_equal(stops.ranges[1].start, address_of(cold_start));
	assert_int_equal(stops.ranges[1].end, address_of(cold_end));
}

static void ordinary_function_is_one_range(void **state)
{
	struct unwind_stops stops;

	(void)state;
	assert_true(python_eval_find((uint64_t)(uintptr_t)address_of, &stops));
	assert_int_equal(stops.nr, 1);
	assert_int_equal(stops.ranges[0].start, (uint64_t)(uintptr_t)address_of);
}

static void what_is_no_code_has_no_ranges(void **state)
{
	struct unwind_stops stops = {.nr = 1};

	(void)state;
	assert_false(python_eval_find(0, &stops));
	assert_int_equal(stops.nr, 0);
	stops.nr = 1;
	assert_false(python_eval_find((uint64_t)(uintptr_t)&stops, &stops));
	assert_int_equal(stops.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop_is_found_with_the_part_that_was_moved_out),
		cmocka_unit_test(ordinary_function_is_one_range),
		cmocka_unit_test(what_is_no_code_has_no_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
