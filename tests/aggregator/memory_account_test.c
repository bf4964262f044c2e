/* The account of memory against the plainest one there can be: all events in a list, sorted, taken one by one. */
#include "aggregator/memory_account.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/memory_kind.h"
#include "proto/record.h"

#define STACKS 8u
#define EVENTS 4000u

struct fixture {
	struct memory_account *account;
	struct memory_account_options options;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->options.track_changes = true;
	fixture->account = memory_account_create(&fixture->options);
	*state = fixture;
	return fixture->account ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	memory_account_destroy(fixture->account);
	free(fixture);
	return 0;
}

static void limit(struct fixture *fixture, struct memory_account_options options)
{
	fixture->options = options;
	fixture->options.track_changes = true;
	memory_account_destroy(fixture->account);
	fixture->account = memory_account_create(&fixture->options);
	assert_non_null(fixture->account);
}

static struct memory_event event_at(uint64_t time_ns, uint64_t address)
{
	return (struct memory_event){
		.time_ns = time_ns,
		.address = address,
		.correlation_id = (uint32_t)time_ns,
		.stack_id = 1,
		.tid = 7,
		.kind = MEMORY_KIND_DEVICE,
		.matched = 1,
	};
}

static void add(struct fixture *fixture, const struct memory_event *event)
{
	assert_int_equal(memory_account_add(fixture->account, event), 0);
}

static void alloc(struct fixture *fixture, uint64_t time_ns, uint64_t address, uint64_t bytes,
		  uint32_t stack_id)
{
	struct memory_event event = event_at(time_ns, address);

	event.bytes = bytes;
	event.stack_id = stack_id;
	add(fixture, &event);
}

static void release(struct fixture *fixture, uint64_t time_ns, uint64_t address)
{
	struct memory_event event = event_at(time_ns, address);

	event.is_free = 1;
	add(fixture, &event);
}

static void finish(struct fixture *fixture)
{
	assert_int_equal(memory_account_finish(fixture->account), 0);
	assert_int_equal(memory_account_waiting(fixture->account), 0);
}

/* Zeros if there are none. */
static struct memory_sums sums_of(const struct fixture *fixture, uint32_t device_id,
				  enum memory_space space)
{
	uint32_t count;
	const struct memory_sums *sums = memory_account_sums(fixture->account, &count);

	for (uint32_t i = 0; i < count; i++)
		if (sums[i].device_id == device_id && sums[i].space == space)
			return sums[i];
	return (struct memory_sums){0};
}

static struct memory_sums device_sums(const struct fixture *fixture)
{
	return sums_of(fixture, 0, MEMORY_SPACE_DEVICE);
}

/* Of a stack on device 0, all threads and kinds. */
static struct memory_row row_of(const struct fixture *fixture, uint32_t stack_id)
{
	uint32_t count;
	const struct memory_row *rows = memory_account_rows(fixture->account, &count);
	struct memory_row sum = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].key.stack_id != stack_id)
			continue;
		sum.live_count += rows[i].live_count;
		sum.live_bytes += rows[i].live_bytes;
		sum.peak_count += rows[i].peak_count;
		sum.peak_bytes += rows[i].peak_bytes;
	}
	return sum;
}

static void the_peak_is_what_lived_at_once_and_when_it_was_first_reached(void **state)
{
	struct fixture *fixture = *state;

	alloc(fixture, 10, 0x1000, 100, 1);
	alloc(fixture, 20, 0x2000, 50, 2);
	release(fixture, 30, 0x1000);
	alloc(fixture, 40, 0x3000, 90, 3);
	release(fixture, 50, 0x3000);
	alloc(fixture, 60, 0x3000, 100, 3);
	finish(fixture);
	struct memory_sums sums = device_sums(fixture);
	assert_int_equal(sums.allocs, 4);
	assert_int_equal(sums.alloc_bytes, 340);
	assert_int_equal(sums.frees, 2);
	assert_int_equal(sums.free_bytes, 190);
	assert_int_equal(sums.live_count, 2);
	assert_int_equal(sums.live_bytes, 150);
	assert_int_equal(sums.peak_bytes, 150);
	assert_int_equal(sums.peak_ns, 20); /* reached again at 60 */
	assert_int_equal(sums.first_ns, 10);
	assert_int_equal(sums.last_ns, 60);
	assert_int_equal(row_of(fixture, 1).peak_bytes, 100);
	assert_int_equal(row_of(fixture, 2).peak_bytes, 50);
	assert_int_equal(row_of(fixture, 3).peak_bytes, 0);
	assert_int_equal(row_of(fixture, 1).live_bytes, 0);
	assert_int_equal(row_of(fixture, 2).live_bytes, 50);
	assert_int_equal(row_of(fixture, 3).live_bytes, 100);
}

static void devices_and_spaces_have_accounts_of_their_own(void **state)
{
	static const struct {
		uint32_t device_id;
		uint8_t kind;
		enum memory_space space;
	} cases[] = {
		{0, MEMORY_KIND_DEVICE, MEMORY_SPACE_DEVICE},
		{1, MEMORY_KIND_ARRAY, MEMORY_SPACE_DEVICE},
		{2, MEMORY_KIND_POOL, MEMORY_SPACE_DEVICE},
		{0, MEMORY_KIND_MANAGED, MEMORY_SPACE_MANAGED},
		{0, MEMORY_KIND_PINNED, MEMORY_SPACE_HOST},
	};
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_event event = event_at(1 + i, 0x1000 * (1 + i));

		event.device_id = cases[i].device_id;
		event.kind = cases[i].kind;
		event.bytes = 10 + i;
		add(fixture, &event);
	}
	finish(fixture);
	for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_sums sums = sums_of(fixture, cases[i].device_id, cases[i].space);

		assert_int_equal(sums.live_bytes, 10 + i);
		assert_int_equal(sums.peak_bytes, 10 + i);
		assert_int_equal(sums.peak_ns, 1 + i);
	}
	assert_int_equal(sums_of(fixture, 0, MEMORY_SPACE_DEVICE).allocs, 1);
}

static void the_hosts_memory_is_of_no_device(void **state)
{
	struct fixture *fixture = *state;
	struct memory_event event = event_at(1, 0x1000);

	event.device_id = 1;
	event.kind = MEMORY_KIND_PINNED;
	event.bytes = 10;
	add(fixture, &event);
	event.address = 0x2000;
	event.device_id = 2;
	event.kind = 200; /* no kind */
	add(fixture, &event);
	finish(fixture);
	assert_int_equal(sums_of(fixture, 0, MEMORY_SPACE_HOST).live_bytes, 20);
	assert_int_equal(sums_of(fixture, 1, MEMORY_SPACE_HOST).allocs, 0);
}

static void a_free_takes_from_the_allocations_device_whatever_it_claims(void **state)
{
	struct fixture *fixture = *state;
	struct memory_event event = event_at(20, 0x1000);

	alloc(fixture, 10, 0x1000, 100, 1);
	event.is_free = 1;
	event.device_id = 3;
	event.kind = MEMORY_KIND_POOL;
	event.bytes = 5;
	event.tid = 99;
	event.stack_id = 4;
	add(fixture, &event);
	finish(fixture);
	assert_int_equal(device_sums(fixture).live_bytes, 0);
	assert_int_equal(device_sums(fixture).free_bytes, 100);
	assert_int_equal(row_of(fixture, 1).live_count, 0);
	assert_int_equal(sums_of(fixture, 3, MEMORY_SPACE_DEVICE).frees, 0);
}

static void a_free_without_an_allocation_is_counted(void **state)
{
	struct fixture *fixture = *state;

	release(fixture, 10, 0x5000);
	alloc(fixture, 20, 0x1000, 100, 1);
	release(fixture, 30, 0x1000);
	release(fixture, 40, 0x1000);
	finish(fixture);
	assert_int_equal(device_sums(fixture).unknown_frees, 2);
	assert_int_equal(device_sums(fixture).frees, 3);
	assert_int_equal(device_sums(fixture).live_bytes, 0);
	assert_int_equal(device_sums(fixture).peak_bytes, 100);
}

static void an_allocation_that_is_reported_twice_counts_once(void **state)
{
	struct fixture *fixture = *state;

	alloc(fixture, 10, 0x1000, 100, 1);
	alloc(fixture, 10, 0x1000, 100, 1);
	finish(fixture);
	assert_int_equal(device_sums(fixture).allocs, 1);
	assert_int_equal(device_sums(fixture).duplicates, 1);
	assert_int_equal(device_sums(fixture).replaced, 0);
	assert_int_equal(device_sums(fixture).live_bytes, 100);
}

static void an_allocation_in_anothers_place_ends_it(void **state)
{
	struct fixture *fixture = *state;

	alloc(fixture, 10, 0x1000, 100, 1);
	alloc(fixture, 20, 0x1000, 30, 2);
	release(fixture, 20 + MEMORY_ACCOUNT_OWED_NS + 1, 0x1000);
	finish(fixture);
	assert_int_equal(device_sums(fixture).replaced, 1);
	assert_int_equal(device_sums(fixture).peak_bytes, 100);
	assert_int_equal(device_sums(fixture).live_bytes, 0);
	assert_int_equal(device_sums(fixture).unknown_frees, 0);
}

static void a_free_timed_a_little_late_belongs_to_the_one_before(void **state)
{
	struct fixture *fixture = *state;

	alloc(fixture, 10, 0x1000, 100, 1);
	alloc(fixture, 20, 0x1000, 30, 2);
	release(fixture, 21, 0x1000);
	finish(fixture);
	assert_int_equal(device_sums(fixture).replaced, 0);
	assert_int_equal(device_sums(fixture).live_bytes, 30);
	assert_int_equal(row_of(fixture, 2).live_count, 1);
	assert_int_equal(device_sums(fixture).peak_bytes, 100);
}

static void events_are_taken_in_order_within_the_window(void **state)
{
	struct fixture *fixture = *state;

	limit(fixture, (struct memory_account_options){.window_ns = 1000});
	release(fixture, 900, 0x1000);
	alloc(fixture, 500, 0x1000, 100, 1);
	assert_int_equal(memory_account_waiting(fixture->account), 2);
	alloc(fixture, 1501, 0x2000, 1, 1);
	assert_int_equal(memory_account_waiting(fixture->account), 2); /* the first was taken */
	alloc(fixture, 400, 0x3000, 7, 2);                             /* before what was taken */
	assert_int_equal(memory_account_waiting(fixture->account), 2);
	finish(fixture);
	assert_int_equal(device_sums(fixture).late, 1);
	assert_int_equal(device_sums(fixture).unknown_frees, 0);
	assert_int_equal(device_sums(fixture).live_bytes, 8);
	assert_int_equal(device_sums(fixture).first_ns, 400);
}

static void the_window_holds_no_more_than_it_may(void **state)
{
	struct fixture *fixture = *state;

	limit(fixture, (struct memory_account_options){.waiting_max = 10});
	for (uint64_t i = 0; i < 100; i++) {
		alloc(fixture, 1000 + i, 0x1000 * (1 + i), 1, 1);
		assert_true(memory_account_waiting(fixture->account) <= 10);
	}
	assert_int_equal(device_sums(fixture).allocs, 90);
	finish(fixture);
	assert_int_equal(device_sums(fixture).allocs, 100);
	assert_int_equal(device_sums(fixture).late, 0);
}

static void more_live_allocations_than_the_limit_are_counted(void **state)
{
	struct fixture *fixture = *state;

	limit(fixture, (struct memory_account_options){.live_max = 3});
	for (uint64_t i = 1; i <= 5; i++)
		alloc(fixture, i, 0x1000 * i, 10, 1);
	for (uint64_t i = 1; i <= 5; i++)
		release(fixture, 10 + i, 0x1000 * i);
	alloc(fixture, 20, 0x9000, 1, 1);
	alloc(fixture, 21, 0, 1, 1); /* no address */
	finish(fixture);
	assert_int_equal(device_sums(fixture).untracked, 3);
	assert_int_equal(device_sums(fixture).unknown_frees, 2);
	assert_int_equal(device_sums(fixture).peak_bytes, 30);
	assert_int_equal(device_sums(fixture).live_bytes, 1);
}

static void sums_stick_at_their_maximum(void **state)
{
	struct fixture *fixture = *state;

	alloc(fixture, 1, 0x1000, UINT64_MAX, 1);
	alloc(fixture, 2, 0x2000, UINT64_MAX, 2);
	release(fixture, 3, 0x1000);
	release(fixture, 4, 0x2000);
	alloc(fixture, 5, 0x3000, 1, 3);
	finish(fixture);
	assert_true(device_sums(fixture).alloc_bytes == MEMORY_ACCOUNT_STUCK);
	assert_true(device_sums(fixture).live_bytes == MEMORY_ACCOUNT_STUCK);
	assert_true(device_sums(fixture).peak_bytes == MEMORY_ACCOUNT_STUCK);
	assert_int_equal(device_sums(fixture).live_count, 1);
	assert_int_equal(row_of(fixture, 3).live_bytes, 1);
}

static void devices_beyond_all_rows_are_one(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 100; i++) {
		struct memory_event event = event_at(1 + i, 0x1000 * (1 + i));

		event.device_id = i < 50 ? (uint32_t)(RECORD_DEVICES_MAX + i) : UINT32_MAX;
		event.bytes = 1;
		add(fixture, &event);
	}
	finish(fixture);
	assert_int_equal(sums_of(fixture, RECORD_DEVICES_MAX - 1, MEMORY_SPACE_DEVICE).live_bytes,
			 100);
}

/* --- against the plain account --- */

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

		events[i] = event_at(1000 + 10ull * i, 0x1000ull * place);
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

static void assert_like(const struct fixture *fixture, const struct plain *plain)
{
	struct memory_sums sums = device_sums(fixture);

	assert_int_equal(sums.live_bytes, plain->live);
	assert_int_equal(sums.peak_bytes, plain->peak);
	assert_int_equal(sums.peak_ns, plain->peak_ns);
	assert_int_equal(sums.unknown_frees, plain->unknown);
	assert_int_equal(sums.late, 0);
	assert_int_equal(sums.replaced, 0);
	for (uint32_t stack_id = 1; stack_id < STACKS; stack_id++) {
		assert_int_equal(row_of(fixture, stack_id).live_bytes, plain->by_stack[stack_id]);
		assert_int_equal(row_of(fixture, stack_id).peak_bytes, plain->at_peak[stack_id]);
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
static void restart(struct fixture *fixture, struct kept *kept)
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
	struct fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct plain plain = {0};

		make_history(events, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			plain_take(&plain, &events[i]);
		/* An event that moved by r places is at most 10 r ns out of order. */
		limit(fixture, (struct memory_account_options){.window_ns = 10 * 64});
		shuffle(events, 64, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			add(fixture, &events[i]);
		finish(fixture);
		assert_like(fixture, &plain);
	}
}

static void a_restart_at_any_point_changes_nothing(void **state)
{
	static struct memory_event events[EVENTS];
	static struct kept kept;
	struct fixture *fixture = *state;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct plain plain = {0};
		uint64_t chance = seed;

		memset(&kept, 0, sizeof(kept));
		make_history(events, seed);
		for (uint32_t i = 0; i < EVENTS; i++)
			plain_take(&plain, &events[i]);
		limit(fixture, (struct memory_account_options){.window_ns = 10 * 700});
		shuffle(events, 700, seed);
		for (uint32_t i = 0; i < EVENTS; i++) {
			add(fixture, &events[i]);
			if (random_below(&chance, 50) == 0)
				restart(fixture, &kept);
		}
		restart(fixture, &kept);
		finish(fixture);
		assert_like(fixture, &plain);
		/* The store forgets the slots of a process that has ended. */
		memset(kept.nr_slots, 0, sizeof(kept.nr_slots));
		restart(fixture, &kept);
		assert_int_equal(device_sums(fixture).live_bytes, plain.live);
	}
}

static void a_ramp_saves_only_what_changed(void **state)
{
	struct fixture *fixture = *state;
	struct kept *kept = calloc(1, sizeof(*kept));
	const struct memory_account_sink sink = {keep_sums, keep_row, keep_slots, kept};

	assert_non_null(kept);
	limit(fixture, (struct memory_account_options){.window_ns = 1});
	for (uint64_t i = 1; i <= 100; i++)
		alloc(fixture, 10 * i, 0x1000 * i, 1, (uint32_t)i);
	assert_int_equal(memory_account_save(fixture->account, &sink), 0);
	memory_account_saved(fixture->account);
	assert_int_equal(kept->nr_rows, 99); /* the last one waits */
	memset(kept, 0, sizeof(*kept));
	alloc(fixture, 2000, 0x1000000, 1, 1);
	assert_int_equal(memory_account_save(fixture->account, &sink), 0);
	assert_int_equal(kept->nr_rows, 1);
	assert_int_equal(kept->rows[0].key.stack_id, 100);
	free(kept);
}

static void what_no_account_saves_is_refused(void **state)
{
	struct fixture *fixture = *state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_what_lived_at_once_and_when_it_was_first_reached),
		TEST(devices_and_spaces_have_accounts_of_their_own),
		TEST(the_hosts_memory_is_of_no_device),
		TEST(a_free_takes_from_the_allocations_device_whatever_it_claims),
		TEST(a_free_without_an_allocation_is_counted),
		TEST(an_allocation_that_is_reported_twice_counts_once),
		TEST(an_allocation_in_anothers_place_ends_it),
		TEST(a_free_timed_a_little_late_belongs_to_the_one_before),
		TEST(events_are_taken_in_order_within_the_window),
		TEST(the_window_holds_no_more_than_it_may),
		TEST(more_live_allocations_than_the_limit_are_counted),
		TEST(sums_stick_at_their_maximum),
		TEST(devices_beyond_all_rows_are_one),
		TEST(random_histories_come_out_as_in_the_plain_account),
		TEST(a_restart_at_any_point_changes_nothing),
		TEST(a_ramp_saves_only_what_changed),
		TEST(what_no_account_saves_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
