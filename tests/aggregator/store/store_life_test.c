#include "aggregator/store/store_life.h"

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

#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "report/profile/profile.h"

/* A job's store, in a directory of its own within that of all jobs. */
static char jobs[64], job[96], path[128];
static struct store *store;

static int set_up(void **state)
{
	(void)state;
	strcpy(jobs, "/tmp/flamegrid-store-life-XXXXXX");
	if (!mkdtemp(jobs))
		return -1;
	snprintf(job, sizeof(job), "%s/alice-17", jobs);
	snprintf(path, sizeof(path), "%s/profile.db", job);
	return mkdir(job, 0700) || store_open(path, NULL, &store, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	store_close(store);
	unlink(path);
	rmdir(job);
	return rmdir(jobs);
}

static int keep(void)
{
	int fd = open(jobs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	store_life_keep(fd);
	return fd;
}

/* Not while this process has the store open (store_life_is_written()). */
static void assert_read(bool written, bool abandoned)
{
	struct profile *profile;
	char *error;

	if (profile_load(path, &profile, &error))
		fail_msg("%s", error);
	assert_int_equal(profile->written, written);
	assert_int_equal(profile->abandoned, abandoned);
	profile_destroy(profile);
}

static void a_store_that_rests_is_live_as_long_as_its_aggregator(void **state)
{
	int fd = keep();

	(void)state;
	store_rest(store);
	assert_read(true, false);
	close(fd);
	assert_read(false, true);
}

static void a_store_that_was_left_open_is_abandoned_whoever_keeps_others(void **state)
{
	struct database *database;
	int fd = keep();

	(void)state;
	store_rest(store);
	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(store_life_opened(database, 0), 0);
	database_close(database);
	assert_read(false, true);
	close(fd);
}

static void a_store_that_is_closed_is_whole_whoever_keeps_others(void **state)
{
	int fd = keep();

	(void)state;
	store_rest(store);
	store_close(store);
	store = NULL;
	assert_read(false, false);
	close(fd);
}

static void a_reader_asks_for_a_newer_state(void **state)
{
	(void)state;
	assert_false(store_life_is_wanted(path));
	store_life_want(path);
	store_life_want(path);
	assert_true(store_life_is_wanted(path));
	store_life_want_no_more(path);
	store_life_want_no_more(path);
	assert_false(store_life_is_wanted(path));
}

/* Writers as one merge made them: the nodes of which each is a part, the number of the host that came to it, and the
 * jobs of its two processes. */
static void assert_nodes(const char *writers, bool of_one_job, int32_t expected)
{
	char sql[384];
	struct database *database;
	enum store_life life;
	int32_t nr_nodes;
	int id = 0, nodes, host, job_ids[2], size;

	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, "DELETE FROM writers; DELETE FROM epochs"), 0);
	/* all that is read of processes */
	assert_int_equal(database_execute(database,
					  "DROP TABLE processes; CREATE TABLE processes"
					  " (job INTEGER NOT NULL, writer INTEGER NOT NULL)"),
			 0);
	for (; *writers; writers += size) {
		job_ids[0] = job_ids[1] = 0;
		if (sscanf(writers, "%d:%d:%d,%d%n", &nodes, &host, &job_ids[0], &job_ids[1],
			   &size) < 4)
			assert_int_equal(sscanf(writers, "%d:%d%n", &nodes, &host, &size), 2);
		id++;
		snprintf(sql, sizeof(sql),
			 "INSERT INTO writers VALUES (%d, randomblob(16), 1, %d);"
			 "INSERT INTO epochs VALUES (%d, randomblob(16), %d, 0, 1, 1, 1, %d);"
			 "INSERT INTO processes VALUES (%d, %d), (%d, %d)",
			 id, nodes, id, host, id, job_ids[0], id, job_ids[1], id);
		assert_int_equal(database_execute(database, sql), 0);
	}
	if (of_one_job)
		assert_int_equal(store_life_unite(database), 0);
	assert_int_equal(store_life_read(database, &life, &nr_nodes), 0);
	assert_int_equal(nr_nodes, expected);
	database_close(database);
}

static void parts_of_nodes_tell_how_many_there_are(void **state)
{
	(void)state;
	assert_nodes("-4:1", false, 4);
	assert_nodes("-4:1 -4:2", false, 4);
	assert_nodes("-4:1 -4:2 -4:3 -4:4", false, 4);
	assert_nodes("-2:1 -4:2", false, 2 + 1 + 3); /* two jobs */
	assert_nodes("3:1 4:2", false, 2 + 2 + 3);   /* two aggregators, of a job each */
	assert_nodes("0:1 0:2", false, 0);
	/* the job's aggregator, with its own node's number, and parts */
	assert_nodes("4:1 -4:1 -4:2", true, 4);
	assert_nodes("4:1 4:2 4:3", true, 4);
}

static void halves_of_two_jobs_are_no_whole(void **state)
{
	(void)state;
	assert_nodes("-2:1:7,7 -2:2:7,7", false, 2);
	assert_nodes("-2:1:7,7 -2:2:8,8", false, 2 + 1 + 1);
	assert_nodes("-2:1:7,7 -2:1:8,8", false, 1 + 1 + 1); /* on one host */
	assert_nodes("-2:1:7,7 -2:2:7,7 -2:3:8,8 -2:4:8,8", false, 4);
	assert_nodes("-2:1:7,7 -3:2:7,7", false, 2 + 1 + 2);
	/* a part whose processes tell no job, or two, may be of any */
	assert_nodes("-2:1:7,7 -2:2:0,0", false, 2);
	assert_nodes("-2:1:7,0 -2:2:7,8", false, 2);
	assert_nodes("-2:1:7,7 -2:2:0,0 -2:3:8,8", false, 3 + 1);
	assert_nodes("-2:1:7,7 -2:1:0,0", false, 1 + 1);
	/* as the job's aggregator, to which processes came */
	assert_nodes("4:1:7,7 -4:1:7,7 -4:2:7,7", true, 4);
	assert_nodes("4:1 -4:1:7,7 -4:2:7,7", true, 4);
}

static void a_profile_with_parts_of_nodes_may_get_the_others_later(void **state)
{
	struct database *database;
	int64_t count;

	(void)state;
	assert_nodes("4:1 -4:1 -4:2", true, 4);
	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(database_query_number(
				 database, "SELECT count(*) FROM writers WHERE nodes = -4", &count),
			 0);
	assert_int_equal(count, 3);
	database_close(database);
}

static void assert_full(const char *expected)
{
	struct profile *profile;

	assert_int_equal(profile_load(path, &profile, NULL), 0);
	assert_int_equal(profile->nr_notes, *expected != '\0');
	if (profile->nr_notes) {
		uint8_t writer[STORE_WRITER_SIZE];

		assert_int_equal(profile->notes->kind, STORE_NOTE_FULL);
		assert_string_equal(profile->notes->text, expected);
		assert_true(store_note_writer(profile->notes, writer));
	}
	profile_destroy(profile);
}

static void what_found_no_room_is_kept_until_a_writer_goes_on(void **state)
{
	const struct store_options options = {.bytes_max = 64u << 20};

	(void)state;
	store_close(store);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_open(path, i ? NULL : &options, &store, NULL), 0);
		assert_int_equal(store_note_full(store, 7, 5 + (uint64_t)i), 0);
		store_close(store);
		assert_full(i ? "at least 7 launches and 6 GPU records of the end found no room "
				"(its disk was full)"
			      : "at least 7 launches and 5 GPU records of the end found no room "
				"(--max-size 64, or a full disk)");
	}
	assert_int_equal(store_open(path, NULL, &store, NULL), 0);
	store_close(store);
	store = NULL;
	assert_full("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_store_that_rests_is_live_as_long_as_its_aggregator),
		TEST(a_store_that_was_left_open_is_abandoned_whoever_keeps_others),
		TEST(a_store_that_is_closed_is_whole_whoever_keeps_others),
		TEST(a_reader_asks_for_a_newer_state),
		TEST(parts_of_nodes_tell_how_many_there_are),
		TEST(halves_of_two_jobs_are_no_whole),
		TEST(what_found_no_room_is_kept_until_a_writer_goes_on),
		TEST(a_profile_with_parts_of_nodes_may_get_the_others_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
