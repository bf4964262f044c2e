#include "aggregator/store.h"

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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/agent_session.h"
#include "aggregator/profile.h"
#include "aggregator/report_build.h"
#include "aggregator/timeline_table.h"
#include "proto/batch_decode.h"
#include "report_text.h"
#include "scenario.h"

static char folder[64], path[96];
static struct scenario scenario;
static struct batch_decoder *decoder;
static struct store *store;
static struct collection *collection;
static struct agent_session *session;

static void remove_store(void)
{
	char name[128];

	unlink(path);
	snprintf(name, sizeof(name), "%s-wal", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", path);
	unlink(name);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/flamegrid_store_XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/profile.db", folder);
	scenario_init(&scenario, 1);
	decoder = batch_decoder_create();
	store = NULL;
	collection = NULL;
	return decoder ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	store_close(store);
	scenario_fini(&scenario);
	batch_decoder_destroy(decoder);
	remove_store();
	return rmdir(folder);
}

static void open_all_with(const struct store_options *options)
{
	char *error;

	if (store_open(path, options, &store, &error))
		fail_msg("%s", error);
	collection = collection_create();
	assert_non_null(collection);
	assert_int_equal(store_load(store, collection), 0);
	session = collection_session(collection, scenario.epoch);
	assert_non_null(session);
	if (!session->host)
		assert_int_equal(agent_session_hello(session, collection, &scenario.hello), 0);
}

static void open_all(void)
{
	open_all_with(NULL);
}

/* As the aggregator does when it ends. */
static void close_all(void)
{
	collection_destroy(collection);
	collection = NULL;
	store_close(store);
	store = NULL;
}

static void apply(uint64_t seq)
{
	struct message message;
	const char *reason;

	assert_int_equal(batch_decode(decoder, scenario.frames[seq - 1].bytes,
				      scenario.frames[seq - 1].size, &message),
			 0);
	if (agent_session_apply(session, collection, &message, &reason))
		fail_msg("frame %d: %s", (int)seq, reason);
}

static void apply_up_to(uint64_t last)
{
	while (session->received_seq < last)
		apply(session->received_seq + 1);
}

static void commit(void)
{
	if (store_commit(store, collection))
		fail_msg("%s", store_error(store));
}

/* What an undisturbed run gives. Owns: free(). */
static char *undisturbed(void)
{
	open_all();
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	char *text = report_text_of(path);
	remove_store();
	return text;
}

static char *slurp(size_t *size)
{
	FILE *file = fopen(path, "rb");
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
	FILE *file = fopen(path, "wb");

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

	assert_int_equal(store_open(path, NULL, &refused, &error), status);
	assert_null(refused);
	assert_non_null(strstr(error, words));
	assert_non_null(strstr(error, path));
	free(error);
	assert_int_equal(profile_load(path, &profile, &error), status);
	assert_null(profile);
	assert_non_null(strstr(error, words));
	free(error);
	after = slurp(&after_size);
	assert_int_equal(after_size, before_size);
	assert_memory_equal(after, before, before_size);
	free(before);
	free(after);
}

static void a_restart_after_any_commit_changes_nothing(void **state)
{
	(void)state;
	char *expected = undisturbed();

	for (uint64_t seq = 1; seq < scenario.nr_frames; seq++) {
		open_all();
		apply_up_to(seq);
		commit();
		close_all();
		open_all();
		assert_int_equal(session->durable_seq, seq);
		apply_up_to(scenario.nr_frames);
		commit();
		close_all();
		char *text = report_text_of(path);
		assert_string_equal(text, expected);
		free(text);
		remove_store();
	}
	free(expected);
}

static void a_restart_after_every_message_changes_nothing(void **state)
{
	(void)state;
	char *expected = undisturbed();

	for (uint64_t seq = 1; seq <= scenario.nr_frames; seq++) {
		open_all();
		assert_int_equal(session->durable_seq, seq - 1);
		apply_up_to(seq);
		commit();
		close_all();
	}
	char *text = report_text_of(path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void what_was_not_committed_comes_again_and_counts_once(void **state)
{
	(void)state;
	char *expected = undisturbed();

	for (uint64_t seq = 1; seq < scenario.nr_frames; seq++) {
		open_all();
		if (session->received_seq < seq)
			apply_up_to(seq);
		if (seq % 3 == 0)
			commit();
		apply_up_to(seq + 1);
		close_all();
	}
	open_all();
	assert_true(session->durable_seq < scenario.nr_frames);
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	char *text = report_text_of(path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* The child is killed with its transaction on disk and nothing closed. */
static void a_killed_writer_leaves_the_last_commit(void **state)
{
	(void)state;
	char *expected = undisturbed();
	int status;
	pid_t child = fork();

	if (child == 0) {
		open_all();
		apply_up_to(9);
		commit();
		apply_up_to(12);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	open_all();
	assert_int_equal(session->durable_seq, 9);
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	char *text = report_text_of(path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* Two streams' records in runs that cover the same time, so that each run reaches back. */
static void add_disordered(struct timeline_table *timelines, uint32_t run)
{
	struct timeline_key device = {.level = TIMELINE_DEVICE, .device_id = 1};
	struct timeline_key stream = {
		.level = TIMELINE_STREAM, .process_id = 1, .stream_id = run % 2};
	uint64_t base_ns = 1000 + run / 2 * 3000000ull + run % 2 * 700;

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t start_ns = base_ns + i * 10000ull;

		assert_int_equal(timeline_table_add(timelines, &device, start_ns, start_ns + 1000),
				 0);
		assert_int_equal(timeline_table_add(timelines, &stream, start_ns, start_ns + 1000),
				 0);
	}
}

static void assert_same_timelines(struct timeline_table *a, struct timeline_table *b)
{
	uint32_t nr_entries, nr_b;
	const struct timeline_entry *entries = timeline_table_entries(a, &nr_entries);

	timeline_table_entries(b, &nr_b);
	assert_int_equal(nr_b, nr_entries);
	for (uint32_t i = 0; i < nr_entries; i++) {
		struct stream_timeline *one = entries[i].timeline;
		struct stream_timeline *two = timeline_table_get(b, &entries[i].key)->timeline;
		struct timeline_sums sums, expected;
		uint32_t nr_open, nr_expected;

		stream_timeline_sums(one, &expected);
		stream_timeline_sums(two, &sums);
		assert_memory_equal(&sums, &expected, sizeof(sums));
		const struct timeline_interval *open = stream_timeline_open(two, &nr_open);
		const struct timeline_interval *wanted = stream_timeline_open(one, &nr_expected);
		assert_int_equal(nr_open, nr_expected);
		assert_memory_equal(open, wanted, nr_open * sizeof(*open));
		assert_int_equal(stream_timeline_busy_ns(two), stream_timeline_busy_ns(one));
	}
}

/* More commits than an entry has blocks, and the store is opened anew now and then. */
static void timelines_survive_any_number_of_commits_and_restarts(void **state)
{
	(void)state;
	struct timeline_table *undisturbed = timeline_table_create();

	assert_non_null(undisturbed);
	open_all();
	for (uint32_t run = 0; run < 3 * TIMELINE_BLOCKS_MAX; run++) {
		add_disordered(undisturbed, run);
		add_disordered(collection->timelines, run);
		if (run % 11 == 5)
			continue;
		commit();
		if (run % 17 == 3) {
			close_all();
			open_all();
			assert_same_timelines(undisturbed, collection->timelines);
		}
	}
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(collection->timelines, &nr_entries);
	assert_int_equal(nr_entries, 3);
	for (uint32_t i = 0; i < nr_entries; i++)
		assert_in_range(entries[i].nr_blocks, 1, TIMELINE_BLOCKS_MAX);
	assert_same_timelines(undisturbed, collection->timelines);
	timeline_table_close(undisturbed, 1);
	timeline_table_close(collection->timelines, 1);
	commit();
	close_all();
	open_all();
	assert_same_timelines(undisturbed, collection->timelines);
	timeline_table_destroy(undisturbed);
}

static void a_cleanly_closed_store_is_one_file(void **state)
{
	(void)state;
	char name[128];
	struct stat info;

	open_all();
	apply_up_to(5);
	commit();
	close_all();
	snprintf(name, sizeof(name), "%s-wal", path);
	assert_int_equal(stat(name, &info), -1);
	snprintf(name, sizeof(name), "%s-shm", path);
	assert_int_equal(stat(name, &info), -1);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
}

static void a_profile_can_be_read_while_it_is_written(void **state)
{
	(void)state;
	open_all();
	apply_up_to(10);
	commit();
	char *first = report_text_of(path);
	apply_up_to(12);
	char *second = report_text_of(path);
	assert_string_equal(first, second);
	commit();
	char *third = report_text_of(path);
	assert_string_not_equal(first, third);
	free(first);
	free(second);
	free(third);
}

/* GPU records of all event messages up to seq. */
static uint64_t records_up_to(uint64_t seq)
{
	uint64_t records = 0;

	for (uint64_t i = 0; i < seq; i++) {
		struct message message;

		assert_int_equal(batch_decode(decoder, scenario.frames[i].bytes,
					      scenario.frames[i].size, &message),
				 0);
		if (message.type == MESSAGE_EVENTS)
			records += message.events.nr_gpu;
	}
	return records;
}

/* Those that still wait for their launch included: produced = folded, at every moment. */
static void a_profile_holds_every_record_at_every_moment(void **state)
{
	(void)state;
	uint64_t waiting = 0;

	open_all();
	for (uint64_t seq = 1; seq <= scenario.nr_frames; seq++) {
		struct profile *profile;
		struct report_tree *tree;
		uint64_t folded = 0;

		apply_up_to(seq);
		commit();
		assert_int_equal(profile_load(path, &profile, NULL), 0);
		assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
		for (uint32_t i = 0; i < tree->nr_leaves; i++)
			folded += tree->leaves[i].count;
		assert_int_equal(folded, records_up_to(seq));
		assert_int_equal(tree->kernels + tree->copies, folded);
		assert_int_equal(profile->agents_open, seq < scenario.nr_frames);
		waiting += profile->waiting;
		report_tree_destroy(tree);
		profile_destroy(profile);
	}
	assert_true(waiting > 0);
}

static void a_second_writer_is_kept_out(void **state)
{
	(void)state;
	struct store *second;
	char *error;

	open_all();
	assert_int_equal(store_open(path, NULL, &second, &error), -EBUSY);
	assert_null(second);
	assert_non_null(strstr(error, "another aggregator"));
	free(error);
}

static bool always_shared(const char *asked)
{
	assert_string_equal(asked, folder);
	return true;
}

static void on_a_shared_file_system_nobody_else_has_the_store_open(void **state)
{
	(void)state;
	struct store_options options = {.is_shared = always_shared};
	struct store *second;
	struct profile *profile;
	char name[128], *error;
	struct stat info;

	open_all_with(&options);
	apply_up_to(4);
	commit();
	assert_true(store_is_exclusive(store));
	snprintf(name, sizeof(name), "%s-shm", path);
	assert_int_equal(stat(name, &info), -1);
	assert_int_equal(store_open(path, &options, &second, &error), -EBUSY);
	free(error);
	assert_int_equal(profile_load(path, &profile, &error), -EBUSY);
	free(error);
	close_all();
	assert_int_equal(profile_load(path, &profile, &error), 0);
	profile_destroy(profile);
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

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "CREATE TABLE mine (a)", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(database);
	assert_refused(-EPROTO, "not a Flamegrid profile");
}

static void a_newer_schema_is_refused_with_its_number(void **state)
{
	(void)state;
	sqlite3 *database;

	open_all();
	commit();
	close_all();
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "PRAGMA user_version = 99", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(database);
	assert_refused(-EPROTO, "version 99");
}

static void a_truncated_store_is_refused(void **state)
{
	(void)state;
	struct stat info;

	open_all();
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(truncate(path, info.st_size / 2), 0);
	assert_refused(-EPROTO, "damaged");
	assert_int_equal(truncate(path, 50), 0);
	assert_refused(-EPROTO, "damaged");
}

static void a_store_with_overwritten_pages_is_refused(void **state)
{
	(void)state;
	size_t size;

	open_all();
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	char *bytes = slurp(&size);
	memset(bytes + 4096, 0x5a, size - 4096);
	spit(bytes, size);
	free(bytes);
	assert_refused(-EPROTO, "damaged");
}

/* The pages are whole, but what stands in the tables no store writes. */
static void a_store_with_impossible_content_is_refused(void **state)
{
	(void)state;
	static const char *const harms[] = {
		"DELETE FROM strings WHERE id = 2",
		"UPDATE nodes SET parent = 400 WHERE id = 2",
		"UPDATE frames SET module = 9",
		"UPDATE processes SET instance = x'00'",
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
		"UPDATE ledger SET epoch = 9, process = 77",
		"DELETE FROM devices",
	};

	for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
		struct profile *profile;
		char *error;
		sqlite3 *database;

		open_all();
		apply_up_to(12);
		commit();
		close_all();
		assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
		assert_int_equal(sqlite3_exec(database, harms[i], NULL, NULL, NULL), SQLITE_OK);
		assert_true(sqlite3_changes(database) > 0);
		sqlite3_close(database);
		assert_int_equal(profile_load(path, &profile, &error), -EPROTO);
		assert_non_null(strstr(error, "damaged"));
		free(error);
		remove_store();
	}
}

static void an_empty_file_becomes_a_store(void **state)
{
	(void)state;
	struct profile *profile;
	char *error;

	spit("", 0);
	assert_int_equal(profile_load(path, &profile, &error), -ENOENT);
	free(error);
	open_all();
	apply_up_to(3);
	commit();
	assert_int_equal(session->durable_seq, 3);
}

static void a_missing_or_forbidden_path_is_an_error_with_its_name(void **state)
{
	(void)state;
	struct store *missing;
	struct profile *profile;
	char *error;

	assert_int_equal(store_open("/nonexistent/folder/x.db", NULL, &missing, &error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/folder/x.db"));
	free(error);
	assert_int_equal(profile_load("/nonexistent/folder/x.db", &profile, &error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/folder/x.db"));
	free(error);
	assert_int_equal(profile_load(path, &profile, NULL), -ENOENT);
}

static void a_full_disk_loses_nothing(void **state)
{
	(void)state;
	char *expected = undisturbed();
	struct rlimit unlimited, tight;
	struct stat info;

	open_all();
	apply_up_to(4);
	commit();
	close_all();
	open_all();
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_IGN);
	tight = unlimited;
	tight.rlim_cur = 4096;
	apply_up_to(10);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	int error = store_commit(store, collection);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_true(error == -ENOSPC || error == -EIO);
	assert_true(*store_error(store));
	assert_int_equal(session->durable_seq, 4);
	apply_up_to(15);
	commit();
	assert_int_equal(session->durable_seq, 15);
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	char *text = report_text_of(path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void the_title_is_kept_and_can_be_replaced(void **state)
{
	(void)state;
	struct store_options options = {.title = "first"};
	struct profile *profile;

	open_all_with(&options);
	commit();
	close_all();
	open_all();
	close_all();
	assert_int_equal(profile_load(path, &profile, NULL), 0);
	assert_string_equal(profile->title, "first");
	profile_destroy(profile);
	options.title = "second";
	open_all_with(&options);
	close_all();
	assert_int_equal(profile_load(path, &profile, NULL), 0);
	assert_string_equal(profile->title, "second");
	profile_destroy(profile);
}

static void a_finished_epoch_keeps_its_watermark_but_not_its_ids(void **state)
{
	(void)state;
	open_all();
	apply_up_to(scenario.nr_frames);
	commit();
	close_all();
	open_all();
	assert_int_equal(session->durable_seq, scenario.nr_frames);
	assert_true(session->ended);
	assert_int_equal(session->ids[SESSION_STRINGS].count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_restart_after_any_commit_changes_nothing),
		TEST(a_restart_after_every_message_changes_nothing),
		TEST(what_was_not_committed_comes_again_and_counts_once),
		TEST(a_killed_writer_leaves_the_last_commit),
		TEST(timelines_survive_any_number_of_commits_and_restarts),
		TEST(a_cleanly_closed_store_is_one_file),
		TEST(a_profile_can_be_read_while_it_is_written),
		TEST(a_profile_holds_every_record_at_every_moment),
		TEST(a_second_writer_is_kept_out),
		TEST(on_a_shared_file_system_nobody_else_has_the_store_open),
		TEST(a_file_of_something_else_is_refused),
		TEST(a_database_of_something_else_is_refused),
		TEST(a_newer_schema_is_refused_with_its_number),
		TEST(a_truncated_store_is_refused),
		TEST(a_store_with_overwritten_pages_is_refused),
		TEST(a_store_with_impossible_content_is_refused),
		TEST(an_empty_file_becomes_a_store),
		TEST(a_missing_or_forbidden_path_is_an_error_with_its_name),
		TEST(a_full_disk_loses_nothing),
		TEST(the_title_is_kept_and_can_be_replaced),
		TEST(a_finished_epoch_keeps_its_watermark_but_not_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
