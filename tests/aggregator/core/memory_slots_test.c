#include "aggregator/core/memory_slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/base/hash_keys.h"

#define ALLOCATIONS 4096u

static void revive(struct memory_slots *slots, uint64_t address)
{
	const struct memory_event event = {.address = address};

	assert_int_equal(memory_slots_add(slots, &event), 0);
	assert_int_equal(memory_slots_revive_first(slots), 0);
}

static void addresses_that_are_chosen_meet_in_no_slot(void **state)
{
	struct memory_slots slots = {0};

	(void)state;
	for (uint32_t i = 1; i <= ALLOCATIONS; i++)
		revive(&slots, hash_keys_word(i));
	assert_true(hash_keys_longest_row(&slots.live) < ALLOCATIONS / 16);
	memory_slots_fini(&slots);
}

static void live_ones_are_found_until_they_end(void **state)
{
	struct memory_slots slots = {0};

	(void)state;
	for (uint32_t i = 1; i <= ALLOCATIONS; i++)
		revive(&slots, 512 * i);
	for (uint32_t i = 1; i <= ALLOCATIONS; i += 3)
		assert_int_equal(memory_slots_end(&slots, memory_slots_find(&slots, 512 * i)), 0);
	for (uint32_t i = 1; i <= ALLOCATIONS; i++)
		assert_int_equal(memory_slots_find(&slots, 512 * i), i % 3 == 1 ? 0 : i);
	memory_slots_fini(&slots);
}

static void blocks_that_are_chosen_meet_in_no_slot(void **state)
{
	struct block_set set = {0};

	(void)state;
	for (uint32_t i = 1; i <= ALLOCATIONS; i++)
		assert_int_equal(block_set_add(&set, hash_keys_word(i)), 0);
	assert_int_equal(block_set_add(&set, hash_keys_word(1)), 0);
	assert_int_equal(set.count, ALLOCATIONS);
	assert_true(block_set_has(&set, hash_keys_word(ALLOCATIONS)));
	assert_true(hash_keys_longest_row(&set.index) < ALLOCATIONS / 16);
	block_set_clear(&set);
	assert_false(block_set_has(&set, hash_keys_word(1)));
	block_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_that_are_chosen_meet_in_no_slot),
		cmocka_unit_test(live_ones_are_found_until_they_end),
		cmocka_unit_test(blocks_that_are_chosen_meet_in_no_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
