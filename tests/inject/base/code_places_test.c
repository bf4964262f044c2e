#include "inject/base/code_places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct code_places));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void addresses_outside_of_all_places_are_unchanged(void **state)
{
	struct code_places *places = *state;

	assert_int_equal(code_places_at(places, 0), CODE_PLACE_UNCHANGED);
	assert_int_equal(code_places_epoch(places), 0);
	code_places_unload(places, 0x2000, 0x3000);
	code_places_unload(places, 0x6000, 0x7000);
	assert_int_not_equal(code_places_epoch(places), 0);
	const uint64_t outside[] = {0, 0x1fff, 0x3000, 0x5fff, 0x7000, UINT64_MAX};
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_int_equal(code_places_at(places, outside[i]), CODE_PLACE_UNCHANGED);
	assert_int_not_equal(code_places_at(places, 0x2000), CODE_PLACE_UNCHANGED);
	assert_int_not_equal(code_places_at(places, 0x2fff), CODE_PLACE_UNCHANGED);
	assert_int_not_equal(code_places_at(places, 0x6000), code_places_at(places, 0x2000));
}

static void each_unloading_has_a_number_of_its_own_and_each_file_always_the_same(void **state)
{
	struct code_places *places = *state;
	uint32_t gone[2], there[2];

	for (int i = 0; i < 2; i++) {
		code_places_unload(places, 0x2000, 0x3000);
		gone[i] = code_places_at(places, 0x2800);
		code_places_load(places, 0x2000, 0x3000, UINT64_C(5) << 40);
		there[i] = code_places_at(places, 0x2800);
	}
	assert_int_not_equal(gone[0], gone[1]);
	assert_int_not_equal(gone[0], there[0]);
	assert_int_equal(there[0], there[1]);
	code_places_load(places, 0x2000, 0x3000, UINT64_C(6) << 40);
	assert_int_not_equal(code_places_at(places, 0x2800), there[0]);
}

static void a_smaller_file_in_a_place_leaves_the_rests_as_they_were(void **state)
{
	struct code_places *places = *state;

	code_places_unload(places, 0x2000, 0x8000);
	uint32_t gone = code_places_at(places, 0x2000);
	code_places_load(places, 0x4000, 0x5000, 1);
	assert_int_equal(code_places_at(places, 0x3fff), gone);
	assert_int_not_equal(code_places_at(places, 0x4000), gone);
	assert_int_not_equal(code_places_at(places, 0x4fff), gone);
	assert_int_equal(code_places_at(places, 0x5000), gone);
	/* over the end of one rest and of the place */
	code_places_unload(places, 0x7000, 0x9000);
	assert_int_equal(code_places_at(places, 0x6fff), gone);
	assert_int_not_equal(code_places_at(places, 0x7000), gone);
	assert_int_equal(code_places_at(places, 0x8fff), code_places_at(places, 0x7000));
}

static void places_hold_what_lies_in_them_without_a_gap(void **state)
{
	struct code_places *places = *state;

	assert_false(code_places_hold(places, 0x2000, 0x3000));
	code_places_unload(places, 0x2000, 0x4000);
	code_places_unload(places, 0x4000, 0x5000);
	code_places_unload(places, 0x6000, 0x7000);
	assert_true(code_places_hold(places, 0x2000, 0x5000));
	assert_true(code_places_hold(places, 0x3000, 0x3800));
	assert_false(code_places_hold(places, 0x1fff, 0x3000));
	assert_false(code_places_hold(places, 0x4000, 0x5001));
	assert_false(code_places_hold(places, 0x2000, 0x7000));
}

/* Every second of the rests would be a place of its own. */
static void too_many_places_become_one(void **state)
{
	struct code_places *places = *state;
	const uint64_t end = 0x1000 * (2 * SEGMENT_MAP_MAX + 2);

	for (uint64_t at = 0x1000; at < end; at += 0x2000)
		code_places_unload(places, at, at + 0x1000);
	uint32_t joined = code_places_at(places, 0x2800);
	assert_int_not_equal(joined, CODE_PLACE_UNCHANGED);
	assert_int_equal(code_places_at(places, 0x1800), joined);
	assert_int_equal(code_places_at(places, 0x800), CODE_PLACE_UNCHANGED);
	code_places_unload(places, 0x1000, 0x2000);
	assert_int_not_equal(code_places_at(places, 0x1800), joined);
	assert_int_equal(code_places_at(places, 0x2800), joined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(addresses_outside_of_all_places_are_unchanged,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			each_unloading_has_a_number_of_its_own_and_each_file_always_the_same,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_smaller_file_in_a_place_leaves_the_rests_as_they_were, set_up, tear_down),
		cmocka_unit_test_setup_teardown(places_hold_what_lies_in_them_without_a_gap, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_places_become_one, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
