/* A set of launches' ids, against a list of what is in it. */
#include "tests/support/cmocka_test.h"

#include <stdlib.h>

#include "timeline/slice/launch_ids.h"

#define IDS 200000u

static void it_has_what_was_added_and_nothing_else(void **state)
{
	static const uint32_t steps[] = {1, 3, 511, 70001};
	struct launch_ids ids = {0};
	size_t room_bytes = (size_t)256 << 20;

	(void)state;
	assert_false(launch_ids_may_have(&ids, 0, 0));
	for (uint32_t i = 0; i < IDS; i++)
		assert_int_equal(launch_ids_add(&ids, (uint16_t)(i % 4),
						i * steps[i % 4] * (i % 8 < 4 ? 1 : -1u),
						&room_bytes),
				 0);
	assert_false(ids.is_full);
	for (uint32_t i = 0; i < IDS; i++) {
		const uint32_t id = i * steps[i % 4] * (i % 8 < 4 ? 1 : -1u);

		assert_true(launch_ids_may_have(&ids, (uint16_t)(i % 4), id));
		assert_false(launch_ids_may_have(&ids, 4, id));
		if (i % 4 == 3)
			assert_false(launch_ids_may_have(&ids, 3, id + 1));
	}
	launch_ids_fini(&ids);
	assert_false(launch_ids_may_have(&ids, 0, 0));
}

/* Ids of a program follow each other: a bit for each is enough, with twice as many places and their heads. */
static void dense_ids_take_little_room(void **state)
{
	struct launch_ids ids = {0};
	const size_t room = (size_t)256 << 20;
	size_t room_bytes = room;

	(void)state;
	for (uint32_t id = 0; id < 1u << 24; id++)
		assert_int_equal(launch_ids_add(&ids, 1, id, &room_bytes), 0);
	assert_in_range(room - room_bytes, (1u << 24) / 8, 5 * (1u << 24) / 8);
	assert_int_equal(room - room_bytes, ids.room_chunks * sizeof(*ids.chunks));
	launch_ids_fini(&ids);
}

static void a_full_set_may_have_any(void **state)
{
	struct launch_ids ids = {0};
	size_t room_bytes = 5000;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(launch_ids_add(&ids, 1, i * 1000, &room_bytes), 0);
		assert_true(launch_ids_may_have(&ids, 1, i * 1000));
	}
	assert_true(ids.is_full);
	assert_true(launch_ids_may_have(&ids, 7, 77));
	launch_ids_fini(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_what_was_added_and_nothing_else),
		cmocka_unit_test(dense_ids_take_little_room),
		cmocka_unit_test(a_full_set_may_have_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
