#include "tests/support/cmocka_test.h"

#include <string.h>

#include "inject/launch/launch_cbid.h"
#include "node-agent/guests/cuda_api.h"

static void a_function_is_named_without_its_version(void **state)
{
	(void)state;
	assert_string_equal(cuda_api_name(307), "cuLaunchKernel");
	assert_string_equal(cuda_api_name(442), "cuLaunchKernel");
	assert_string_equal(cuda_api_name(652), "cuLaunchKernelEx");
	assert_string_equal(cuda_api_name(276), "cuMemcpyHtoD");
	assert_string_equal(cuda_api_name(397), "cuMemcpyHtoD");
	assert_string_equal(cuda_api_name(44), "cuMemcpyHtoD");
	assert_string_equal(cuda_api_name(799), "cuMemcpy3DBatchAsync");
	assert_string_equal(cuda_api_name(43), "cuMemcpyHtoD");
}

static void an_unknown_function_is_a_cuda_call(void **state)
{
	(void)state;
	assert_string_equal(cuda_api_name(0), CUDA_API_UNKNOWN);
	assert_string_equal(cuda_api_name(306 + 2), CUDA_API_UNKNOWN);
	assert_string_equal(cuda_api_name(UINT32_MAX), CUDA_API_UNKNOWN);
}

static void every_call_that_the_guest_records_has_a_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++) {
		const char *name = cuda_api_name(launch_cbids[i].cbid);

		assert_memory_equal(name, "cu", 2);
		assert_null(strchr(name, '_'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_named_without_its_version),
		cmocka_unit_test(an_unknown_function_is_a_cuda_call),
		cmocka_unit_test(every_call_that_the_guest_records_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
