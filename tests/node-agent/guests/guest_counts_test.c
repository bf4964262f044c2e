#include "node-agent/guests/guest_counts.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest_fixture.h"
#include "proto/ring/record_ring_layout.h"

struct fixture {
	struct record_ring *guest, *agent;
	struct ring_layout layout;
	uint8_t *raw;
	int fd;
	struct guest_counts counts;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	assert_int_equal(record_ring_create(&guest_fixture_sizes, &fixture.guest, &fixture.fd), 0);
	assert_int_equal(record_ring_map(fixture.fd, &fixture.agent), 0);
	assert_int_equal(ring_layout(&guest_fixture_sizes, &fixture.layout), 0);
	fixture.raw = mmap(NULL, fixture.layout.size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fixture.fd, 0);
	fixture.counts = (struct guest_counts){0};
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	guest_counts_fini(&fixture->counts);
	munmap(fixture->raw, fixture->layout.size);
	record_ring_unmap(fixture->agent);
	record_ring_destroy(fixture->guest);
	close(fixture->fd);
	return 0;
}

static struct ring_counter *counter(struct fixture *fixture, uint32_t device_id,
				    enum ledger_reason reason)
{
	return (struct ring_counter *)(fixture->raw + fixture->layout.counters) +
	       device_id * RING_REASONS + reason;
}

static void counters_that_grow_are_taken(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	assert_int_equal(fixture->counts.nr, 0);
	for (int i = 1; i <= 3; i++) {
		record_ring_count(fixture->guest, 0, LEDGER_RECORDS, 2, 10);
		record_ring_count(fixture->guest, (uint32_t)i, LEDGER_INVALID_TIME, 1, 0);
		assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
		assert_int_equal(fixture->counts.nr, 1 + i);
		assert_int_equal(fixture->counts.entries[0].count, 2 * i);
		assert_int_equal(fixture->counts.entries[0].ns, 10 * i);
	}
}

static void counters_that_run_backwards_are_believed_no_more(void **state)
{
	struct fixture *fixture = *state;

	record_ring_count(fixture->guest, 0, LEDGER_RECORDS, 5, 50);
	record_ring_count(fixture->guest, 1, LEDGER_RECORDS, 7, 70);
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	counter(fixture, 0, LEDGER_RECORDS)->count = 4;
	counter(fixture, 1, LEDGER_RECORDS)->count = 9;
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), -EPROTO);
	assert_int_equal(fixture->counts.nr, 2);
	assert_int_equal(fixture->counts.entries[0].count, 5);
	assert_int_equal(fixture->counts.entries[1].count, 7);
	/* Said once, and for good. */
	counter(fixture, 0, LEDGER_RECORDS)->count = 6;
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	assert_int_equal(fixture->counts.entries[0].count, 5);
}

static void a_counter_that_is_zero_again_ran_backwards(void **state)
{
	struct fixture *fixture = *state;

	record_ring_count(fixture->guest, 1, LEDGER_RECORDS, 7, 0);
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	counter(fixture, 1, LEDGER_RECORDS)->count = 0;
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), -EPROTO);
}

/* As where a mark is the first record, and is seen as a launch until it is told from one. */
static void launches_may_be_none_again(void **state)
{
	struct fixture *fixture = *state;

	record_ring_count(fixture->guest, 1, LEDGER_RECORDS, 7, 0);
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	/* By hand: the ring works launches out itself. */
	free(fixture->counts.entries);
	fixture->counts.entries = calloc(2, sizeof(struct ledger_entry));
	fixture->counts.entries[0] =
		(struct ledger_entry){.device_id = 1, .reason = LEDGER_RECORDS, .count = 7};
	fixture->counts.entries[fixture->counts.nr++] = (struct ledger_entry){
		.device_id = LEDGER_DEVICE_NONE, .reason = LEDGER_LAUNCHES, .count = 1};
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	assert_int_equal(fixture->counts.nr, 1);
	assert_int_equal(fixture->counts.entries[0].count, 7);
}

/* They are told of one lane, and that may be another one now. */
static void the_lane_that_paid_most_may_change(void **state)
{
	static const uint64_t calls[] = {6400, 64}, ns[] = {1000, 2000};
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 2; i++) {
		int lane = record_ring_claim_lane(fixture->guest);

		assert_true(lane >= 0);
		_Atomic uint64_t *words = record_ring_meter(fixture->guest, (uint32_t)lane);
		words[RECORD_METER_CALLS] = calls[i];
		words[RECORD_METER_ENTRY_NS] = ns[i];
		words[RECORD_METER_THREAD_NS] = 10 * ns[1 - i];
		assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
		assert_false(fixture->counts.given_up);
		for (uint32_t e = 0; e < fixture->counts.nr; e++)
			if (fixture->counts.entries[e].reason == LEDGER_METER_BUSIEST)
				assert_int_equal(fixture->counts.entries[e].count, calls[i]);
	}
}

static void a_counter_that_no_process_reaches_is_not_taken(void **state)
{
	struct fixture *fixture = *state;

	record_ring_count(fixture->guest, 0, LEDGER_RECORDS, 5, 50);
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), 0);
	counter(fixture, 0, LEDGER_RECORD_RING_FULL)->count = UINT64_MAX;
	assert_int_equal(guest_counts_read(&fixture->counts, fixture->agent), -EPROTO);
	assert_int_equal(fixture->counts.nr, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_that_grow_are_taken),
		TEST(counters_that_run_backwards_are_believed_no_more),
		TEST(a_counter_that_is_zero_again_ran_backwards),
		TEST(launches_may_be_none_again),
		TEST(the_lane_that_paid_most_may_change),
		TEST(a_counter_that_no_process_reaches_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
