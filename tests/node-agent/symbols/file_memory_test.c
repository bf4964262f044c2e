#include "tests/support/cmocka_test.h"

#include "node-agent/symbols/file_memory.h"
#include "proto/batch/message.h"

static void a_file_is_found_by_its_identity_and_owner(void **state)
{
	const struct known_file file = {.identity = 5, .module = 7, .path = 3, .owner = 1000};
	struct file_memory memory = {0};

	(void)state;
	assert_null(file_memory_find(&memory, 5, 1000));
	assert_int_equal(file_memory_keep(&memory, &file), 0);
	assert_int_equal(file_memory_find(&memory, 5, 1000)->module, 7);
	assert_null(file_memory_find(&memory, 5, 0));
	assert_null(file_memory_find(&memory, 6, 1000));
	file_memory_fini(&memory);
}

static void a_file_without_an_identity_is_not_kept(void **state)
{
	const struct known_file file = {.module = 7, .path = 3};
	struct file_memory memory = {0};

	(void)state;
	assert_int_equal(file_memory_keep(&memory, &file), 0);
	assert_null(file_memory_find(&memory, 0, 0));
	assert_false(file_memory_is_taken(&memory, &file));
	file_memory_fini(&memory);
}

static void a_module_is_taken_by_another_file_of_its_path_alone(void **state)
{
	const struct known_file file = {.identity = 5, .module = 7, .path = 3};
	const struct known_file again = {.identity = 6, .module = 7, .path = 3};
	const struct known_file copy = {.identity = 6, .module = 7, .path = 4};
	struct file_memory memory = {0};

	(void)state;
	assert_int_equal(file_memory_keep(&memory, &file), 0);
	assert_false(file_memory_is_taken(&memory, &file));
	assert_true(file_memory_is_taken(&memory, &again));
	assert_false(file_memory_is_taken(&memory, &copy));
	file_memory_fini(&memory);
}

static void the_oldest_files_are_forgotten(void **state)
{
	struct file_memory memory = {0};

	(void)state;
	for (uint32_t i = 1; i <= FILE_MEMORY_FILES + 1; i++) {
		const struct known_file file = {.identity = i, .module = i};

		assert_int_equal(file_memory_keep(&memory, &file), 0);
	}
	assert_null(file_memory_find(&memory, 1, 0));
	assert_non_null(file_memory_find(&memory, 2, 0));
	assert_non_null(file_memory_find(&memory, FILE_MEMORY_FILES + 1, 0));
	file_memory_fini(&memory);
}

static void a_stack_sees_the_file_that_was_there_when_it_was_captured(void **state)
{
	struct file_memory memory = {0};

	(void)state;
	assert_null(file_memory_at(&memory, 1, 0x2800));
	for (uint32_t i = 1; i <= FILE_MEMORY_UNLOADED + 1; i++) {
		const struct unloaded_file file = {
			.start = 0x2000, .end = 0x3000, .module = i, .nr_stacks = 10 * i};

		assert_int_equal(file_memory_unload(&memory, &file), 0);
	}
	assert_int_equal(file_memory_at(&memory, 21, 0x2800)->module, 3);
	assert_int_equal(file_memory_at(&memory, 30, 0x2fff)->module, 3);
	assert_int_equal(file_memory_at(&memory, 31, 0x2000)->module, 4);
	assert_null(file_memory_at(&memory, 31, 0x1fff));
	assert_null(file_memory_at(&memory, 31, 0x3000));
	assert_null(file_memory_at(&memory, 10 * FILE_MEMORY_UNLOADED + 11, 0x2800));
	/* The first of the places is forgotten, and so is what lay there. */
	assert_int_equal(file_memory_at(&memory, 11, 0x2800)->module, 2);
	assert_int_equal(file_memory_at(&memory, 10, 0x2800)->module, MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(file_memory_at(&memory, 10, 0x2800)->bias, 0);
	assert_null(file_memory_at(&memory, 10, 0x3000));
	file_memory_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_found_by_its_identity_and_owner),
		cmocka_unit_test(a_file_without_an_identity_is_not_kept),
		cmocka_unit_test(a_module_is_taken_by_another_file_of_its_path_alone),
		cmocka_unit_test(the_oldest_files_are_forgotten),
		cmocka_unit_test(a_stack_sees_the_file_that_was_there_when_it_was_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
