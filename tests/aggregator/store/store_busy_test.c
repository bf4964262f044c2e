/* Busy times of a store, as they are read by who goes on with it and by who only reads it. */
#include "store_fixture.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <sqlite3.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_loader.h"

static void change(const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
	assert_int_not_equal(sqlite3_changes(database), 0);
	sqlite3_close(database);
}

/* A store whose timelines have several blocks of open intervals. */
static void write_store(void)
{
	store_fixture_open_all();
	for (uint64_t frame = 1; frame <= store_fixture.scenario.nr_frames; frame++) {
		store_fixture_apply_up_to(frame);
		store_fixture_commit();
	}
	store_fixture_close_all();
}

static int load(bool is_closed, struct collection **collection)
{
	struct database *database;

	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	*collection = collection_create();
	assert_non_null(*collection);
	const int error = is_closed ? store_loader_load_closed(database, *collection)
				    : store_loader_load(database, *collection);

	database_close(database);
	return error;
}

/* Both have the same times, and the closed ones no open interval. Returns the number of open intervals. */
static uint32_t check_same(void)
{
	struct collection *open, *closed;
	uint32_t nr_open_entries, nr_closed_entries, nr_open = 0, count;

	assert_int_equal(load(false, &open), 0);
	assert_int_equal(load(true, &closed), 0);
	const struct timeline_entry *left =
		timeline_table_entries(open->timelines, &nr_open_entries);
	timeline_table_entries(closed->timelines, &nr_closed_entries);
	assert_int_equal(nr_open_entries, nr_closed_entries);
	for (uint32_t i = 0; i < nr_open_entries; i++) {
		struct timeline_entry *right = timeline_table_find(closed->timelines, &left[i].key);
		struct timeline_sums a, b;

		assert_non_null(right);
		stream_timeline_sums(left[i].timeline, &a);
		stream_timeline_sums(right->timeline, &b);
		assert_int_equal(stream_timeline_busy_ns(left[i].timeline),
				 stream_timeline_busy_ns(right->timeline));
		assert_int_equal(a.records, b.records);
		assert_int_equal(a.sum_ns, b.sum_ns);
		assert_int_equal(a.first_ns, b.first_ns);
		assert_int_equal(a.last_ns, b.last_ns);
		assert_int_equal(a.late, b.late);
		assert_int_equal(a.late_ns, b.late_ns);
		assert_int_equal(b.horizon_ns, b.last_ns);
		stream_timeline_open(left[i].timeline, &count);
		nr_open += count;
		stream_timeline_open(right->timeline, &count);
		assert_int_equal(count, 0);
	}
	collection_destroy(open);
	collection_destroy(closed);
	return nr_open;
}

static void readers_have_the_sums_of_all_intervals(void **state)
{
	(void)state;
	write_store();
	assert_int_not_equal(check_same(), 0);
}

/* Intervals of several blocks may overlap, and a block may begin before the one before it. */
static void blocks_in_any_order_have_the_same_union(void **state)
{
	(void)state;
	write_store();
	const uint32_t nr_open = check_same();

	change("UPDATE timeline_blocks SET block = block + 1000 WHERE block < 2 AND"
	       " (level, process, device_id, context_id, stream_id) IN (SELECT level, process,"
	       " device_id, context_id, stream_id FROM timeline_blocks WHERE block = 1)");
	change("UPDATE timeline_blocks SET block = 1001 - block WHERE block >= 1000");
	assert_int_equal(check_same(), nr_open);
}

static void blocks_that_do_not_have_the_sums_are_refused(void **state)
{
	static const char *const harms[] = {
		"UPDATE timeline_blocks SET data = (SELECT data FROM timeline_blocks WHERE block = "
		"1"
		" LIMIT 1), count = (SELECT count FROM timeline_blocks WHERE block = 1 LIMIT 1)",
		"DELETE FROM timeline_blocks WHERE block = 1",
		"UPDATE timeline_blocks SET block = 40 WHERE block = 1",
		"INSERT INTO timeline_blocks SELECT level, process, device_id, context_id, "
		"stream_id,"
		" 60, count, data FROM timeline_blocks WHERE block = 0",
		"UPDATE timelines SET closed_ns = closed_ns + 1",
		"UPDATE timelines SET horizon_ns = last_ns",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(harms) / sizeof(*harms); i++)
		for (int is_closed = 0; is_closed < 2; is_closed++) {
			struct collection *collection;

			write_store();
			change(harms[i]);
			if (load(is_closed, &collection) != -EPROTO)
				fail_msg("%s: is not refused", harms[i]);
			collection_destroy(collection);
			store_fixture_remove();
		}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(readers_have_the_sums_of_all_intervals),
		TEST(blocks_in_any_order_have_the_same_union),
		TEST(blocks_that_do_not_have_the_sums_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
