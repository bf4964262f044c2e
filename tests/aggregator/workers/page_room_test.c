#include "aggregator/workers/page_room.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROOM   20u
#define ROUNDS 20000u

static void a_user_has_half_of_it(void **state)
{
	struct page_room *room = page_room_create(ROOM);
	struct page_share first, second, other;

	(void)state;
	assert_int_equal(page_share_join(&first, room, "alice"), 0);
	assert_int_equal(page_share_join(&second, room, "alice"), 0);
	assert_int_equal(page_share_join(&other, room, "bob"), 0);
	assert_false(page_share_take(&first, ROOM / 2 + 1));
	assert_true(page_share_take(&first, 8));
	assert_false(page_share_take(&first, 3));
	assert_false(page_share_take(&second, 3));
	assert_true(page_share_take(&second, 2));
	assert_true(page_share_take(&other, ROOM / 2));
	page_share_leave(&first);
	assert_true(page_share_take(&second, 8));
	assert_false(page_share_take(&second, 1));
	page_share_leave(&second);
	page_share_leave(&other);
	page_room_destroy(room);
}

static void all_users_have_all_of_it(void **state)
{
	struct page_room *room = page_room_create(ROOM);
	struct page_share shares[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(
			page_share_join(&shares[i], room, (const char *[]){"a", "b", "c"}[i]), 0);
	page_share_set(&shares[0], 8);
	page_share_set(&shares[1], 8);
	assert_false(page_share_take(&shares[2], 5));
	assert_true(page_share_take(&shares[2], 4));
	page_share_set(&shares[0], 1); /* newer pages are smaller */
	assert_true(page_share_take(&shares[2], 6));
	for (uint32_t i = 0; i < 3; i++)
		page_share_leave(&shares[i]);
	page_room_destroy(room);
}

static void a_share_without_a_room_is_not_bounded(void **state)
{
	struct page_share share = {0};

	(void)state;
	assert_true(page_share_take(&share, UINT64_MAX));
	page_share_set(&share, 5);
	page_share_leave(&share);
}

static void *take_and_give(void *argument)
{
	struct page_share *share = argument;
	uint64_t nr_taken = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (!page_share_take(share, 7))
			continue;
		nr_taken++;
		page_share_set(share, 0);
	}
	return (void *)(uintptr_t)nr_taken;
}

static void threads_leave_nothing_behind(void **state)
{
	struct page_room *room = page_room_create(ROOM);
	struct page_share shares[3];
	pthread_t threads[2];
	void *taken;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(page_share_join(&shares[i], room, i ? "b" : "a"), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &shares[i]), 0);
	for (uint32_t i = 0; i < 2; i++) {
		pthread_join(threads[i], &taken);
		assert_int_equal((uintptr_t)taken, ROUNDS); /* there is room for both */
	}
	assert_true(page_share_take(&shares[0], ROOM / 2));
	assert_true(page_share_take(&shares[2], ROOM / 2));
	for (uint32_t i = 0; i < 3; i++)
		page_share_leave(&shares[i]);
	page_room_destroy(room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_has_half_of_it),
		cmocka_unit_test(all_users_have_all_of_it),
		cmocka_unit_test(a_share_without_a_room_is_not_bounded),
		cmocka_unit_test(threads_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
