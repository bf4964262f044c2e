#include "aggregator/core/waiting_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/base/hash_keys.h"

#define BLOCKS 8u

/* What waiting_records_save() hands over, as a store would keep it. */
struct kept {
	struct waiting_records_entry records[BLOCKS][WAITING_RECORDS_BLOCK];
	uint32_t counts[BLOCKS], nr_puts;
};

static int set_up(void **state)
{
	struct waiting_records *waiting = calloc(1, sizeof(*waiting));

	waiting->track_changes = true;
	*state = waiting;
	return 0;
}

static int tear_down(void **state)
{
	waiting_records_fini(*state);
	free(*state);
	return 0;
}

static void add(struct waiting_records *waiting, uint32_t correlation_id, uint64_t order)
{
	const struct gpu_record record = {
		.correlation_id = correlation_id, .window = 1, .bytes = order};

	assert_int_equal(waiting_records_add(waiting, &record, order), 0);
}

static int keep(void *context, uint64_t block, const struct waiting_records_entry *records,
		uint32_t count)
{
	struct kept *kept = context;

	assert_true(block < BLOCKS);
	if (count)
		memcpy(kept->records[block], records, count * sizeof(*records));
	kept->counts[block] = count;
	kept->nr_puts++;
	return 0;
}

static void records_are_taken_by_key_the_newest_first(void **state)
{
	struct waiting_records *waiting = *state;
	struct gpu_record record;

	add(waiting, 5, 0);
	add(waiting, 6, 1);
	add(waiting, 5, 2);
	assert_int_equal(waiting_records_take(waiting, 2, 5, &record), 0); /* another window */
	assert_int_equal(waiting_records_take(waiting, 1, 5, &record), 1);
	assert_int_equal(record.bytes, 2);
	assert_int_equal(waiting_records_take(waiting, 1, 5, &record), 1);
	assert_int_equal(record.bytes, 0);
	assert_int_equal(waiting_records_take(waiting, 1, 5, &record), 0);
	assert_int_equal(waiting->count, 1);
}

static void records_are_taken_oldest_first(void **state)
{
	struct waiting_records *waiting = *state;
	struct gpu_record record;

	for (uint32_t i = 0; i < 1000; i++)
		add(waiting, i % 7, i);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(waiting_records_take_oldest(waiting, &record), 1);
		assert_int_equal(record.bytes, i);
	}
	assert_int_equal(waiting_records_take_oldest(waiting, &record), 0);
	assert_int_equal(waiting->count, 0);
}

static void only_blocks_that_changed_are_saved(void **state)
{
	struct waiting_records *waiting = *state;
	struct kept *kept = calloc(1, sizeof(*kept));
	struct gpu_record record;

	assert_non_null(kept);
	add(waiting, 1, 0);
	add(waiting, 2, 1);
	add(waiting, 3, 3 * WAITING_RECORDS_BLOCK);
	assert_int_equal(waiting_records_save(waiting, keep, kept), 0);
	assert_int_equal(kept->nr_puts, 2);
	assert_int_equal(kept->counts[0], 2);
	assert_int_equal(kept->counts[3], 1);
	assert_int_equal(kept->records[3][0].record.correlation_id, 3);
	waiting_records_saved(waiting);
	assert_int_equal(waiting_records_save(waiting, keep, kept), 0);
	assert_int_equal(kept->nr_puts, 2);
	assert_int_equal(waiting_records_take(waiting, 1, 3, &record), 1);
	assert_int_equal(waiting_records_save(waiting, keep, kept), 0);
	assert_int_equal(kept->nr_puts, 3);
	assert_int_equal(kept->counts[3], 0);
	free(kept);
}

static int refuse(void *context, uint64_t block, const struct waiting_records_entry *records,
		  uint32_t count)
{
	(void)context;
	(void)block;
	(void)records;
	(void)count;
	return 7;
}

static void a_block_that_cannot_be_kept_ends_the_saving(void **state)
{
	struct waiting_records *waiting = *state;
	struct gpu_record record;

	add(waiting, 1, 0);
	assert_int_equal(waiting_records_save(waiting, refuse, NULL), 7);
	assert_int_equal(waiting_records_take(waiting, 1, 1, &record), 1);
	assert_int_equal(waiting_records_save(waiting, refuse, NULL),
			 7); /* nothing is left of it */
}

static void what_is_loaded_in_any_order_is_as_it_was(void **state)
{
	struct waiting_records *waiting = *state;
	struct gpu_record record;

	for (uint64_t i = 3000; i > 0; i--) {
		const struct waiting_records_entry entry = {
			.record = {.correlation_id = 9, .window = 1, .bytes = i}, .order = i};

		assert_int_equal(waiting_records_load(waiting, &entry), 0);
	}
	assert_int_equal(waiting_records_load_end(waiting), 0);
	assert_int_equal(waiting->count, 3000);
	assert_int_equal(waiting->changed.count, 0);
	assert_int_equal(waiting_records_take(waiting, 1, 9, &record), 1);
	assert_int_equal(record.bytes, 3000);
	assert_int_equal(waiting_records_take_oldest(waiting, &record), 1);
	assert_int_equal(record.bytes, 1);
}

static void records_whose_keys_are_chosen_are_found_in_few_steps(void **state)
{
	struct waiting_records *waiting = *state;
	const uint32_t nr = 4096;
	struct gpu_record record;
	uint64_t key = 1ull << 32; /* of window 1 */

	for (uint32_t i = 0; i < nr; i++) {
		key = hash_keys_next(key, 12);
		add(waiting, (uint32_t)key, i);
	}
	assert_int_equal(waiting->keys.count, nr);
	assert_true(hash_keys_longest_row(&waiting->keys) < nr / 16);
	assert_int_equal(waiting_records_take(waiting, 1, (uint32_t)key, &record), 1);
	assert_int_equal(record.bytes, nr - 1);
}

/* A lost graph launch leaves thousands with one key. */
static void one_key_takes_one_place_however_many_have_it(void **state)
{
	struct waiting_records *waiting = *state;
	struct gpu_record record;

	for (uint32_t i = 0; i < 3000; i++)
		add(waiting, i % 3, i);
	assert_int_equal(waiting->keys.count, 3);
	for (uint32_t i = 0; i < 1500; i++) {
		assert_int_equal(waiting_records_take_oldest(waiting, &record), 1);
		assert_int_equal(record.bytes, i);
	}
	for (uint32_t i = 3000; i > 1500; i--) {
		assert_int_equal(waiting_records_take(waiting, 1, (i - 1) % 3, &record), 1);
		assert_int_equal(record.bytes, i - 1);
	}
	assert_int_equal(waiting->keys.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_taken_by_key_the_newest_first),
		TEST(records_are_taken_oldest_first),
		TEST(only_blocks_that_changed_are_saved),
		TEST(a_block_that_cannot_be_kept_ends_the_saving),
		TEST(what_is_loaded_in_any_order_is_as_it_was),
		TEST(records_whose_keys_are_chosen_are_found_in_few_steps),
		TEST(one_key_takes_one_place_however_many_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
