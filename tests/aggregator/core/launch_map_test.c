#include "aggregator/core/launch_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/base/hash_keys.h"

#define LAUNCHES 4096u
#define BLOCK    16u /* ids that stay neighbours */

static int tear_down(void **state)
{
	launch_map_fini(*state);
	return 0;
}

static int set_up(void **state)
{
	static struct launch_map map;

	*state = &map;
	return 0;
}

static void insert(struct launch_map *map, uint32_t window, uint32_t correlation_id)
{
	const struct launch launch = {.correlation_id = correlation_id,
				      .window = (uint16_t)window,
				      .flags = LAUNCH_USED,
				      .order = correlation_id};

	assert_int_equal(launch_map_insert(map, &launch), 0);
}

static uint32_t longest_row(const struct launch_map *map)
{
	uint32_t row = 0, longest = 0;

	for (uint32_t i = 0; i < 2 * (map->mask + 1); i++) {
		row = map->slots[i & map->mask].flags ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

/* Blocks whose numbers have a product with so many zeros. Returns how far the longest row goes. */
static uint32_t insert_chosen(unsigned int nr_bits)
{
	struct launch_map map = {0};
	uint64_t block = 1ull << 32; /* of window 1 */

	for (uint32_t i = 0; i < LAUNCHES; i++) {
		block = hash_keys_next(block, nr_bits);
		insert(&map, 1, (uint32_t)block * BLOCK);
	}
	uint32_t row = longest_row(&map);
	launch_map_fini(&map);
	return row;
}

/* By chance a few meet after all, of one choice in hundreds. */
static void ids_that_are_chosen_seldom_meet(void **state)
{
	uint32_t nr_long = 0;

	(void)state;
	for (unsigned int nr_bits = 5; nr_bits < 12; nr_bits++)
		nr_long += insert_chosen(nr_bits) >= LAUNCHES / 4;
	assert_true(nr_long <= 3);
}

/* As a job's launches are: dense, or with other calls between them. */
static void insert_ids_that_follow_each_other(struct launch_map *map)
{
	for (uint32_t i = 0; i < LAUNCHES; i++)
		insert(map, 1, 1000000 + 3 * i + i % 2);
}

static void ids_that_follow_each_other_are_scattered_evenly(void **state)
{
	struct launch_map *map = *state;

	insert_ids_that_follow_each_other(map);
	assert_true(longest_row(map) < 8 * BLOCK);
}

/* Secrets whose first factors, close to simple fractions of 2^64, bring all of these ids into few rows. */
static void ids_that_follow_each_other_are_scattered_evenly_by_each_secret(void **state)
{
	static const uint64_t secrets[][2] = {
		{0x85b5ffea1f041a75, 0xd176012b8c76b38d},
		{0x2cd112a8e15208eb, 0x4014f24c7a9f2594},
		{0xcd690d2ee939982f, 0x7492959e45ad8fc9},
		{0xd6146ebcb009b5b1, 0x7fd646e542f8fb21},
	};
	const uint64_t own[] = {hash_index_secret[0], hash_index_secret[1]};

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
		struct launch_map map = {0};

		memcpy(hash_index_secret, secrets[i], sizeof(hash_index_secret));
		insert_ids_that_follow_each_other(&map);
		memcpy(hash_index_secret, own, sizeof(hash_index_secret));
		uint32_t row = longest_row(&map);
		launch_map_fini(&map);
		assert_true(row < 8 * BLOCK);
	}
}

static void what_is_removed_is_gone_and_all_else_is_found(void **state)
{
	struct launch_map *map = *state;

	for (uint32_t i = 0; i < LAUNCHES; i++)
		insert(map, i % 3, i * 7);
	for (uint32_t i = 0; i < LAUNCHES; i += 2)
		launch_map_remove(map, launch_map_find(map, i % 3, i * 7));
	assert_int_equal(map->count, LAUNCHES / 2);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		const struct launch *launch = launch_map_find(map, i % 3, i * 7);

		if (i % 2 == 0) {
			assert_null(launch);
			continue;
		}
		assert_non_null(launch);
		assert_int_equal(launch->order, i * 7);
	}
}

/* Ids of runs that are full, half full and empty, of two windows, with the end of the ids' range. */
static void a_run_is_copied_as_it_is_found_id_by_id(void **state)
{
	struct launch_map *map = *state;
	struct launch copied[LAUNCH_MAP_RUN];

	assert_int_equal(launch_map_copy(map, 1, 0, copied), 0);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		insert(map, i % 2, i * 3);
		insert(map, 2, UINT32_MAX - i);
	}
	for (uint32_t i = 0; i < LAUNCHES; i += 3)
		launch_map_remove(map, launch_map_find(map, i % 2, i * 3));
	for (uint32_t run = 0; run < LAUNCHES; run++) {
		uint32_t window = run % 3, first = run / 3 * LAUNCH_MAP_RUN, found = 0;

		first += window == 2 ? -(LAUNCHES + LAUNCH_MAP_RUN) : 0;
		uint32_t count = launch_map_copy(map, window, first, copied);
		for (uint32_t id = 0; id < LAUNCH_MAP_RUN; id++) {
			const struct launch *launch = launch_map_find(map, window, first + id);

			if (launch)
				assert_memory_equal(&copied[found++], launch, sizeof(*launch));
		}
		assert_int_equal(found, count);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(ids_that_are_chosen_seldom_meet),
		TEST(ids_that_follow_each_other_are_scattered_evenly),
		TEST(ids_that_follow_each_other_are_scattered_evenly_by_each_secret),
		TEST(what_is_removed_is_gone_and_all_else_is_found),
		TEST(a_run_is_copied_as_it_is_found_id_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
