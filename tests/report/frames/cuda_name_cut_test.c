#include "report/frames/cuda_name_cut.h"

#include "tests/support/cmocka_test.h"

#include "tests/report/model/report_fixture.h"

static void frames_of_a_static_runtime_are_cut(void **state)
{
	(void)state;
	report_fixture_add_row(
		report_fixture_key(report_fixture_stack("main", "step", "cudaLaunchKernel",
							"__cudart803", "cuLaunchKernel", NULL),
				   "k"),
		1, 5, 0);
	report_fixture_assert_folded("main;step;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void frames_of_cuda_modules_are_cut_though_nameless(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack("main", NULL);

	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.runtime, 0x1, "cudaMemcpyAsync"));
	node = report_fixture_push(node, report_fixture_frame(report_fixture.runtime, 0x2, ""));
	node = report_fixture_push(node, report_fixture_frame(report_fixture.runtime, 0x3, ""));
	report_fixture_add_row(report_fixture_key(node, "k"), 1, 5, 0);
	report_fixture_assert_folded("main;cudaMemcpyAsync;[GPU0_Kernel]k 5\n");
}

static void the_name_of_the_launchs_function_ends_a_stack(void **state)
{
	(void)state;
	uint32_t node = report_fixture_push(0, report_fixture_code("/srv/train.py", "step", 12));

	report_fixture_add_kernel(
		report_fixture_push(node, report_fixture_code(NULL, "cuLaunchKernelEx", 0)), "k",
		5);
	report_fixture_add_kernel(
		report_fixture_push(node, report_fixture_code(NULL, "CUDA call", 0)), "k", 6);
	node = report_fixture_push(node, report_fixture_code(NULL, "[frames missing]", 0));
	report_fixture_add_kernel(
		report_fixture_push(node, report_fixture_code(NULL, "cuLaunchKernel", 0)), "k", 7);
	report_fixture_assert_folded(
		"train.py:step:12;CUDA call;[GPU0_Kernel]k 6\n"
		"train.py:step:12;[frames missing];cuLaunchKernel;[GPU0_Kernel]k 7\n"
		"train.py:step:12;cuLaunchKernelEx;[GPU0_Kernel]k 5\n");
}

/* What the agent leaves of one: the driver's function, and the runtime's frames outwards of it. */
static void a_static_runtimes_function_takes_the_place_of_the_drivers(void **state)
{
	(void)state;
	static const char stub[] = "_Z26__device_stub__Z4gemmPfPf";
	uint32_t node = report_fixture_stack("main", "_Z4gemmPf", stub, NULL);

	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.program, 0x900,
					   "_ZL16cudaLaunchKernelIcE9cudaErrorPKT_4dim3S4_PPvmP11"
					   "CUstream_st"));
	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.program, 0x910, "cudaLaunchKernel"));
	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.program, 0x920, "__cudart803"));
	node = report_fixture_push(node, report_fixture_code(NULL, "cuLaunchKernel", 0));
	report_fixture_add_kernel(node, "k", 5);
	report_fixture_assert_folded("main;gemm(float*);cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void stubs_between_the_application_and_the_api_vanish(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack("main", "_Z26__device_stub__Z4gemmPfPf",
					     "_ZN1aL27__wrapper__device_stub_gemmIfEEvRPT_", NULL);

	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.runtime, 0x1, "cudaLaunchKernel"));
	report_fixture_add_kernel(node, "k", 5);
	node = report_fixture_push(report_fixture_stack("main", "__device_stub__Z1fv", NULL),
				   report_fixture_code(NULL, "CUDA call", 0));
	report_fixture_add_kernel(node, "k", 6);
	report_fixture_assert_folded("main;CUDA call;[GPU0_Kernel]k 6\n"
				     "main;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void stubs_that_were_inlined_into_the_application_vanish(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack(
		"main",
		"step\ta.cu:7\n_Z26__device_stub__Z4gemmPfPf\n_ZL16cudaLaunchKernelIcEvv\tr.h:9",
		NULL);

	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.runtime, 0x1, "cudaLaunchKernel"));
	report_fixture_add_kernel(node, "k", 5);
	report_fixture_assert_folded("main;a.cu:step:7;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
	report_fixture_assert_folded_without_lines("main;step;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void a_python_function_named_like_cudas_stays(void **state)
{
	(void)state;
	uint32_t node =
		report_fixture_push(0, report_fixture_code("/srv/t.py", "cudaLaunchKernel", 3));

	report_fixture_add_kernel(
		report_fixture_push(node, report_fixture_code(NULL, "cuLaunchKernel", 0)), "k", 5);
	report_fixture_assert_folded("t.py:cudaLaunchKernel:3;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void a_stack_without_cuda_is_shown_whole(void **state)
{
	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main", "step", NULL), "k", 5);
	report_fixture_assert_folded("main;step;[GPU0_Kernel]k 5\n");
}

static void the_application_around_cuda_stays(void **state)
{
	(void)state;
	report_fixture_add_row(
		report_fixture_key(report_fixture_stack("main", "cudaGraphLaunch", "callback",
							"cuda_step", "cublasSgemm",
							"cuLaunchKernel", NULL),
				   "k"),
		1, 5, 0);
	report_fixture_assert_folded(
		"main;cudaGraphLaunch;callback;cuda_step;cublasSgemm;cuLaunchKernel;"
		"[GPU0_Kernel]k 5\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_of_a_static_runtime_are_cut),
		TEST(frames_of_cuda_modules_are_cut_though_nameless),
		TEST(the_name_of_the_launchs_function_ends_a_stack),
		TEST(a_static_runtimes_function_takes_the_place_of_the_drivers),
		TEST(stubs_between_the_application_and_the_api_vanish),
		TEST(stubs_that_were_inlined_into_the_application_vanish),
		TEST(a_python_function_named_like_cudas_stays),
		TEST(a_stack_without_cuda_is_shown_whole),
		TEST(the_application_around_cuda_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
