#include "cli/job/profile_part.h"

#include "tests/support/cmocka_test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/aggregator/merge/merge_fixture.h"
#include "tests/aggregator/merge/timeline_fixture.h"

#include "aggregator/store/database.h"
#include "timeline/log/event_place.h"

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

static uint32_t nr_entries(const char *directory)
{
	DIR *entries = opendir(directory);
	uint32_t nr = 0;

	for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
		nr += *entry->d_name != '.';
	closedir(entries);
	return nr;
}

/* Returns what profile_part_add_timeline() does where no file may have more bytes. */
static int add_within(rlim_t bytes, const char *path, const char *directory, uint64_t *nr_events)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){bytes, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	int r = profile_part_add_timeline(path, directory, nr_events);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	return r;
}

static void a_timeline_is_found_beside_the_job_by_its_id(void **state)
{
	char *path = merge_fixture_path("timed"), *directory = merge_fixture_path("job");
	char part[PATH_MAX], command[2 * PATH_MAX];
	uint64_t nr_events = 1;

	(void)state;
	merge_fixture_write(path, 0x3, 1);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(profile_part_add_timeline(path, directory, &nr_events), 0);
	assert_int_equal(nr_events, 0); /* there is none */
	timeline_fixture_write(path, 5000, 1);
	const struct timeline_digest all = timeline_fixture_read(path);

	/* What finds no room leaves nothing, and says how much it is. */
	assert_int_equal(add_within(1000, path, directory, &nr_events), -EFBIG);
	assert_int_equal(nr_events, all.launches + all.records);
	assert_int_equal(nr_entries(directory), 0);
	assert_int_equal(profile_part_add_timeline(path, "/nowhere", &nr_events), -ENOENT);

	assert_int_equal(profile_part_add_timeline(path, directory, &nr_events), 0);
	assert_int_equal(nr_events, all.launches + all.records);
	assert_int_equal(nr_entries(directory), 1);
	assert_int_equal(profile_part_add(path, directory, part), 0);
	timeline_fixture_same(timeline_fixture_read(part), all);
	timeline_fixture_same(timeline_fixture_read(path), all);
	snprintf(command, sizeof(command), "rm -r '%s' '%s" EVENT_FORMAT_FOLDER "'", directory,
		 path);
	assert_int_equal(system(command), 0);
	unlink(path);
	free(path);
	free(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_profile_becomes_a_part),
		cmocka_unit_test(what_is_in_the_log_alone_is_in_the_part),
		cmocka_unit_test(a_timeline_is_found_beside_the_job_by_its_id),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
