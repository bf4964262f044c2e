#include "cli/job/profile_part.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/aggregator/merge/merge_fixture.h"

#include "aggregator/store/database.h"

static void assert_equal_dumps(const char *path, const char *part)
{
	char *whole = merge_fixture_dump(path), *copy = merge_fixture_dump(part);

	assert_true(strlen(whole) > 1000);
	assert_string_equal(copy, whole);
	free(whole);
	free(copy);
}

static void a_closed_profile_becomes_a_part(void **state)
{
	char *path = merge_fixture_path("closed"), *directory = merge_fixture_path("job");
	char part[PATH_MAX];

	(void)state;
	merge_fixture_write(path, 0x3, 1);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(profile_part_add(path, directory, part), 0);
	assert_equal_dumps(path, part);
	unlink(part);
	rmdir(directory);
	assert_int_equal(profile_part_add(path, directory, part), -ENOENT);
	unlink(path);
	free(path);
	free(directory);
}

/* As on a disk that is full: the log cannot be brought into the store. */
static void what_is_in_the_log_alone_is_in_the_part(void **state)
{
	char *path = merge_fixture_path("logged"), *directory = merge_fixture_path("it's a job");
	char part[PATH_MAX], text[16], log[PATH_MAX];
	struct database *writer, *reader;
	struct stat status;

	(void)state;
	merge_fixture_write(path, 0x3, 1);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(database_open(path, false, &writer, NULL), 0);
	assert_int_equal(database_execute(writer, "PRAGMA journal_mode = WAL;"
						  "PRAGMA wal_autocheckpoint = 0;"
						  "INSERT INTO meta VALUES ('added', 'late')"),
			 0);
	snprintf(log, sizeof(log), "%s-wal", path);
	assert_int_equal(stat(log, &status), 0);
	assert_true(status.st_size > 0);
	assert_int_equal(profile_part_add(path, directory, part), 0);
	database_close(writer);
	assert_int_equal(stat(part, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(database_open(part, true, &reader, NULL), 0);
	assert_int_equal(database_query_text(reader,
					     "SELECT CAST(value AS BLOB) FROM meta"
					     " WHERE key = 'added'",
					     text, sizeof(text)),
			 0);
	database_close(reader);
	assert_string_equal(text, "late");
	assert_equal_dumps(path, part);
	unlink(part);
	rmdir(directory);
	unlink(path);
	free(path);
	free(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_profile_becomes_a_part),
		cmocka_unit_test(what_is_in_the_log_alone_is_in_the_part),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
