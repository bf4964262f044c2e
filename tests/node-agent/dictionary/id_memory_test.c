#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/dictionary/id_memory.h"

static struct id_key number(uint64_t first, uint64_t second)
{
	return (struct id_key){{first, second}};
}

static void equal_keys_have_one_id(void **state)
{
	struct id_memory memory = {0};

	(void)state;
	assert_int_equal(id_memory_bytes(&memory), 0);
	assert_int_equal(id_memory_find(&memory, number(1, 2)), ID_MEMORY_NONE);
	for (uint32_t i = 1; i <= 100000; i++)
		assert_int_equal(id_memory_add(&memory, number(i % 10, i), i), 0);
	for (uint32_t i = 1; i <= 100000; i++)
		assert_int_equal(id_memory_find(&memory, number(i % 10, i)), i);
	/* Both halves count. */
	assert_int_equal(id_memory_find(&memory, number(1, 2)), ID_MEMORY_NONE);
	assert_int_equal(id_memory_find(&memory, number(2, 1)), ID_MEMORY_NONE);
	assert_int_equal(memory.nr_found, 100000);
	id_memory_clear(&memory);
	assert_int_equal(id_memory_bytes(&memory), 0);
	assert_int_equal(id_memory_find(&memory, number(1, 1)), ID_MEMORY_NONE);
}

/* The longest row of slots in use: who looks for a key may pass all of it. */
static uint32_t longest_row(const struct id_memory *memory)
{
	uint32_t row = 0, longest = 0;

	for (uint32_t i = 0; i < 2 * memory->nr_slots && row < memory->nr_slots; i++) {
		row = memory->ids[i % memory->nr_slots] != ID_MEMORY_NONE ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

static void keys_that_are_chosen_meet_in_no_slot(void **state)
{
	const uint32_t nr = 1u << 14;

	(void)state;
	for (uint32_t shift = 0; shift <= 50; shift++) {
		struct id_memory offsets = {0}, pairs = {0};

		for (uint32_t i = 1; i <= nr; i++) {
			assert_int_equal(id_memory_add(&offsets, number(7, (uint64_t)i << shift), i),
					 0);
			assert_int_equal(id_memory_add(&pairs, number((uint64_t)i << shift, 0), i),
					 0);
		}
		assert_true(longest_row(&offsets) < nr / 16);
		assert_true(longest_row(&pairs) < nr / 16);
		id_memory_clear(&offsets);
		id_memory_clear(&pairs);
	}
}

static void a_key_is_of_all_bytes_and_of_their_number(void **state)
{
	uint8_t bytes[40] = {0};

	(void)state;
	for (size_t size = 1; size <= sizeof(bytes); size++) {
		struct id_key zeros = id_memory_key(bytes, size), shorter, other;

		shorter = id_memory_key(bytes, size - 1);
		bytes[size - 1] = 1;
		other = id_memory_key(bytes, size);
		bytes[size - 1] = 0;
		assert_memory_not_equal(&zeros, &shorter, sizeof(zeros));
		assert_memory_not_equal(&zeros, &other, sizeof(zeros));
		other = id_memory_key(bytes, size);
		assert_memory_equal(&zeros, &other, sizeof(zeros));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_have_one_id),
		cmocka_unit_test(keys_that_are_chosen_meet_in_no_slot),
		cmocka_unit_test(a_key_is_of_all_bytes_and_of_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
