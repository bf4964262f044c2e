#include "report/names/gpu_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void calls_that_wait_for_the_gpu_are_known(void **state)
{
	static const char *const names[] = {"cudaStreamSynchronize", "cudaDeviceSynchronize",
					    "cudaEventSynchronize",  "cudaStreamSynchronize_ptsz",
					    "cuCtxSynchronize",      "cuEventSynchronize",
					    "cudaEventQuery",        "cudaMemcpy",
					    "cuMemcpyDtoH_v2"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(gpu_wait_is(names[i]));
}

static void other_names_are_no_waits(void **state)
{
	static const char *const names[] = {"",
					    "cudaLaunchKernel",
					    "cudaMemcpyAsync",
					    "cuMemcpyDtoHAsync_v2",
					    "cudaMalloc",
					    "cudaStreamWaitEvent",
					    "train.py:cudaSync",
					    "synchronize",
					    "cudaMemsetAsync"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(gpu_wait_is(names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_wait_for_the_gpu_are_known),
		cmocka_unit_test(other_names_are_no_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
