#include "tests/support/cmocka_test.h"

#include "node-agent/watch/sample_room.h"

#define GIB (1ull << 30)

static void the_room_is_half_a_second_of_all_cpus(void **state)
{
	(void)state;
	assert_int_equal(sample_room_bytes(499, 16, 4, 64 * GIB), 499 * 16 * (3072 + 16384) / 2);
	assert_int_equal(sample_room_bytes(499, 64, 0, 64 * GIB), 499 * 64 * 3072 / 2);
}

static void the_room_has_bounds(void **state)
{
	(void)state;
	assert_int_equal(sample_room_bytes(99, 2, 4, 64 * GIB), SAMPLE_ROOM_MIN);
	assert_int_equal(sample_room_bytes(0, 256, 4, 64 * GIB), SAMPLE_ROOM_MIN);
	assert_int_equal(sample_room_bytes(10000, 4096, 4, 1024 * GIB), SAMPLE_ROOM_MAX);
}

static void a_small_machine_gives_a_64th_of_its_memory(void **state)
{
	(void)state;
	assert_int_equal(sample_room_bytes(10000, 64, 4, 2 * GIB), 2 * GIB / 64);
	assert_int_equal(sample_room_bytes(10000, 64, 4, 0), SAMPLE_ROOM_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_room_is_half_a_second_of_all_cpus),
		cmocka_unit_test(the_room_has_bounds),
		cmocka_unit_test(a_small_machine_gives_a_64th_of_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
