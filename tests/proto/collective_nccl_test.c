/* The numbers and shapes of NCCL's interface that we rely on, as nccl.h has them: the real one, or fake NCCL's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nccl.h>

#include "proto/collective.h"

static void types_have_the_library_s_numbers(void **state)
{
	(void)state;
	assert_int_equal(COLLECTIVE_INT8, ncclInt8);
	assert_int_equal(COLLECTIVE_UINT8, ncclUint8);
	assert_int_equal(COLLECTIVE_INT32, ncclInt32);
	assert_int_equal(COLLECTIVE_UINT32, ncclUint32);
	assert_int_equal(COLLECTIVE_INT64, ncclInt64);
	assert_int_equal(COLLECTIVE_UINT64, ncclUint64);
	assert_int_equal(COLLECTIVE_FLOAT16, ncclFloat16);
	assert_int_equal(COLLECTIVE_FLOAT32, ncclFloat32);
	assert_int_equal(COLLECTIVE_FLOAT64, ncclFloat64);
	assert_int_equal(COLLECTIVE_BFLOAT16, ncclBfloat16);
#if NCCL_VERSION_CODE >= 22400
	assert_int_equal(COLLECTIVE_FLOAT8_E4M3, ncclFloat8e4m3);
	assert_int_equal(COLLECTIVE_FLOAT8_E5M2, ncclFloat8e5m2);
#endif
}

static void operations_and_results_have_the_library_s_numbers(void **state)
{
	(void)state;
	assert_string_equal(collective_op_name(ncclSum), "sum");
	assert_string_equal(collective_op_name(ncclProd), "prod");
	assert_string_equal(collective_op_name(ncclMax), "max");
	assert_string_equal(collective_op_name(ncclMin), "min");
	assert_string_equal(collective_op_name(ncclAvg), "avg");
	assert_int_equal(COLLECTIVE_OP_AVG, ncclNumOps - 1);
	assert_int_equal(COLLECTIVE_SUCCESS, ncclSuccess);
	assert_int_equal(COLLECTIVE_IN_PROGRESS, ncclInProgress);
}

/* A struct above 16 bytes is passed on the stack (System V ABI for x86-64, 3.2.3); the functions have the arguments
 * that bpf/collective.bpf.c reads, in this order. */
static void functions_have_the_arguments_that_are_read(void **state)
{
	ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int) = NULL;
	ncclResult_t (*split)(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *) = NULL;
	ncclResult_t (*shrink)(ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int) = NULL;
	ncclResult_t (*all)(ncclComm_t *, int, const int *) = NULL;
	ncclResult_t (*reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int,
			       ncclComm_t, cudaStream_t) = NULL;
	ncclResult_t (*all_reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
				   ncclComm_t, cudaStream_t) = NULL;
	ncclResult_t (*broadcast)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
				  cudaStream_t) = NULL;
	ncclResult_t (*bcast)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) = NULL;
	ncclResult_t (*gather)(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
			       cudaStream_t) = NULL;
	ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) =
		NULL;

	(void)state;
	assert_int_equal(sizeof(ncclUniqueId), COLLECTIVE_UNIQUE_ID_SIZE);
	assert_int_equal(sizeof(ncclDataType_t), 4);
	assert_int_equal(sizeof(ncclRedOp_t), 4);
	assert_true(__builtin_types_compatible_p(__typeof__(*init), __typeof__(ncclCommInitRank)));
	assert_true(__builtin_types_compatible_p(__typeof__(*split), __typeof__(ncclCommSplit)));
	assert_true(__builtin_types_compatible_p(__typeof__(*all), __typeof__(ncclCommInitAll)));
	assert_true(__builtin_types_compatible_p(__typeof__(*reduce), __typeof__(ncclReduce)));
	assert_true(
		__builtin_types_compatible_p(__typeof__(*all_reduce), __typeof__(ncclAllReduce)));
	assert_true(__builtin_types_compatible_p(__typeof__(*all_reduce),
						 __typeof__(ncclReduceScatter)));
	assert_true(
		__builtin_types_compatible_p(__typeof__(*broadcast), __typeof__(ncclBroadcast)));
	assert_true(__builtin_types_compatible_p(__typeof__(*bcast), __typeof__(ncclBcast)));
	assert_true(__builtin_types_compatible_p(__typeof__(*gather), __typeof__(ncclAllGather)));
	assert_true(__builtin_types_compatible_p(__typeof__(*send), __typeof__(ncclSend)));
#if NCCL_VERSION_CODE >= 22700
	assert_true(__builtin_types_compatible_p(__typeof__(*shrink), __typeof__(ncclCommShrink)));
#endif
#if NCCL_VERSION_CODE >= 22800
	assert_true(__builtin_types_compatible_p(__typeof__(*gather), __typeof__(ncclAlltoAll)));
	assert_true(__builtin_types_compatible_p(__typeof__(*broadcast), __typeof__(ncclGather)));
	assert_true(__builtin_types_compatible_p(__typeof__(*broadcast), __typeof__(ncclScatter)));
#endif
	assert_null(shrink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_have_the_library_s_numbers),
		cmocka_unit_test(operations_and_results_have_the_library_s_numbers),
		cmocka_unit_test(functions_have_the_arguments_that_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
