/* Early and late launches of totals, and their sums. */
#include "report/profile/launch_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/agent_session.h"
#include "report/profile/clock_map.h"
#include "report/profile/profile.h"

#define SLICE (1ull << FOLD_SLICE_SHIFT)

static struct profile profile;

static int set_up(void **state)
{
	(void)state;
	profile.collection = collection_create();
	profile.clocks = clock_map_create(NULL, 0);
	return profile.collection && profile.clocks ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	clock_map_destroy(profile.clocks);
	collection_destroy(profile.collection);
	return 0;
}

/* Adds count launches of each slice from `from` on, of which each takes this time. */
static void add(struct fold_row *row, uint64_t from, const uint64_t *ns, uint32_t slices,
		uint32_t count)
{
	for (uint32_t i = 0; i < slices * count; i++)
		assert_int_equal(
			fold_row_add_one(row, (from + i / count) * SLICE + i, ns[i / count], 0), 0);
}

static void late_launches_are_compared_with_the_early_ones_of_their_total(void **state)
{
	const uint64_t grows[] = {100, 100, 105, 107, 108, 110, 112, 112};
	const uint64_t same[] = {50, 50, 50, 50};
	struct fold_row row = {.key = {.process_id = 1}}, other = {.key = {.process_id = 1}};
	struct launch_times times, others;

	(void)state;
	add(&row, 8, grows, 8, 3);
	launch_times_of(&profile, &row, &times);
	assert_true(times.is_known);
	assert_int_equal(times.first_ns, 8 * SLICE);
	assert_int_equal(times.last_ns, 15 * SLICE + 23);
	assert_int_equal(times.early_count, 6);
	assert_int_equal(times.early_ns, 600);
	assert_int_equal(times.late_count, 6);
	assert_int_equal(times.late_ns, 672);
	assert_int_equal(times.late_as_early_ns, 600);
	/* A shorter kernel that runs more often late is no change. */
	add(&other, 12, same, 4, 10);
	launch_times_of(&profile, &other, &others);
	launch_times_add(&times, &others);
	assert_int_equal(times.first_ns, 8 * SLICE);
	assert_int_equal(times.early_count, 16);
	assert_int_equal(times.late_ns, 672 + 500);
	assert_int_equal(times.late_as_early_ns, 600 + 500);
	fold_row_fini(&row);
	fold_row_fini(&other);
}

static void short_totals_have_no_early_launches(void **state)
{
	const uint64_t ns[] = {100, 200, 300};
	struct fold_row row = {.key = {.process_id = 1}};
	struct launch_times times;

	(void)state;
	add(&row, 8, ns, 3, 2);
	launch_times_of(&profile, &row, &times);
	assert_true(times.is_known);
	assert_int_equal(times.early_count, 0);
	assert_int_equal(times.late_as_early_ns, 0);
	fold_row_fini(&row);
}

static void without_a_part_nothing_is_known(void **state)
{
	const struct fold_row row = {
		.key = {.process_id = 1}, .count = 1, .times = {.first_ns = FOLD_TIME_NONE}};
	struct launch_times none = {.has_some = false}, times = none, known = none;

	(void)state;
	known.has_some = known.is_known = true;
	launch_times_add(&times, &known);
	launch_times_add(&times, &none);
	assert_true(times.is_known);
	launch_times_of(&profile, &row, &none);
	launch_times_add(&times, &none);
	assert_false(times.is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_launches_are_compared_with_the_early_ones_of_their_total),
		cmocka_unit_test(short_totals_have_no_early_launches),
		cmocka_unit_test(without_a_part_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
