/* What a merge takes and what it refuses, and that its list of tables is the store's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge_fixture.h"
#include "tests/aggregator/store/report_text.h"

#include "aggregator/merge/merge_table.h"
#include "aggregator/merge/profile_merge.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/placement_log.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_note.h"
#include "proto/batch/message.h"
#include "report/profile/profile.h"

struct paths {
	char *one, *two, *merged;
};

static struct paths paths_make(void)
{
	return (struct paths){merge_fixture_path("one"), merge_fixture_path("two"),
			      merge_fixture_path("merged")};
}

static void paths_free(struct paths *paths)
{
	unlink(paths->one);
	unlink(paths->two);
	unlink(paths->merged);
	free(paths->one);
	free(paths->two);
	free(paths->merged);
}

/* Merges both, which must fail with a line that has the words, and leave no file. */
static void expect_refusal(const struct paths *paths, int status, const char *words)
{
	const struct merge_source both[] = {{.path = paths->one}, {.path = paths->two}};
	char *error;

	assert_int_equal(profile_merge(both, 2, false, paths->merged, &error), status);
	if (!error || !strstr(error, words))
		fail_msg("'%s' has no '%s'", error, words);
	free(error);
	assert_int_equal(access(paths->merged, F_OK), -1);
}

static int take_column(struct statement *row, void *context)
{
	uint32_t *count = context;

	(void)row;
	++*count;
	return 0;
}

static uint32_t columns_of(struct database *database, const char *table)
{
	char sql[128];
	uint32_t count = 0;

	snprintf(sql, sizeof(sql), "SELECT name FROM pragma_table_info('%s')", table);
	assert_int_equal(database_rows(database, sql, take_column, &count), 0);
	return count;
}

static int take_table(struct statement *row, void *context)
{
	uint32_t size, *known = context;
	const char *name = statement_bytes(row, 0, &size);
	bool is_known = false;

	for (size_t i = 0; i < merge_nr_tables; i++)
		is_known |= strlen(merge_tables[i].name) == size &&
			    memcmp(merge_tables[i].name, name, size) == 0;
	for (size_t i = 0; merge_other_tables[i]; i++)
		is_known |= strlen(merge_other_tables[i]) == size &&
			    memcmp(merge_other_tables[i], name, size) == 0;
	if (!is_known)
		fail_msg("merge_table.c lacks %.*s", (int)size, name);
	++*known;
	return 0;
}

static void every_table_and_column_of_the_store_has_its_place(void **state)
{
	struct paths paths = paths_make();
	struct database *database;
	uint32_t known = 0, others = 0;

	(void)state;
	merge_fixture_write(paths.one, 1, 1);
	assert_int_equal(database_open(paths.one, true, &database, NULL), 0);
	assert_int_equal(database_rows(database,
				       "SELECT CAST(name AS BLOB) FROM sqlite_master"
				       " WHERE type = 'table'",
				       take_table, &known),
			 0);
	while (merge_other_tables[others])
		others++;
	assert_int_equal(known, merge_nr_tables + others);
	for (size_t i = 0; i < merge_nr_tables; i++) {
		uint32_t count = 0;

		while (count < MERGE_COLUMNS_MAX && merge_tables[i].columns[count])
			count++;
		if (count != columns_of(database, merge_tables[i].name))
			fail_msg("merge_table.c has %u columns of %s", count, merge_tables[i].name);
	}
	database_close(database);
	paths_free(&paths);
}

static void change(const char *path, const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

/* Makes two stores, of two agents of a host that know the same GPU, and merges them in both orders. */
static void expect_link(const char *one, const char *two, uint32_t link, uint64_t bytes_per_second)
{
	struct paths paths = paths_make();
	const char *const orders[][2] = {{paths.one, paths.two}, {paths.two, paths.one}};
	uint32_t count;
	char *error;

	merge_fixture_write(paths.one, 1, 1);
	merge_fixture_write(paths.two, 4, 1);
	change(paths.one, "UPDATE devices SET uuid = x'0102030405060708090a0b0c0d0e0f10'");
	change(paths.two, "UPDATE devices SET uuid = x'0102030405060708090a0b0c0d0e0f10'");
	change(paths.one, one);
	change(paths.two, two);
	for (int i = 0; i < 2; i++) {
		struct profile *profile;

		merge_fixture_merge(orders[i], 2, paths.merged);
		if (profile_load(paths.merged, &profile, &error))
			fail_msg("%s", error);
		const struct placement_link *links =
			placement_log_links(profile->collection->placements, &count);
		assert_int_equal(count, 1);
		assert_int_equal(links->link, link);
		assert_int_equal(links->bytes_per_second, bytes_per_second);
		profile_destroy(profile);
		unlink(paths.merged);
	}
	paths_free(&paths);
}

static void of_two_links_of_a_gpu_the_faster_one_counts(void **state)
{
	(void)state;
	expect_link("INSERT INTO device_links VALUES (1, 1, 478116000000)",
		    "INSERT INTO device_links VALUES (1, 1, 451554000000)", DEVICE_LINK_NVLINK,
		    478116000000);
	expect_link("INSERT INTO device_links VALUES (1, 1, 26562000000)",
		    "INSERT INTO device_links VALUES (1, 2, 64000000000)", DEVICE_LINK_NVLINK,
		    26562000000);
	expect_link("INSERT INTO device_links VALUES (1, 2, 64000000000)",
		    "DELETE FROM device_links", DEVICE_LINK_PCIE, 64000000000);
}

#define TELEMETRY(begin, last, readings, energy)                                                   \
	"INSERT INTO device_telemetry VALUES (1, " begin ", 0, " last ", " readings                \
	", 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, " energy ", 1, 1, 1, 1"        \
	", 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"

static uint64_t merged_energy(const char *one, const char *two, uint32_t rows)
{
	struct paths paths = paths_make();
	const char *const orders[][3] = {{paths.one, paths.two, paths.one},
					 {paths.two, paths.one, paths.two}};
	uint64_t sums[2] = {0};
	uint32_t count;
	char *error;

	merge_fixture_write(paths.one, 1, 1);
	merge_fixture_write(paths.two, 4, 1);
	change(paths.one, "UPDATE devices SET uuid = x'0102030405060708090a0b0c0d0e0f10'");
	change(paths.two, "UPDATE devices SET uuid = x'0102030405060708090a0b0c0d0e0f10'");
	change(paths.one, one);
	change(paths.two, two);
	for (int i = 0; i < 2; i++) {
		struct profile *profile;

		merge_fixture_merge(orders[i], 3, paths.merged);
		if (profile_load(paths.merged, &profile, &error))
			fail_msg("%s", error);
		const struct device_telemetry *telemetry =
			placement_log_telemetry(profile->collection->placements, &count);
		assert_int_equal(count, rows);
		for (uint32_t row = 0; row < count; row++)
			sums[i] += telemetry[row].energy_mj;
		profile_destroy(profile);
		unlink(paths.merged);
	}
	assert_int_equal(sums[0], sums[1]);
	paths_free(&paths);
	return sums[0];
}

/* The key is the agent's life: of one life the newer state counts, and lives add up. */
static void telemetry_is_merged_in_any_order_and_twice(void **state)
{
	(void)state;
	assert_int_equal(
		merged_energy(TELEMETRY("5", "9", "4", "300"), TELEMETRY("5", "7", "2", "100"), 1),
		300);
	assert_int_equal(merged_energy(TELEMETRY("5", "9", "4", "300"),
				       TELEMETRY("11", "12", "2", "100"), 2),
			 400);
	assert_int_equal(
		merged_energy(TELEMETRY("5", "9", "4", "300"), "DELETE FROM device_telemetry", 1),
		300);
}

static void the_copy_that_came_further_counts(void **state)
{
	struct paths paths = paths_make();

	(void)state;
	merge_fixture_write_both(paths.one, paths.two, 100, MERGE_FIXTURE_ALL, 5);
	merge_fixture_merge((const char *[]){paths.two, paths.one}, 2, paths.merged);
	char *both = merge_fixture_dump(paths.merged);
	unlink(paths.merged);
	merge_fixture_merge((const char *[]){paths.one}, 1, paths.merged);
	char *one = merge_fixture_dump(paths.merged);
	assert_string_equal(both, one);
	free(both);
	free(one);
	paths_free(&paths);
}

#define NOTE(kind, text)                                                                           \
	"INSERT INTO meta SELECT '" kind " ' || lower(hex(writer)), '" text "' FROM writers"
#define NO_NOTE "SELECT 1"

/* Merges a newer and an older copy of a profile, with such notes, in both orders. */
static void expect_notes(const char *newer, const char *older, const char *expected)
{
	struct paths paths = paths_make();
	const char *const orders[][2] = {{paths.one, paths.two}, {paths.two, paths.one}};

	merge_fixture_write_both(paths.one, paths.two, 100, 1, 5);
	change(paths.one, newer);
	change(paths.two, older);
	for (int i = 0; i < 2; i++) {
		struct database *database;
		struct store_note *notes = NULL;
		uint32_t count = 0;
		char text[2 * STORE_NOTE_SIZE] = "";

		merge_fixture_merge(orders[i], 2, paths.merged);
		assert_int_equal(database_open(paths.merged, true, &database, NULL), 0);
		assert_int_equal(store_note_read(database, &notes, &count), 0);
		database_close(database);
		for (uint32_t k = 0; k < count; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d:%s;",
				 notes[k].kind, notes[k].text);
		assert_string_equal(text, expected);
		free(notes);
		unlink(paths.merged);
	}
	paths_free(&paths);
}

static void notes_stay_of_what_the_merged_profile_lacks(void **state)
{
	(void)state;
	expect_notes(NO_NOTE, NOTE("damaged", "one page"), "");
	expect_notes(NO_NOTE, NOTE("unsent", "1 %"), "");
	expect_notes(NOTE("unsent", "2 %"), NO_NOTE, "1:2 %;");
	/* the older round had more, but of other sums */
	expect_notes(NOTE("unsent", "2 %"), NOTE("unsent", "1 %"), "1:2 %;");
	/* what was damaged is whole in the newer one, and what it has not sent is no damage */
	expect_notes(NOTE("unsent", "2 %"), NOTE("damaged", "one page"), "1:2 %;");
	expect_notes(NOTE("damaged", "one page"), NOTE("unsent", "1 %"), "0:one page;");
}

#define FULL(text) "INSERT INTO meta VALUES ('full', '" text "')"

static void what_found_no_room_goes_with_the_copy_that_counts(void **state)
{
	(void)state;
	expect_notes(FULL("9 lost"), NO_NOTE, "2:node01: 9 lost;");
	expect_notes(FULL("9 lost"), FULL("7 lost"), "2:node01: 9 lost;");
	/* the writer went on, and had room */
	expect_notes(NO_NOTE, FULL("7 lost"), "");
	expect_notes(FULL("9 lost"), NOTE("damaged", "one page"), "2:node01: 9 lost;");
}

/* The note comes at the end, when nothing more is stored. */
static void of_copies_that_came_equally_far_the_one_with_the_note_counts(void **state)
{
	struct paths paths = paths_make();

	(void)state;
	merge_fixture_write(paths.one, 1, 5);
	merge_fixture_write(paths.two, 4, 6);
	change(paths.one, FULL("9 lost"));
	merge_fixture_merge((const char *[]){paths.one, paths.two}, 2, paths.merged);
	char *all = merge_fixture_dump(paths.merged);
	assert_non_null(strstr(all, "node01: 9 lost"));

	/* a merged profile that is merged again, with its earlier copy and with both inputs */
	const char *const orders[][3] = {{paths.merged, paths.one, paths.two},
					 {paths.one, paths.two, paths.merged}};
	for (int i = 0; i < 2; i++) {
		char *again_path = merge_fixture_path("again.db");

		merge_fixture_merge(orders[i], 3, again_path);
		char *again = merge_fixture_dump(again_path);
		assert_string_equal(again, all);
		change(paths.one, "DELETE FROM meta WHERE key = 'full'");
		free(again);
		unlink(again_path);
		free(again_path);
	}
	free(all);
	paths_free(&paths);
}

static void two_continuations_of_a_copy_are_refused(void **state)
{
	struct paths paths = paths_make();

	(void)state;
	merge_fixture_write_both(paths.one, paths.two, 100, 1, 5);
	/* one goes on with agent 0, the other with another one */
	merge_fixture_continue(paths.two, 2);
	expect_refusal(&paths, -EXDEV, "went on from copies of one profile");
	paths_free(&paths);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void what_is_no_profile_is_refused_by_name(void **state)
{
	struct paths paths = paths_make();

	(void)state;
	merge_fixture_write(paths.one, 1, 1);
	expect_refusal(&paths, -ENOENT, paths.two);
	write_text(paths.two, "");
	expect_refusal(&paths, -EPROTO, paths.two);
	write_text(paths.two, "this is no database, but it is long enough to be read as one. ");
	expect_refusal(&paths, -EPROTO, paths.two);
	paths_free(&paths);
}

static void a_file_that_exists_is_left_alone(void **state)
{
	struct paths paths = paths_make();
	char *error, text[8];

	(void)state;
	merge_fixture_write(paths.one, 1, 1);
	write_text(paths.merged, "mine");
	assert_int_equal(profile_merge(&(struct merge_source){.path = paths.one}, 1, false,
				       paths.merged, &error),
			 -EEXIST);
	assert_non_null(strstr(error, paths.merged));
	free(error);
	FILE *file = fopen(paths.merged, "r");
	assert_string_equal(fgets(text, sizeof(text), file), "mine");
	fclose(file);
	paths_free(&paths);
}

static void a_merged_profile_is_read_and_not_continued(void **state)
{
	struct paths paths = paths_make();
	struct store *store;
	char *error;

	(void)state;
	merge_fixture_write(paths.one, 1, 1);
	merge_fixture_write(paths.two, 2, 1);
	merge_fixture_merge((const char *[]){paths.one, paths.two}, 2, paths.merged);
	free(merge_fixture_reports(paths.merged));
	assert_int_equal(store_open(paths.merged, NULL, &store, &error), -EPROTO);
	assert_non_null(strstr(error, "merged"));
	free(error);
	paths_free(&paths);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(char *text)
{
	size_t size = strlen(text), count = 0;
	char **lines = calloc(size + 1, sizeof(*lines)), *copy = strdup(text), *rest = copy, *line;

	assert_true(lines && copy);
	while ((line = strsep(&rest, "\n")))
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++)
		text += sprintf(text, i + 1 < count ? "%s\n" : "%s", lines[i]);
	free(lines);
	free(copy);
}

/* A writer that died left waiting launches, records and open intervals. */
static void an_unfinished_profile_reads_the_same_after_a_merge(void **state)
{
	struct paths paths = paths_make();

	(void)state;
	for (uint32_t share = 40; share < 256; share += 40) {
		merge_fixture_write_both(paths.one, paths.two, share, 3, share); /* a host each */
		char *before = report_text_of(paths.two);
		merge_fixture_merge((const char *[]){paths.two}, 1, paths.merged);
		char *after = report_text_of(paths.merged);
		/* Rows that are equal in what they are sorted by stand in the order of their ids. */
		sort_lines(before);
		sort_lines(after);
		assert_string_equal(after, before);
		free(before);
		free(after);
		unlink(paths.one);
		unlink(paths.two);
		unlink(paths.merged);
	}
	paths_free(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_and_column_of_the_store_has_its_place),
		cmocka_unit_test(of_two_links_of_a_gpu_the_faster_one_counts),
		cmocka_unit_test(telemetry_is_merged_in_any_order_and_twice),
		cmocka_unit_test(the_copy_that_came_further_counts),
		cmocka_unit_test(notes_stay_of_what_the_merged_profile_lacks),
		cmocka_unit_test(what_found_no_room_goes_with_the_copy_that_counts),
		cmocka_unit_test(of_copies_that_came_equally_far_the_one_with_the_note_counts),
		cmocka_unit_test(two_continuations_of_a_copy_are_refused),
		cmocka_unit_test(what_is_no_profile_is_refused_by_name),
		cmocka_unit_test(a_file_that_exists_is_left_alone),
		cmocka_unit_test(a_merged_profile_is_read_and_not_continued),
		cmocka_unit_test(an_unfinished_profile_reads_the_same_after_a_merge),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
