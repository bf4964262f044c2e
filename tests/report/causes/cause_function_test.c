#include "report/causes/cause_function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void functions_of_the_program_are_causes(void **state)
{
	(void)state;
	assert_true(cause_function_is("train.py:step", ""));
	assert_true(cause_function_is("at::native::addmm", ""));
	assert_true(cause_function_is("rank_work", ""));
}

static void other_frames_are_none(void **state)
{
	static const char *const names[] = {"",
					    "[CPU]",
					    "do_poll_[k]",
					    "libc.so.6+0x98e51",
					    "cudaLaunchKernel",
					    "cuMemcpyHtoD_v2"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (cause_function_is(names[i], ""))
			fail_msg("%s", names[i]);
}

/* A plus sign that no address follows is a part of the name. */
static void an_operator_is_no_address(void **state)
{
	(void)state;
	assert_true(cause_function_is("matrix::operator+", ""));
	assert_true(cause_function_is("matrix+0xq", ""));
}

/* The reason stands beside the function: poll by __poll tells nothing. Python's own function of that name does. */
static void a_c_function_named_as_the_reason_tells_nothing(void **state)
{
	(void)state;
	assert_false(cause_function_is("__poll", "poll"));
	assert_true(cause_function_is("__poll", "sleep"));
	assert_true(cause_function_is("loader.py:poll", "poll"));
}

static void python_has_one_colon(void **state)
{
	(void)state;
	assert_true(cause_function_is_python("train.py:step"));
	assert_false(cause_function_is_python("at::native::addmm"));
	assert_false(cause_function_is_python("rank_work"));
	assert_false(cause_function_is_python("[GPU0_Kernel]a:b"));
}

static void the_standard_librarys_waits_are_on_behalf_of_callers(void **state)
{
	(void)state;
	assert_true(cause_function_waits("queue.py:get"));
	assert_true(cause_function_waits("multiprocessing/connection.py:wait"));
	assert_false(cause_function_waits("my_queue.py:get"));
	assert_false(cause_function_waits("queue.pyx:get"));
	assert_false(cause_function_waits("loader.py:next"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_program_are_causes),
		cmocka_unit_test(other_frames_are_none),
		cmocka_unit_test(an_operator_is_no_address),
		cmocka_unit_test(a_c_function_named_as_the_reason_tells_nothing),
		cmocka_unit_test(python_has_one_colon),
		cmocka_unit_test(the_standard_librarys_waits_are_on_behalf_of_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
