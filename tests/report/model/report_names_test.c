#include "report/model/report_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
	assert_simple(
		"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
		"cutlass_80_simt_sgemm_256x128_8x4_nn_align1");
	assert_simple("_ZN7cutlass13device_kernelIN2at6native4GemmIfLi2EEEEEvNT_6ParamsE",
		      "at::native::Gemm");
	assert_simple("_ZN7cutlass6KernelEv", "cutlass::Kernel");
	assert_simple("_Z4mineIN7cutlass6KernelI1GEEEvT_", "mine");
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

/* From jaxlib 0.11, made by a clang whose names the C++ runtime here does not read. */
static void of_a_newer_compilers_names_the_beginning_is_shown(void **state)
{
	(void)state;
	assert_simple("_ZZN3tsl11JoinFuturesIN3xla9CandidateETnPNSt9enable_ifIXntsr3stdE9is_void_"
		      "vIT_EEvE4typeELPv0EEE"
		      "NS_6FutureISt6vectorIS3_SaIS3_EEEEvENKUlvE_clEv",
		      "tsl::JoinFutures...");
	assert_simple("_ZNSt12_GLOBAL__N_13fooIiETnQ", "std::(anonymous namespace)::foo...");
	assert_simple("_ZN3foo99999999999999999999bar", "foo...");
	assert_simple("_ZN3foo9bar", "foo...");
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
	assert_clean("a;b", 3, "a;b");
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

static void text_cannot_change_its_direction_or_its_line(void **state)
{
	static const uint32_t controls[] = {0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b,
					    0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};

	(void)state;
	for (size_t i = 0; i < sizeof(controls) / sizeof(*controls); i++) {
		const uint32_t code = controls[i];
		const char wide[] = {'a', (char)(0xe0 | code >> 12),
				     (char)(0x80 | (code >> 6 & 0x3f)),
				     (char)(0x80 | (code & 0x3f)), 'b'};
		const char narrow[] = {'a', (char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f)),
				       'b'};

		assert_clean(code < 0x800 ? narrow : wide,
			     code < 0x800 ? sizeof(narrow) : sizeof(wide), "a_b");
	}
	/* Their neighbours, and letters that are written from right to left, stay. */
	assert_clean("\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa", 9,
		     "\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa");
	assert_clean("\xd7\x90\xd8\xa7", 4, "\xd7\x90\xd8\xa7");
}

static void hostile_names_cannot_forge_lines(void **state)
{
	(void)state;
	report_fixture_add_row(
		report_fixture_key(report_fixture_stack("a;b 99\nc", NULL), "k\n;x 7"), 1, 5, 0);
	report_fixture_assert_folded("a\\x3bb 99;c;[GPU0_Kernel]k_\\x3bx 7 5\n");
}

static void names_that_differ_in_a_separator_stay_apart(void **state)
{
	(void)state;
	report_fixture_add_kernel(0, "f<[T = int; U = int]>", 1);
	report_fixture_add_kernel(0, "f<[T = int: U = int]>", 2);
	report_fixture_add_kernel(0, "f<[T = int\\x3b U = int]>", 4);
	report_fixture_assert_folded(
		"[unknown stack];[GPU0_Kernel]f<[T = int: U = int]> 2\n"
		"[unknown stack];[GPU0_Kernel]f<[T = int\\x3b U = int]> 1\n"
		"[unknown stack];[GPU0_Kernel]f<[T = int\\x5cx3b U = int]> 4\n");
}

/* --- Python frames and marks ------------------------------------------------------------------ */

#define LINEAR "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"

static void python_frames_are_file_function_and_line(void **state)
{
	(void)state;
	uint32_t node =
		report_fixture_push(0, report_fixture_code("/srv/train.py", "<module>", 88));

	node = report_fixture_push(node, report_fixture_code(LINEAR, "Linear.forward", 125));
	node = report_fixture_push(node, report_fixture_code("<string>", "f.<locals>.g", 0));
	report_fixture_add_kernel(node, "k", 5);
	report_fixture_assert_folded("train.py:<module>:88;"
				     "torch/nn/modules/linear.py:Linear.forward:125;"
				     "<string>:f.<locals>.g;[GPU0_Kernel]k 5\n");
}

static void without_lines_python_frames_of_a_function_merge(void **state)
{
	(void)state;
	report_fixture_add_kernel(
		report_fixture_push(0, report_fixture_code("/a/train.py", "step", 12)), "k", 5);
	report_fixture_add_kernel(
		report_fixture_push(0, report_fixture_code("/a/train.py", "step", 13)), "k", 6);
	report_fixture_assert_folded("train.py:step:12;[GPU0_Kernel]k 5\n"
				     "train.py:step:13;[GPU0_Kernel]k 6\n");
	report_fixture_assert_folded_without_lines("train.py:step;[GPU0_Kernel]k 11\n");
}

static void a_mark_is_shown_by_its_words(void **state)
{
	(void)state;
	uint32_t node = report_fixture_push(0, report_fixture_code(NULL, "[frames missing]", 0));

	report_fixture_add_kernel(
		report_fixture_push(node, report_fixture_code(NULL, "[stack truncated]", 0)), "k",
		5);
	report_fixture_assert_folded("[frames missing];[stack truncated];[GPU0_Kernel]k 5\n");
}

static void hostile_python_names_cannot_forge_frames(void **state)
{
	(void)state;
	report_fixture_add_kernel(
		report_fixture_push(0, report_fixture_code("/x/a;b\nc.py", "f;g\t 7\xff", 1)), "k",
		5);
	report_fixture_assert_folded("a\\x3bb_c.py:f\\x3bg_ 7\xef\xbf\xbd:1;[GPU0_Kernel]k 5\n");
}

/* --- inlined functions and source lines ------------------------------------------------------- */

#define INLINED "_ZN5model7forwardEv\t/src/model.cc:40\n_ZN5model4gemmEPf\t/src/gemm.h:7\nlaunch"

static void inlined_functions_are_frames_of_their_own(void **state)
{
	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main\tmain.cc:3", INLINED, NULL), "k", 5);
	report_fixture_assert_folded("main.cc:main:3;model.cc:model::forward():40;"
				     "gemm.h:model::gemm(float*):7;launch;[GPU0_Kernel]k 5\n");
	report_fixture_assert_folded_without_lines(
		"main;model::forward();model::gemm(float*);launch;[GPU0_Kernel]k 5\n");
}

static void symbols_that_break_the_format_are_shown_somehow(void **state)
{
	(void)state;
	report_fixture_add_kernel(
		report_fixture_stack("\n", "f\t", "g\tfile", "h\tx:y", "\tz.c:1", NULL), "k", 5);
	report_fixture_assert_folded("[unknown];[unknown];f;g;x:h;z.c:1;[GPU0_Kernel]k 5\n");
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
	report_fixture_add_kernel(report_fixture_stack(symbol, NULL), "k", 5);
	report_fixture_assert_folded(expected);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_without_a_symbol_are_file_and_offset),
		TEST(names_are_demangled_as_asked),
		TEST(simple_names_keep_what_names_the_function),
		TEST(of_a_newer_compilers_names_the_beginning_is_shown),
		TEST(full_names_of_plain_c_stay),
		TEST(text_is_cleaned_of_what_breaks_reports),
		TEST(text_cannot_change_its_direction_or_its_line),
		TEST(hostile_names_cannot_forge_lines),
		TEST(names_that_differ_in_a_separator_stay_apart),
		TEST(python_frames_are_file_function_and_line),
		TEST(without_lines_python_frames_of_a_function_merge),
		TEST(a_mark_is_shown_by_its_words),
		TEST(hostile_python_names_cannot_forge_frames),
		TEST(inlined_functions_are_frames_of_their_own),
		TEST(symbols_that_break_the_format_are_shown_somehow),
		TEST(too_many_inlined_functions_are_cut_with_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
