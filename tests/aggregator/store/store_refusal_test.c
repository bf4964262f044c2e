#include "aggregator/store/store_schema.h"

#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/profile/profile.h"
#include "store_fixture.h"

static char *slurp(size_t *size)
{
	FILE *file = fopen(store_fixture.path, "rb");
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static void spit(const char *bytes, size_t size)
{
	FILE *file = fopen(store_fixture.path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

/* Opening for writing and for reading both fail like this, and neither touches the file. */
static void assert_refused(int status, const char *words)
{
	size_t before_size, after_size;
	char *before = slurp(&before_size), *after, *error;
	struct store *refused;
	struct profile *profile;

	assert_int_equal(store_open(store_fixture.path, NULL, &refused, &error), status);
	assert_null(refused);
	assert_non_null(strstr(error, words));
	assert_non_null(strstr(error, store_fixture.path));
	free(error);
	assert_int_equal(profile_load(store_fixture.path, &profile, &error), status);
	assert_null(profile);
	assert_non_null(strstr(error, words));
	free(error);
	after = slurp(&after_size);
	assert_int_equal(after_size, before_size);
	assert_memory_equal(after, before, before_size);
	free(before);
	free(after);
}

static void a_file_of_something_else_is_refused(void **state)
{
	(void)state;
	spit("train.py log, nothing to do with profiles, but long enough to have a header in it, "
	     "and some more so that it surely has\n",
	     120);
	assert_refused(-EPROTO, "not a database");
}

static void a_database_of_something_else_is_refused(void **state)
{
	(void)state;
	sqlite3 *database;

	assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "CREATE TABLE mine (a)", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(database);
	assert_refused(-EPROTO, "not a Flamegrid profile");
}

static void a_newer_schema_is_refused_with_its_number(void **state)
{
	(void)state;
	sqlite3 *database;

	store_fixture_open_all();
	store_fixture_commit();
	store_fixture_close_all();
	assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "PRAGMA user_version = 99", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(database);
	assert_refused(-EPROTO, "version 99");
}

static void an_older_schema_is_refused_with_what_to_do(void **state)
{
	(void)state;
	static const struct {
		const char *sql, *words;
	} versions[] = {
		{"PRAGMA user_version = 1",
		 "version 1, this program knows version 18: make the report with"},
		{"PRAGMA user_version = 2",
		 "version 2, this program knows version 18: make the report with"},
		{"PRAGMA user_version = 3",
		 "version 3, this program knows version 18: make the report with"},
		{"PRAGMA user_version = 4",
		 "version 4, this program knows version 18: make the report with"},
		{"PRAGMA user_version = 5",
		 "version 5, this program knows version 18: make the report with"},
		{"PRAGMA user_version = 7",
		 "version 7, this program knows version 18: make the report with"},
	};

	store_fixture_open_all();
	store_fixture_commit();
	store_fixture_close_all();
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		sqlite3 *database;

		assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
		assert_int_equal(sqlite3_exec(database, versions[i].sql, NULL, NULL, NULL),
				 SQLITE_OK);
		sqlite3_close(database);
		assert_refused(-EPROTO, versions[i].words);
	}
}

static void a_truncated_store_is_refused(void **state)
{
	(void)state;
	struct stat info;

	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	assert_int_equal(stat(store_fixture.path, &info), 0);
	assert_int_equal(truncate(store_fixture.path, info.st_size / 2), 0);
	assert_refused(-EPROTO, "damaged");
	assert_int_equal(truncate(store_fixture.path, 50), 0);
	assert_refused(-EPROTO, "damaged");
}

static void a_store_with_overwritten_pages_is_refused(void **state)
{
	(void)state;
	size_t size;

	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *bytes = slurp(&size);
	memset(bytes + 4096, 0x5a, size - 4096);
	spit(bytes, size);
	free(bytes);
	assert_refused(-EPROTO, "damaged");
}

static void assert_no_profile(const char *words)
{
	struct profile *profile;
	char *error;

	assert_int_equal(profile_load(store_fixture.path, &profile, &error), -EINVAL);
	assert_null(profile);
	assert_non_null(strstr(error, words));
	free(error);
}

static void pipes_are_refused_at_once(void **state)
{
	(void)state;
	char name[4096];

	assert_int_equal(mkfifo(store_fixture.path, 0600), 0);
	assert_no_profile("not a regular file");
	assert_int_equal(unlink(store_fixture.path), 0);
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	snprintf(name, sizeof(name), "%s-journal", store_fixture.path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_no_profile("-journal: not a regular file");
	assert_int_equal(unlink(name), 0);
}

static void a_view_in_a_tables_place_is_refused(void **state)
{
	(void)state;
	struct database *database;

	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
	assert_int_equal(
		database_execute(
			database,
			"ALTER TABLE strings RENAME TO s;"
			"CREATE VIEW strings AS WITH RECURSIVE r(id) AS"
			" (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT id, x'' AS data FROM r"),
		0);
	database_close(database);
	assert_refused(-EPROTO, "damaged");
}

static int64_t query(const char *sql)
{
	struct database *database;
	int64_t number = 0;

	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return number;
}

/* Overwrites the first page of a table. */
static void damage(const char *table)
{
	char sql[128];
	size_t size;

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_master WHERE name = '%s'", table);
	const int64_t page = query(sql), page_bytes = query("PRAGMA page_size");
	char *bytes = slurp(&size);
	assert_in_range(page, 2, size / (size_t)page_bytes);
	memset(bytes + (page - 1) * page_bytes, 0x55, (size_t)page_bytes);
	spit(bytes, size);
	free(bytes);
}

/* A reader of names refuses damage to what it reads, and does not look at all else. */
static void damage_is_refused_by_whom_it_concerns(void **state)
{
	static const struct {
		const char *table;
		bool concerns_names;
	} damages[] = {{"strings", true},          {"nodes", true},
		       {"collectives", true},      {"clock_offsets", true},
		       {"timeline_blocks", false}, {"sample_blocks", false},
		       {"total_blocks", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		struct profile *profile;
		char *error;

		store_fixture_open_all();
		store_fixture_apply_up_to(31);
		store_fixture_commit();
		store_fixture_close_all();
		damage(damages[i].table);
		assert_int_equal(profile_load(store_fixture.path, &profile, &error), -EPROTO);
		assert_non_null(strstr(error, "damaged"));
		free(error);
		assert_int_equal(profile_load_names(store_fixture.path, &profile, &error),
				 damages[i].concerns_names || !database_checks_tables() ? -EPROTO
											: 0);
		assert_int_equal(!profile, error && strstr(error, "damaged"));
		free(error);
		profile_destroy(profile);
		store_fixture_remove();
	}
}

/* The pages are whole, but what stands in the tables no store writes. */
static const char *const harms[] = {
	"DELETE FROM strings WHERE id = 2",
	"UPDATE nodes SET parent = 400 WHERE id = 2",
	"UPDATE frames SET module = 9",
	"UPDATE frames SET code = 9 WHERE code = 2",
	"UPDATE frames SET module = 1 WHERE code = 2",
	"UPDATE frames SET scope = 1 WHERE code = 2",
	"UPDATE codes SET name = 0 WHERE id = 1",
	"UPDATE codes SET file = 900 WHERE id = 1",
	"UPDATE codes SET file = 14, name = 15",
	"DELETE FROM codes WHERE id = 2",
	"UPDATE processes SET instance = x'00'",
	"UPDATE processes SET host = 9",
	"UPDATE devices SET host = 9",
	"UPDATE epochs SET host = 9",
	"UPDATE pending SET data = x'ff'",
	"UPDATE pending SET count = 100000",
	"UPDATE timelines SET nr_open = nr_open + 1",
	"UPDATE timelines SET busy_ns = busy_ns + 1",
	"UPDATE timelines SET close_at = records",
	"UPDATE timelines SET close_at = records + 1000000",
	"DELETE FROM timelines",
	"DELETE FROM timeline_blocks",
	"UPDATE timeline_blocks SET block = block + 1",
	"UPDATE timeline_blocks SET count = 0",
	"UPDATE timeline_blocks SET count = 4000000000",
	"UPDATE timeline_blocks SET data = x'00'",
	"UPDATE epoch_ids SET ids = x'0000'",
	"UPDATE epoch_ids SET count = 4000000000",
	"UPDATE epochs SET id = 5",
	"UPDATE ledger SET epoch = 9, process = 77 + process",
	"UPDATE api_calls SET process = 9",
	"UPDATE api_calls SET name = 900",
	"UPDATE api_calls SET domain = 3 WHERE domain = 1",
	"UPDATE api_calls SET domain = 0 WHERE domain = 1",
	"UPDATE api_calls SET count = -1",
	"UPDATE kernel_configs SET process = 9",
	"UPDATE kernel_configs SET name = 900",
	"UPDATE kernel_configs SET block_x = 4294967296",
	"UPDATE kernel_metrics SET process = 9",
	"UPDATE kernel_metrics SET node = 900000",
	"UPDATE kernel_metrics SET metric = 0 WHERE passes = 1",
	"UPDATE kernel_metrics SET passes = 0",
	"UPDATE kernel_metrics SET device_id = device_id + 64",
	"UPDATE kernel_metrics SET sum = 9218868437227405312",
	"UPDATE kernel_metrics SET min = -1",
	"UPDATE device_limits SET device = 9",
	"UPDATE host_samples SET kind = 5 WHERE kind = 2",
	"UPDATE sample_blocks SET block = 4294967295",
	"UPDATE sample_blocks SET level = 20",
	"UPDATE sample_blocks SET sort = sort + 4",
	"INSERT INTO sample_levels VALUES (9, 0, 1)",
	"INSERT INTO sample_levels VALUES (1, 4, 1)",
	"INSERT INTO sample_levels VALUES (1, 0, 20)",
	"INSERT INTO sample_levels SELECT process, sort, max(level) + 1 FROM sample_blocks"
	" GROUP BY 1, 2",
	"INSERT INTO host_clocks VALUES (9, 5)",
	"UPDATE sample_blocks SET process = 9 WHERE process = 1",
	"UPDATE sample_blocks SET data = x'ff'",
	"UPDATE sample_blocks SET count = count + 1",
	"UPDATE sample_blocks SET count = 4000000000",
	"UPDATE idle_blocks SET data = x'00'",
	"UPDATE idle_blocks SET block = 5",
	"UPDATE idle_blocks SET count = 4000000000",
	"UPDATE idle_blocks SET records = 100000",
	"UPDATE idle_devices SET device = 9 WHERE device = 1",
	"DELETE FROM idle_devices",
	"DELETE FROM devices",
	"UPDATE collectives SET process = 9",
	"UPDATE collectives SET communicator = 3",
	"UPDATE collectives SET function = 11",
	"INSERT INTO collective_splits VALUES (9,0,1,7,500,1,8,0,0,0,1,1,0)",
	"INSERT INTO collective_splits VALUES (1,0,1,7,500,1,8,1,9,0,1,1,0)",
	"INSERT INTO collective_splits VALUES (1,0,1,7,500,1,8,1,0,0,1,1,0)",
	"INSERT INTO collective_splits VALUES (1,0,1,7,500,1,8,3,0,0,1,1,0)",
};

static void a_store_with_impossible_content_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
		struct profile *profile;
		char *error;
		sqlite3 *database;

		store_fixture_open_all();
		store_fixture_apply_up_to(31);
		store_fixture_commit();
		store_fixture_close_all();
		assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
		if (sqlite3_exec(database, harms[i], NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", harms[i], sqlite3_errmsg(database));
		if (sqlite3_changes(database) == 0)
			fail_msg("%s: changes nothing", harms[i]);
		sqlite3_close(database);
		if (profile_load(store_fixture.path, &profile, &error) != -EPROTO)
			fail_msg("%s: is not refused", harms[i]);
		assert_non_null(strstr(error, "damaged"));
		free(error);
		store_fixture_remove();
	}
}

static void an_empty_file_becomes_a_store(void **state)
{
	(void)state;
	struct profile *profile;
	char *error;

	spit("", 0);
	assert_int_equal(profile_load(store_fixture.path, &profile, &error), -ENOENT);
	free(error);
	store_fixture_open_all();
	store_fixture_apply_up_to(3);
	store_fixture_commit();
	assert_int_equal(store_fixture.session->durable_seq, 3);
}

static void a_missing_or_forbidden_path_is_an_error_with_its_name(void **state)
{
	(void)state;
	struct store *missing;
	struct profile *profile;
	char *error;

	assert_int_equal(store_open("/proc/nonexistent/folder/x.db", NULL, &missing, &error),
			 -ENOENT);
	assert_non_null(strstr(error, "/proc/nonexistent/folder/x.db"));
	free(error);
	assert_int_equal(profile_load("/proc/nonexistent/folder/x.db", &profile, &error), -ENOENT);
	assert_non_null(strstr(error, "/proc/nonexistent/folder/x.db"));
	free(error);
	assert_int_equal(profile_load(store_fixture.path, &profile, NULL), -ENOENT);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_something_else_is_refused),
		TEST(a_database_of_something_else_is_refused),
		TEST(a_newer_schema_is_refused_with_its_number),
		TEST(an_older_schema_is_refused_with_what_to_do),
		TEST(a_truncated_store_is_refused),
		TEST(a_store_with_overwritten_pages_is_refused),
		TEST(pipes_are_refused_at_once),
		TEST(a_view_in_a_tables_place_is_refused),
		TEST(damage_is_refused_by_whom_it_concerns),
		TEST(a_store_with_impossible_content_is_refused),
		TEST(an_empty_file_becomes_a_store),
		TEST(a_missing_or_forbidden_path_is_an_error_with_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
