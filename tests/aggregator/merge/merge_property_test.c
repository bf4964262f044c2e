/* Merging is associative, commutative and idempotent, and exact: however a run is split, its reports are the same.
 *
 *     merge_property_test [FIRST COUNT]    # so many splits, from this one on: each has a seed of its own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge_fixture.h"

#define PARTS_MAX 8u

static unsigned long first_split, nr_splits = 12;

struct parts {
	char *paths[3 * PARTS_MAX]; /* owns */
	uint32_t count;
};

static void add_part(struct parts *parts, const char *kind, uint32_t number)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%u", kind, number);
	parts->paths[parts->count++] = merge_fixture_path(name);
}

static void remove_parts(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		unlink(parts->paths[i]);
		free(parts->paths[i]);
	}
	parts->count = 0;
}

/* Each agent goes to a random store. Some stores come with a copy of what they were in the middle. */
static void split(struct parts *parts, uint64_t *seed)
{
	uint32_t nr_stores = 1 + merge_fixture_random(seed, MERGE_FIXTURE_AGENTS),
		 sets[PARTS_MAX] = {0};

	for (uint32_t agent = 0; agent < MERGE_FIXTURE_AGENTS; agent++)
		sets[merge_fixture_random(seed, nr_stores)] |= 1u << agent;
	for (uint32_t i = 0; i < nr_stores; i++) {
		uint32_t share = merge_fixture_random(seed, 257);

		if (!sets[i])
			continue;
		add_part(parts, "part", i);
		const char *path = parts->paths[parts->count - 1], *copy = NULL;
		if (merge_fixture_random(seed, 3) == 0) {
			add_part(parts, "older", i);
			copy = parts->paths[parts->count - 1];
		}
		merge_fixture_write_both(path, copy, share, sets[i], *seed);
	}
}

/* Takes some of the parts out, merges them and puts the result back, until one is left. */
static char *merge_in_a_tree(const struct parts *parts, const char *name, uint64_t *seed)
{
	struct parts left = {.count = 0}, merged = {.count = 0};
	uint32_t nr_merges = 0;

	for (uint32_t i = 0; i < parts->count; i++)
		left.paths[left.count++] = parts->paths[i];
	while (left.count > 1 || nr_merges == 0) {
		uint32_t some = left.count < 2 ? 1 : 2 + merge_fixture_random(seed, left.count - 1);
		const char *paths[3 * PARTS_MAX];

		for (uint32_t i = 0; i < some; i++) {
			uint32_t at = merge_fixture_random(seed, left.count);

			paths[i] = left.paths[at];
			left.paths[at] = left.paths[--left.count];
		}
		if (merge_fixture_random(seed, 3) == 0) /* once more */
			paths[some++] = parts->paths[merge_fixture_random(seed, parts->count)];
		add_part(&merged, name, nr_merges++);
		left.paths[left.count++] = merged.paths[merged.count - 1];
		merge_fixture_merge(paths, some, left.paths[left.count - 1]);
	}
	char *last = merged.paths[--merged.count];
	remove_parts(&merged);
	return last;
}

static void the_same_parts_give_the_same_profile_in_every_order(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 4; round++) {
		uint64_t seed = 100 + round;
		struct parts parts = {.count = 0};
		char *dump = NULL;

		split(&parts, &seed);
		for (int tree = 0; tree < 4; tree++) {
			char *path = merge_in_a_tree(&parts, "tree", &seed);
			char *other = merge_fixture_dump(path);

			if (dump)
				assert_string_equal(other, dump);
			free(dump);
			dump = other;
			unlink(path);
			free(path);
		}
		free(dump);
		remove_parts(&parts);
	}
}

static void all_splits_of_a_run_give_the_same_reports(void **state)
{
	char *whole = merge_fixture_path("whole"), *merged = merge_fixture_path("merged");

	(void)state;
	merge_fixture_write(whole, MERGE_FIXTURE_ALL, 1);
	merge_fixture_merge((const char *const *)&whole, 1, merged);
	char *expected = merge_fixture_reports(merged);
	/* of agents' own communicators, and of that of all agents */
	assert_non_null(strstr(expected, "[waits for rank 0]"));
	assert_non_null(strstr(expected, "[waits for rank 11]"));
	assert_non_null(strstr(expected, "[moves data]"));
	assert_non_null(strstr(expected, "[not split]"));
	for (uint64_t round = first_split; round < first_split + nr_splits; round++) {
		uint64_t seed = 7919 * round + 3;
		struct parts parts = {.count = 0};

		split(&parts, &seed);
		char *path = merge_in_a_tree(&parts, "tree", &seed);
		char *reports = merge_fixture_reports(path);
		if (strcmp(reports, expected) != 0)
			fail_msg("round %u differs", (uint32_t)round);
		free(reports);
		unlink(path);
		free(path);
		remove_parts(&parts);
	}
	free(expected);
	free(whole);
	free(merged);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_parts_give_the_same_profile_in_every_order),
		cmocka_unit_test(all_splits_of_a_run_give_the_same_reports),
	};

	if (getenv("FLAMEGRID_NIGHTLY"))
		nr_splits = 10000;
	if (argc == 3) {
		first_split = strtoul(argv[1], NULL, 10);
		nr_splits = strtoul(argv[2], NULL, 10);
	}
	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
