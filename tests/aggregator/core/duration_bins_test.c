/* Histograms of durations: buckets without gaps, sums in any order, and bytes that cannot lie. */
#include "aggregator/core/duration_bins.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"

static uint64_t random_of(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16 ^ *seed << 40;
}

static void each_bucket_begins_where_the_one_before_ends(void **state)
{
	(void)state;
	assert_int_equal(duration_bucket_first_ns(0), 0);
	for (uint32_t bucket = 0; bucket < DURATION_BUCKETS; bucket++) {
		const uint64_t first = duration_bucket_first_ns(bucket);
		const uint64_t last = duration_bucket_last_ns(bucket);

		assert_int_equal(duration_bucket(first), bucket);
		assert_int_equal(duration_bucket(last), bucket);
		assert_true(last - first <= first / 4);
		if (bucket + 1 < DURATION_BUCKETS)
			assert_int_equal(duration_bucket(last + 1), bucket + 1);
	}
	assert_true(duration_bucket_last_ns(DURATION_BUCKETS - 1) == UINT64_MAX);
}

static void counts_stand_in_their_buckets_by_size(void **state)
{
	(void)state;
	struct duration_bins bins = {.first = NULL};
	struct duration_bin list[DURATION_BUCKETS];

	assert_int_equal(duration_bins_list(&bins, list), 0);
	assert_int_equal(duration_bins_add(&bins, 200, 3), 0);
	assert_int_equal(duration_bins_add(&bins, 7, 1), 0);
	assert_int_equal(duration_bins_add(&bins, 100, UINT64_MAX), 0);
	assert_int_equal(duration_bins_add(&bins, 100, 9), 0); /* sticks */
	assert_int_equal(duration_bins_add(&bins, 7, 1), 0);
	assert_int_equal(duration_bins_list(&bins, list), 3);
	assert_int_equal(list[0].bucket, 7);
	assert_int_equal(list[0].count, 2);
	assert_int_equal(list[1].bucket, 100);
	assert_true(list[1].count == UINT64_MAX);
	assert_int_equal(list[2].bucket, 200);
	assert_true(duration_list_count(list, 3) == UINT64_MAX);
	duration_bins_fini(&bins);
}

static void a_percentile_is_the_bucket_of_that_duration(void **state)
{
	(void)state;
	const struct duration_bin list[] = {{50, 10}, {49, 20}, {1, 30}, {900, 40}};

	assert_int_equal(duration_list_quantile(list, 1, 1), 10);
	assert_int_equal(duration_list_quantile(list, 4, 50), 10);
	assert_int_equal(duration_list_quantile(list, 4, 51), 20);
	assert_int_equal(duration_list_quantile(list, 4, 99), 20);
	assert_int_equal(duration_list_quantile(list, 4, 100), 30);
	assert_int_equal(duration_list_quantile(list, 4, 101), 40);
	assert_int_equal(duration_list_quantile(list, 4, 1000), 40);
}

/* Of all bytes of a length, those that are decoded are encoded as the same bytes, and have the total. */
static void bytes_have_the_total_or_are_refused(void **state)
{
	(void)state;
	struct duration_bin list[DURATION_BUCKETS];
	uint8_t bytes[DURATION_LIST_BYTES_MAX] = {0};
	uint64_t seed = 1;
	uint32_t nr, decoded = 0;

	assert_int_equal(duration_list_decode(bytes, 0, 1, 1, list, &nr), -EPROTO);
	for (uint32_t round = 0; round < 200000; round++) {
		uint8_t input[6], size = (uint8_t)(1 + random_of(&seed) % sizeof(input));
		const uint64_t total = 1 + random_of(&seed) % 40;

		for (uint32_t i = 0; i < size; i++)
			input[i] = (uint8_t)(random_of(&seed) % (i % 2 ? 24 : 256));
		/* A sum that stuck fits any durations. */
		if (duration_list_decode(input, size, total, INT64_MAX, list, &nr)) {
			assert_int_equal(nr, 0);
			continue;
		}
		decoded++;
		assert_int_equal(duration_list_count(list, nr), total);
		assert_int_equal(duration_list_encode(list, nr, bytes), size);
		assert_memory_equal(bytes, input, size);
	}
	assert_true(decoded > 1000);
}

static void damaged_bytes_are_refused(void **state)
{
	(void)state;
	static const struct {
		uint8_t size, bytes[12];
		uint64_t total;
	} wrong[] = {
		{1, {252}, 1},     /* no bucket */
		{1, {5}, 0},       /* no duration */
		{3, {5, 1, 5}, 2}, /* a bucket twice */
		{3, {6, 1, 5}, 2}, /* the wrong order */
		{3, {5, 0, 6}, 2}, /* an empty bucket */
		{3, {5, 2, 6}, 2}, /* nothing is left */
		{2, {5, 1}, 2},    /* ends behind a count */
		{2, {5, 0x80}, 2}, /* ends in a count */
		{12, {5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 6}, 2}, /* above 64 bits */
	};
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t nr;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(duration_list_decode(wrong[i].bytes, wrong[i].size, wrong[i].total,
						      INT64_MAX, list, &nr),
				 -EPROTO);
}

static void a_sum_must_fit_its_durations(void **state)
{
	(void)state;
	/* 10 to 11 ns, and twice 1792 to 2047 ns */
	const struct duration_bin two[] = {{1, 9}, {2, 39}};
	const struct duration_bin longest[] = {{INT64_MAX, DURATION_BUCKETS - 1}};
	uint8_t bytes[DURATION_LIST_BYTES_MAX];
	struct duration_bin list[2];
	uint32_t nr;

	assert_true(duration_list_holds(two, 2, 10 + 2 * 1792));
	assert_false(duration_list_holds(two, 2, 10 + 2 * 1792 - 1));
	assert_true(duration_list_holds(two, 2, 11 + 2 * 2047));
	assert_false(duration_list_holds(two, 2, 11 + 2 * 2047 + 1));
	/* sums that stuck, in memory and in a store */
	assert_true(duration_list_holds(longest, 1, UINT64_MAX));
	assert_true(duration_list_holds(longest, 1, INT64_MAX));
	assert_false(duration_list_holds(longest, 1, INT64_MAX - 1));
	assert_false(duration_list_holds(two, 2, INT64_MAX));
	const size_t size = duration_list_encode(two, 2, bytes);
	assert_int_equal(duration_list_decode(bytes, size, 3, 4000, list, &nr), 0);
	assert_int_equal(duration_list_decode(bytes, size, 3, 5000, list, &nr), -EPROTO);
	assert_int_equal(nr, 0);
}

/* A recount of what the rows say, by an array. */
static void expect(const struct fold_row *row, const uint64_t counts[DURATION_BUCKETS])
{
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t nr = fold_row_list(row, list), at = 0;

	assert_int_equal(duration_list_count(list, nr), row->count);
	for (uint32_t bucket = 0; bucket < DURATION_BUCKETS; bucket++) {
		if (!counts[bucket])
			continue;
		assert_true(at < nr);
		assert_int_equal(list[at].bucket, bucket);
		assert_int_equal(list[at++].count, counts[bucket]);
	}
	assert_int_equal(at, nr);
}

/* Durations near one another and far away, in random parts, which are joined in random order. */
static void parts_of_a_row_add_up_in_any_order(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 40; round++) {
		struct fold_table *parts[5], *whole = fold_table_create();
		uint64_t seed = round, counts[DURATION_BUCKETS] = {0};
		const uint32_t spread = 1 + (uint32_t)random_of(&seed) % 40;
		uint32_t nr_rows;

		for (uint32_t i = 0; i < 5; i++) {
			struct fold_row row = {.key = {.process_id = 1}};

			parts[i] = fold_table_create();
			for (uint32_t n = (uint32_t)random_of(&seed) % 2000; n > 0; n--) {
				uint64_t ns = 1ull << 20 << random_of(&seed) % spread;

				ns += random_of(&seed) % ns;
				counts[duration_bucket(ns)]++;
				assert_int_equal(fold_row_add_one(&row, ns, 1), 0);
			}
			assert_int_equal(fold_table_join(parts[i], &row), 0);
			fold_row_fini(&row);
		}
		for (uint32_t i = 0; i < 5; i++) {
			const uint32_t at = (uint32_t)random_of(&seed) % 5;
			struct fold_table *other = parts[at];

			parts[at] = parts[i];
			parts[i] = other;
		}
		for (uint32_t i = 0; i < 5; i++) {
			struct fold_table *into = i % 2 && i < 4 ? parts[i + 1] : whole;

			assert_int_equal(fold_table_join(into, fold_table_rows(parts[i], &nr_rows)),
					 0);
		}
		expect(fold_table_rows(whole, &nr_rows), counts);
		for (uint32_t i = 0; i < 5; i++)
			fold_table_destroy(parts[i]);
		fold_table_destroy(whole);
	}
}

static void without_a_part_nothing_is_known(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_row row = {.key = {.process_id = 1}};
	const struct fold_row many = {
		.key = {.process_id = 2}, .count = INT64_MAX, .near_first = 9};
	const struct fold_row damaged = {
		.key = {.process_id = 1}, .count = 2, .near_first = FOLD_NEAR_DAMAGED};
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t nr_rows;

	assert_int_equal(fold_row_add_one(&row, 1000, 0), 0);
	assert_int_equal(fold_row_list(&row, list), 1);
	assert_int_equal(fold_table_join(table, &row), 0);
	assert_int_equal(fold_table_add(table, &row.key, 1, 1000, 0), 0);
	assert_int_equal(fold_table_join(table, &row), 0);
	assert_int_equal(fold_row_list(fold_table_rows(table, &nr_rows), list), 0);
	assert_int_equal(fold_table_rows(table, &nr_rows)->count, 3);
	/* damage is not forgotten, whatever comes before or after it */
	assert_int_equal(fold_table_join(table, &damaged), 0);
	assert_int_equal(fold_table_join(table, &row), 0);
	assert_int_equal(fold_table_rows(table, &nr_rows)->near_first, FOLD_NEAR_DAMAGED);
	assert_int_equal(fold_table_rows(table, &nr_rows)->count, 6);
	/* more than a store counts */
	row.key.process_id = 2;
	assert_int_equal(fold_table_join(table, &row), 0);
	assert_int_equal(fold_table_join(table, &many), 0);
	assert_int_equal(fold_row_list(&fold_table_rows(table, &nr_rows)[1], list), 0);
	fold_row_fini(&row);
	fold_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bucket_begins_where_the_one_before_ends),
		cmocka_unit_test(counts_stand_in_their_buckets_by_size),
		cmocka_unit_test(a_percentile_is_the_bucket_of_that_duration),
		cmocka_unit_test(bytes_have_the_total_or_are_refused),
		cmocka_unit_test(damaged_bytes_are_refused),
		cmocka_unit_test(a_sum_must_fit_its_durations),
		cmocka_unit_test(parts_of_a_row_add_up_in_any_order),
		cmocka_unit_test(without_a_part_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
