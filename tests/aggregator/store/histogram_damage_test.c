/* Damage to histograms costs histograms: it is counted, and all totals stay. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/merge/profile_merge.h"
#include "aggregator/store/block_code.h"
#include "aggregator/store/store_totals.h"
#include "report/model/report_build.h"
#include "report/profile/profile.h"
#include "store_fixture.h"

static void record(void)
{
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
}

static void execute(const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(store_fixture.path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

static uint64_t number_of(const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return (uint64_t)number;
}

/* What a report of the profile counts as damaged. Its totals are those of the rows. */
static uint64_t damaged_of(const char *path, uint64_t kernels)
{
	struct profile *profile;
	struct report_tree *tree;
	uint64_t damaged = 0;

	assert_int_equal(profile_load(path, &profile, NULL), 0);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(tree->kernels, kernels);
	for (uint32_t i = 0; i < tree->nr_losses; i++)
		if (strcmp(tree->strings[tree->losses[i].reason], "histogram_damaged") == 0) {
			assert_false(tree->losses[i].lost);
			damaged = tree->losses[i].count;
		}
	report_tree_destroy(tree);
	profile_destroy(profile);
	return damaged;
}

static void merge(char merged[static 128])
{
	char *error;

	snprintf(merged, 128, "%s/merged.db", store_fixture.folder);
	if (profile_merge(&(struct merge_source){.path = store_fixture.path}, 1, false, merged,
			  &error))
		fail_msg("%s", error);
}

#define TOTALS  "SELECT count(*) FROM totals"
#define KERNELS "SELECT sum(count) FROM totals WHERE kind = 0"
#define FIRST   " WHERE node = (SELECT min(node) FROM totals WHERE kind = 0) AND kind = 0"

static void damaged_rows_are_counted_and_their_totals_stay(void **state)
{
	static const char *const all[] = {
		"UPDATE totals SET durations = x''",
		"UPDATE totals SET durations = x'fc'",
		"UPDATE totals SET durations = x'050005'",
		"UPDATE totals SET durations = x'05ffffffffffff0f06'",
		"UPDATE totals SET durations = x'f0'", /* years, which contradict ns */
	};
	char merged[128];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		record();
		const uint64_t kernels = number_of(KERNELS);
		assert_int_equal(damaged_of(store_fixture.path, kernels), 0);
		execute(all[i]);
		assert_int_equal(damaged_of(store_fixture.path, kernels), number_of(TOTALS));
		merge(merged);
		assert_int_equal(damaged_of(merged, kernels), number_of(TOTALS));
		unlink(merged);
		store_fixture_remove();
	}
}

static void one_damaged_row_leaves_the_others_their_histograms(void **state)
{
	(void)state;
	record();
	const uint64_t kernels = number_of(KERNELS), rows = number_of(TOTALS FIRST);
	assert_in_range(rows, 1, number_of(TOTALS) - 1);
	execute("UPDATE totals SET ns = 100 * ns" FIRST);
	assert_int_equal(damaged_of(store_fixture.path, kernels), rows);
	/* A writer that goes on joins what is there with what comes. */
	execute("INSERT INTO totals SELECT * FROM totals" FIRST
		" ON CONFLICT DO UPDATE SET count = count + excluded.count, ns = ns + excluded.ns,"
		" durations = join_durations(durations, count, ns, excluded.durations,"
		" excluded.count, excluded.ns)");
	assert_int_equal(number_of(TOTALS " WHERE length(durations) = 0"), rows);
	assert_int_equal(damaged_of(store_fixture.path, number_of(KERNELS)), rows);
}

static void forged_sums_stick_and_do_not_wrap(void **state)
{
	(void)state;
	record();
	execute("UPDATE totals SET count = 9223372036854775807, ns = 9223372036854775807");
	assert_true(number_of(TOTALS " WHERE kind = 0") > 2);
	damaged_of(store_fixture.path, UINT64_MAX);
}

/* ---- blocks */

#define ROWS 24u

static uint64_t random_of(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void fill(struct fold_row rows[ROWS])
{
	uint64_t seed = 4;

	memset(rows, 0, ROWS * sizeof(*rows));
	for (uint32_t i = 0; i < ROWS; i++) {
		rows[i].key.stack_id = i + 1;
		for (uint64_t n = 1 + random_of(&seed) % 9; n > 0; n--)
			assert_int_equal(
				fold_row_add_one(&rows[i], 1ull << random_of(&seed) % 30, 1), 0);
	}
	fold_row_fini(&rows[7]);
	fold_row_add(&rows[7], 1, 5, 0);
	assert_int_equal(fold_row_set(&rows[9], NULL, 0), 0);
}

/* Returns the number of damaged rows. The others have a histogram of their own count and ns. */
static uint32_t check_rows(const struct fold_row *decoded, const struct fold_row *rows)
{
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t damaged = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		const uint32_t nr = fold_row_list(&decoded[i], list);

		assert_int_equal(decoded[i].count, rows[i].count);
		assert_int_equal(decoded[i].ns, rows[i].ns);
		damaged += decoded[i].near_first == FOLD_NEAR_DAMAGED;
		if (nr) {
			assert_int_equal(duration_list_count(list, nr), rows[i].count);
			assert_true(duration_list_holds(list, nr, rows[i].ns));
		}
	}
	return damaged;
}

/* Returns where the histograms of a block begin. */
static size_t sums_size(const struct block_code *code)
{
	size_t at = 0;

	for (uint32_t column = 0; column < 13; column++)
		at += 4 + (code->bytes[at] | (size_t)code->bytes[at + 1] << 8);
	return at;
}

static void a_changed_byte_of_a_block_costs_no_total(void **state)
{
	struct fold_row rows[ROWS], decoded[ROWS];
	struct block_code code = {.size = 0};
	uint64_t seed = 9;
	uint32_t most = 0;

	(void)state;
	fill(rows);
	assert_int_equal(block_code_totals(&code, rows, ROWS), 0);
	for (size_t at = sums_size(&code); at <= code.size; at++) {
		const uint8_t change = at < code.size ? (uint8_t)(1 + random_of(&seed) % 255) : 0;
		const size_t size = code.size;

		if (at < size)
			code.bytes[at] ^= change;
		assert_int_equal(block_decode_totals(code.bytes, size, decoded, ROWS), 0);
		const uint32_t damaged = check_rows(decoded, rows);
		assert_true(damaged >= 1);
		assert_true(change || damaged == 1);
		most = damaged > most ? damaged : most;
		if (at < size)
			code.bytes[at] ^= change;
		for (uint32_t i = 0; i < ROWS; i++)
			fold_row_fini(&decoded[i]);
	}
	assert_int_equal(most, ROWS);
	assert_int_equal(block_decode_totals(code.bytes, code.size - 1, decoded, ROWS), 0);
	assert_int_equal(check_rows(decoded, rows), ROWS);
	for (uint32_t i = 0; i < ROWS; i++) {
		fold_row_fini(&decoded[i]);
		fold_row_fini(&rows[i]);
	}
	block_code_fini(&code);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(damaged_rows_are_counted_and_their_totals_stay),
		TEST(one_damaged_row_leaves_the_others_their_histograms),
		TEST(forged_sums_stick_and_do_not_wrap),
		cmocka_unit_test(a_changed_byte_of_a_block_costs_no_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
