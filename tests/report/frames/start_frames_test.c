#include "report/frames/start_frames.h"

#include "tests/support/cmocka_test.h"

#include "tests/report/model/report_fixture.h"

static uint64_t next_offset;

static uint32_t native(uint32_t parent, uint32_t module, const char *name)
{
	return report_fixture_push(parent, report_fixture_frame(module, ++next_offset, name));
}

static uint32_t in_program(uint32_t parent, const char *name)
{
	return native(parent, report_fixture.program, name);
}

static void a_program_starts_with_one_frame(void **state)
{
	uint32_t libc = report_fixture_module("/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	uint32_t node = in_program(0, "_start");

	(void)state;
	node = native(native(node, libc, "__libc_start_main"), libc, "");
	report_fixture_add_kernel(in_program(in_program(node, "main"), "work"), "k", 5);
	report_fixture_assert_folded("[program start];main;work;[GPU0_Kernel]k 5\n");
}

static void a_thread_starts_with_one_frame_with_names_or_without(void **state)
{
	uint32_t libc = report_fixture_module("/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	uint32_t cxx = report_fixture_module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0);
	uint32_t named = native(native(0, libc, "clone3"), libc, "start_thread");
	uint32_t nameless = native(native(native(0, libc, ""), libc, ""), cxx, "");

	(void)state;
	named = native(named, cxx, "execute_native_thread_routine");
	report_fixture_add_kernel(in_program(named, "run"), "k", 5);
	report_fixture_add_kernel(in_program(nameless, "run"), "k", 6);
	report_fixture_assert_folded("[thread start];run;[GPU0_Kernel]k 11\n");
}

static void frames_of_these_files_elsewhere_stay(void **state)
{
	uint32_t libc = report_fixture_module("/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	uint32_t node = in_program(in_program(0, "_start"), "main");

	(void)state;
	report_fixture_add_kernel(in_program(native(node, libc, "qsort"), "compare"), "k", 5);
	report_fixture_add_kernel(in_program(in_program(0, "clone"), "clone_model"), "k", 6);
	report_fixture_assert_folded("[program start];main;qsort;compare;[GPU0_Kernel]k 5\n"
				     "[thread start];clone_model;[GPU0_Kernel]k 6\n");
}

static void ranges_stand_outwards_of_the_start(void **state)
{
	uint32_t range = report_fixture_push(0, report_fixture_code(NULL, "[NVTX]step", 0));
	uint32_t node = report_fixture_push(range, report_fixture_code(NULL, "[NVTX]loss", 0));

	(void)state;
	report_fixture_add_kernel(in_program(in_program(node, "_start"), "main"), "k", 5);
	report_fixture_assert_folded(
		"[NVTX]step;[NVTX]loss;[program start];main;[GPU0_Kernel]k 5\n");
}

/* The outermost frames were left out, so that nobody knows what starts there. */
static void behind_a_mark_nothing_starts(void **state)
{
	uint32_t libc = report_fixture_module("/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	uint32_t mark = report_fixture_push(0, report_fixture_code(NULL, "[stack truncated]", 0));

	(void)state;
	report_fixture_add_kernel(native(mark, libc, "clone3"), "k", 5);
	report_fixture_assert_folded("[stack truncated];clone3;[GPU0_Kernel]k 5\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_starts_with_one_frame),
		TEST(a_thread_starts_with_one_frame_with_names_or_without),
		TEST(frames_of_these_files_elsewhere_stay),
		TEST(ranges_stand_outwards_of_the_start),
		TEST(behind_a_mark_nothing_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
