/* Whatever sums of cells were made of, another one of it is another origin. */
#include "tests/support/cmocka_test.h"

#include "fold_fixture.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/cells/cell_origin.h"
#include "timeline/log/event_log.h"

static int set_up(void **state)
{
	return fold_fixture_set_up(state, 2, 4, (struct fold_fixture_lacks){0});
}

/* Asserts that the origin is there, and another one than before, which it becomes. */
static void assert_changed(const struct fold_fixture *f, uint64_t *before)
{
	const uint64_t origin = cell_origin(f->source);

	assert_int_not_equal(origin, 0);
	assert_int_not_equal(origin, *before);
	assert_int_equal(cell_origin(f->source), origin);
	*before = origin;
}

static void each_name_counts(void **state)
{
	struct fold_fixture *f = *state;
	struct catalog *catalog = f->profile.collection->catalog;
	uint64_t origin = 0;
	uint32_t frame, id;

	assert_changed(f, &origin);
	assert_int_equal(catalog_add_string(catalog, "more", 4, &id), 0);
	assert_changed(f, &origin);
	assert_int_equal(catalog_add_frame(catalog, 1, 99, 0, &frame), 0);
	assert_int_equal(catalog_add_node(catalog, 0, frame, &id), 0);
	assert_changed(f, &origin);
}

static void each_process_counts_with_its_rank_and_devices(void **state)
{
	struct fold_fixture *f = *state;
	struct roster *roster = f->profile.collection->roster;
	const struct roster_ordinal device = {0, 2};
	uint64_t origin = 0;
	uint32_t id;

	assert_changed(f, &origin);
	roster_process(roster, 3)->rank = 77;
	assert_changed(f, &origin);
	assert_int_equal(roster_process_set_devices(roster_process(roster, 9), &device, 1), 0);
	assert_changed(f, &origin);
	assert_int_equal(roster_process_set_devices(roster_process(roster, 9), &device, 0), 0);
	assert_changed(f, &origin);
	assert_int_equal(
		roster_add_device(roster, &(struct roster_device){.host = 1, .uuid = {99}}, &id),
		0);
	assert_changed(f, &origin);
	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = 2}, &id), 0);
	assert_changed(f, &origin);
	roster_process(roster, 3)->identity.host = id;
	assert_changed(f, &origin);
	assert_int_equal(
		roster_add_process(roster, &(struct roster_identity){.host = 1, .pid = 99}, &id),
		0);
	assert_changed(f, &origin);
}

/* The origin of the log with one comparison of clocks. */
static uint64_t origin_with(const struct fold_fixture *f, const struct clock_offset *offset)
{
	struct clock_map *map = clock_map_create(offset, 1);
	struct timeline_source *source = timeline_source_create(f->store, &f->profile, map);

	assert_non_null(map);
	assert_non_null(source);
	const uint64_t origin = cell_origin(source);
	timeline_source_destroy(source);
	clock_map_destroy(map);
	return origin;
}

static void each_comparison_of_clocks_counts(void **state)
{
	struct fold_fixture *f = *state;
	struct clock_offset offset = {.host = 1, .reference = 1, .time_ns = 5};
	uint64_t origins[6];

	origins[0] = cell_origin(f->source);
	origins[1] = origin_with(f, &offset);
	offset.time_ns++;
	origins[2] = origin_with(f, &offset);
	offset.offset_ns = -3;
	origins[3] = origin_with(f, &offset);
	offset.bound_ns = 9;
	origins[4] = origin_with(f, &offset);
	offset.realtime_offset_ns = 11;
	origins[5] = origin_with(f, &offset);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_not_equal(origins[i], 0);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(origins[i], origins[k]);
	}
}

static void each_file_of_the_log_counts(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t origin = 0;

	assert_changed(f, &origin);
	struct event_log *log = fold_fixture_write_more(f);
	fold_fixture_add_launch(event_log_packer(log), ++f->next_id, FOLD_FIXTURE_FIRST_NS, 1, 0);
	fold_fixture_end_more(log);
	assert_changed(f, &origin);
}

static void a_profile_that_is_written_or_has_no_timeline_has_none(void **state)
{
	struct fold_fixture *f = *state;

	f->profile.written = true;
	assert_int_equal(cell_origin(f->source), 0);
	f->profile.written = false;
	f->profile.has_timeline = false;
	assert_int_equal(cell_origin(f->source), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_name_counts),
		TEST(each_process_counts_with_its_rank_and_devices),
		TEST(each_comparison_of_clocks_counts),
		TEST(each_file_of_the_log_counts),
		TEST(a_profile_that_is_written_or_has_no_timeline_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
