/* Commits that store messages in place of their effects lose nothing, whenever the writer is killed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/profile/profile.h"
#include "report_text.h"
#include "store_fixture.h"

#include "aggregator/profile/raw_log.h"

static int64_t query(const char *sql)
{
	sqlite3 *database;
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	int64_t number =
		sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	sqlite3_finalize(statement);
	sqlite3_close(database);
	return number;
}

static void commit_messages(void)
{
	if (store_commit_messages(store_fixture.store, store_fixture.collection))
		fail_msg("%s", store_error(store_fixture.store));
	assert_int_equal(store_fixture.session->durable_seq, store_fixture.session->received_seq);
}

static void expect_report(char *expected)
{
	char *text = report_text_of(store_fixture.path);

	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* Its child has a store with the effects of the first frames, and the messages of the others up to the last. Each commit
 * of messages has a few. */
static void be_killed_after(uint64_t whole, uint64_t last)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		store_fixture_open_all();
		store_fixture_apply_up_to(whole);
		store_fixture_commit();
		for (uint64_t seq = whole; seq < last;) {
			seq = seq + 3 < last ? seq + 3 : last;
			store_fixture_apply_up_to(seq);
			commit_messages();
		}
		if (last < store_fixture.scenario.nr_frames)
			store_fixture_apply_up_to(last + 1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void a_writer_goes_on_after_the_messages_of_a_killed_one(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();

	for (uint64_t last = 1; last <= store_fixture.scenario.nr_frames; last += 4) {
		be_killed_after(last / 2, last);
		assert_true(query("SELECT count(*) FROM messages") > 0);
		store_fixture_open_all();
		assert_int_equal(store_fixture.session->durable_seq, last);
		store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
		store_fixture_commit();
		store_fixture_close_all();
		assert_int_equal(query("SELECT count(*) FROM messages"), 0);
		expect_report(strdup(expected));
		store_fixture_remove();
	}
	free(expected);
}

static void a_reader_sees_the_messages_of_a_killed_writer(void **state)
{
	struct profile *profile;

	(void)state;
	char *expected = store_fixture_undisturbed();
	be_killed_after(9, store_fixture.scenario.nr_frames);
	assert_int_equal(query("SELECT durable_seq FROM epochs"), 9);
	expect_report(expected);
	assert_int_equal(query("SELECT durable_seq FROM epochs"), store_fixture.scenario.nr_frames);
	assert_int_equal(query("SELECT count(*) FROM messages"), 0);
	assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
	assert_true(profile->abandoned);
	profile_destroy(profile);
}

/* As when a disk was full until the end. */
static void messages_left_at_a_clean_end_are_seen_too(void **state)
{
	struct profile *profile;

	(void)state;
	char *expected = store_fixture_undisturbed();
	store_fixture_open_all();
	store_fixture_apply_up_to(9);
	store_fixture_commit();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	commit_messages();
	store_fixture_close_all();
	expect_report(expected);
	assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
	assert_false(profile->abandoned);
	profile_destroy(profile);
}

/* By another process, as readers are: closing a file ends all marks that a process has on it. */
static void a_reader_leaves_the_messages_of_a_living_writer_alone(void **state)
{
	int status;

	(void)state;
	char *expected = store_fixture_undisturbed();
	store_fixture_open_all();
	store_fixture_apply_up_to(9);
	store_fixture_commit();
	store_fixture_apply_up_to(12);
	commit_messages();
	pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "reader", store_fixture.path, NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(query("SELECT count(*) FROM messages"), 1);
	assert_int_equal(query("SELECT durable_seq FROM epochs"), 9);
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	expect_report(expected);
}

static int read_as_it_is(const char *path)
{
	struct profile *profile;
	int error = profile_load(path, &profile, NULL);

	if (!error && (!profile->written || profile->collection->sessions[0]->durable_seq != 9))
		error = -EPROTO;
	if (!error)
		profile_destroy(profile);
	return error != 0;
}

static void raw_samples_among_the_messages_are_kept(void **state)
{
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		store_fixture_open_all();
		store_fixture_commit();
		raw_log_start(store_fixture.collection->raw);
		store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
		commit_messages();
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(query("SELECT count(*) FROM raw_samples"), 0);
	store_recover(store_fixture.path);
	assert_true(query("SELECT count(*) FROM raw_samples") > 0);
	assert_int_equal(query("SELECT count(*) FROM raw_samples"),
			 query("SELECT sum(count) FROM host_samples WHERE kind <= 2"));
}

/* The reader is a lock without a writer's mark here. The child looks for the mark, and so closes the file, while the
 * lock is there. */
static void a_writer_waits_for_a_reader_that_recovers(void **state)
{
	int status, closes = inotify_init1(IN_CLOEXEC);
	struct inotify_event event;

	(void)state;
	char *expected = store_fixture_undisturbed();
	be_killed_after(9, store_fixture.scenario.nr_frames);
	int lock = open(store_fixture.path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	assert_true(inotify_add_watch(closes, store_fixture.path, IN_CLOSE) >= 0);
	pid_t child = fork();
	if (child == 0) {
		close(lock);
		execl("/proc/self/exe", "writer", "goes on", store_fixture.path, NULL);
		_exit(9);
	}
	assert_int_equal(read(closes, &event, sizeof(event)), sizeof(event));
	close(lock);
	close(closes);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(query("SELECT count(*) FROM messages"), 0);
	expect_report(expected);
}

/* SQLite undoes what such a journal says, but only if it may write. */
static void a_reader_undoes_the_journal_of_a_killed_writer(void **state)
{
	static const char *const half_done =
		"PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; DELETE FROM strings; "
		"CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		"FROM n "
		"WHERE i < 300) SELECT randomblob(2000) FROM n";
	char journal[512];
	sqlite3 *database;
	struct stat info;
	int status;

	(void)state;
	char *expected = store_fixture_undisturbed();
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	pid_t child = fork();
	if (child == 0) {
		if (sqlite3_open(store_fixture.path, &database) == SQLITE_OK &&
		    sqlite3_exec(database, half_done, NULL, NULL, NULL) == SQLITE_OK)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	snprintf(journal, sizeof(journal), "%s-journal", store_fixture.path);
	assert_int_equal(stat(journal, &info), 0);
	assert_true(info.st_size > 0);
	expect_report(expected);
	assert_int_equal(stat(journal, &info), -1);
}

static int go_on(const char *path)
{
	struct collection *collection = collection_create();
	struct store *store;
	int error = store_open(path, NULL, &store, NULL);

	if (!error)
		error = store_load(store, collection);
	if (!error)
		store_close(store);
	collection_destroy(collection);
	return error != 0;
}

/* Each is refused, and readers show the tables. */
static void damaged_messages_are_refused(void **state)
{
	static const char *const damages[] = {
		"UPDATE messages SET data = substr(data, 1, length(data) - 1)",
		"UPDATE messages SET data = substr(data, 1, 15)",
		"UPDATE messages SET data = CAST(data || zeroblob(17) AS BLOB)",
		/* a session that is not there; a message that is not the next one */
		"UPDATE messages SET data = CAST(substr(data, 1, 8) || x'02000000' || substr(data, "
		"13) AS BLOB)",
		"DELETE FROM messages WHERE id = 1",
	};
	char *error;

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct profile *profile;

		be_killed_after(9, 15);
		query(damages[i]);
		assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
		assert_int_equal(profile->collection->sessions[0]->durable_seq, 9);
		profile_destroy(profile);
		if (store_open(store_fixture.path, NULL, &store_fixture.store, &error))
			fail_msg("%s", error);
		store_fixture.collection = collection_create();
		assert_int_equal(store_load(store_fixture.store, store_fixture.collection),
				 -EPROTO);
		store_fixture_close_all();
		store_fixture_remove();
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_writer_goes_on_after_the_messages_of_a_killed_one),
		TEST(a_reader_sees_the_messages_of_a_killed_writer),
		TEST(messages_left_at_a_clean_end_are_seen_too),
		TEST(a_reader_leaves_the_messages_of_a_living_writer_alone),
		TEST(raw_samples_among_the_messages_are_kept),
		TEST(a_reader_undoes_the_journal_of_a_killed_writer),
		TEST(a_writer_waits_for_a_reader_that_recovers),
		TEST(damaged_messages_are_refused),
	};

	if (argc == 2)
		return read_as_it_is(argv[1]);
	if (argc == 3)
		return go_on(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
