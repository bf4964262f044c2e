#include "aggregator/store/store_compact.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/store/database.h"
#include "report_text.h"
#include "store_fixture.h"

#define NEVER UINT64_MAX

static const struct store_options compact = {.compact = true};

static off_t size_of(const char *suffix)
{
	char name[128];
	struct stat info;

	snprintf(name, sizeof(name), "%s%s", store_fixture.path, suffix);
	return stat(name, &info) ? -1 : info.st_size;
}

static struct database *open_database(void)
{
	struct database *database;

	assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
	return database;
}

/* A finished store with a megabyte of free pages. Returns its report; owns: free(). */
static char *make_store(void)
{
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	struct database *database = open_database();
	assert_int_equal(database_execute(database,
					  "CREATE TABLE filler AS SELECT randomblob(1000000) AS a;"
					  "DROP TABLE filler"),
			 0);
	database_close(database);
	assert_true(size_of("") > 1000000);
	return report_text_of(store_fixture.path);
}

static void assert_report(char *expected)
{
	char *text = report_text_of(store_fixture.path);

	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void a_closed_store_has_no_free_pages(void **state)
{
	struct stat info;
	char *report = make_store();
	int64_t unused;

	(void)state;
	assert_int_equal(chmod(store_fixture.path, 0640), 0);
	store_fixture_open_all_with(&compact);
	store_fixture_close_all();
	assert_true(size_of("") < 1000000);
	assert_int_equal(size_of("-compact"), -1);
	assert_int_equal(size_of("-wal"), -1);
	assert_int_equal(stat(store_fixture.path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);
	struct database *database = open_database();
	assert_int_equal(database_query_number(database, "PRAGMA freelist_count", &unused), 0);
	assert_int_equal(unused, 0);
	database_close(database);
	assert_report(report);
	store_fixture_open_all_with(&compact); /* it can be continued, and is not worth it again */
	store_fixture_close_all();
	assert_int_equal(size_of("-compact"), -1);
}

static void nobody_is_made_to_wait_who_did_not_ask(void **state)
{
	char *report = make_store();

	(void)state;
	store_fixture_open_all();
	store_fixture_close_all();
	assert_true(size_of("") > 1000000);
	assert_report(report);
}

static void when_time_is_over_the_old_file_stays(void **state)
{
	char *report = make_store();
	off_t size = size_of("");
	struct database *database = open_database();

	(void)state;
	assert_int_equal(database_execute(database,
					  "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1"
					  " FROM n WHERE x < 20000) INSERT INTO meta"
					  " SELECT 'filler' || x, x FROM n"),
			 0);
	assert_int_equal(store_compact_write(database, store_fixture.path, 0), -EINTR);
	assert_int_equal(size_of("-compact"), -1);
	database_close(database);
	assert_true(size_of("") >= size);
	assert_report(report);
}

static void a_kill_between_writing_and_taking_leaves_the_old_file(void **state)
{
	char *report = make_store();
	off_t size = size_of("");
	struct database *database = open_database();

	(void)state;
	assert_int_equal(store_compact_write(database, store_fixture.path, NEVER), 0);
	database_close(database);
	assert_true(size_of("") == size && size_of("-compact") > 0);
	store_fixture_open_all_with(&compact); /* writes the new file again, and takes it */
	store_fixture_close_all();
	assert_true(size_of("") < size);
	assert_int_equal(size_of("-compact"), -1);
	assert_report(report);
}

static void a_store_that_is_read_or_has_other_names_is_left_alone(void **state)
{
	char *report = make_store(), other[128];
	off_t size = size_of("");
	struct statement *row;

	(void)state;
	store_fixture_open_all_with(&compact);
	struct database *reader = open_database();
	assert_int_equal(statement_create(reader, "SELECT * FROM strings", &row), 0);
	assert_int_equal(statement_step(row), 1);
	store_fixture_close_all(); /* refused, as the log stays for the reader */
	statement_destroy(row);
	database_close(reader);
	assert_true(size_of("") >= size);

	snprintf(other, sizeof(other), "%s.other", store_fixture.path);
	assert_int_equal(link(store_fixture.path, other), 0);
	store_fixture_open_all_with(&compact);
	store_fixture_close_all();
	assert_true(size_of("") >= size);
	assert_int_equal(unlink(other), 0);
	assert_report(report);
}

/* Of the store and its log. */
static uint64_t size_with_log(void)
{
	off_t log = size_of("-wal");

	return (uint64_t)(size_of("") + (log > 0 ? log : 0));
}

static void a_store_and_its_log_hold_their_size(void **state)
{
	const struct store_options bounded = {.bytes_max = 24u << 20, .compact = true};
	static char name[1u << 20];
	uint64_t most = 0;
	int error = 0;

	(void)state;
	store_fixture_open_all_with(&bounded);
	for (uint32_t i = 0; !error && i < 64; i++) {
		uint32_t id;

		memset(name, (int)('!' + i), sizeof(name));
		assert_int_equal(catalog_add_string(store_fixture.collection->catalog, name,
						    sizeof(name), &id),
				 0);
		error = store_commit(store_fixture.store, store_fixture.collection);
		if (size_with_log() > most)
			most = size_with_log();
	}
	assert_int_equal(error, -ENOSPC);
	assert_in_range(most, bounded.bytes_max * 3 / 4, bounded.bytes_max * 11 / 10);
	store_fixture_close_all();
	assert_in_range(size_with_log(), 0, bounded.bytes_max);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_closed_store_has_no_free_pages),
		TEST(nobody_is_made_to_wait_who_did_not_ask),
		TEST(when_time_is_over_the_old_file_stays),
		TEST(a_kill_between_writing_and_taking_leaves_the_old_file),
		TEST(a_store_that_is_read_or_has_other_names_is_left_alone),
		TEST(a_store_and_its_log_hold_their_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
