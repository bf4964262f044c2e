/* Of a store with a damaged page all rows on other pages are read, and the page is counted. */
#include "aggregator/store/store_salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/store/database.h"
#include "tests/aggregator/merge/merge_fixture.h"

#define PAGE_SIZE 4096u
#define TABLES    8u

/* Those with more than one page: rows of names and of sums. */
static const char *const tables[TABLES] = {"strings", "codes",  "frames",    "nodes",
					   "totals",  "ledger", "timelines", "host_samples"};

struct fixture {
	char *path, *damaged, *copy, *merged;
	uint8_t *bytes;
	size_t size;
	int64_t rows[TABLES], ns;
};

static int64_t query(const char *path, const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	if (database_query_number(database, sql, &number))
		fail_msg("%s: %s", sql, database_error(database));
	database_close(database);
	return number;
}

static void execute(const char *path, const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(path, false, &database, NULL), 0);
	if (database_execute(database, sql))
		fail_msg("%s: %s", sql, database_error(database));
	database_close(database);
}

static int64_t rows_of(const char *path, uint32_t table)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[table]);
	return query(path, sql);
}

/* Adds so many names, stacks and totals that their tables have several pages, and branches. */
static void grow(const char *path)
{
#define MANY        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
#define NEXT(table) "(SELECT max(id) FROM " table ") + i"
	execute(path,
		MANY "INSERT INTO strings SELECT " NEXT(
			"strings") ", CAST('a name that is long enough ' || i AS BLOB) FROM n;" MANY
				   "INSERT INTO codes SELECT " NEXT(
					   "codes") ", 0, (SELECT max(id) FROM strings) - 2000 + i "
						    "FROM n;" MANY
						    "INSERT INTO frames SELECT " NEXT(
							    "frames") ", 0, 7, 0, (SELECT max(id) "
								      "FROM codes) - 2000 + i, "
								      "NULL FROM n;" MANY
								      "INSERT INTO nodes "
								      "SELECT " NEXT(
									      "nodes") ", 0, "
										       "(SELECT "
										       "max(id) "
										       "FROM "
										       "frames) - "
										       "2000 + i "
										       "FROM "
										       "n;" MANY
										       "INSERT "
										       "INTO "
										       "totals "
										       "SELECT 1, "
										       "0, 1, 7, "
										       "i, (SELECT "
										       "max(id) "
										       "FROM "
										       "nodes) - "
										       "2000 + i,"
										       " 0, 0, 0, "
										       "0, 1, 1, "
										       "10, 0, "
										       "NULL FROM "
										       "n");
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	FILE *file;

	merge_fixture_set_up(state);
	*state = fixture;
	fixture->path = merge_fixture_path("sound");
	fixture->damaged = merge_fixture_path("damaged");
	fixture->copy = merge_fixture_path("copy");
	fixture->merged = merge_fixture_path("merged");
	merge_fixture_write(fixture->path, MERGE_FIXTURE_ALL, 1);
	grow(fixture->path);
	for (uint32_t i = 0; i < TABLES; i++)
		fixture->rows[i] = rows_of(fixture->path, i);
	fixture->ns = query(fixture->path, "SELECT sum(ns) FROM totals");
	file = fopen(fixture->path, "rb");
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	fixture->size = (size_t)ftell(file);
	fixture->bytes = malloc(fixture->size);
	rewind(file);
	assert_int_equal(fread(fixture->bytes, 1, fixture->size, file), fixture->size);
	fclose(file);
	assert_int_equal(query(fixture->path, "PRAGMA page_size"), PAGE_SIZE);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->path);
	free(fixture->damaged);
	free(fixture->copy);
	free(fixture->merged);
	free(fixture->bytes);
	free(fixture);
	return merge_fixture_tear_down(state);
}

/* Writes the store with that page full of ones. */
static void damage(const struct fixture *fixture, uint32_t page)
{
	uint8_t bytes[PAGE_SIZE];
	FILE *file = fopen(fixture->damaged, "wb");

	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(fwrite(fixture->bytes, 1, fixture->size, file), fixture->size);
	assert_int_equal(fseek(file, (long)((page - 1) * PAGE_SIZE), SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	assert_int_equal(fclose(file), 0);
}

static uint32_t root_of(const struct fixture *fixture, const char *table)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_master WHERE name = '%s'", table);
	return (uint32_t)query(fixture->path, sql);
}

/* Of names as many rows are there as before: what is lost has another text. Of one table of sums some may be lost. */
static void check_copy(const struct fixture *fixture)
{
	uint32_t nr_fewer = 0;

	for (uint32_t i = 0; i < TABLES; i++) {
		const int64_t rows = rows_of(fixture->copy, i);

		if (i < 4)
			assert_true(rows >= fixture->rows[i]);
		else
			nr_fewer += rows < fixture->rows[i];
	}
	assert_true(nr_fewer <= 1);
	assert_true(query(fixture->copy, "SELECT sum(ns) FROM totals") <= fixture->ns);
}

static void a_damaged_page_costs_what_stood_on_it(void **state)
{
	static const char *const needed[] = {"hosts", "devices", "processes", "epochs", "writers"};
	const struct fixture *fixture = *state;
	const uint32_t nr_pages = (uint32_t)(fixture->size / PAGE_SIZE);
	const uint32_t step = getenv("FLAMEGRID_NIGHTLY") ? 1 : 5;
	uint32_t nr_salvaged = 0, nr_needed = 0, nr_damaged = 0;

	for (uint32_t page = 2; page <= nr_pages; page++) {
		struct store_salvage salvage;
		bool is_needed = false;

		for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
			is_needed |= page == root_of(fixture, needed[i]);
		nr_needed += is_needed;
		if (page % step && !is_needed)
			continue;
		nr_damaged++;
		damage(fixture, page);
		const int error = store_salvage(fixture->damaged, fixture->copy, &salvage);
		if (is_needed)
			assert_int_equal(error, -EPROTO);
		if (error) {
			assert_int_equal(error, -EPROTO);
			assert_int_equal(access(fixture->copy, F_OK), -1);
			continue;
		}
		nr_salvaged++;
		assert_int_equal(salvage.nr_pages, nr_pages);
		assert_true(salvage.nr_lost > 0);
		check_copy(fixture);
		unlink(fixture->copy);
	}
	assert_int_equal(nr_needed, sizeof(needed) / sizeof(*needed));
	/* The schema has some pages, too, and there may be free ones. */
	assert_true(nr_salvaged + nr_needed + 10 > nr_damaged);
}

static void without_the_root_of_a_table_all_of_its_rows_are_lost(void **state)
{
	const struct fixture *fixture = *state;
	struct store_salvage salvage;

	damage(fixture, root_of(fixture, "totals"));
	assert_int_equal(store_salvage(fixture->damaged, fixture->copy, &salvage), 0);
	assert_true(salvage.nr_lost > 2000 * 20 / PAGE_SIZE);
	assert_int_equal(query(fixture->copy, "SELECT count(*) FROM totals"), 0);
	assert_int_equal(salvage.nr_lost_records,
			 query(fixture->path, "SELECT sum(matched + unmatched) FROM processes"));
	check_copy(fixture);
	unlink(fixture->copy);
}

/* A copy of all that would fill the disk. */
static void a_file_that_ends_far_behind_its_bytes_is_salvaged_as_without_its_hole(void **state)
{
	const struct fixture *fixture = *state;
	const int64_t hole = INT64_C(1) << 40;
	struct store_salvage salvage, expected;

	damage(fixture, root_of(fixture, "totals"));
	assert_int_equal(store_salvage(fixture->damaged, fixture->copy, &expected), 0);
	unlink(fixture->copy);
	assert_int_equal(truncate(fixture->damaged, hole), 0);
	assert_int_equal(store_salvage(fixture->damaged, fixture->copy, &salvage), 0);
	assert_int_equal(salvage.nr_lost, expected.nr_lost);
	assert_int_equal(salvage.nr_pages, expected.nr_pages);
	assert_int_equal(salvage.nr_lost_records, expected.nr_lost_records);
	check_copy(fixture);
	unlink(fixture->copy);
}

static void last_pages_in_a_hole_are_pages_that_are_lost(void **state)
{
	const struct fixture *fixture = *state;
	struct store_salvage salvage;

	damage(fixture, root_of(fixture, "totals"));
	assert_int_equal(truncate(fixture->damaged, (off_t)(fixture->size - PAGE_SIZE)), 0);
	assert_int_equal(truncate(fixture->damaged, (off_t)fixture->size), 0);
	const int error = store_salvage(fixture->damaged, fixture->copy, &salvage);
	assert_int_equal(salvage.nr_pages, fixture->size / PAGE_SIZE);
	if (!error)
		check_copy(fixture);
	unlink(fixture->copy);
}

static void what_is_not_damaged_is_not_salvaged(void **state)
{
	const struct fixture *fixture = *state;
	struct store_salvage salvage;

	assert_int_equal(store_salvage(fixture->path, fixture->copy, &salvage), -EPROTO);
	assert_int_equal(store_salvage("/dev/null", fixture->copy, &salvage), -EPROTO);
	assert_int_equal(store_salvage("/nonexistent", fixture->copy, &salvage), -ENOENT);
	assert_int_equal(access(fixture->copy, F_OK), -1);
}

static void copy_file(const char *from, const char *to)
{
	char command[1024];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

static void a_copy_has_what_is_in_the_log_of_a_killed_writer(void **state)
{
	const struct fixture *fixture = *state;
	struct database *database;
	char log[256], damaged_log[256];

	assert_int_equal(store_salvage_log(fixture->path, fixture->copy), -ENOENT);
	damage(fixture, (uint32_t)(fixture->size / PAGE_SIZE) + 1); /* none of its own */
	assert_int_equal(truncate(fixture->damaged, (off_t)fixture->size), 0);
	assert_int_equal(database_open(fixture->damaged, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, "PRAGMA journal_mode = WAL;"
						    "UPDATE totals SET ns = ns + 1"),
			 0);
	snprintf(log, sizeof(log), "%s-wal", fixture->damaged);
	snprintf(damaged_log, sizeof(damaged_log), "%s-wal", fixture->merged);
	copy_file(fixture->damaged, fixture->merged);
	copy_file(log, damaged_log);
	database_close(database);
	assert_int_equal(store_salvage_log(fixture->merged, fixture->copy), 0);
	assert_int_equal(query(fixture->copy, "SELECT sum(ns) FROM totals"),
			 fixture->ns + query(fixture->path, "SELECT count(*) FROM totals"));
	unlink(fixture->copy);
	unlink(fixture->merged);
	unlink(damaged_log);
}

static void a_merge_takes_what_is_whole_and_says_what_is_not(void **state)
{
	const struct fixture *fixture = *state;
	const char *const both[] = {fixture->damaged, fixture->path};
	char line[64];

	damage(fixture, root_of(fixture, "nodes"));
	merge_fixture_merge(both, 1, fixture->merged);
	char *reports = merge_fixture_reports(fixture->merged);
	snprintf(line, sizeof(line), " of %zu pages)", fixture->size / PAGE_SIZE);
	assert_non_null(strstr(reports, "1 part of the profile was damaged"));
	assert_non_null(strstr(reports, line));
	free(reports);
	unlink(fixture->merged);
	/* Beside a sound copy the damaged one counts for nothing. */
	merge_fixture_merge(both + 1, 1, fixture->merged);
	char *expected = merge_fixture_dump(fixture->merged);
	unlink(fixture->merged);
	merge_fixture_merge(both, 2, fixture->merged);
	char *found = merge_fixture_dump(fixture->merged);
	assert_string_equal(found, expected);
	free(found);
	free(expected);
	unlink(fixture->merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_page_costs_what_stood_on_it),
		cmocka_unit_test(without_the_root_of_a_table_all_of_its_rows_are_lost),
		cmocka_unit_test(
			a_file_that_ends_far_behind_its_bytes_is_salvaged_as_without_its_hole),
		cmocka_unit_test(last_pages_in_a_hole_are_pages_that_are_lost),
		cmocka_unit_test(what_is_not_damaged_is_not_salvaged),
		cmocka_unit_test(a_copy_has_what_is_in_the_log_of_a_killed_writer),
		cmocka_unit_test(a_merge_takes_what_is_whole_and_says_what_is_not),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
