/* Totals in blocks and in rows are the same totals, for reports, for merges and after any end of the writer. */
#include "aggregator/store/store_totals.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/merge/profile_merge.h"
#include "report/profile/profile.h"
#include "report_text.h"
#include "store_fixture.h"

#define PROCESSES 2u /* the scenario's */
#define NODES     8u
#define STRINGS   16u

/* Row number i of a process. Each number is another key. */
static struct fold_key key_of(enum store_totals_kind kind, uint32_t process, uint32_t i)
{
	struct fold_key key = {.process_id = process,
			       .tid = 1 + i / 7,
			       .stack_id = i % NODES + 1,
			       .name_id = i % STRINGS + 1};

	if (kind == STORE_TOTALS_SAMPLES) {
		key.kind = (uint8_t)(i % HOST_SAMPLE_KINDS);
		return key;
	}
	key.device_id = i % 2;
	key.context_id = 1;
	key.stream_id = 7 + i % 3;
	key.capture_stack_id = i % 5 ? 0 : i % NODES;
	key.kind = (uint8_t)(i % 3);
	key.copy_kind = (uint8_t)(i % 2);
	key.matched = (uint8_t)(i % 4 > 0);
	return key;
}

/* Adds a row of count durations around ns, in several buckets. */
static void add_row(struct fold_table *table, const struct fold_key *key, uint64_t count,
		    uint64_t ns, uint64_t bytes)
{
	struct fold_row row = {.key = *key};

	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(fold_row_add_one(&row, ns + i * ns / 2, i ? 0 : bytes), 0);
	assert_int_equal(fold_table_join(table, &row), 0);
	fold_row_fini(&row);
}

/* Adds some rows of each process to both tables. */
static void add(struct fold_table *tables[STORE_TOTALS_KINDS], uint32_t first, uint32_t count)
{
	for (enum store_totals_kind kind = 0; kind < STORE_TOTALS_KINDS; kind++)
		for (uint32_t i = first; i < first + count; i++) {
			uint32_t process = 1 + i % PROCESSES;
			struct fold_key key = key_of(kind, process, i);

			if (kind == STORE_TOTALS_GPU)
				add_row(tables[kind], &key, 1 + i % 3, 1000ull * i, i);
			else
				assert_int_equal(fold_table_add(tables[kind], &key, 1 + i % 3,
								1000ull * i, 0),
						 0);
		}
}

static void add_to_store(uint32_t first, uint32_t count)
{
	struct fold_table *tables[] = {store_fixture.collection->totals,
				       store_fixture.collection->samples};

	add(tables, first, count);
}

static int compare_rows(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fold_key));
}

static struct fold_row *sorted(const struct fold_table *table, uint32_t *nr_rows)
{
	const struct fold_row *rows = fold_table_rows(table, nr_rows);
	struct fold_row *copy = malloc(*nr_rows * sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, rows, *nr_rows * sizeof(*copy));
	qsort(copy, *nr_rows, sizeof(*copy), compare_rows);
	return copy;
}

static void expect_same_bins(const struct fold_row *row, const struct fold_row *wanted)
{
	struct duration_bin list[DURATION_BUCKETS], others[DURATION_BUCKETS];
	const uint32_t nr = fold_row_list(row, list);

	assert_true(nr > 0);
	assert_int_equal(duration_list_count(list, nr), row->count);
	assert_int_equal(fold_row_list(wanted, others), nr);
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(list[i].bucket, others[i].bucket);
		assert_int_equal(list[i].count, others[i].count);
	}
}

static void expect_same(const struct fold_table *table, const struct fold_table *wanted,
			enum store_totals_kind kind)
{
	uint32_t nr_rows, nr_wanted;
	struct fold_row *rows = sorted(table, &nr_rows), *others = sorted(wanted, &nr_wanted);

	assert_int_equal(nr_rows, nr_wanted);
	for (uint32_t i = 0; i < nr_rows; i++) {
		assert_memory_equal(&rows[i].key, &others[i].key, sizeof(rows[i].key));
		assert_int_equal(rows[i].count, others[i].count);
		assert_int_equal(rows[i].ns, others[i].ns);
		assert_int_equal(rows[i].bytes, others[i].bytes);
		if (kind == STORE_TOTALS_GPU)
			expect_same_bins(&rows[i], &others[i]);
	}
	free(rows);
	free(others);
}

static int64_t count_of(const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return number;
}

static void expect_in_store(struct fold_table *wanted[STORE_TOTALS_KINDS])
{
	struct database *database;

	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	for (enum store_totals_kind kind = 0; kind < STORE_TOTALS_KINDS; kind++) {
		struct fold_table *table = fold_table_create();

		assert_int_equal(store_totals_read(database, kind, table), 0);
		expect_same(table, wanted[kind], kind);
		fold_table_destroy(table);
	}
	database_close(database);
}

#define BLOCKS "SELECT count(*) FROM total_blocks"
#define MOST   "SELECT max(block) FROM total_blocks"

/* Rounds overlap, and every third one is too small for blocks. */
static void rows_and_blocks_add_up(void **state)
{
	const uint32_t big = STORE_TOTALS_BLOCK_ROWS + 1, small = STORE_TOTALS_BLOCK_ROWS / 4;
	struct fold_table *wanted[] = {fold_table_create(), fold_table_create()};
	bool was_joined = false;

	(void)state;
	store_fixture_open_all();
	for (uint32_t round = 0; round < 2 * STORE_TOTALS_BLOCKS_MAX; round++) {
		uint32_t count = round % 3 == 2 ? small : big;
		int64_t before = count_of(BLOCKS);

		add_to_store(round * 500, count);
		add(wanted, round * 500, count);
		store_fixture_commit();
		if (round % 4 == 0)
			expect_in_store(wanted);
		was_joined |= count_of(BLOCKS) < before;
		assert_true(count_of(MOST) < STORE_TOTALS_BLOCKS_MAX - 1);
		assert_true(round % 3 != 2 || count_of(BLOCKS) == before);
	}
	assert_true(was_joined);
	assert_true(count_of(BLOCKS) > 0);
	store_fixture_close_all();
	assert_int_equal(count_of(BLOCKS), 0);
	expect_in_store(wanted);
	fold_table_destroy(wanted[0]);
	fold_table_destroy(wanted[1]);
}

static void very_many_totals_stay_in_blocks(void **state)
{
	struct fold_table *wanted[] = {fold_table_create(), fold_table_create()};

	(void)state;
	store_fixture_open_all();
	add_to_store(0, STORE_TOTALS_SPREAD_MAX / 2 + 1);
	add(wanted, 0, STORE_TOTALS_SPREAD_MAX / 2 + 1);
	store_fixture_commit();
	store_fixture_close_all();
	assert_int_equal(count_of(BLOCKS), PROCESSES * STORE_TOTALS_KINDS);
	assert_int_equal(count_of("SELECT count(*) FROM totals"), 0);
	expect_in_store(wanted);
	fold_table_destroy(wanted[0]);
	fold_table_destroy(wanted[1]);
}

/* The scenario and many more totals; a child that is killed leaves these in blocks. */
static void leave_blocks(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		store_fixture_open_all();
		store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
		store_fixture_commit();
		add_to_store(0, STORE_TOTALS_BLOCK_ROWS);
		store_fixture_commit();
		add_to_store(500, STORE_TOTALS_BLOCK_ROWS);
		store_fixture_commit();
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(count_of(BLOCKS), 2 * PROCESSES * STORE_TOTALS_KINDS);
}

static void reports_and_merges_have_the_totals_of_blocks(void **state)
{
	char merged[128], *error;

	(void)state;
	leave_blocks();
	char *expected = report_text_of(store_fixture.path);
	snprintf(merged, sizeof(merged), "%s/merged.db", store_fixture.folder);
	if (profile_merge((struct merge_source[]){{.path = store_fixture.path},
						  {.path = store_fixture.path}},
			  2, false, merged, &error))
		fail_msg("%s", error);
	char *text = report_text_of(merged);
	assert_string_equal(text, expected);
	free(text);
	unlink(merged);
	/* The successor turns them into rows at its end. */
	store_fixture_open_all();
	store_fixture_close_all();
	assert_int_equal(count_of(BLOCKS), 0);
	text = report_text_of(store_fixture.path);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
}

static void a_merge_of_one_profile_has_all_totals_as_rows(void **state)
{
	char merged[128], *error;
	struct database *database;
	int64_t count;

	(void)state;
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	add_to_store(0, STORE_TOTALS_SPREAD_MAX / 2 + 1);
	store_fixture_commit();
	store_fixture_close_all();
	assert_true(count_of(BLOCKS) > 0);
	char *expected = report_text_of(store_fixture.path);
	snprintf(merged, sizeof(merged), "%s/merged.db", store_fixture.folder);
	if (profile_merge(&(struct merge_source){.path = store_fixture.path}, 1, false, merged,
			  &error))
		fail_msg("%s", error);
	assert_int_equal(database_open(merged, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, BLOCKS, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(database_query_number(database, "SELECT count(*) FROM totals", &count), 0);
	assert_true(count > STORE_TOTALS_SPREAD_MAX / 2);
	database_close(database);
	char *text = report_text_of(merged);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	unlink(merged);
}

static void damaged_blocks_are_refused(void **state)
{
	static const char *const damages[] = {
		"UPDATE total_blocks SET count = count + 1",
		"UPDATE total_blocks SET count = 4000000000",
		"UPDATE total_blocks SET data = substr(data, 1, length(data) - 1)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct database *database;
		struct profile *profile;

		leave_blocks();
		assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
		assert_int_equal(database_execute(database, damages[i]), 0);
		database_close(database);
		assert_int_equal(profile_load(store_fixture.path, &profile, NULL), -EPROTO);
		/* They are as they were after an end that could not turn them into rows. */
		store_fixture_open_all();
		store_fixture_close_all();
		assert_int_equal(count_of(BLOCKS), 2 * PROCESSES * STORE_TOTALS_KINDS);
		store_fixture_remove();
	}
}

static void impossible_totals_are_refused(void **state)
{
	static const char *const damages[] = {
		"UPDATE totals SET count = -1",
		"UPDATE totals SET ns = -9223372036854775807 - 1",
		"UPDATE totals SET bytes = -4096",
		"UPDATE host_samples SET count = -1",
		"UPDATE host_samples SET ns = -50",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct database *database;
		struct profile *profile;

		leave_blocks();
		assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
		assert_int_equal(database_execute(database, damages[i]), 0);
		database_close(database);
		assert_int_equal(profile_load(store_fixture.path, &profile, NULL), -EPROTO);
		store_fixture_remove();
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_and_blocks_add_up),
		TEST(very_many_totals_stay_in_blocks),
		TEST(reports_and_merges_have_the_totals_of_blocks),
		TEST(a_merge_of_one_profile_has_all_totals_as_rows),
		TEST(damaged_blocks_are_refused),
		TEST(impossible_totals_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
