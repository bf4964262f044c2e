/* Leaves that are too many: what is given up, in which order, and that no sum changes. */
#include "report/model/report_leaves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS   4
#define RANKS   4 /* of a host */
#define STREAMS 3
#define THREADS 2
#define PATHS   5
#define ALL     (HOSTS * RANKS * STREAMS * THREADS * PATHS)

#define SET(dimension) (1u << (REPORT_BY_##dimension))

static struct report_leaf leaf_of(uint32_t i)
{
	struct report_leaf leaf;

	memset(&leaf, 0, sizeof(leaf)); /* also between the members */
	leaf.node = 1 + i % PATHS;
	i /= PATHS;
	leaf.tid = 100 + i % THREADS;
	leaf.context_id = 1;
	i /= THREADS;
	leaf.stream_id = 7 + i % STREAMS;
	i /= STREAMS;
	leaf.rank = (int32_t)(i % (HOSTS * RANKS));
	leaf.process = (uint32_t)leaf.rank;
	leaf.host = 1 + (uint32_t)leaf.rank / RANKS;
	return leaf;
}

/* Adds each leaf twice, with sums that tell the paths apart. */
static void fill(struct report_leaves *leaves)
{
	for (uint32_t i = 0; i < 2 * ALL; i++) {
		struct report_leaf leaf = leaf_of(i % ALL);
		struct fold_row row = {.near_first = 0};

		assert_int_equal(fold_row_add_one(&row, leaf.node, 0), 0);
		leaf.count = 1;
		leaf.ns = leaf.node;
		leaf.bytes = 10 * leaf.node;
		assert_int_equal(report_leaves_add(leaves, &leaf, &row), 0);
	}
}

static void expect_sums(const struct report_leaves *leaves)
{
	uint64_t counts[PATHS + 1] = {0}, ns[PATHS + 1] = {0}, bytes[PATHS + 1] = {0};

	for (uint32_t i = 0; i < leaves->nr_leaves; i++) {
		struct duration_bin list[DURATION_BUCKETS];

		assert_int_equal(duration_bins_list(&leaves->leaves[i].durations, list), 1);
		assert_int_equal(list->bucket, duration_bucket(leaves->leaves[i].node));
		assert_int_equal(list->count, leaves->leaves[i].count);
		counts[leaves->leaves[i].node] += leaves->leaves[i].count;
		ns[leaves->leaves[i].node] += leaves->leaves[i].ns;
		bytes[leaves->leaves[i].node] += leaves->leaves[i].bytes;
	}
	for (uint32_t path = 1; path <= PATHS; path++) {
		assert_int_equal(counts[path], 2 * ALL / PATHS);
		assert_int_equal(ns[path], path * counts[path]);
		assert_int_equal(bytes[path], 10 * ns[path]);
	}
}

static void without_a_limit_each_leaf_stays(void **state)
{
	struct report_leaves leaves = {.most = 0};

	(void)state;
	fill(&leaves);
	assert_int_equal(leaves.nr_leaves, ALL);
	assert_int_equal(leaves.given_up, 0);
	expect_sums(&leaves);
	report_leaves_fini(&leaves);
}

static void as_many_as_allowed_stay(void **state)
{
	struct report_leaves leaves = {.most = ALL + 1};

	(void)state;
	fill(&leaves);
	assert_int_equal(leaves.nr_leaves, ALL);
	assert_int_equal(leaves.given_up, 0);
	report_leaves_fini(&leaves);
}

/* most, what is given up, and the leaves of which it then leaves one for each place. */
static void dimensions_are_given_up_in_their_order(void **state)
{
	static const struct {
		uint32_t most, kept, given_up, nr_leaves;
	} cases[] = {
		{ALL, 0, SET(THREAD) | SET(CONTEXT), ALL / THREADS},
		{ALL / THREADS, 0, SET(THREAD) | SET(CONTEXT) | SET(STREAM),
		 ALL / THREADS / STREAMS},
		{ALL / THREADS / STREAMS, 0, SET(THREAD) | SET(CONTEXT) | SET(STREAM) | SET(RANK),
		 HOSTS * PATHS},
		{2 * PATHS, 0, SET(THREAD) | SET(CONTEXT) | SET(STREAM) | SET(RANK) | SET(HOST),
		 PATHS},
		/* more is not possible */
		{1, 0, SET(THREAD) | SET(CONTEXT) | SET(STREAM) | SET(RANK) | SET(HOST) | SET(JOB),
		 PATHS},
		/* what a report asks for stays, however many leaves that takes */
		{1, SET(RANK), SET(THREAD) | SET(CONTEXT) | SET(STREAM) | SET(HOST) | SET(JOB),
		 HOSTS * RANKS * PATHS},
		{1, SET(THREAD) | SET(HOST), SET(CONTEXT) | SET(STREAM) | SET(RANK) | SET(JOB),
		 HOSTS * THREADS * PATHS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report_leaves leaves = {.most = cases[i].most, .kept = cases[i].kept};

		fill(&leaves);
		assert_int_equal(leaves.given_up, cases[i].given_up);
		assert_int_equal(leaves.nr_leaves, cases[i].nr_leaves);
		expect_sums(&leaves);
		report_leaves_fini(&leaves);
	}
}

static void what_is_given_up_has_no_value(void **state)
{
	struct report_leaves leaves = {.most = 1};

	(void)state;
	fill(&leaves);
	for (uint32_t i = 0; i < leaves.nr_leaves; i++) {
		const struct report_leaf *leaf = &leaves.leaves[i];

		assert_int_equal(leaf->rank, REPORT_RANK_NONE);
		assert_int_equal(leaf->host + leaf->process + leaf->tid + leaf->stream_id +
					 leaf->context_id,
				 0);
	}
	report_leaves_fini(&leaves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_each_leaf_stays),
		cmocka_unit_test(as_many_as_allowed_stay),
		cmocka_unit_test(dimensions_are_given_up_in_their_order),
		cmocka_unit_test(what_is_given_up_has_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
