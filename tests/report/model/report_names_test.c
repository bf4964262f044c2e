#include "report/model/report_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/catalog.h"
#include "report/names/clean_text.h"
#include "report/names/demangle.h"
#include "report_fixture.h"

/* --- names ------------------------------------------------------------------------------------ */

static void frames_without_a_symbol_are_file_and_offset(void **state)
{
	(void)state;
	uint32_t node =
		report_fixture_push(0, report_fixture_frame(report_fixture.program, 0x10, NULL));

	node = report_fixture_push(node, report_fixture_frame(report_fixture.program, 0x2f, ""));
	node = report_fixture_push(node, report_fixture_frame(0, 0xdeadbeef, NULL));
	report_fixture_add_row(report_fixture_key(node, "k"), 1, 5, 0);
	report_fixture_assert_folded("train+0x10;train+0x2f;[unknown];[GPU0_Kernel]k 5\n");
}

static void names_are_demangled_as_asked(void **state)
{
	(void)state;
	struct folded_options options = {.unit = FOLDED_NS};

	report_fixture_add_row(report_fixture_key(report_fixture_stack("_ZN5model7forwardEv", NULL),
						  "_Z4gemmIfEvPT_i"),
			       1, 5, 0);
	report_fixture_build(DEMANGLE_FULL);
	report_fixture_assert_folded_with(
		&options, "model::forward();[GPU0_Kernel]void gemm<float>(float*, int) 5\n");
	report_fixture_build(DEMANGLE_SIMPLE);
	report_fixture_assert_folded_with(&options, "model::forward;[GPU0_Kernel]gemm 5\n");
	report_fixture_build(DEMANGLE_NONE);
	report_fixture_assert_folded_with(&options,
					  "_ZN5model7forwardEv;[GPU0_Kernel]_Z4gemmIfEvPT_i 5\n");
}

static void assert_simple(const char *mangled, const char *expected)
{
	char *name = demangle_name(mangled, DEMANGLE_SIMPLE);

	assert_string_equal(name, expected);
	free(name);
}

static void simple_names_keep_what_names_the_function(void **state)
{
	(void)state;
	assert_simple("main", "main");
	assert_simple("_Znotmangled", "_Znotmangled");
	assert_simple("_ZNK3foo3barIiLi3EEEvRKSt6vectorIiSaIiEE", "foo::bar");
	assert_simple("_ZlsIiERSoS0_T_", "operator<<");
	assert_simple("_ZN1AltERKS_", "A::operator<");
	assert_simple("_ZN1AptEv", "A::operator->");
	assert_simple("_ZN1AclEi", "A::operator()");
	assert_simple("_ZN1AcvjEv", "A::operator unsigned int");
	assert_simple("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	assert_simple("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
	assert_simple("_ZN1A3barEv.cold", "A::bar");
	assert_simple(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5array"
		"IPcLm1EEEEviT0_T1_",
		"at::native::vectorized_elementwise_kernel");
}

static void full_names_of_plain_c_stay(void **state)
{
	(void)state;
	char *name = demangle_name("cudaLaunchKernel", DEMANGLE_FULL);

	assert_string_equal(name, "cudaLaunchKernel");
	free(name);
}

static void assert_clean(const char *text, size_t size, const char *expected)
{
	char *clean = clean_text_of(text, size);

	assert_string_equal(clean, expected);
	free(clean);
}

static void text_is_cleaned_of_what_breaks_reports(void **state)
{
	(void)state;
	assert_clean("a;b", 3, "a:b");
	assert_clean("a\nb\tc\x7f\0d", 8, "a_b_c__d");
	assert_clean("a b (c)", 7, "a b (c)");
	assert_clean("\xc2\x85", 2, "_");
	assert_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", 9,
		     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
	assert_clean("\xff", 1, "\xef\xbf\xbd");
	assert_clean("x\xc3", 2, "x\xef\xbf\xbd");
	assert_clean("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("", 0, "");
}

static void hostile_names_cannot_forge_lines(void **state)
{
	(void)state;
	report_fixture_add_row(
		report_fixture_key(report_fixture_stack("a;b 99\nc", NULL), "k\n;x 7"), 1, 5, 0);
	report_fixture_assert_folded("a:b 99;c;[GPU0_Kernel]k_:x 7 5\n");
}

/* --- Python frames and marks ------------------------------------------------------------------ */

static uint32_t code_frame(const char *file, const char *name, uint64_t line)
{
	struct catalog_code code = {.file = file ? report_fixture_string(file) : 0,
				    .name = report_fixture_string(name)};
	uint32_t code_id, id;

	assert_int_equal(catalog_add_code(report_fixture.catalog, code, &code_id), 0);
	assert_int_equal(catalog_add_code_frame(report_fixture.catalog, code_id, line, &id), 0);
	return id;
}

static void add_kernel(uint32_t node, const char *kernel, uint64_t ns)
{
	report_fixture_add_row(report_fixture_key(node, kernel), 1, ns, 0);
}

static void assert_folded_without_lines(const char *expected)
{
	report_fixture_build_with(&(struct report_options){.lines = REPORT_LINES_OFF});
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS}, expected);
}

#define LINEAR "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"

static void python_frames_are_file_function_and_line(void **state)
{
	(void)state;
	uint32_t node = report_fixture_push(0, code_frame("/srv/train.py", "<module>", 88));

	node = report_fixture_push(node, code_frame(LINEAR, "Linear.forward", 125));
	node = report_fixture_push(node, code_frame("<string>", "f.<locals>.g", 0));
	add_kernel(node, "k", 5);
	report_fixture_assert_folded("train.py:<module>:88;"
				     "torch/nn/modules/linear.py:Linear.forward:125;"
				     "<string>:f.<locals>.g;[GPU0_Kernel]k 5\n");
}

static void without_lines_python_frames_of_a_function_merge(void **state)
{
	(void)state;
	add_kernel(report_fixture_push(0, code_frame("/a/train.py", "step", 12)), "k", 5);
	add_kernel(report_fixture_push(0, code_frame("/a/train.py", "step", 13)), "k", 6);
	report_fixture_assert_folded("train.py:step:12;[GPU0_Kernel]k 5\n"
				     "train.py:step:13;[GPU0_Kernel]k 6\n");
	assert_folded_without_lines("train.py:step;[GPU0_Kernel]k 11\n");
}

static void a_mark_is_shown_by_its_words(void **state)
{
	(void)state;
	uint32_t node = report_fixture_push(0, code_frame(NULL, "[frames missing]", 0));

	add_kernel(report_fixture_push(node, code_frame(NULL, "[stack truncated]", 0)), "k", 5);
	report_fixture_assert_folded("[frames missing];[stack truncated];[GPU0_Kernel]k 5\n");
}

static void hostile_python_names_cannot_forge_frames(void **state)
{
	(void)state;
	add_kernel(report_fixture_push(0, code_frame("/x/a;b\nc.py", "f;g\t 7\xff", 1)), "k", 5);
	report_fixture_assert_folded("a:b_c.py:f:g_ 7\xef\xbf\xbd:1;[GPU0_Kernel]k 5\n");
}

/* --- inlined functions and source lines ------------------------------------------------------- */

#define INLINED "_ZN5model7forwardEv\t/src/model.cc:40\n_ZN5model4gemmEPf\t/src/gemm.h:7\nlaunch"

static void inlined_functions_are_frames_of_their_own(void **state)
{
	(void)state;
	add_kernel(report_fixture_stack("main\tmain.cc:3", INLINED, NULL), "k", 5);
	report_fixture_assert_folded("main.cc:main:3;model.cc:model::forward():40;"
				     "gemm.h:model::gemm(float*):7;launch;[GPU0_Kernel]k 5\n");
	assert_folded_without_lines(
		"main;model::forward();model::gemm(float*);launch;[GPU0_Kernel]k 5\n");
}

static void symbols_that_break_the_format_are_shown_somehow(void **state)
{
	(void)state;
	add_kernel(report_fixture_stack("\n", "f\t", "g\tfile", "h\tx:y", "\tz.c:1", NULL), "k", 5);
	report_fixture_assert_folded("[unknown];[unknown];f;g;x:h;z.c::1;[GPU0_Kernel]k 5\n");
}

static void too_many_inlined_functions_are_cut_with_a_word(void **state)
{
	(void)state;
	char symbol[256] = "", expected[512] = "";

	for (int i = 0; i < 40; i++) {
		snprintf(symbol + strlen(symbol), sizeof(symbol) - strlen(symbol), "%sf%d",
			 i ? "\n" : "", i);
		if (i < (int)REPORT_INLINES_MAX - 1)
			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
				 "f%d;", i);
	}
	strcat(expected, "[inlined functions left out];[GPU0_Kernel]k 5\n");
	add_kernel(report_fixture_stack(symbol, NULL), "k", 5);
	report_fixture_assert_folded(expected);
}

/* --- CUDA's own frames ------------------------------------------------------------------------ */

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
	uint32_t node = report_fixture_push(0, code_frame("/srv/train.py", "step", 12));

	add_kernel(report_fixture_push(node, code_frame(NULL, "cuLaunchKernelEx", 0)), "k", 5);
	add_kernel(report_fixture_push(node, code_frame(NULL, "CUDA call", 0)), "k", 6);
	node = report_fixture_push(node, code_frame(NULL, "[frames missing]", 0));
	add_kernel(report_fixture_push(node, code_frame(NULL, "cuLaunchKernel", 0)), "k", 7);
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
	node = report_fixture_push(node, code_frame(NULL, "cuLaunchKernel", 0));
	add_kernel(node, "k", 5);
	report_fixture_assert_folded("main;gemm(float*);cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void stubs_between_the_application_and_the_api_vanish(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack("main", "_Z26__device_stub__Z4gemmPfPf",
					     "_ZN1aL27__wrapper__device_stub_gemmIfEEvRPT_", NULL);

	node = report_fixture_push(
		node, report_fixture_frame(report_fixture.runtime, 0x1, "cudaLaunchKernel"));
	add_kernel(node, "k", 5);
	node = report_fixture_push(report_fixture_stack("main", "__device_stub__Z1fv", NULL),
				   code_frame(NULL, "CUDA call", 0));
	add_kernel(node, "k", 6);
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
	add_kernel(node, "k", 5);
	report_fixture_assert_folded("main;a.cu:step:7;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
	assert_folded_without_lines("main;step;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void a_python_function_named_like_cudas_stays(void **state)
{
	(void)state;
	uint32_t node = report_fixture_push(0, code_frame("/srv/t.py", "cudaLaunchKernel", 3));

	add_kernel(report_fixture_push(node, code_frame(NULL, "cuLaunchKernel", 0)), "k", 5);
	report_fixture_assert_folded("t.py:cudaLaunchKernel:3;cuLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void a_stack_without_cuda_is_shown_whole(void **state)
{
	(void)state;
	add_kernel(report_fixture_stack("main", "step", NULL), "k", 5);
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
		TEST(frames_without_a_symbol_are_file_and_offset),
		TEST(names_are_demangled_as_asked),
		TEST(simple_names_keep_what_names_the_function),
		TEST(full_names_of_plain_c_stay),
		TEST(text_is_cleaned_of_what_breaks_reports),
		TEST(hostile_names_cannot_forge_lines),
		TEST(python_frames_are_file_function_and_line),
		TEST(without_lines_python_frames_of_a_function_merge),
		TEST(a_mark_is_shown_by_its_words),
		TEST(hostile_python_names_cannot_forge_frames),
		TEST(inlined_functions_are_frames_of_their_own),
		TEST(symbols_that_break_the_format_are_shown_somehow),
		TEST(too_many_inlined_functions_are_cut_with_a_word),
		TEST(the_name_of_the_launchs_function_ends_a_stack),
		TEST(a_static_runtimes_function_takes_the_place_of_the_drivers),
		TEST(stubs_between_the_application_and_the_api_vanish),
		TEST(stubs_that_were_inlined_into_the_application_vanish),
		TEST(a_python_function_named_like_cudas_stays),
		TEST(a_stack_without_cuda_is_shown_whole),
		TEST(frames_of_a_static_runtime_are_cut),
		TEST(frames_of_cuda_modules_are_cut_though_nameless),
		TEST(the_application_around_cuda_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
