/* Profiles of the schema versions before are read and merged, and no aggregator goes on with them. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report_text.h"
#include "store_fixture.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/merge/profile_merge.h"
#include "report/profile/profile.h"
#include "report/profile/profile_collectives.h"

static const char *schema_8; /* a file: what a program of version 8 wrote, as SQL */

static void execute(const char *sql)
{
	sqlite3 *database;
	char *error = NULL;

	assert_int_equal(sqlite3_open(store_fixture.path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s", error);
	sqlite3_close(database);
}

static void write_version_8(void)
{
	FILE *file = fopen(schema_8, "r");
	char *sql = NULL;
	size_t room = 0;

	assert_non_null(file);
	assert_true(getdelim(&sql, &room, '\0', file) > 0);
	fclose(file);
	execute(sql);
	free(sql);
}

/* Two ranks of one process: in the first collective, which makes nobody late, one waits 30 ns, in the second the other
 * one 5 ns. */
static void add_collectives(void)
{
	execute("INSERT INTO communicators VALUES (1,1,50,0,0,2,0,0,5), (1,2,50,0,1,2,0,0,5);"
		"INSERT INTO collectives VALUES"
		" (1,1,1,9,0,0,7,0,1,1,1,4,NULL,0,0,0,1000,40,0,NULL,NULL,NULL,NULL,0,0),"
		" (2,1,2,9,0,0,7,0,1,1,1,4,NULL,0,0,0,1030,10,0,NULL,NULL,NULL,NULL,0,0),"
		" (3,1,1,9,0,0,7,0,2,2,1,4,NULL,0,0,0,2000,10,0,NULL,NULL,NULL,NULL,0,0),"
		" (4,1,2,9,0,0,7,0,2,2,1,4,NULL,0,0,0,1995,15,0,NULL,NULL,NULL,NULL,0,0);");
}

static void expect_collectives(const char *path)
{
	struct collective_folds *folds;
	char *error;

	if (profile_collectives_load(path, &folds, &error))
		fail_msg("%s", error);
	assert_int_equal(folds->nr_folds, 1);
	assert_int_equal(folds->folds->nr_members, 2);
	assert_int_equal(folds->folds->used, 1);
	assert_int_equal(folds->nr_sums, 2);
	assert_int_equal(folds->sums[0].waited_ns, 30);
	assert_int_equal(folds->sums[0].others_ns, 5);
	assert_int_equal(folds->sums[1].waited_ns, 5);
	assert_int_equal(folds->sums[1].others_ns, 0);
	collective_folds_destroy(folds);
}

/* Of what the file was made of: 300 kernels and 60 copies. */
static void expect_content(const char *path)
{
	struct profile *profile;
	uint32_t nr_rows;
	uint64_t count = 0, ns = 0;
	char *error;

	if (profile_load(path, &profile, &error))
		fail_msg("%s", error);
	const struct fold_row *rows = fold_table_rows(profile->collection->totals, &nr_rows);
	for (uint32_t i = 0; i < nr_rows; i++) {
		count += rows[i].count;
		ns += rows[i].ns;
	}
	assert_int_equal(count, 360);
	assert_int_equal(ns, 762676);
	assert_false(profile->abandoned);
	assert_int_equal(profile->collection->nr_writers, 1);
	profile_destroy(profile);
}

static void expect_no_writing(void)
{
	struct store *store;
	char *error;

	assert_int_equal(store_open(store_fixture.path, NULL, &store, &error), -EPROTO);
	if (!strstr(error, "it can be read, but not continued"))
		fail_msg("%s", error);
	free(error);
}

static void expect_merging(void)
{
	char merged[128], *error;

	snprintf(merged, sizeof(merged), "%s/merged.db", store_fixture.folder);
	if (profile_merge((struct merge_source[]){{.path = store_fixture.path},
						  {.path = store_fixture.path}},
			  2, false, merged, &error))
		fail_msg("%s", error);
	expect_content(merged);
	expect_collectives(merged);
	unlink(merged);
}

static void a_file_of_version_8_is_read_and_merged(void **state)
{
	(void)state;
	write_version_8();
	add_collectives();
	expect_content(store_fixture.path);
	expect_collectives(store_fixture.path);
	expect_no_writing();
	expect_merging();
}

/* What version 18 added to version 17. */
#define TO_VERSION_17                                                                              \
	"ALTER TABLE counter_states DROP COLUMN asked_ns;"                                         \
	"ALTER TABLE counter_states DROP COLUMN covered_ns;"                                       \
	"ALTER TABLE counter_states DROP COLUMN invalid; PRAGMA user_version = 17;"

/* What version 16 added to version 15. */
#define TO_VERSION_15                                                                              \
	"DROP TABLE counter_states; DROP TABLE counter_samples; PRAGMA user_version = 15;"

/* What version 15 had added. Older programs wrote no other tables into a closed profile of this size. */
#define TO_VERSION_14                                                                              \
	TO_VERSION_15                                                                              \
	"ALTER TABLE device_telemetry DROP COLUMN dram_bytes_known_ns;"                            \
	"ALTER TABLE device_telemetry DROP COLUMN dram_bytes;"                                     \
	"DROP TABLE kernel_metrics;"                                                               \
	"PRAGMA user_version = 14;"

/* What version 14 had added. */
#define TO_VERSION_13                                                                              \
	TO_VERSION_14                                                                              \
	"ALTER TABLE device_telemetry DROP COLUMN gpm_refusal;"                                    \
	"ALTER TABLE device_telemetry DROP COLUMN computing_known_ns;"                             \
	"ALTER TABLE device_telemetry DROP COLUMN computing_ns;"                                   \
	"ALTER TABLE device_telemetry DROP COLUMN sm_known_ns;"                                    \
	"ALTER TABLE device_telemetry DROP COLUMN sm_ns;"                                          \
	"ALTER TABLE device_telemetry DROP COLUMN occupancy_known_ns;"                             \
	"ALTER TABLE device_telemetry DROP COLUMN occupancy_ns;"                                   \
	"ALTER TABLE device_telemetry DROP COLUMN tensor_known_ns;"                                \
	"ALTER TABLE device_telemetry DROP COLUMN tensor_ns;"                                      \
	"ALTER TABLE device_telemetry DROP COLUMN dram_known_ns;"                                  \
	"ALTER TABLE device_telemetry DROP COLUMN dram_ns;"                                        \
	"ALTER TABLE device_telemetry DROP COLUMN pcie_sent_known_ns;"                             \
	"ALTER TABLE device_telemetry DROP COLUMN pcie_sent_bytes;"                                \
	"ALTER TABLE device_telemetry DROP COLUMN pcie_received_known_ns;"                         \
	"ALTER TABLE device_telemetry DROP COLUMN pcie_received_bytes;"                            \
	"ALTER TABLE device_telemetry DROP COLUMN nvlink_sent_known_ns;"                           \
	"ALTER TABLE device_telemetry DROP COLUMN nvlink_sent_bytes;"                              \
	"ALTER TABLE device_telemetry DROP COLUMN nvlink_received_known_ns;"                       \
	"ALTER TABLE device_telemetry DROP COLUMN nvlink_received_bytes;"                          \
	"PRAGMA user_version = 13;"

/* What version 13 had added. */
#define TO_VERSION_12 TO_VERSION_13 "DROP TABLE device_telemetry; PRAGMA user_version = 12;"

/* What version 12 had added. */
#define TO_VERSION_11                                                                              \
	TO_VERSION_12 "ALTER TABLE totals DROP COLUMN durations; PRAGMA user_version = 11;"

/* What version 11 had added. */
#define TO_VERSION_10                                                                              \
	TO_VERSION_11                                                                              \
	"DROP TABLE sample_levels; DELETE FROM sample_blocks WHERE sort >= 1;"                     \
	"CREATE TABLE blocks AS SELECT process, block, count, data FROM sample_blocks;"            \
	"DROP TABLE sample_blocks; ALTER TABLE blocks RENAME TO sample_blocks;"                    \
	"PRAGMA user_version = 10;"

/* What version 10 had added. */
#define TO_VERSION_9 TO_VERSION_10 "DROP TABLE device_links; PRAGMA user_version = 9;"

/* What version 9 had added. */
#define TO_VERSION_8                                                                               \
	TO_VERSION_9                                                                               \
	"DROP TABLE collective_splits;"                                                            \
	"ALTER TABLE collectives DROP COLUMN gpu_context;"                                         \
	"ALTER TABLE collectives DROP COLUMN gpu_stream;"                                          \
	"ALTER TABLE collectives DROP COLUMN gpu_tid;"                                             \
	"ALTER TABLE collectives DROP COLUMN gpu_node;"                                            \
	"ALTER TABLE collectives DROP COLUMN gpu_name;"                                            \
	"ALTER TABLE collective_kernels DROP COLUMN context;"                                      \
	"ALTER TABLE collective_kernels DROP COLUMN stream;"                                       \
	"ALTER TABLE collective_kernels DROP COLUMN kernel_tid;"                                   \
	"ALTER TABLE collective_kernels DROP COLUMN kernel_node;"                                  \
	"ALTER TABLE collective_kernels DROP COLUMN name; PRAGMA user_version = 8;"

static void expect_version(const char *to_version)
{
	char merged[128], *error, *text;

	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	/* older programs do not say these */
	execute("UPDATE collectives SET gpu_context = NULL; UPDATE totals SET durations = NULL;"
		"DELETE FROM kernel_metrics");
	char *expected = report_text_of(store_fixture.path);
	execute(to_version);
	text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	expect_no_writing();
	snprintf(merged, sizeof(merged), "%s/merged.db", store_fixture.folder);
	if (profile_merge(&(struct merge_source){.path = store_fixture.path}, 1, false, merged,
			  &error))
		fail_msg("%s", error);
	text = report_text_of(merged);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	unlink(merged);
}

static void version_17_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_17);
}

static void version_15_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_15);
}

static void version_14_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_14);
}

static void version_13_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_13);
}

static void version_12_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_12);
}

static void version_11_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_11);
}

static void version_10_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_10);
}

static void version_9_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_9);
}

static void version_8_is_read_and_merged(void **state)
{
	(void)state;
	expect_version(TO_VERSION_8);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(version_17_is_read_and_merged), TEST(version_15_is_read_and_merged),
		TEST(version_14_is_read_and_merged), TEST(version_13_is_read_and_merged),
		TEST(version_12_is_read_and_merged), TEST(version_11_is_read_and_merged),
		TEST(version_10_is_read_and_merged), TEST(version_9_is_read_and_merged),
		TEST(version_8_is_read_and_merged),  TEST(a_file_of_version_8_is_read_and_merged),
	};

	if (argc != 2)
		return 1;
	schema_8 = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
