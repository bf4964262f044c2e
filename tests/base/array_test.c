#include "base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static uint32_t nr_reallocs;
static bool fails;

void *__wrap_realloc(void *memory, size_t size)
{
	nr_reallocs++;
	return fails ? NULL : __real_realloc(memory, size);
}

static int set_up(void **state)
{
	(void)state;
	nr_reallocs = 0;
	fails = false;
	return 0;
}

static void items_stay_where_they_were(void **state)
{
	uint64_t *items = NULL;
	uint32_t room = 0;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(array_reserve(&items, &room, i + 1, sizeof(*items)), 0);
		assert_true(room > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_true(items[i] == i);
	free(items);
}

static void a_room_that_grows_at_least_doubles(void **state)
{
	char *items = NULL;
	uint32_t room = 0;

	(void)state;
	for (uint32_t i = 0; i < 1u << 16; i++)
		assert_int_equal(array_reserve(&items, &room, i + 1, 1), 0);
	assert_int_equal(room, 1u << 16);
	assert_int_equal(nr_reallocs, 13);
	assert_int_equal(array_reserve(&items, &room, room + 1, 1), 0);
	assert_int_equal(room, 1u << 17);
	assert_int_equal(array_reserve(&items, &room, 1000003, 1), 0);
	assert_int_equal(room, 1000003);
	free(items);
}

static void what_has_room_takes_no_memory(void **state)
{
	char *items = NULL;
	uint32_t room = 0;

	(void)state;
	assert_int_equal(array_reserve(&items, &room, 0, 1), 0);
	assert_null(items);
	assert_int_equal(array_reserve(&items, &room, 40, 1), 0);
	assert_int_equal(room, 40);
	assert_int_equal(array_reserve(&items, &room, 40, 1), 0);
	assert_int_equal(nr_reallocs, 1);
	free(items);
}

static void appended_items_need_a_count_alone(void **state)
{
	const uint64_t other = 7;
	uint64_t *items = NULL;
	uint32_t count = 0;

	(void)state;
	for (uint64_t i = 0; i < 1u << 16; i++)
		assert_int_equal(array_append(&items, &count, &i, sizeof(i)), 0);
	assert_int_equal(count, 1u << 16);
	assert_int_equal(nr_reallocs, 13);
	for (uint64_t i = 0; i < 1u << 16; i++)
		assert_true(items[i] == i);
	/* An array that lost items fills up again. */
	for (count = 40; count < 100;)
		assert_int_equal(array_append(&items, &count, &other, sizeof(other)), 0);
	assert_true(items[39] == 39 && items[99] == 7);
	fails = true;
	count = 16;
	assert_int_equal(array_append(&items, &count, &other, sizeof(other)), -ENOMEM);
	assert_int_equal(count, 16);
	free(items);
}

static void without_memory_nothing_changes(void **state)
{
	char *items = NULL;
	uint32_t room = 0;

	(void)state;
	assert_int_equal(array_reserve(&items, &room, 1, 1), 0);
	char *before = items;
	fails = true;
	assert_int_equal(array_reserve(&items, &room, 17, 1), -ENOMEM);
	assert_int_equal(array_reserve_zeroed(&items, &room, 17, 1), -ENOMEM);
	assert_ptr_equal(items, before);
	assert_int_equal(room, 16);
	free(items);
}

static void a_size_that_no_number_holds_is_refused(void **state)
{
	char *items = NULL;
	uint32_t room = 0;

	(void)state;
	assert_int_equal(array_reserve(&items, &room, UINT32_MAX, 1), -ENOMEM);
	assert_int_equal(array_reserve(&items, &room, UINT64_MAX, 1), -ENOMEM);
	assert_int_equal(array_reserve(&items, &room, 2, SIZE_MAX / 2), -ENOMEM);
	room = UINT32_MAX - 1;
	assert_int_equal(array_reserve(&items, &room, room + 1, 1), -ENOMEM);
	assert_int_equal(nr_reallocs, 0);
}

static void new_items_are_zero_where_that_is_asked_for(void **state)
{
	uint16_t *items = NULL;
	uint32_t room = 0;

	(void)state;
	for (uint32_t need = 1; need < 1000; need += 7) {
		assert_int_equal(array_reserve_zeroed(&items, &room, need, sizeof(*items)), 0);
		for (uint32_t i = need - 1; i < room; i++)
			assert_int_equal(items[i], 0);
		for (uint32_t i = 0; i < need; i++)
			items[i] = 1;
		for (uint32_t i = need; i < need + 6 && i < room; i++)
			assert_int_equal(items[i], 0);
	}
	for (uint32_t i = 0; i < 995; i++)
		assert_int_equal(items[i], 1);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(items_stay_where_they_were, set_up),
		cmocka_unit_test_setup(a_room_that_grows_at_least_doubles, set_up),
		cmocka_unit_test_setup(what_has_room_takes_no_memory, set_up),
		cmocka_unit_test_setup(appended_items_need_a_count_alone, set_up),
		cmocka_unit_test_setup(without_memory_nothing_changes, set_up),
		cmocka_unit_test_setup(a_size_that_no_number_holds_is_refused, set_up),
		cmocka_unit_test_setup(new_items_are_zero_where_that_is_asked_for, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
