#include "aggregator/core/correlator.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlator_fixture.h"

#define STEPS    4000u
#define KEYS     64u
#define CAPTURES 4u /* capture stacks, and none */

/* The correlator in the plainest way: lists in order of arrival, searched from end to end. */
struct oracle_launch {
	uint32_t id, window, stack_id;
	bool many, retired, matched, host;
	uint64_t order;
};

struct oracle {
	struct oracle_launch launches[STEPS];
	uint32_t nr_launches;
	struct gpu_record waiting[STEPS];
	uint32_t nr_waiting;
	uint64_t next_order, nr_retired;
	uint64_t ns[256], count[256]; /* by stack; 0: none */
	uint64_t captured[256][CAPTURES];
	uint64_t expired, failed;
	uint32_t launches_max, retired_max, waiting_max;
};

static struct oracle_launch *oracle_find(struct oracle *oracle, uint32_t id, uint32_t window)
{
	for (uint32_t i = 0; i < oracle->nr_launches; i++)
		if (oracle->launches[i].id == id && oracle->launches[i].window == window)
			return &oracle->launches[i];
	return NULL;
}

static void oracle_remove(struct oracle *oracle, struct oracle_launch *launch)
{
	uint32_t i = (uint32_t)(launch - oracle->launches);

	oracle->nr_launches--;
	memmove(launch, launch + 1, (oracle->nr_launches - i) * sizeof(*launch));
}

static void oracle_retire(struct oracle *oracle, struct oracle_launch *launch)
{
	launch->retired = true;
	launch->order = oracle->nr_retired++;
	for (uint32_t i = 0; i < oracle->nr_launches; i++) {
		struct oracle_launch *old = &oracle->launches[i];

		if (old->retired && old->order + oracle->retired_max < oracle->nr_retired) {
			oracle_remove(oracle, old);
			return;
		}
	}
}

static void oracle_fold(struct oracle *oracle, uint32_t stack_id, const struct gpu_record *record)
{
	oracle->count[stack_id]++;
	oracle->captured[stack_id][record->capture_stack_id]++;
	oracle->ns[stack_id] += record->end_ns - record->start_ns;
}

static void oracle_take_waiting(struct oracle *oracle, uint32_t i)
{
	oracle->nr_waiting--;
	memmove(&oracle->waiting[i], &oracle->waiting[i + 1],
		(oracle->nr_waiting - i) * sizeof(oracle->waiting[0]));
}

/* Which records a launch, and a call without GPU work, is over with. */
static bool oracle_answers(const struct oracle_launch *launch, uint8_t kind)
{
	switch (kind) {
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_MEMCPY:
	case RECORD_GPU_MEMSET:
	case RECORD_GPU_GRAPH:
		return !launch->host;
	case RECORD_GPU_OVERHEAD:
		return false;
	default:
		return launch->host;
	}
}

static void oracle_record(struct oracle *oracle, const struct gpu_record *record)
{
	struct oracle_launch *launch = oracle_find(oracle, record->correlation_id, record->window);

	if (record->kind == RECORD_GPU_UNIFIED ||
	    (record->kind == RECORD_GPU_OVERHEAD && record->correlation_id == 0)) {
		oracle_fold(oracle, 0, record);
		return;
	}
	if (launch) {
		oracle_fold(oracle, launch->stack_id, record);
		if (!oracle_answers(launch, record->kind))
			return;
		bool first = !launch->matched;
		launch->matched = true;
		if (first && !launch->many && !launch->retired)
			oracle_retire(oracle, launch);
		return;
	}
	if (oracle->nr_waiting == oracle->waiting_max) {
		oracle_fold(oracle, 0, &oracle->waiting[0]);
		oracle_take_waiting(oracle, 0);
	}
	oracle->waiting[oracle->nr_waiting++] = *record;
}

static uint32_t oracle_outstanding(const struct oracle *oracle)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < oracle->nr_launches; i++)
		count += !oracle->launches[i].retired;
	return count;
}

static void oracle_expire(struct oracle *oracle)
{
	uint32_t left = oracle->launches_max / 16 + 1;

	for (uint32_t i = 0; i < oracle->nr_launches && left > 0;) {
		if (oracle->launches[i].retired) {
			i++;
			continue;
		}
		oracle->expired += !oracle->launches[i].matched && !oracle->launches[i].host;
		oracle_remove(oracle, &oracle->launches[i]);
		left--;
	}
}

static void oracle_launch(struct oracle *oracle, const struct launch_record *record)
{
	struct oracle_launch *launch = oracle_find(oracle, record->correlation_id, record->window);

	bool host = record->flags & RECORD_LAUNCH_HOST;

	if (record->flags & RECORD_LAUNCH_FAILED) {
		oracle->failed += !host;
		if (launch && !launch->retired)
			oracle_retire(oracle, launch);
		return;
	}
	if (launch && host && !launch->host && !launch->retired)
		return;
	if (launch) {
		oracle->expired += !launch->matched && !launch->retired && !launch->host;
		oracle_remove(oracle, launch);
	}
	oracle->launches[oracle->nr_launches++] = (struct oracle_launch){
		.id = record->correlation_id,
		.window = record->window,
		.stack_id = record->stack_id,
		.many = record->flags & RECORD_LAUNCH_MANY,
		.host = host,
	};
	for (uint32_t i = 0; i < oracle->nr_waiting;) {
		struct gpu_record waiting = oracle->waiting[i];

		if (waiting.correlation_id != record->correlation_id ||
		    waiting.window != record->window) {
			i++;
			continue;
		}
		oracle_take_waiting(oracle, i);
		oracle_record(oracle, &waiting);
	}
	if (oracle_outstanding(oracle) > oracle->launches_max)
		oracle_expire(oracle);
}

static void oracle_finish(struct oracle *oracle)
{
	for (uint32_t i = 0; i < oracle->nr_waiting; i++)
		oracle_fold(oracle, 0, &oracle->waiting[i]);
	for (uint32_t i = 0; i < oracle->nr_launches; i++)
		oracle->expired += !oracle->launches[i].matched && !oracle->launches[i].retired &&
				   !oracle->launches[i].host;
}

static uint32_t random_below(uint64_t *seed, uint32_t limit_value)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit_value;
}

/* One step of a random history, the same for both. */
static void random_step(struct correlator_fixture *fixture, struct oracle *oracle, uint64_t *seed)
{
	uint32_t id = UINT32_MAX - KEYS / 2 + random_below(seed, KEYS);
	uint16_t window = (uint16_t)(1 + random_below(seed, 2));

	if (random_below(seed, 2)) {
		struct gpu_record record = {
			.start_ns = 1 + random_below(seed, 1000),
			.correlation_id = id,
			.window = window,
			.device_id = random_below(seed, 3),
			.kind = (uint8_t)random_below(seed, RECORD_GPU_KINDS),
			.capture_stack_id = random_below(seed, CAPTURES),
		};

		record.end_ns = record.start_ns + random_below(seed, 500);
		oracle_record(oracle, &record);
		assert_int_equal(correlator_record(fixture->correlator, &record), 0);
	} else {
		struct launch_record record = {
			.correlation_id = id,
			.window = window,
			.stack_id = 1 + random_below(seed, 200),
			.tid = CORRELATOR_FIXTURE_TID,
			.flags = random_below(seed, 8) == 0   ? RECORD_LAUNCH_FAILED
				 : random_below(seed, 8) == 0 ? RECORD_LAUNCH_MANY
							      : 0,
		};

		record.flags |= random_below(seed, 4) == 0 ? RECORD_LAUNCH_HOST : 0;

		oracle_launch(oracle, &record);
		assert_int_equal(correlator_launch(fixture->correlator, &record), 0);
	}
}

struct blocks {
	struct correlator_block blocks[512];
	uint32_t count;
};

/* As a store would: a later block replaces the earlier one, an empty one deletes it. */
static int keep_block(void *context, const struct correlator_block *block)
{
	struct blocks *kept = context;
	struct correlator_block copy = *block;
	uint32_t i = 0;

	while (i < kept->count &&
	       (kept->blocks[i].kind != block->kind || kept->blocks[i].index != block->index))
		i++;
	if (i < kept->count) {
		free((void *)(uintptr_t)kept->blocks[i].launches);
		free((void *)(uintptr_t)kept->blocks[i].records);
		kept->blocks[i] = kept->blocks[--kept->count];
	}
	if (block->count == 0)
		return 0;
	copy.launches = NULL;
	copy.records = NULL;
	if (block->kind == CORRELATOR_BLOCK_LAUNCHES) {
		struct launch *launches = malloc(block->count * sizeof(*launches));
		memcpy(launches, block->launches, block->count * sizeof(*launches));
		copy.launches = launches;
	} else {
		struct waiting_records_entry *records = malloc(block->count * sizeof(*records));
		memcpy(records, block->records, block->count * sizeof(*records));
		copy.records = records;
	}
	assert_true(kept->count < 512);
	kept->blocks[kept->count++] = copy;
	return 0;
}

static void save_and_load(struct correlator_fixture *fixture, struct blocks *kept,
			  const struct correlator_options *options)
{
	struct correlator_counts counts = *correlator_counts(fixture->correlator);

	assert_int_equal(correlator_save(fixture->correlator, keep_block, kept), 0);
	correlator_saved(fixture->correlator);
	correlator_fixture_replace(fixture, options);
	for (uint32_t i = 0; i < kept->count; i++)
		assert_int_equal(correlator_load(fixture->correlator, &kept->blocks[i]), 0);
	assert_int_equal(correlator_load_end(fixture->correlator, &counts), 0);
}

static void forget_blocks(struct blocks *kept)
{
	for (uint32_t i = 0; i < kept->count; i++) {
		free((void *)(uintptr_t)kept->blocks[i].launches);
		free((void *)(uintptr_t)kept->blocks[i].records);
	}
}

static void compare(struct correlator_fixture *fixture, const struct oracle *oracle)
{
	uint64_t count[256] = {0}, ns[256] = {0}, captured[256][CAPTURES] = {0};
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(fixture->table, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++) {
		struct duration_bin list[DURATION_BUCKETS];
		const uint32_t nr = fold_row_list(&rows[i], list);

		assert_int_equal(duration_list_count(list, nr), rows[i].count);
		count[rows[i].key.stack_id] += rows[i].count;
		ns[rows[i].key.stack_id] += rows[i].ns;
		captured[rows[i].key.stack_id][rows[i].key.capture_stack_id] += rows[i].count;
	}
	assert_memory_equal(count, oracle->count, sizeof(count));
	assert_memory_equal(ns, oracle->ns, sizeof(ns));
	assert_memory_equal(captured, oracle->captured, sizeof(captured));
	assert_int_equal(correlator_counts(fixture->correlator)->expired, oracle->expired);
	assert_int_equal(correlator_counts(fixture->correlator)->failed, oracle->failed);
}

/* save_every 0: never. */
static void run_history(struct correlator_fixture *fixture, uint64_t seed, uint32_t save_every)
{
	struct correlator_options options = {.launches_max = 1 + (uint32_t)(seed % 40),
					     .retired_max = 1 + (uint32_t)(seed % 13),
					     .waiting_max = 1 + (uint32_t)(seed % 17),
					     .track_changes = true};
	struct oracle *oracle = calloc(1, sizeof(*oracle));
	struct blocks kept = {.count = 0};

	assert_non_null(oracle);
	oracle->launches_max = options.launches_max;
	oracle->retired_max = options.retired_max;
	oracle->waiting_max = options.waiting_max;
	fold_table_clear(fixture->table);
	correlator_fixture_replace(fixture, &options);
	for (uint32_t step = 1; step <= STEPS; step++) {
		random_step(fixture, oracle, &seed);
		if (save_every && step % save_every == 0)
			save_and_load(fixture, &kept, &options);
	}
	assert_int_equal(correlator_waiting(fixture->correlator), oracle->nr_waiting);
	oracle_finish(oracle);
	assert_int_equal(correlator_finish(fixture->correlator), 0);
	compare(fixture, oracle);
	forget_blocks(&kept);
	free(oracle);
}

static void random_histories_agree_with_the_slow_oracle(void **state)
{
	struct correlator_fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 60; seed++)
		run_history(fixture, seed, 0);
}

static void saving_and_loading_at_any_point_changes_nothing(void **state)
{
	struct correlator_fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		run_history(fixture, seed, 1);
		run_history(fixture, seed, 7);
		run_history(fixture, seed, 100);
	}
}

static void what_was_saved_twice_is_refused(void **state)
{
	struct correlator_fixture *fixture = *state;
	struct blocks kept = {.count = 0};

	correlator_fixture_launch(fixture, 1, 9);
	assert_int_equal(correlator_save(fixture->correlator, keep_block, &kept), 0);
	assert_int_equal(kept.count, 1);
	correlator_fixture_limit(fixture, (struct correlator_options){0});
	assert_int_equal(correlator_load(fixture->correlator, &kept.blocks[0]), 0);
	assert_int_equal(correlator_load(fixture->correlator, &kept.blocks[0]), -EINVAL);
	forget_blocks(&kept);
}

static void only_what_changed_is_saved_again(void **state)
{
	struct correlator_fixture *fixture = *state;
	struct blocks first = {.count = 0}, second = {.count = 0};

	correlator_fixture_launch(fixture, 1, 9);
	correlator_fixture_launch(fixture, 5000, 9);
	assert_int_equal(correlator_save(fixture->correlator, keep_block, &first), 0);
	assert_int_equal(first.count, 2);
	correlator_saved(fixture->correlator);
	correlator_fixture_launch(fixture, 5001, 9);
	assert_int_equal(correlator_save(fixture->correlator, keep_block, &second), 0);
	assert_int_equal(second.count, 1);
	assert_int_equal(second.blocks[0].count, 2);
	forget_blocks(&first);
	forget_blocks(&second);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, correlator_fixture_set_up,                           \
					correlator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_histories_agree_with_the_slow_oracle),
		TEST(saving_and_loading_at_any_point_changes_nothing),
		TEST(what_was_saved_twice_is_refused),
		TEST(only_what_changed_is_saved_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
