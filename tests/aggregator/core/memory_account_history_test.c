/* The account of memory against the plainest one there can be: all events in a list, sorted, taken one by one; and what
 * is saved of it. */
#include "memory_account_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/record.h"

#define STACKS 8u
#define EVENTS 4000u

struct plain {
	struct {
		bool lives;
		uint64_t bytes;
		uint32_t stack_id;
	} places[64];
	uint64_t live, peak, peak_ns, unknown;
	uint64_t by_stack[STACKS], at_peak[STACKS];
};

static void plain_take(struct plain *plain, const struct memory_event *event)
{
	uint64_t place = event->address / 0x1000;

	if (event->is_free) {
		plain->unknown += !plain->places[place].lives;
		if (!plain->places[place].lives)
			return;
		plain->places[place].lives = false;
		plain->live -= plain->places[place].bytes;
		plain->by_stack[plain->places[place].stack_id] -= plain->places[place].bytes;
		return;
	}
	plain->places[place].lives = true;
	plain->places[place].bytes = event->bytes;
	plain->places[place].stack_id = event->stack_id;
	plain->live += event->bytes;
	plain->by_stack[event->stack_id] += event->bytes;
	if (plain->live <= plain->peak)
		return;
	plain->peak = plain->live;
	plain->peak_ns = event->time_ns;
	memcpy(plain->at_peak, plain->by_stack, sizeof(plain->at_peak));
}

static uint32_t random_below(uint64_t *seed, uint32_t limit_value)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit_value;
}

/* A history in which each place is allocated only while it is free, and freed now and then without need. */
static void make_history(struct memory_event *events, uint64_t seed)
{
	bool lives[64] = {false};

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t place = 1 + random_below(&seed, 63);

		events[i] = memory_account_fixture_event(1000 + 10ull * i, 0x1000ull * place);
		events[i].is_free = lives[place] || random_below(&seed, 20) == 0;
		events[i].bytes = events[i].is_free ? 0 : 1 + random_below(&seed, 1000);
		events[i].stack_id = 1 + random_below(&seed, STACKS - 1);
		events[i].tid = 1 + random_below(&seed, 3);
		lives[place] = !events[i].is_free;
	}
}

/* Each event moves by at most `reach` places. */
static void shuffle(struct memory_event *events, uint32_t reach, uint64_t seed)
{
	for (uint32_t first = 0; first < EVENTS; first += reach)
		for (uint32_t i = reach; i > 1; i--) {
			uint32_t a = first + i - 1, b = first + random_below(&seed, i);

			if (a >= EVENTS || b >= EVENTS)
				continue;
			struct memory_event event = events[a];
			events[a] = events[b];
			events[b] = event;
		}
}

static void assert_like(const struct memory_account_fixture *fixture, const struct plain *plain)
{
	struct memory_sums sums = memory_account_fixture_device(fixture);

	assert_int_equal(sums.live_bytes, plain->live);
	assert_int_equal(sums.peak_bytes, plain->peak);
	assert_int_equal(sums.peak_ns, plain->peak_ns);
	assert_int_equal(sums.unknown_frees, plain->unknown);
	assert_int_equal(sums.late, 0);
	assert_int_equal(sums.replaced, 0);
	for (uint32_t stack_id = 1; stack_id < STACKS; stack_id++) {
		assert_int_equal(memory_account_fixture_row(fixture, stack_id).live_bytes,
				 plain->by_stack[stack_id]);
		assert_int_equal(memory_account_fixture_row(fixture, stack_id).peak_bytes,
				 plain->at_peak[stack_id]);
	}
}

/* What memory_account_save() hands over, as a store would keep it. */
struct kept {
	struct memory_sums sums[8];
	struct memory_row rows[256];
	struct memory_slot slots[64][MEMORY_SLOTS_BLOCK];
	uint32_t nr_sums, nr_rows, nr_slots[64];
};

static int keep_sums(void *context, const struct memory_sums *sums)
{
	struct kept *kept = context;
	uint32_t i = 0;

	while (i < kept->nr_sums &&
	       (kept->sums[i].device_id != sums->device_id || kept->sums[i].space != sums->space))
		i++;
	assert_true(i < 8);
	kept->sums[i] = *sums;
	kept->nr_sums += i == kept->nr_sums;
	return 0;
}

static int keep_row(void *context, const struct memory_row *row)
{
	struct kept *kept = context;
	uint32_t i = 0;

	while (i < kept->nr_rows && memcmp(&kept->rows[i].key, &row->key, sizeof(row->key)) != 0)
		i++;
	assert_true(i < 256);
	kept->rows[i] = *row;
	kept->nr_rows += i == kept->nr_rows;
	return 0;
}

static int keep_slots(void *context, uint64_t block, const struct memory_slot *slots,
		      uint32_t count)
{
	struct kept *kept = context;

	assert_true(block < 64);
	memcpy(kept->slots[block], slots, count * sizeof(*slots));
	kept->nr_slots[block] = count;
	return 0;
}

/* Saves, and goes on with a fresh account of what was saved so far. */
static void restart(struct memory_account_fixture *fixture, struct kept *kept)
{
	const struct memory_account_sink sink = {keep_sums, keep_row, keep_slots, kept};

	assert_int_equal(memory_account_save(fixture->account, &sink), 0);
	memory_account_saved(fixture->account);
	memory_account_destroy(fixture->account);
	fixture->account = memory_account_create(&fixture->options);
	assert_non_null(fixture->account);
	for (uint32_t i = 0; i < kept->nr_sums; i++)
		assert_int_equal(memory_account_load_sums(fixture->account, &kept->sums[i]), 0);
	for (uint32_t i = 0; i < kept->nr_rows; i++)
		assert_int_equal(memory_account_load_row(fixture->account, &kept->rows[i]), 0);
	for (uint32_t block = 0; block < 64; block++)
		for (uint32_t i = 0; i < kept->nr_slots[block]; i++)
			assert_int_equal(
				memory_account_load_slot(fixture->account, &kept->slots[block][i]),
				0);
	assert_int_equal(memory_account_load_end(fixture->account), 0);
}

static void random_histories_come_out_as_in_the_plain_account(void **state)
{
	static struct memory_event events[EVENTS];
	struct memory_account_fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct plain plain = {0};

		make_history(events, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			plain_take(&plain, &events[i]);
		/* An event that moved by r places is at most 10 r ns out of order. */
		memory_account_fixture_limit(fixture,
					     (struct memory_account_options){.window_ns = 10 * 64});
		shuffle(events, 64, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			memory_account_fixture_add(fixture, &events[i]);
		memory_account_fixture_finish(fixture);
		assert_like(fixture, &plain);
	}
}

static void a_restart_at_any_point_changes_nothing(void **state)
{
	static struct memory_event events[EVENTS];
	static struct kept kept;
	struct memory_account_fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct plain plain = {0};
		uint64_t chance = seed;

		memset(&kept, 0, sizeof(kept));
		make_history(events, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			plain_take(&plain, &events[i]);
		memory_account_fixture_limit(
			fixture, (struct memory_account_options){.window_ns = 10 * 700});
		shuffle(events, 700, seed);
		for (uint32_t i = 0; i < EVENTS; i++) {
			memory_account_fixture_add(fixture, &events[i]);
			if (random_below(&chance, 50) == 0)
				restart(fixture, &kept);
		}
		restart(fixture, &kept);
		memory_account_fixture_finish(fixture);
		assert_like(fixture, &plain);
		/* The store forgets the slots of a process that has ended. */
		memset(kept.nr_slots, 0, sizeof(kept.nr_slots));
		restart(fixture, &kept);
		assert_int_equal(memory_account_fixture_device(fixture).live_bytes, plain.live);
	}
}

static void a_ramp_saves_only_what_changed(void **state)
{
	struct memory_account_fixture *fixture = *state;
	struct kept *kept = calloc(1, sizeof(*kept));
	const struct memory_account_sink sink = {keep_sums, keep_row, keep_slots, kept};

	assert_non_null(kept);
	memory_account_fixture_limit(fixture, (struct memory_account_options){.window_ns = 1});
	for (uint64_t i = 1; i <= 100; i++)
		memory_account_fixture_alloc(fixture, 10 * i, 0x1000 * i, 1, (uint32_t)i);
	assert_int_equal(memory_account_save(fixture->account, &sink), 0);
	memory_account_saved(fixture->account);
	assert_int_equal(kept->nr_rows, 99); /* the last one waits */
	memset(kept, 0, sizeof(*kept));
	memory_account_fixture_alloc(fixture, 2000, 0x1000000, 1, 1);
	assert_int_equal(memory_account_save(fixture->account, &sink), 0);
	assert_int_equal(kept->nr_rows, 1);
	assert_int_equal(kept->rows[0].key.stack_id, 100);
	free(kept);
}

static void what_no_account_saves_is_refused(void **state)
{
	struct memory_account_fixture *fixture = *state;
	struct memory_sums sums = {.space = MEMORY_SPACES};
	struct memory_row row = {.key = {.kind = MEMORY_KINDS}};
	struct memory_slot slot = {.index = UINT32_MAX, .state = MEMORY_SLOT_LIVE};

	assert_int_equal(memory_account_load_sums(fixture->account, &sums), -EINVAL);
	sums = (struct memory_sums){.device_id = RECORD_DEVICES_MAX};
	assert_int_equal(memory_account_load_sums(fixture->account, &sums), -EINVAL);
	sums = (struct memory_sums){.live_bytes = 2, .peak_bytes = 1};
	assert_int_equal(memory_account_load_sums(fixture->account, &sums), -EINVAL);
	assert_int_equal(memory_account_load_row(fixture->account, &row), -EINVAL);
	assert_int_equal(memory_account_load_slot(fixture->account, &slot), -EINVAL);
	slot = (struct memory_slot){.index = 1, .state = 3};
	assert_int_equal(memory_account_load_slot(fixture->account, &slot), -EINVAL);
	slot.state = MEMORY_SLOT_LIVE;
	assert_int_equal(memory_account_load_slot(fixture->account, &slot), 0);
	assert_int_equal(memory_account_load_slot(fixture->account, &slot), -EINVAL);
	slot.index = 2; /* the same address twice */
	assert_int_equal(memory_account_load_slot(fixture->account, &slot), -EINVAL);
	row = (struct memory_row){.key = {.kind = MEMORY_KIND_DEVICE}, .live_bytes = 1};
	assert_int_equal(memory_account_load_row(fixture->account, &row), 0);
	assert_int_equal(memory_account_load_row(fixture->account, &row), -EINVAL);
	assert_int_equal(memory_account_load_end(fixture->account), -EINVAL); /* no sums */
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, memory_account_fixture_set_up,                       \
					memory_account_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_histories_come_out_as_in_the_plain_account),
		TEST(a_restart_at_any_point_changes_nothing),
		TEST(a_ramp_saves_only_what_changed),
		TEST(what_no_account_saves_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
