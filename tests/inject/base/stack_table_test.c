#include "inject/base/stack_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"

#define THREADS        4
#define RACED_STACKS   200
#define ROUNDS         50
#define RACED_DEPTH(i) ((uint32_t)(i) % 37 + 1)

struct fixture {
	struct test_ring ring;
	struct stack_table *table;
	struct stack_cache cache;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init(&fixture->ring);
	fixture->table = stack_table_create(fixture->ring.guest);
	assert_non_null(fixture->table);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stack_table_destroy(fixture->table);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static void fill(uint64_t *frames, uint32_t depth, uint64_t seed)
{
	for (uint32_t i = 0; i < depth; i++)
		frames[i] = 0x7f0000000000u + seed * 4096 + i * 16;
}

/* As a launch does it: the keys are the body. */
static uint32_t intern(struct stack_table *table, struct stack_cache *cache, const uint64_t *frames,
		       uint32_t depth)
{
	uint64_t hash;
	uint32_t id = stack_table_find(table, cache, frames, depth, &hash);

	return id != RECORD_STACK_NONE || depth == 0
		       ? id
		       : stack_table_add(table, cache, hash, frames, depth);
}

static void equal_frames_get_one_id(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[20];
	struct stack_cache *other = calloc(1, sizeof(*other));

	fill(frames, 20, 1);
	uint32_t id = intern(fixture->table, &fixture->cache, frames, 20);
	assert_int_not_equal(id, RECORD_STACK_NONE);
	assert_int_equal(intern(fixture->table, &fixture->cache, frames, 20), id);
	assert_int_equal(intern(fixture->table, other, frames, 20), id);
	free(other);
}

static void different_frames_or_depths_get_different_ids(void **state)
{
	struct fixture *fixture = *state;
	uint32_t ids[64];
	uint64_t frames[64];

	fill(frames, 64, 3);
	for (uint32_t depth = 1; depth <= 64; depth++) {
		ids[depth - 1] = intern(fixture->table, &fixture->cache, frames, depth);
		for (uint32_t i = 0; i + 1 < depth; i++)
			assert_int_not_equal(ids[i], ids[depth - 1]);
	}
	uint32_t before = intern(fixture->table, &fixture->cache, frames, 10);
	frames[9]++;
	assert_int_not_equal(intern(fixture->table, &fixture->cache, frames, 10), before);
}

static void order_of_frames_matters(void **state)
{
	(void)state;
	const uint64_t forth[] = {1, 2, 3, 4}, back[] = {4, 3, 2, 1}, swapped[] = {2, 1, 3, 4};

	assert_int_not_equal(stack_table_hash(forth, 4), stack_table_hash(back, 4));
	assert_int_not_equal(stack_table_hash(forth, 4), stack_table_hash(swapped, 4));
}

static void body_is_in_the_ring_before_the_id_is_known(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[RECORD_STACK_DEPTH], read[RECORD_STACK_DEPTH];

	fill(frames, RECORD_STACK_DEPTH, 9);
	uint32_t id = intern(fixture->table, &fixture->cache, frames, RECORD_STACK_DEPTH);
	assert_int_equal(record_ring_read_stack(fixture->ring.agent, id, read),
			 (int)RECORD_STACK_DEPTH);
	assert_memory_equal(read, frames, sizeof(frames));
}

static void empty_stack_has_no_id(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frame = 1;

	assert_int_equal(intern(fixture->table, &fixture->cache, &frame, 0), RECORD_STACK_NONE);
}

static void full_table_gives_no_id_but_keeps_old_ones(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[4];
	uint32_t first = 0;

	for (uint32_t i = 0; i < TEST_RING_STACKS; i++) {
		fill(frames, 4, i);
		uint32_t id = intern(fixture->table, &fixture->cache, frames, 4);

		assert_int_not_equal(id, RECORD_STACK_NONE);
		first = first ? first : id;
	}
	fill(frames, 4, TEST_RING_STACKS);
	assert_int_equal(intern(fixture->table, &fixture->cache, frames, 4), RECORD_STACK_NONE);
	fill(frames, 4, 0);
	assert_int_equal(intern(fixture->table, &fixture->cache, frames, 4), first);
}

/* Return addresses, so the call before the end is inside. */
static void stacks_with_unloaded_code_are_new_and_others_keep_their_ids(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t inside[] = {0x5000, 0x2001, 0x6000}, last[] = {0x3000}, first[] = {0x2000};
	const uint32_t epoch = stack_table_epoch(fixture->table);
	const uint32_t ids[] = {intern(fixture->table, &fixture->cache, inside, 3),
				intern(fixture->table, &fixture->cache, last, 1),
				intern(fixture->table, &fixture->cache, first, 1)};

	stack_table_unloaded(fixture->table, 0x2000, 0x3000);
	assert_int_not_equal(stack_table_epoch(fixture->table), epoch);
	uint32_t later = intern(fixture->table, &fixture->cache, inside, 3);
	assert_int_equal(later, ids[2] + 1);
	assert_int_equal(intern(fixture->table, &fixture->cache, inside, 3), later);
	assert_int_equal(intern(fixture->table, &fixture->cache, last, 1), later + 1);
	assert_int_equal(intern(fixture->table, &fixture->cache, first, 1), ids[2]);
}

/* A plugin that is loaded again and again, beside another one at the same place. */
static void code_that_comes_back_has_the_ids_of_its_last_time(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t plugin[] = {0x2010, 0x9010}, elsewhere[] = {0x8010, 0x9010};
	const uint32_t other = intern(fixture->table, &fixture->cache, elsewhere, 2);
	uint32_t ids[2] = {0}, nr_changed = 0;

	intern(fixture->table, &fixture->cache, plugin, 2);
	for (uint32_t i = 0; i < 4 * TEST_RING_STACKS; i++) {
		uint32_t *id = &ids[i % 2];

		stack_table_unloaded(fixture->table, 0x2000, 0x3000);
		stack_table_loaded(fixture->table, 0x2000, 0x3000, 77 + i % 2);
		uint32_t now = intern(fixture->table, &fixture->cache, plugin, 2);
		nr_changed += now != *id;
		*id = now;
		nr_changed += intern(fixture->table, &fixture->cache, elsewhere, 2) != other;
	}
	assert_int_not_equal(ids[0], RECORD_STACK_NONE);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(nr_changed, 2);
}

static void look_ups_of_stacks_with_unloaded_code_are_counted(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t inside[] = {0x2010}, outside[] = {0x8010};

	intern(fixture->table, &fixture->cache, inside, 1);
	assert_false(fixture->cache.in_place);
	assert_false(stack_table_is_place(fixture->table, 0x2000, 0x3000));
	stack_table_unloaded(fixture->table, 0x2000, 0x3000);
	assert_true(stack_table_is_place(fixture->table, 0x2000, 0x3000));
	assert_int_equal(stack_table_in_places(fixture->table), 0);
	for (int i = 0; i < 3; i++) {
		intern(fixture->table, &fixture->cache, inside, 1);
		assert_true(fixture->cache.in_place);
		intern(fixture->table, &fixture->cache, outside, 1);
		assert_false(fixture->cache.in_place);
	}
	assert_int_equal(stack_table_in_places(fixture->table), 3);
}

static void code_that_comes_to_a_fresh_place_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t frames[] = {0x2010};
	const uint32_t id = intern(fixture->table, &fixture->cache, frames, 1);

	stack_table_loaded(fixture->table, 0x2000, 0x3000, 1);
	assert_int_equal(intern(fixture->table, &fixture->cache, frames, 1), id);
	assert_int_equal(stack_table_epoch(fixture->table), 0);
}

static uint32_t intern_body(struct fixture *fixture, uint64_t key, const uint64_t *words)
{
	uint64_t hash;
	uint32_t id = stack_table_find(fixture->table, &fixture->cache, &key, 1, &hash);

	return id != RECORD_STACK_NONE
		       ? id
		       : stack_table_add(fixture->table, &fixture->cache, hash, words, 2);
}

/* As with the frames of a code that is compiled again for each launch. */
static void a_body_with_ever_new_keys_has_one_id(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t words[] = {1, 2}, others[] = {1, 3};
	uint64_t unknown;
	uint32_t id = intern_body(fixture, 1, words), nr_other = 0, nr_known = 0;

	assert_int_not_equal(id, RECORD_STACK_NONE);
	for (uint64_t key = 2; key < 3ull * STACK_TABLE_OTHERS; key++)
		nr_other += intern_body(fixture, key, words) != id;
	assert_int_equal(nr_other, 0);
	assert_int_equal(intern_body(fixture, UINT64_MAX, others), id + 1);
	/* The table has kept as many of the keys as it has room for. */
	for (uint64_t key = 2; key < 3ull * STACK_TABLE_OTHERS; key++) {
		memset(&fixture->cache, 0, sizeof(fixture->cache));
		nr_known +=
			stack_table_find(fixture->table, &fixture->cache, &key, 1, &unknown) == id;
	}
	assert_int_equal(nr_known, STACK_TABLE_OTHERS);
}

/* Keys of ranges have the names' numbers, their words the codes'. */
static void a_range_is_not_found_by_the_code_of_another(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t first[2] = {stack_word_range(2), 1}, second[2] = {stack_word_range(1), 1};
	const uint64_t keys[2][2] = {{stack_word_range(1), 1}, {stack_word_range(2), 1}};
	uint64_t hash;

	assert_int_equal(stack_table_find(fixture->table, &fixture->cache, keys[0], 2, &hash),
			 RECORD_STACK_NONE);
	const uint32_t id = stack_table_add(fixture->table, &fixture->cache, hash, first, 2);
	assert_int_equal(stack_table_find(fixture->table, &fixture->cache, keys[1], 2, &hash),
			 RECORD_STACK_NONE);
	assert_int_equal(stack_table_add(fixture->table, &fixture->cache, hash, second, 2), id + 1);
}

static void a_body_of_code_that_was_unloaded_is_new(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t words[] = {0x2001, 2}, others[] = {0x5001, 2};
	uint32_t id = intern_body(fixture, 1, words), other = intern_body(fixture, 2, others);

	stack_table_unloaded(fixture->table, 0x2000, 0x3000);
	assert_int_equal(intern_body(fixture, 3, others), other);
	assert_int_equal(intern_body(fixture, 4, words), other + 1);
	assert_int_equal(intern_body(fixture, 5, words), other + 1);
	assert_int_equal(intern_body(fixture, 1, words), id); /* its key is no address there */
}

/* The place changes between the walk and the body. */
static void a_body_belongs_to_the_time_of_its_keys(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t words[] = {0x2001, 2};
	uint64_t hash, key = 1;

	assert_int_equal(stack_table_find(fixture->table, &fixture->cache, &key, 1, &hash),
			 RECORD_STACK_NONE);
	stack_table_unloaded(fixture->table, 0x2000, 0x3000);
	uint32_t id = stack_table_add(fixture->table, &fixture->cache, hash, words, 2);
	assert_int_equal(intern_body(fixture, 2, words), id + 1);
}

static void a_known_body_is_found_when_the_ring_is_full(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[] = {1, 0};
	uint32_t first = intern_body(fixture, 1, words);

	for (words[1] = 1; words[1] < TEST_RING_STACKS; words[1]++)
		assert_int_not_equal(intern_body(fixture, 1 + words[1], words), RECORD_STACK_NONE);
	assert_int_equal(intern_body(fixture, 1 + words[1], words), RECORD_STACK_NONE);
	words[1] = 0;
	assert_int_equal(intern_body(fixture, UINT64_MAX, words), first);
}

struct racer {
	struct fixture *fixture;
	pthread_barrier_t *barrier;
	struct stack_cache cache;
	uint32_t ids[RACED_STACKS];
	uint32_t changed; /* ids that were not the same each time */
	uint32_t offset;
};

static void *race(void *user)
{
	struct racer *racer = user;
	uint64_t frames[64];

	pthread_barrier_wait(racer->barrier);
	for (uint32_t n = 0; n < RACED_STACKS * ROUNDS; n++) {
		uint32_t i = (n + racer->offset) % RACED_STACKS;

		fill(frames, RACED_DEPTH(i), 100 + i);
		uint32_t id = intern(racer->fixture->table, &racer->cache, frames, RACED_DEPTH(i));
		if (racer->ids[i] != 0 && racer->ids[i] != id)
			racer->changed++;
		racer->ids[i] = id;
	}
	return NULL;
}

static void racing_threads_agree_on_every_id(void **state)
{
	struct fixture *fixture = *state;
	struct racer *racers = calloc(THREADS, sizeof(*racers));
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	uint64_t frames[64], read[RECORD_STACK_DEPTH];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		racers[i].fixture = fixture;
		racers[i].barrier = &barrier;
		/* Two start alike, to race for the same slots; two elsewhere. */
		racers[i].offset = i / 2 * (RACED_STACKS / 2);
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(racers[i].changed, 0);
		assert_memory_equal(racers[i].ids, racers[0].ids, sizeof(racers[0].ids));
	}
	for (uint32_t i = 0; i < RACED_STACKS; i++) {
		fill(frames, RACED_DEPTH(i), 100 + i);
		assert_int_equal(
			record_ring_read_stack(fixture->ring.agent, racers[0].ids[i], read),
			(int)RACED_DEPTH(i));
		assert_memory_equal(read, frames, RACED_DEPTH(i) * sizeof(*frames));
	}
	pthread_barrier_destroy(&barrier);
	free(racers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_frames_get_one_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(different_frames_or_depths_get_different_ids,
						set_up, tear_down),
		cmocka_unit_test(order_of_frames_matters),
		cmocka_unit_test_setup_teardown(body_is_in_the_ring_before_the_id_is_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(empty_stack_has_no_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_table_gives_no_id_but_keeps_old_ones, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			stacks_with_unloaded_code_are_new_and_others_keep_their_ids, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(code_that_comes_back_has_the_ids_of_its_last_time,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(look_ups_of_stacks_with_unloaded_code_are_counted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_that_comes_to_a_fresh_place_changes_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_body_with_ever_new_keys_has_one_id, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_range_is_not_found_by_the_code_of_another, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_body_of_code_that_was_unloaded_is_new, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_body_belongs_to_the_time_of_its_keys, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_known_body_is_found_when_the_ring_is_full, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(racing_threads_agree_on_every_id, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
