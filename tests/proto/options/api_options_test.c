#include "proto/options/api_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_list_of_names_and_wildcards_is_accepted(void **state)
{
	const char *const good[] = {NULL,
				    "",
				    "all",
				    "runtime",
				    "driver,cudaMalloc",
				    "cudaMalloc*,cuLaunchKernel",
				    "*",
				    "cu*_ptsz"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(api_options_check(good[i]), 0);
}

static void other_texts_are_refused(void **state)
{
	const char *const bad[] = {",",           "cudaMalloc,", ",cudaMalloc", "a,,b",
				   "cuda Malloc", "cuda.*",      "a;b"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(api_options_check(bad[i]), -EINVAL);
}

static void a_list_has_a_longest_length(void **state)
{
	char text[API_OPTIONS_SIZE_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[API_OPTIONS_SIZE_MAX] = '\0';
	assert_int_equal(api_options_check(text), 0);
	text[API_OPTIONS_SIZE_MAX] = 'a';
	text[API_OPTIONS_SIZE_MAX + 1] = '\0';
	assert_int_equal(api_options_check(text), -E2BIG);
}

static void a_name_matches_itself_alone(void **state)
{
	(void)state;
	assert_true(api_options_match("cudaMalloc", API_RUNTIME, "cudaMalloc"));
	assert_false(api_options_match("cudaMalloc", API_RUNTIME, "cudaMallocHost"));
	assert_false(api_options_match("cudaMallocHost", API_RUNTIME, "cudaMalloc"));
	assert_true(api_options_match("cuInit,cudaMalloc", API_RUNTIME, "cudaMalloc"));
	assert_false(api_options_match("", API_RUNTIME, "cudaMalloc"));
	assert_false(api_options_match(NULL, API_RUNTIME, "cudaMalloc"));
}

static void a_star_stands_for_any_text(void **state)
{
	(void)state;
	assert_true(api_options_match("cudaMalloc*", API_RUNTIME, "cudaMalloc"));
	assert_true(api_options_match("cudaMalloc*", API_RUNTIME, "cudaMallocHost"));
	assert_true(api_options_match("*", API_DRIVER, "cuInit"));
	assert_true(api_options_match("cu*Async*_ptsz", API_DRIVER, "cuMemcpyAsyncAsync_v2_ptsz"));
	assert_false(api_options_match("cu*Async*_ptsz", API_DRIVER, "cuMemcpyAsync_ptds"));
	assert_true(api_options_match("*a*a*b", API_DRIVER, "aaaab"));
	assert_false(api_options_match("*a*a*b", API_DRIVER, "aaaaa"));
}

static void words_stand_for_an_api(void **state)
{
	(void)state;
	assert_true(api_options_match("driver", API_DRIVER, "cuInit"));
	assert_false(api_options_match("driver", API_RUNTIME, "cudaMalloc"));
	assert_true(api_options_match("runtime", API_RUNTIME, "cudaMalloc"));
	assert_false(api_options_match("runtime", API_DRIVER, "cuInit"));
	assert_true(api_options_match("all", API_DRIVER, "cuInit"));
	assert_true(api_options_match("cuInit,runtime", API_RUNTIME, "cudaMalloc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_names_and_wildcards_is_accepted),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(a_list_has_a_longest_length),
		cmocka_unit_test(a_name_matches_itself_alone),
		cmocka_unit_test(a_star_stands_for_any_text),
		cmocka_unit_test(words_stand_for_an_api),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
