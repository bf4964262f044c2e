#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/run_sort.h"

#define ITEMS 5000u

struct item {
	uint32_t key, place;
	uint8_t rest[5];
};

static uint32_t nr_compared;
static bool is_full; /* no memory */

void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return is_full ? NULL : __real_malloc(size);
}

static int by_key(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	nr_compared++;
	return (left->key > right->key) - (left->key < right->key);
}

/* Sorted by key, and equal items in the order in which they were; nothing but the old items. */
static void check(struct item *items, uint32_t count, const uint32_t *keys)
{
	uint8_t seen[ITEMS] = {0};

	nr_compared = 0;
	assert_int_equal(run_sort(items, count, sizeof(*items), by_key), 0);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(items[i].place < count && !seen[items[i].place]++);
		assert_int_equal(items[i].key, keys[items[i].place]);
		assert_int_equal(items[i].rest[4], items[i].place % 251);
		if (i)
			assert_true(items[i - 1].key < items[i].key ||
				    (items[i - 1].key == items[i].key &&
				     items[i - 1].place < items[i].place));
	}
}

static struct item *fill(const uint32_t *keys, uint32_t count)
{
	struct item *items = calloc(count + 1ull, sizeof(*items));

	assert_non_null(items);
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct item){keys[i], i, {[4] = (uint8_t)(i % 251)}};
	return items;
}

static void any_order_is_sorted(void **state)
{
	uint32_t keys[ITEMS] = {0}, random = 1;

	(void)state;
	for (uint32_t count = 0; count < ITEMS; count = count < 40 ? count + 1 : count * 3) {
		for (uint32_t i = 0; i < count; i++) {
			random = random * 1664525u + 1013904223u;
			keys[i] = (random >> 8) % (count / 2 + 1);
		}
		struct item *items = fill(keys, count);
		check(items, count, keys);
		free(items);
	}
}

static void nothing_is_sorted(void **state)
{
	(void)state;
	assert_int_equal(run_sort(NULL, 0, sizeof(struct item), by_key), 0);
}

static void a_list_in_order_takes_one_pass(void **state)
{
	uint32_t keys[ITEMS];

	(void)state;
	for (uint32_t i = 0; i < ITEMS; i++)
		keys[i] = i / 3;
	struct item *items = fill(keys, ITEMS);
	check(items, ITEMS, keys);
	assert_int_equal(nr_compared, ITEMS - 1);
	free(items);
}

static void eight_runs_take_four_passes(void **state)
{
	uint32_t keys[ITEMS];

	(void)state;
	for (uint32_t i = 0; i < ITEMS; i++)
		keys[i] = i % (ITEMS / 8) * 8 + i / (ITEMS / 8);
	struct item *items = fill(keys, ITEMS);
	check(items, ITEMS, keys);
	assert_true(nr_compared < 4 * ITEMS);
	free(items);
}

static void without_memory_the_list_stays(void **state)
{
	static const uint32_t keys[] = {4, 3, 2, 1};
	struct item *items = fill(keys, 4);

	(void)state;
	is_full = true;
	int error = run_sort(items, 4, sizeof(*items), by_key);
	is_full = false;
	assert_int_equal(error, -ENOMEM);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(items[i].key, keys[i]);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_is_sorted),
		cmocka_unit_test(nothing_is_sorted),
		cmocka_unit_test(a_list_in_order_takes_one_pass),
		cmocka_unit_test(eight_runs_take_four_passes),
		cmocka_unit_test(without_memory_the_list_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
