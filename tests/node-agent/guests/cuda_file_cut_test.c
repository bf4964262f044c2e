#include "node-agent/guests/cuda_file_cut.h"

#include "tests/support/cmocka_test.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "proto/definition.h"
#include "proto/stack_word.h"

#define APP    1u /* ids of modules, in the order of set_up() */
#define CUDA   2u
#define CUDART 3u
#define MARK   0u /* no module */

static int set_up(void **state)
{
	static const uint32_t flags[] = {0, DEFINITION_MODULE_CUDA,
					 DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART};
	struct stack_dictionary *stacks = stack_dictionary_create();

	for (uint32_t i = 0; i < 3; i++) {
		const struct message_module module = {.flags = flags[i], .path = i + 1};
		uint32_t id;

		assert_int_equal(stack_dictionary_add_module(stacks, &module, &id), 0);
		assert_int_equal(id, i + 1);
	}
	*state = stacks;
	return 0;
}

static int tear_down(void **state)
{
	stack_dictionary_destroy(*state);
	return 0;
}

static void assert_cut(const struct stack_dictionary *stacks, const uint32_t *modules,
		       enum stack_mark mark, uint32_t expected, bool expected_named)
{
	struct message_frame frames[3];
	uint64_t words[3];
	bool named;

	for (uint32_t i = 0; i < 3; i++) {
		words[i] = modules[i] == MARK ? stack_word_mark(mark) : 0x1000 + i;
		frames[i] = (struct message_frame){
			.module = modules[i] == MARK ? MESSAGE_FRAME_NO_MODULE : modules[i]};
	}
	assert_int_equal(cuda_file_cut_of(stacks, words, frames, 3, &named), expected);
	assert_int_equal(named, expected_named);
}

#define ASSERT_CUT(mark, expected, named, ...)                                                     \
	assert_cut(*state, (const uint32_t[]){__VA_ARGS__}, mark, expected, named)

static void libcudarts_function_stays_and_frames_within_it_go(void **state)
{
	ASSERT_CUT(STACK_MARK_MISSING, 1, true, CUDA, CUDART, APP);
	ASSERT_CUT(STACK_MARK_MISSING, 1, true, CUDART, CUDART, APP);
	ASSERT_CUT(STACK_MARK_MISSING, 2, true, CUDA, CUDART, CUDART);
}

static void all_frames_go_if_the_outermost_is_another_file_of_cudas(void **state)
{
	ASSERT_CUT(STACK_MARK_MISSING, 2, false, CUDART, CUDA, APP);
	ASSERT_CUT(STACK_MARK_MISSING, 3, false, CUDA, CUDA, CUDA);
	ASSERT_CUT(STACK_MARK_MISSING, 0, false, APP, CUDART, APP);
}

static void a_walk_that_ended_behind_libcudarts_frames_names_no_function(void **state)
{
	ASSERT_CUT(STACK_MARK_MISSING, 2, false, CUDA, CUDART, MARK);
	ASSERT_CUT(STACK_MARK_TRUNCATED, 1, false, CUDART, MARK, APP);
	ASSERT_CUT(STACK_MARK_STACK_TABLE_FULL, 0, true, CUDART, MARK, APP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(libcudarts_function_stays_and_frames_within_it_go),
		TEST(all_frames_go_if_the_outermost_is_another_file_of_cudas),
		TEST(a_walk_that_ended_behind_libcudarts_frames_names_no_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
