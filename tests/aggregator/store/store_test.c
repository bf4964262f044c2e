#include "aggregator/store/store.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
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

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/store/database.h"
#include "report/model/report_build.h"
#include "report/profile/profile.h"
#include "report_text.h"
#include "store_fixture.h"

#include "aggregator/profile/roster.h"

#define CAPTURES 9u /* ids of the scenario's capture stacks, and none */

static void a_restart_after_any_commit_changes_nothing(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();

	for (uint64_t seq = 1; seq < store_fixture.scenario.nr_frames; seq++) {
		store_fixture_open_all();
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
		store_fixture_open_all();
		assert_int_equal(store_fixture.session->durable_seq, seq);
		store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
		store_fixture_commit();
		store_fixture_close_all();
		char *text = report_text_of(store_fixture.path);
		assert_string_equal(text, expected);
		free(text);
		store_fixture_remove();
	}
	free(expected);
}

static void restart_after_every_message(const char *expected)
{
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		store_fixture_open_all();
		assert_int_equal(store_fixture.session->durable_seq, seq - 1);
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
	}
	char *text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
}

static void a_restart_after_every_message_changes_nothing(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();

	restart_after_every_message(expected);
	free(expected);
}

static void what_was_not_committed_comes_again_and_counts_once(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();

	for (uint64_t seq = 1; seq < store_fixture.scenario.nr_frames; seq++) {
		store_fixture_open_all();
		if (store_fixture.session->received_seq < seq)
			store_fixture_apply_up_to(seq);
		if (seq % 3 == 0)
			store_fixture_commit();
		store_fixture_apply_up_to(seq + 1);
		store_fixture_close_all();
	}
	store_fixture_open_all();
	assert_true(store_fixture.session->durable_seq < store_fixture.scenario.nr_frames);
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* The child is killed with its transaction on disk and nothing closed. */
static void a_killed_writer_leaves_the_last_commit(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();
	int status;
	pid_t child = fork();

	if (child == 0) {
		store_fixture_open_all();
		store_fixture_apply_up_to(9);
		store_fixture_commit();
		store_fixture_apply_up_to(12);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	store_fixture_open_all();
	assert_int_equal(store_fixture.session->durable_seq, 9);
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

/* Two streams' records in runs that cover the same time, so that each run reaches back. */
static void add_disordered(struct timeline_table *timelines, uint32_t run)
{
	struct timeline_key device = {
		.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = 1};
	struct timeline_key stream = {
		.level = TIMELINE_STREAM, .process_id = 1, .stream_id = run % 2};
	uint64_t base_ns = 1000 + run / 2 * 3000000ull + run % 2 * 700;

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t start_ns = base_ns + i * 10000ull;

		assert_int_equal(timeline_table_add(timelines, &device, start_ns, start_ns + 1000),
				 0);
		assert_int_equal(timeline_table_add(timelines, &stream, start_ns, start_ns + 1000),
				 0);
		/* The first of NCCL's comes when the store has been opened anew. */
		assert_int_equal(timeline_table_add_kernel(timelines, 1, 0,
							   run > 20 && i % 5 == run % 5, start_ns,
							   start_ns + 1000),
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
static void commit_timelines_and_restart(void)
{
	struct timeline_table *undisturbed = timeline_table_create();

	assert_non_null(undisturbed);
	store_fixture_open_all();
	for (uint32_t run = 0; run < 3 * TIMELINE_BLOCKS_MAX; run++) {
		add_disordered(undisturbed, run);
		add_disordered(store_fixture.collection->timelines, run);
		if (run % 11 == 5)
			continue;
		store_fixture_commit();
		if (run % 17 == 3) {
			store_fixture_close_all();
			store_fixture_open_all();
			assert_same_timelines(undisturbed, store_fixture.collection->timelines);
		}
	}
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(store_fixture.collection->timelines, &nr_entries);
	assert_int_equal(nr_entries, 6);
	for (uint32_t i = 0; i < nr_entries; i++)
		assert_in_range(entries[i].nr_blocks, 1, TIMELINE_BLOCKS_MAX);
	assert_same_timelines(undisturbed, store_fixture.collection->timelines);
	timeline_table_close(undisturbed, 1);
	timeline_table_close(store_fixture.collection->timelines, 1);
	store_fixture_commit();
	store_fixture_close_all();
	store_fixture_open_all();
	assert_same_timelines(undisturbed, store_fixture.collection->timelines);
	timeline_table_destroy(undisturbed);
}

static void timelines_survive_any_number_of_commits_and_restarts(void **state)
{
	(void)state;
	commit_timelines_and_restart();
}

/* Makes a table anew with another key, and without row ids. */
static void make_table_anew(struct database *database, const char *table, const char *key)
{
	char sql[800], made[600];

	snprintf(sql, sizeof(sql),
		 "SELECT 'CREATE TABLE other (' || group_concat(name || ' ' || type || ' NOT NULL')"
		 " || ', PRIMARY KEY (%s)) STRICT, WITHOUT ROWID;' FROM pragma_table_info('%s')",
		 key, table);
	assert_int_equal(database_query_text(database, sql, made, sizeof(made)), 0);
	snprintf(sql, sizeof(sql), "%sDROP TABLE %s; ALTER TABLE other RENAME TO %s", made, table,
		 table);
	assert_int_equal(database_execute(database, sql), 0);
}

/* Makes an empty store as earlier builds made those of this version. */
static void make_earlier_store(void)
{
	struct database *database;

	store_fixture_open_all();
	store_fixture_close_all();
	assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
	make_table_anew(database, "timeline_blocks",
			"level, process, device_id, context_id, stream_id, block");
	make_table_anew(database, "pending", "process, kind, block");
	make_table_anew(database, "sample_blocks", "process, sort, block");
	make_table_anew(database, "total_blocks", "process, kind, block");
	make_table_anew(database, "epoch_ids", "epoch, kind, base");
	database_close(database);
}

static void timelines_survive_in_a_store_of_an_earlier_build(void **state)
{
	(void)state;
	make_earlier_store();
	commit_timelines_and_restart();
}

static void a_store_of_an_earlier_build_goes_on(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();

	make_earlier_store();
	restart_after_every_message(expected);
	free(expected);
}

static void a_cleanly_closed_store_is_one_file(void **state)
{
	(void)state;
	char name[128];
	struct stat info;

	store_fixture_open_all();
	store_fixture_apply_up_to(5);
	store_fixture_commit();
	store_fixture_close_all();
	snprintf(name, sizeof(name), "%s-wal", store_fixture.path);
	assert_int_equal(stat(name, &info), -1);
	snprintf(name, sizeof(name), "%s-shm", store_fixture.path);
	assert_int_equal(stat(name, &info), -1);
	assert_int_equal(stat(store_fixture.path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
}

static void a_profile_can_be_read_while_it_is_written(void **state)
{
	(void)state;
	store_fixture_open_all();
	store_fixture_apply_up_to(10);
	store_fixture_commit();
	char *first = report_text_of(store_fixture.path);
	store_fixture_apply_up_to(12);
	char *second = report_text_of(store_fixture.path);
	assert_string_equal(first, second);
	store_fixture_commit();
	char *third = report_text_of(store_fixture.path);
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

		assert_int_equal(batch_decode(store_fixture.decoder,
					      store_fixture.scenario.frames[i].bytes,
					      store_fixture.scenario.frames[i].size, &message),
				 0);
		if (message.type == MESSAGE_EVENTS)
			records += message.events.nr_gpu;
	}
	return records;
}

static uint64_t leaves_of(const struct profile *profile, enum report_memory memory)
{
	const struct report_options options = {.memory = memory};
	struct report_tree *tree;
	uint64_t sum = 0;

	assert_int_equal(report_tree_build(profile, &options, &tree), 0);
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		sum += tree->leaves[i].count;
	report_tree_destroy(tree);
	return sum;
}

/* Those that still wait for their launch included: produced = folded, at every moment. */
static void a_profile_holds_every_record_at_every_moment(void **state)
{
	(void)state;
	uint64_t waiting = 0;

	store_fixture_open_all();
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		struct profile *profile;
		struct report_tree *tree;
		uint64_t folded = 0;

		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
		assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
		for (uint32_t i = 0; i < tree->nr_leaves; i++)
			folded += tree->leaves[i].count;
		assert_int_equal(tree->kernels + tree->copies + tree->graphs, folded);
		folded += leaves_of(profile, REPORT_MEMORY_ALLOCS);
		folded += leaves_of(profile, REPORT_MEMORY_FREES);
		assert_int_equal(folded, records_up_to(seq));
		assert_true(profile->written);
		assert_null(strstr(tree->verdict, "did not say goodbye"));
		waiting += profile->waiting;
		report_tree_destroy(tree);
		profile_destroy(profile);
	}
	assert_true(waiting > 0);
}

static void sum_captures(const struct fold_table *totals, uint64_t count[CAPTURES])
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(totals, &nr_rows);

	memset(count, 0, CAPTURES * sizeof(*count));
	for (uint32_t i = 0; i < nr_rows; i++) {
		assert_true(rows[i].key.capture_stack_id < CAPTURES);
		count[rows[i].key.capture_stack_id] += rows[i].count;
	}
}

static void count_captures(uint64_t seq, uint64_t count[CAPTURES])
{
	struct message message;

	assert_int_equal(batch_decode(store_fixture.decoder,
				      store_fixture.scenario.frames[seq - 1].bytes,
				      store_fixture.scenario.frames[seq - 1].size, &message),
			 0);
	for (uint32_t i = 0; message.type == MESSAGE_EVENTS && i < message.events.nr_gpu; i++)
		count[message.events.gpu[i].capture_stack_id]++;
}

/* The only agent's nodes are all new and in their order: its ids are the store's. What waits is
 * stored elsewhere than what is folded. */
static void capture_stacks_are_stored_with_what_is_folded_and_what_waits(void **state)
{
	(void)state;
	uint64_t produced[CAPTURES] = {0}, stored[CAPTURES], waiting = 0;

	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		struct profile *profile;

		store_fixture_open_all();
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
		count_captures(seq, produced);
		assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
		sum_captures(profile->collection->totals, stored);
		assert_memory_equal(stored, produced, sizeof(stored));
		waiting += profile->waiting;
		profile_destroy(profile);
	}
	for (uint32_t i = 0; i < CAPTURES; i++)
		assert_true(produced[i] > 0);
	assert_true(waiting > 0);
}

static void a_second_writer_is_kept_out(void **state)
{
	(void)state;
	struct store *second;
	char *error;

	store_fixture_open_all();
	assert_int_equal(store_open(store_fixture.path, NULL, &second, &error), -EBUSY);
	assert_null(second);
	assert_non_null(strstr(error, "another aggregator"));
	free(error);
}

static bool always_shared(const char *asked)
{
	assert_string_equal(asked, store_fixture.folder);
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

	store_fixture_open_all_with(&options);
	store_fixture_apply_up_to(4);
	store_fixture_commit();
	assert_true(store_is_exclusive(store_fixture.store));
	snprintf(name, sizeof(name), "%s-shm", store_fixture.path);
	assert_int_equal(stat(name, &info), -1);
	assert_int_equal(store_open(store_fixture.path, &options, &second, &error), -EBUSY);
	free(error);
	assert_int_equal(profile_load(store_fixture.path, &profile, &error), -EBUSY);
	free(error);
	store_fixture_close_all();
	assert_int_equal(profile_load(store_fixture.path, &profile, &error), 0);
	profile_destroy(profile);
}

static void a_full_disk_loses_nothing(void **state)
{
	(void)state;
	char *expected = store_fixture_undisturbed();
	struct rlimit unlimited, tight;
	struct stat info;

	store_fixture_open_all();
	store_fixture_apply_up_to(4);
	store_fixture_commit();
	store_fixture_close_all();
	store_fixture_open_all();
	assert_int_equal(stat(store_fixture.path, &info), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_IGN);
	tight = unlimited;
	tight.rlim_cur = 4096;
	store_fixture_apply_up_to(10);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	int error = store_commit(store_fixture.store, store_fixture.collection);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_true(error == -ENOSPC || error == -EIO);
	assert_true(*store_error(store_fixture.store));
	assert_int_equal(store_fixture.session->durable_seq, 4);
	store_fixture_apply_up_to(15);
	store_fixture_commit();
	assert_int_equal(store_fixture.session->durable_seq, 15);
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void a_store_at_its_size_loses_nothing(void **state)
{
	const struct store_options bounded = {.bytes_max = 1u << 20};
	static char name[1u << 20];
	struct stat info;
	uint32_t id;

	(void)state;
	char *expected = store_fixture_undisturbed();
	const uint64_t half = store_fixture.scenario.nr_frames / 2;
	store_fixture_open_all_with(&bounded);
	assert_true(store_is_bounded(store_fixture.store));
	store_fixture_apply_up_to(half);
	store_fixture_commit();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	memset(name, 'x', sizeof(name));
	assert_int_equal(
		catalog_add_string(store_fixture.collection->catalog, name, sizeof(name), &id), 0);
	assert_int_equal(store_commit(store_fixture.store, store_fixture.collection), -ENOSPC);
	assert_int_equal(store_fixture.session->durable_seq, half);
	store_fixture_close_all();
	assert_int_equal(stat(store_fixture.path, &info), 0);
	assert_true(info.st_size <= 1 << 20);
	store_fixture_open_all();
	assert_false(store_is_bounded(store_fixture.store));
	assert_int_equal(store_fixture.session->durable_seq, half);
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void the_title_is_kept_and_can_be_replaced(void **state)
{
	(void)state;
	struct store_options options = {.title = "first"};
	struct profile *profile;

	store_fixture_open_all_with(&options);
	store_fixture_commit();
	store_fixture_close_all();
	store_fixture_open_all();
	store_fixture_close_all();
	assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
	assert_string_equal(profile->title, "first");
	profile_destroy(profile);
	options.title = "second";
	store_fixture_open_all_with(&options);
	store_fixture_close_all();
	assert_int_equal(profile_load(store_fixture.path, &profile, NULL), 0);
	assert_string_equal(profile->title, "second");
	profile_destroy(profile);
}

static void a_finished_epoch_keeps_its_watermark_but_not_its_ids(void **state)
{
	(void)state;
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	store_fixture_open_all();
	assert_int_equal(store_fixture.session->durable_seq, store_fixture.scenario.nr_frames);
	assert_true(store_fixture.session->ended);
	assert_int_equal(store_fixture.session->ids[SESSION_STRINGS].count, 0);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_restart_after_any_commit_changes_nothing),
		TEST(a_restart_after_every_message_changes_nothing),
		TEST(what_was_not_committed_comes_again_and_counts_once),
		TEST(a_killed_writer_leaves_the_last_commit),
		TEST(timelines_survive_any_number_of_commits_and_restarts),
		TEST(timelines_survive_in_a_store_of_an_earlier_build),
		TEST(a_store_of_an_earlier_build_goes_on),
		TEST(a_cleanly_closed_store_is_one_file),
		TEST(a_profile_can_be_read_while_it_is_written),
		TEST(a_profile_holds_every_record_at_every_moment),
		TEST(capture_stacks_are_stored_with_what_is_folded_and_what_waits),
		TEST(a_second_writer_is_kept_out),
		TEST(on_a_shared_file_system_nobody_else_has_the_store_open),
		TEST(a_full_disk_loses_nothing),
		TEST(a_store_at_its_size_loses_nothing),
		TEST(the_title_is_kept_and_can_be_replaced),
		TEST(a_finished_epoch_keeps_its_watermark_but_not_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
