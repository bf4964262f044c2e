#include "report/names/cuda_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_kind(const char *name, enum cuda_name expected)
{
	if (cuda_name_of(name, strlen(name)) != expected)
		fail_msg("%s", name);
}

static void functions_that_applications_call_are_the_api(void **state)
{
	(void)state;
	assert_kind("cudaLaunchKernel", CUDA_NAME_API);
	assert_kind("cudaMemcpyAsync_ptsz", CUDA_NAME_API);
	assert_kind("cuLaunchKernelEx", CUDA_NAME_API);
}

static void functions_behind_the_api_are_inner(void **state)
{
	(void)state;
	assert_kind("__cudart803", CUDA_NAME_INNER);
	assert_kind("libcudart_static_eca47b9d5221475fc02f148a57f58f9a54b1bb73", CUDA_NAME_INNER);
	assert_kind("__cudaPushCallConfiguration", CUDA_NAME_INNER);
}

static void what_nvcc_makes_of_a_launch_is_a_stub(void **state)
{
	(void)state;
	assert_kind("_Z27__device_stub__Z5saxpyiPfS_iPfS_", CUDA_NAME_STUB);
	assert_kind("__device_stub__Z4gemmPf", CUDA_NAME_STUB);
	assert_kind("_ZN2at6nativeL35__wrapper__device_stub_reduce_kernelILi512EEEvRT_",
		    CUDA_NAME_STUB);
	assert_kind("_ZL16cudaLaunchKernelIcE9cudaErrorPKT_4dim3S4_PPvmP11CUstream_st",
		    CUDA_NAME_STUB);
	assert_kind("_Z18cudaMemcpyToSymbolIfE9cudaErrorRKT_PKvmm14cudaMemcpyKind", CUDA_NAME_STUB);
}

static void the_applications_own_names_are_none(void **state)
{
	(void)state;
	assert_kind("", CUDA_NAME_NONE);
	assert_kind("cu", CUDA_NAME_NONE);
	assert_kind("cuda", CUDA_NAME_NONE);
	assert_kind("cuda_step", CUDA_NAME_NONE);
	assert_kind("cudastep", CUDA_NAME_NONE);
	assert_kind("cublasSgemm_v2", CUDA_NAME_NONE);
	assert_kind("custom", CUDA_NAME_NONE);
	assert_kind("_ZN5model7forwardEv", CUDA_NAME_NONE);
	assert_kind("_ZN3app16cudaLaunchKernelIcEEvv", CUDA_NAME_NONE);
	assert_kind("_Z16cudaLaunchKernelv", CUDA_NAME_NONE);
	assert_kind("_Z8cudaStep", CUDA_NAME_NONE);
	assert_kind("_Z99999999999999999999cudaStepI", CUDA_NAME_NONE);
	assert_kind("_ZL", CUDA_NAME_NONE);
	assert_kind("_Z", CUDA_NAME_NONE);
}

static void a_name_ends_where_its_size_says(void **state)
{
	(void)state;
	assert_int_equal(cuda_name_of("cudaLaunch", 4), CUDA_NAME_NONE);
	assert_int_equal(cuda_name_of("cuLaunch", 2), CUDA_NAME_NONE);
	assert_int_equal(cuda_name_of("__device_stub__", 14), CUDA_NAME_NONE);
	assert_int_equal(cuda_name_of("_ZL16cudaLaunchKernelIcE", 20), CUDA_NAME_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_applications_call_are_the_api),
		cmocka_unit_test(functions_behind_the_api_are_inner),
		cmocka_unit_test(what_nvcc_makes_of_a_launch_is_a_stub),
		cmocka_unit_test(the_applications_own_names_are_none),
		cmocka_unit_test(a_name_ends_where_its_size_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
