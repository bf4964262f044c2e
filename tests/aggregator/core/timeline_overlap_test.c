/* Communication and computation of a process on a device, and the time of both. */
#include "aggregator/core/timeline_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TICKS   4000u
#define KERNELS 300u

struct kernel {
	bool communicates;
	uint64_t start_ns, end_ns;
};

static struct timeline_table *table;

static int set_up(void **state)
{
	(void)state;
	table = timeline_table_create();
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	timeline_table_destroy(table);
	return 0;
}

static void add(bool communicates, uint64_t start_ns, uint64_t end_ns)
{
	assert_int_equal(timeline_table_add_kernel(table, 1, 0, communicates, start_ns, end_ns), 0);
}

static struct stream_timeline *timeline(enum timeline_level level)
{
	const struct timeline_key key = {.level = level, .process_id = 1};
	const struct timeline_entry *entry = timeline_table_find(table, &key);

	return entry ? entry->timeline : NULL;
}

static uint64_t busy(enum timeline_level level)
{
	return timeline(level) ? stream_timeline_busy_ns(timeline(level)) : 0;
}

static uint64_t overlap(void)
{
	return busy(TIMELINE_COMMUNICATION) + busy(TIMELINE_COMPUTATION) - busy(TIMELINE_KERNELS);
}

static void overlap_is_the_time_of_both(void **state)
{
	(void)state;
	add(false, 100, 200);
	add(true, 150, 260);
	add(true, 180, 230); /* of another communicator */
	add(false, 220, 240);
	add(false, 300, 400);
	add(true, 400, 450); /* touches */
	assert_int_equal(busy(TIMELINE_COMMUNICATION), 160);
	assert_int_equal(busy(TIMELINE_COMPUTATION), 220);
	assert_int_equal(busy(TIMELINE_KERNELS), 310);
	assert_int_equal(overlap(), 70);
}

static void one_within_the_other_overlaps_as_a_whole(void **state)
{
	(void)state;
	add(true, 100, 200);
	add(false, 50, 500);
	assert_int_equal(overlap(), 100);
}

static void without_communication_all_kernels_are_not_kept_twice(void **state)
{
	(void)state;
	add(false, 100, 200);
	add(false, 150, 300);
	assert_null(timeline(TIMELINE_KERNELS));
	assert_null(timeline(TIMELINE_COMMUNICATION));
	assert_int_equal(busy(TIMELINE_COMPUTATION), 200);
}

static void what_came_before_the_first_communication_counts(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		add(false, 100 * i, 100 * i + 50);
	add(true, 100, 100 * 5000 + 100);
	assert_int_equal(overlap(), 50 * 5000);
}

static void processes_and_devices_are_apart(void **state)
{
	(void)state;
	add(true, 100, 200);
	assert_int_equal(timeline_table_add_kernel(table, 2, 0, false, 100, 200), 0);
	assert_int_equal(timeline_table_add_kernel(table, 1, 1, false, 100, 200), 0);
	assert_int_equal(overlap(), 0);
	assert_int_equal(busy(TIMELINE_KERNELS), 100);
}

static void a_process_that_has_ended_keeps_what_it_had(void **state)
{
	(void)state;
	add(false, 100, 200);
	add(true, 150, 250);
	timeline_table_close(table, 1);
	assert_int_equal(overlap(), 50);
}

/* Entries of several processes lie between one another. */
static void the_end_of_a_process_closes_its_timelines_alone(void **state)
{
	const struct timeline_entry *entries;
	uint32_t nr_entries, nr_closed = 0;

	(void)state;
	timeline_table_saved(table);
	for (uint32_t device = 0; device < 3; device++)
		for (uint32_t process = 1; process <= 40; process++)
			assert_int_equal(
				timeline_table_add_kernel(table, process, device, true, 100, 200),
				0);
	timeline_table_saved(table);
	timeline_table_close(table, 17);
	timeline_table_close(table, 41);
	entries = timeline_table_entries(table, &nr_entries);
	for (uint32_t i = 0; i < nr_entries; i++) {
		assert_int_equal(entries[i].changed, entries[i].key.process_id == 17);
		nr_closed += entries[i].changed;
	}
	assert_int_equal(nr_closed, 3 * 2);
}

static void the_first_communication_after_the_end_is_late_in_all_kernels(void **state)
{
	(void)state;
	struct timeline_sums sums;

	add(false, 100, 200);
	timeline_table_close(table, 1);
	add(true, 150, 250);
	stream_timeline_sums(timeline(TIMELINE_KERNELS), &sums);
	assert_int_equal(sums.late, 1);
	assert_int_equal(sums.late_ns, 50);
	assert_int_equal(busy(TIMELINE_KERNELS), 150);
}

/* --- against a reference of ticks of 1 ns --- */

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit;
}

static void make(struct kernel *kernels, uint64_t *seed)
{
	uint32_t longest = 1 + random_below(seed, 60), share = 1 + random_below(seed, 20);

	for (uint32_t i = 0; i < KERNELS; i++) {
		kernels[i].start_ns = 1 + random_below(seed, TICKS - 64);
		kernels[i].end_ns = kernels[i].start_ns + random_below(seed, longest);
		kernels[i].communicates = random_below(seed, share) == 0;
	}
}

static void assert_as_counted(const struct kernel *kernels)
{
	uint8_t ticks[TICKS] = {0};
	uint64_t counts[4] = {0};

	for (uint32_t i = 0; i < KERNELS; i++)
		for (uint64_t at = kernels[i].start_ns; at < kernels[i].end_ns; at++)
			ticks[at] |= kernels[i].communicates ? 2 : 1;
	for (uint32_t at = 0; at < TICKS; at++)
		counts[ticks[at]]++;
	assert_int_equal(busy(TIMELINE_COMPUTATION), counts[1] + counts[3]);
	assert_int_equal(busy(TIMELINE_COMMUNICATION), counts[2] + counts[3]);
	if (timeline(TIMELINE_KERNELS))
		assert_int_equal(overlap(), counts[3]);
	else
		assert_int_equal(counts[2] + counts[3], 0);
}

/* Saves what is unsaved, and goes on with another table that has loaded it all. */
struct saved_block {
	struct timeline_key key;
	uint32_t index, count;
	struct timeline_interval *intervals;
};

static struct saved_block blocks[4096];
static uint32_t nr_blocks;

static void forget(const struct timeline_key *key)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr_blocks; i++) {
		if (!key || memcmp(&blocks[i].key, key, sizeof(*key)) == 0)
			free(blocks[i].intervals);
		else
			blocks[kept++] = blocks[i];
	}
	nr_blocks = kept;
}

static void save(void)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries = timeline_table_entries(table, &nr_entries);

	for (uint32_t i = 0; i < nr_entries; i++) {
		if (!entries[i].changed)
			continue;
		struct timeline_block block = timeline_table_block(&entries[i]);
		if (block.clear)
			forget(&entries[i].key);
		if (!block.count)
			continue;
		assert_true(nr_blocks < sizeof(blocks) / sizeof(blocks[0]));
		struct saved_block *saved = &blocks[nr_blocks++];
		*saved = (struct saved_block){entries[i].key, block.index, block.count,
					      malloc(block.count * sizeof(*block.intervals))};
		assert_non_null(saved->intervals);
		memcpy(saved->intervals, block.intervals, block.count * sizeof(*block.intervals));
	}
	timeline_table_saved(table);
}

static void restart(void)
{
	struct timeline_table *next = timeline_table_create();
	uint32_t nr_entries, nr_open;
	struct timeline_sums sums;

	assert_non_null(next);
	for (uint32_t i = 0; i < nr_blocks; i++) {
		const struct timeline_block block = {.index = blocks[i].index,
						     .count = blocks[i].count,
						     .intervals = blocks[i].intervals};
		assert_int_equal(timeline_table_load(next, &blocks[i].key, &block), 0);
	}
	const struct timeline_entry *entries = timeline_table_entries(table, &nr_entries);
	for (uint32_t i = 0; i < nr_entries; i++) {
		struct timeline_entry *entry = timeline_table_get(next, &entries[i].key);

		stream_timeline_sums(entries[i].timeline, &sums);
		stream_timeline_open(entries[i].timeline, &nr_open);
		assert_int_equal(
			stream_timeline_restore(entry->timeline, &sums, nr_open,
						stream_timeline_busy_ns(entries[i].timeline)),
			0);
	}
	timeline_table_destroy(table);
	table = next;
}

static void play(bool disturbed)
{
	struct kernel kernels[KERNELS];

	for (uint64_t number = 1; number <= 300; number++) {
		uint64_t seed = number;

		timeline_table_destroy(table);
		table = timeline_table_create();
		assert_non_null(table);
		make(kernels, &seed);
		for (uint32_t i = 0; i < KERNELS; i++) {
			add(kernels[i].communicates, kernels[i].start_ns, kernels[i].end_ns);
			if (disturbed && random_below(&seed, 7) == 0)
				save();
			if (disturbed && random_below(&seed, 40) == 0) {
				save();
				restart();
			}
		}
		assert_as_counted(kernels);
		forget(NULL);
	}
}

static void any_kernels_in_any_order_are_exact(void **state)
{
	(void)state;
	play(false);
}

static void any_kernels_are_exact_across_restarts(void **state)
{
	(void)state;
	play(true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(overlap_is_the_time_of_both),
		TEST(one_within_the_other_overlaps_as_a_whole),
		TEST(without_communication_all_kernels_are_not_kept_twice),
		TEST(what_came_before_the_first_communication_counts),
		TEST(processes_and_devices_are_apart),
		TEST(a_process_that_has_ended_keeps_what_it_had),
		TEST(the_end_of_a_process_closes_its_timelines_alone),
		TEST(the_first_communication_after_the_end_is_late_in_all_kernels),
		TEST(any_kernels_in_any_order_are_exact),
		TEST(any_kernels_are_exact_across_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
