#include "aggregator/profile/nccl_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is(const char *name)
{
	return nccl_kernel_is(name, (uint32_t)strlen(name));
}

static void names_of_all_times_are_known(void **state)
{
	(void)state;
	assert_true(
		is("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
	assert_true(is(
		"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
	assert_true(is("ncclDevKernel_SendRecv"));
	assert_true(is("ncclDevKernel_Generic_4"));
	assert_true(is(
		"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"));
	assert_true(is("_Z37ncclKernel_AllReduce_RING_LL_Sum_floatP11ncclDevCommmP8ncclWork"));
	assert_true(is("ncclAllReduceRingLLKernel_sum_f32(ncclColl)"));
	assert_true(is("_Z33ncclAllReduceRingLLKernel_sum_f328ncclColl"));
	assert_true(is("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)"));
	assert_true(is("ncclSymkDevKernel_AllGather_STMC"));
}

static void other_names_are_not(void **state)
{
	(void)state;
	assert_false(is(""));
	assert_false(is("nccl"));
	assert_false(is("Kernel"));
	assert_false(is("my_ncclDevKernel_wrapper"));
	assert_false(is("ncclCopy(Kernel)"));
	assert_false(is("_Z4gemmIfEvPT_i"));
	assert_false(is("_Z7ncclOpsP16ncclDevKernelArg"));
	assert_false(is("_ZN4nccl9DevKernelEv"));
	assert_false(is("reduce_kernel"));
}

static void a_name_that_ends_early_is_not(void **state)
{
	(void)state;
	assert_false(is("_Z"));
	assert_false(is("_Z40"));
	assert_false(is("_Z40ncclDevKernel"));
	assert_false(is("_Z99999999999999999999ncclDevKernel_AllReduce"));
	assert_false(nccl_kernel_is("ncclDevKernel_AllReduce", 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_all_times_are_known),
		cmocka_unit_test(other_names_are_not),
		cmocka_unit_test(a_name_that_ends_early_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
