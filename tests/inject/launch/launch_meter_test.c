#include "inject/launch/launch_meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/monotonic.h"
#include "tests/inject/test_ring.h"

#define BLOCKS 64u

struct fixture {
	struct test_ring ring;
	uint64_t now_ns;
};

/* The clock hardly moves while the counter runs, so that a cycle is far below a ns. Whatever interrupts this program,
 * no call is an outlier, and all times are 0. */
static void start(struct fixture *fixture, uint32_t period)
{
	launch_meter_init(period);
	fixture->now_ns = monotonic_ns() + 1;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init(&fixture->ring);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static _Atomic uint64_t *claim(struct fixture *fixture)
{
	int lane = record_ring_claim_lane(fixture->ring.guest);

	assert_true(lane >= 0);
	return record_ring_meter(fixture->ring.guest, (uint32_t)lane);
}

static void enter(struct fixture *fixture, struct launch_meter *meter, _Atomic uint64_t *to)
{
	launch_meter_stamp(meter);
	if (launch_meter_is_due(meter))
		launch_meter_turn(meter, to, fixture->now_ns);
	launch_meter_enter_part(meter, LAUNCH_METER_PYTHON);
	launch_meter_enter_part(meter, LAUNCH_METER_NATIVE);
	launch_meter_enter_part(meter, LAUNCH_METER_INTERN);
	launch_meter_enter_part(meter, LAUNCH_METER_ENTRY);
}

/* Returns whether the call was metered and counts. extra: cycles more than the call takes. */
static bool make_call(struct fixture *fixture, struct launch_meter *meter, _Atomic uint64_t *to,
		      uint64_t extra)
{
	enter(fixture, meter, to);
	bool metered = meter->on && !meter->tells_shares;
	if (meter->on) {
		meter->stamp -= extra;
		launch_meter_pause(meter);
	}
	if (meter->open) {
		launch_meter_go_on(meter);
		launch_meter_pause(meter);
		launch_meter_end(meter);
	}
	return metered;
}

static struct ledger_entry entry(struct fixture *fixture, enum ledger_reason reason)
{
	return test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, reason);
}

/* The third call after one that tells shares is one later in its block than the others. */
static void a_block_has_one_metered_call_and_places_take_turns(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};
	uint32_t seen[LAUNCH_METER_PERIOD] = {0}, nr = 0, nr_seen = 0;

	start(fixture, LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < BLOCKS * LAUNCH_METER_PERIOD; i++)
		if (make_call(fixture, &meter, to, 0)) {
			nr_seen += seen[i % LAUNCH_METER_PERIOD]++ == 0;
			nr++;
		}
	assert_int_equal(nr, BLOCKS);
	assert_true(nr_seen >= LAUNCH_METER_PERIOD * 3 / 4);
	for (uint32_t i = 0; i < LAUNCH_METER_PERIOD; i++)
		assert_true(seen[i] <= 2);
	assert_int_equal(entry(fixture, LEDGER_METER_ENTRY).count, BLOCKS);
	assert_int_equal(entry(fixture, LEDGER_METER_EXIT).count, BLOCKS);
	assert_int_equal(entry(fixture, LEDGER_METER).count, BLOCKS * LAUNCH_METER_PERIOD);
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).count, 1);
	assert_int_equal(entry(fixture, LEDGER_METER_OUTLIER).count, 0);
}

/* One metered call of four tells shares, the first one, too. The others have no stamp between their parts, so their time
 * is divided as that of the former. */
static void calls_that_tell_shares_divide_the_others(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};
	uint32_t nr_shares = 0, nr = 0;

	launch_meter_init(LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < 40 * LAUNCH_METER_PERIOD; i++) {
		fixture->now_ns = monotonic_ns();
		launch_meter_stamp(&meter);
		if (launch_meter_is_due(&meter))
			launch_meter_turn(&meter, to, fixture->now_ns);
		launch_meter_enter_part(&meter, LAUNCH_METER_NATIVE);
		if (meter.on)
			meter.stamp -= 20000;
		if (!meter.on)
			continue;
		nr_shares += meter.tells_shares;
		nr += !meter.tells_shares;
		assert_int_equal(meter.part,
				 meter.tells_shares ? LAUNCH_METER_NATIVE : LAUNCH_METER_ENTRY);
		launch_meter_pause(&meter);
		launch_meter_go_on(&meter);
		launch_meter_pause(&meter);
		launch_meter_end(&meter);
	}
	assert_int_equal(nr_shares, (nr + 2) / 3);
	assert_true(entry(fixture, LEDGER_METER_NATIVE).ns >
		    9 * (entry(fixture, LEDGER_METER).ns - entry(fixture, LEDGER_METER_NATIVE).ns));
}

/* As in a thread whose calls that tell shares are all interrupted. */
static void without_shares_all_time_is_the_entrys(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	launch_meter_init(LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < 40 * LAUNCH_METER_PERIOD; i++) {
		fixture->now_ns = monotonic_ns();
		enter(fixture, &meter, to);
		if (!meter.on)
			continue;
		meter.stamp -= meter.tells_shares ? 1ull << 40 : 20000;
		launch_meter_pause(&meter);
		launch_meter_end(&meter);
	}
	assert_true(entry(fixture, LEDGER_METER).count > 0);
	assert_true(entry(fixture, LEDGER_METER).ns > 0);
	assert_int_equal(entry(fixture, LEDGER_METER_ENTRY).ns, entry(fixture, LEDGER_METER).ns);
}

/* A call within another, or one that counts nowhere, is not the metered one: the next is. */
static void a_call_that_does_not_count_is_not_metered(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	while (!meter.is_next)
		make_call(fixture, &meter, to, 0);
	for (uint32_t i = 0; i < 3; i++) {
		launch_meter_stamp(&meter);
		assert_true(meter.open);
		launch_meter_end(&meter);
		assert_true(meter.is_next && !meter.on);
	}
	assert_int_equal(meter.turn, 0);
	make_call(fixture, &meter, to, 0);
	assert_int_equal(meter.turn, 1);
	assert_int_equal(meter.metered, 0); /* it told shares */
	assert_true(make_call(fixture, &meter, to, 0));
	assert_int_equal(meter.metered, 1);
}

static void a_full_meter_reads_every_call(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, 1);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(make_call(fixture, &meter, to, 0));
	assert_int_equal(entry(fixture, LEDGER_METER_PYTHON).count, 100);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 100);
}

/* A metered call stands for its block of 64, and neither is added before the block is over. */
static void calls_and_time_are_of_the_same_blocks(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 1; i <= BLOCKS * LAUNCH_METER_PERIOD; i++) {
		make_call(fixture, &meter, to, 0);
		const uint64_t calls = entry(fixture, LEDGER_METER).count;
		assert_true(calls <= i);
		assert_true(calls + 2 * LAUNCH_METER_PERIOD > i);
		assert_int_equal(entry(fixture, LEDGER_METER_THREADS).ns,
				 calls ? (calls - 1) * 1000 : 0);
		fixture->now_ns += 1000;
	}
	assert_int_equal(entry(fixture, LEDGER_METER).count, BLOCKS * LAUNCH_METER_PERIOD);
}

static void a_short_thread_alone_adds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < LAUNCH_METER_PERIOD / 2 + 1; i++)
		assert_false(make_call(fixture, &meter, to, 0));
	assert_true(make_call(fixture, &meter, to, 0));
	launch_meter_hand_on(&meter, fixture->now_ns + 1);
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).count, 1);
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).ns, 0);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 0);
}

/* Threads that come one after the other, with one state, share blocks. What no thread did is no thread's time. */
static void short_threads_hand_their_blocks_on(void **state)
{
	struct fixture *fixture = *state;
	_Atomic uint64_t *lanes[] = {claim(fixture), claim(fixture), claim(fixture)};

	for (uint32_t each = 1; each <= 130; each = each < 4 ? each + 1 : each * 2 + 1) {
		struct launch_meter meter = {0};
		const uint64_t before_ns = entry(fixture, LEDGER_METER_THREADS).ns;
		const uint64_t before = entry(fixture, LEDGER_METER).count;

		start(fixture, LAUNCH_METER_PERIOD);
		for (uint32_t thread = 0; thread < 10 * LAUNCH_METER_PERIOD; thread++) {
			for (uint32_t i = 0; i < each; i++) {
				make_call(fixture, &meter, lanes[thread % 3], 0);
				fixture->now_ns += 1000;
			}
			launch_meter_hand_on(&meter, fixture->now_ns);
			fixture->now_ns += 77777;
		}
		const uint64_t calls = entry(fixture, LEDGER_METER).count - before;
		const uint64_t all = 10ull * LAUNCH_METER_PERIOD * each;
		assert_in_range(calls, each == 1 ? 1 : all - LAUNCH_METER_PERIOD, all);
		assert_in_range(entry(fixture, LEDGER_METER_THREADS).ns - before_ns,
				(calls - 1) * 1000, calls * 1000);
	}
}

static void a_full_meter_counts_threads_up_to_their_ends(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, 1);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t thread = 0; thread < 3; thread++) {
		for (uint32_t i = 0; i < 2; i++) {
			assert_true(make_call(fixture, &meter, to, 0));
			fixture->now_ns += 10;
		}
		launch_meter_hand_on(&meter, fixture->now_ns);
		fixture->now_ns += 77777;
	}
	assert_int_equal(entry(fixture, LEDGER_METER).count, 6);
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).ns, 60);
}

static void an_interrupted_call_stands_for_itself_and_the_next_takes_its_place(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};
	uint32_t metered = 0;

	start(fixture, LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < BLOCKS * LAUNCH_METER_PERIOD; i++)
		metered += make_call(fixture, &meter, to, i < LAUNCH_METER_PERIOD ? 1ull << 48 : 0);
	assert_int_equal(entry(fixture, LEDGER_METER_OUTLIER).count,
			 metered - entry(fixture, LEDGER_METER_ENTRY).count);
	assert_int_equal(entry(fixture, LEDGER_METER_OUTLIER).count,
			 LAUNCH_METER_PERIOD / 2 * 3 / 4);
	assert_true(entry(fixture, LEDGER_METER_OUTLIER).ns > LAUNCH_METER_OUTLIER_NS);
	assert_int_equal(entry(fixture, LEDGER_METER).count,
			 LAUNCH_METER_PERIOD * entry(fixture, LEDGER_METER_ENTRY).count);
	assert_int_equal(entry(fixture, LEDGER_METER_ENTRY).count, BLOCKS);
}

/* A thread's time is exact, because the caller gives the times. */
static void threads_add_up(void **state)
{
	struct fixture *fixture = *state;

	start(fixture, 1);
	for (uint64_t thread = 1; thread <= 3; thread++) {
		struct launch_meter meter = {0};
		_Atomic uint64_t *to = claim(fixture);

		for (uint32_t i = 0; i < 10; i++) {
			make_call(fixture, &meter, to, 0);
			fixture->now_ns += thread;
		}
	}
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).count, 3);
	assert_int_equal(entry(fixture, LEDGER_METER_THREADS).ns, 9 * (1 + 2 + 3));
	assert_int_equal(entry(fixture, LEDGER_METER).count, 30);
}

/* It is neither the lane with most calls nor that with the largest share. */
static void the_lane_that_paid_most_has_its_own_entries(void **state)
{
	static const uint64_t calls[] = {6400, 640, 64}, each_ns[] = {10, 200, 900};
	static const uint64_t thread_ns[] = {5000000, 7000000, 60000};
	struct fixture *fixture = *state;

	for (uint32_t lane = 0; lane < 3; lane++) {
		_Atomic uint64_t *words = claim(fixture);

		words[RECORD_METER_CALLS] = calls[lane];
		words[RECORD_METER_NATIVE_NS] = calls[lane] * each_ns[lane] - 1000;
		words[RECORD_METER_EXIT_NS] = 1000;
		words[RECORD_METER_STACKS] = lane + 3;
		words[RECORD_METER_STACK_NS] = 50;
		words[RECORD_METER_THREAD_NS] = thread_ns[lane];
	}
	assert_int_equal(entry(fixture, LEDGER_METER_BUSIEST).count, 640);
	assert_int_equal(entry(fixture, LEDGER_METER_BUSIEST).ns, 640 * 200 + 50);
	assert_int_equal(entry(fixture, LEDGER_METER_BUSIEST_THREAD).count, 4);
	assert_int_equal(entry(fixture, LEDGER_METER_BUSIEST_THREAD).ns, 7000000);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 6400 + 640 + 64);
}

static void the_parts_are_the_whole(void **state)
{
	static const enum ledger_reason parts[] = {LEDGER_METER_ENTRY, LEDGER_METER_NATIVE,
						   LEDGER_METER_PYTHON, LEDGER_METER_INTERN,
						   LEDGER_METER_EXIT};
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};
	uint64_t sum_ns = 0;

	launch_meter_init(LAUNCH_METER_PERIOD);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < BLOCKS * LAUNCH_METER_PERIOD; i++) {
		fixture->now_ns = monotonic_ns();
		make_call(fixture, &meter, to, 20000);
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		assert_int_equal(entry(fixture, parts[i]).ns % LAUNCH_METER_PERIOD, 0);
		sum_ns += entry(fixture, parts[i]).ns;
	}
	assert_true(sum_ns > 0);
	assert_int_equal(entry(fixture, LEDGER_METER).ns, sum_ns);
}

static void a_call_without_exit_is_metered_up_to_its_end(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, 1);
	_Atomic uint64_t *to = claim(fixture);
	for (uint32_t i = 0; i < 3; i++) {
		enter(fixture, &meter, to);
		launch_meter_pause(&meter);
	}
	assert_int_equal(entry(fixture, LEDGER_METER_ENTRY).count, 2); /* the third is open */
}

static void new_stacks_are_counted_on_calls_that_are_not_metered(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, LAUNCH_METER_PERIOD);
	launch_meter_add_stack(&meter, launch_meter_cycles(), 1); /* no lane: not counted */
	_Atomic uint64_t *to = claim(fixture);
	make_call(fixture, &meter, to, 0);
	for (uint32_t i = 0; i < 5; i++)
		launch_meter_add_stack(&meter, launch_meter_cycles() - (1ull << 48), 1);
	launch_meter_add_stack(&meter, launch_meter_cycles(), 0);
	assert_int_equal(entry(fixture, LEDGER_METER_STACKS).count, 5);
	assert_true(entry(fixture, LEDGER_METER_STACKS).ns > 0);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 0);
}

static void a_new_stack_is_no_part_of_its_call(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, 1);
	_Atomic uint64_t *to = claim(fixture);
	enter(fixture, &meter, to);
	meter.stamp -= 1ull << 48;
	launch_meter_add_stack(&meter, launch_meter_cycles() - (1ull << 48), 1);
	launch_meter_pause(&meter);
	launch_meter_end(&meter);
	assert_int_equal(entry(fixture, LEDGER_METER_OUTLIER).count, 0);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 1);
	assert_true(entry(fixture, LEDGER_METER_STACKS).ns > LAUNCH_METER_OUTLIER_NS);
}

static void a_counter_that_jumps_adds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct launch_meter meter = {0};

	start(fixture, 1);
	_Atomic uint64_t *to = claim(fixture);
	make_call(fixture, &meter, to, 1ull << 60);
	make_call(fixture, &meter, to, 0 - (1ull << 40));
	assert_int_equal(entry(fixture, LEDGER_METER_OUTLIER).count, 0);
	assert_int_equal(entry(fixture, LEDGER_METER).count, 2);
	assert_int_equal(entry(fixture, LEDGER_METER).ns, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_block_has_one_metered_call_and_places_take_turns),
		TEST(calls_that_tell_shares_divide_the_others),
		TEST(without_shares_all_time_is_the_entrys),
		TEST(a_call_that_does_not_count_is_not_metered),
		TEST(a_full_meter_reads_every_call),
		TEST(calls_and_time_are_of_the_same_blocks),
		TEST(a_short_thread_alone_adds_nothing),
		TEST(short_threads_hand_their_blocks_on),
		TEST(a_full_meter_counts_threads_up_to_their_ends),
		TEST(an_interrupted_call_stands_for_itself_and_the_next_takes_its_place),
		TEST(threads_add_up),
		TEST(the_lane_that_paid_most_has_its_own_entries),
		TEST(the_parts_are_the_whole),
		TEST(a_call_without_exit_is_metered_up_to_its_end),
		TEST(new_stacks_are_counted_on_calls_that_are_not_metered),
		TEST(a_new_stack_is_no_part_of_its_call),
		TEST(a_counter_that_jumps_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
