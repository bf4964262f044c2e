/* Frames of generated code, which have lines of the user's model. */
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "tests/report/model/report_fixture.h"
#include "tests/support/cmocka_test.h"

#define FILE_PATH "/tmp/torchinductor_u/ab/cab.py"

/* The stack of a kernel in a generated file, whose frame has this symbol. */
static uint32_t stack(const char *symbol)
{
	uint32_t main = report_fixture_push(0, report_fixture_code("/home/u/train.py", "main", 30));
	uint32_t frame = report_fixture_code(FILE_PATH, "call", 9);

	assert_int_equal(
		catalog_name_frame(report_fixture.catalog, frame, report_fixture_string(symbol)),
		0);
	return report_fixture_push(report_fixture_push(main, frame),
				   report_fixture_code(NULL, "cuLaunchKernel", 0));
}

static void lines_stand_behind_the_generated_frame(void **state)
{
	(void)state;
	report_fixture_add_kernel(stack("forward\t/home/u/model.py:57\nloss\t/home/u/model.py:60"),
				  "k", 5);
	report_fixture_assert_folded("train.py:main:30;cab.py:call:9;model.py:forward:57, "
				     "model.py:loss:60;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void equal_functions_are_one_without_lines(void **state)
{
	(void)state;
	report_fixture_add_kernel(
		stack("forward\t/home/u/model.py:57\nforward\t/home/u/model.py:58\n"
		      "for\t/home/u/model.py:58\n...\n≈"),
		"k", 5);
	report_fixture_assert_folded_without_lines(
		"train.py:main;cab.py:call;model.py:forward, model.py:for, ... "
		"≈;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void frame_that_has_no_lines_is_alone(void **state)
{
	(void)state;
	report_fixture_add_kernel(stack(""), "k", 5);
	report_fixture_assert_folded(
		"train.py:main:30;cab.py:call:9;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void lines_are_the_users(void **state)
{
	const struct report_options options = {.view = {.frames = REPORT_FRAMES_USER}};

	(void)state;
	report_fixture_add_kernel(stack("forward\t/home/u/model.py:57"), "k", 5);
	report_fixture_build_with(&options);
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
					  "train.py:main:30;[inductor];model.py:forward:57;"
					  "cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void broken_symbols_are_shown_as_they_are(void **state)
{
	(void)state;
	report_fixture_add_kernel(stack("forward\t/home/u/model.py\n\n\t\nx\t:7"), "k", 5);
	report_fixture_assert_folded(
		"train.py:main:30;cab.py:call:9;forward, x:7;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_stand_behind_the_generated_frame,
						report_fixture_set_up, report_fixture_tear_down),
		cmocka_unit_test_setup_teardown(equal_functions_are_one_without_lines,
						report_fixture_set_up, report_fixture_tear_down),
		cmocka_unit_test_setup_teardown(frame_that_has_no_lines_is_alone,
						report_fixture_set_up, report_fixture_tear_down),
		cmocka_unit_test_setup_teardown(lines_are_the_users, report_fixture_set_up,
						report_fixture_tear_down),
		cmocka_unit_test_setup_teardown(broken_symbols_are_shown_as_they_are,
						report_fixture_set_up, report_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
