#include "inject/metrics/launch_choice.h"

#include "tests/support/cmocka_test.h"

static void so_many_launches_of_a_key_are_wanted(void **state)
{
	struct launch_choice *choice = launch_choice_create(2, "");
	const uint64_t key = launch_choice_key(1, 7, "f", NULL, 0);

	(void)state;
	assert_non_null(choice);
	assert_int_equal(launch_choice_find(choice, key), LAUNCH_UNKNOWN);
	launch_choice_measured(choice, key);
	assert_int_equal(launch_choice_enter(choice, key, "gemm"), LAUNCH_WANTED);
	assert_int_equal(launch_choice_enter(choice, key, "gemm"), LAUNCH_WANTED);
	launch_choice_measured(choice, key);
	assert_int_equal(launch_choice_find(choice, key), LAUNCH_WANTED);
	launch_choice_measured(choice, key);
	assert_int_equal(launch_choice_find(choice, key), LAUNCH_DONE);
	launch_choice_measured(choice, key);
	assert_int_equal(launch_choice_find(choice, key), LAUNCH_DONE);
	launch_choice_destroy(choice);
}

static void keys_tell_context_stack_function_and_shape_apart(void **state)
{
	const unsigned int shapes[2][6] = {{1, 1, 1, 64, 1, 1}, {1, 1, 1, 32, 1, 1}};
	static const char functions[2];
	uint64_t keys[16];

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		keys[i] = launch_choice_key(1 + i / 8, i / 4 % 2, &functions[i / 2 % 2],
					    shapes[i % 2], sizeof(shapes[0]));
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_true(keys[i] != keys[k]);
	assert_true(launch_choice_key(1, 0, functions, shapes[0], sizeof(shapes[0])) == keys[0]);
}

static void names_decide(void **state)
{
	struct launch_choice *choice = launch_choice_create(1, "^gemm|norm");

	(void)state;
	assert_int_equal(launch_choice_enter(choice, 1, "gemm_bf16"), LAUNCH_WANTED);
	assert_int_equal(launch_choice_enter(choice, 2, "layer_norm"), LAUNCH_WANTED);
	assert_int_equal(launch_choice_enter(choice, 3, "a_gemm"), LAUNCH_DONE);
	assert_int_equal(launch_choice_enter(choice, 4, NULL), LAUNCH_DONE);
	assert_int_equal(launch_choice_enter(choice, 5, "ncclDevKernel_norm"), LAUNCH_WAITING);
	assert_int_equal(launch_choice_find(choice, 5), LAUNCH_WAITING);
	launch_choice_measured(choice, 5);
	assert_int_equal(launch_choice_find(choice, 5), LAUNCH_WAITING);
	assert_int_equal(launch_choice_enter(choice, 6, "nvshmem_barrier"), LAUNCH_WAITING);
	launch_choice_destroy(choice);
	assert_null(launch_choice_create(1, "("));
}

static void a_full_table_wants_no_more(void **state)
{
	struct launch_choice *choice = launch_choice_create(1, "");

	(void)state;
	for (uint64_t key = 1; key <= LAUNCH_CHOICE_MAX; key++)
		assert_int_equal(launch_choice_enter(choice, key * 31, "k"), LAUNCH_WANTED);
	assert_int_equal(launch_choice_enter(choice, 7, "k"), LAUNCH_DONE);
	assert_int_equal(launch_choice_enter(choice, 8, "nccl"), LAUNCH_WAITING);
	assert_int_equal(launch_choice_find(choice, 31), LAUNCH_WANTED);
	launch_choice_destroy(choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_launches_of_a_key_are_wanted),
		cmocka_unit_test(keys_tell_context_stack_function_and_shape_apart),
		cmocka_unit_test(names_decide),
		cmocka_unit_test(a_full_table_wants_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
