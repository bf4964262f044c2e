/* The collective lane of a record ring. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/ring/record_ring_layout.h"
#include "record_ring_fixture.h"

#define PLACES 16u

static struct record_ring_fixture pair;
static struct record_ring_snapshot snapshot;
static struct record_ring_sizes sizes;

static int set_up(void **state)
{
	(void)state;
	sizes = record_ring_fixture_small;
	sizes.collectives = PLACES;
	pair = record_ring_fixture_open(&sizes);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_ring_fixture_close(&pair);
	return 0;
}

static bool push(uint64_t count)
{
	return record_ring_push_collective(pair.guest, &(struct collective_record){.count = count});
}

static uint32_t read_some(struct collective_record *out, uint32_t max, bool gone, uint32_t *nr_lost)
{
	record_ring_snapshot(pair.agent, &snapshot);
	int got = record_ring_read_collectives(pair.agent, &snapshot, gone, out, max, nr_lost);

	assert_true(got >= 0);
	return (uint32_t)got;
}

static void release(void)
{
	struct record_ring_position position;

	assert_int_equal(record_ring_position(pair.agent, &position), 0);
	record_ring_release(pair.agent, &position);
	free(position.launch);
}

/* The header in the shared memory, as a guest that behaves badly could write it. */
static struct ring_header *header_of(struct ring_collective **places)
{
	struct ring_layout layout = {0};

	assert_int_equal(ring_layout(&sizes, &layout), 0);
	uint8_t *memory = mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, pair.fd, 0);
	assert_true(memory != MAP_FAILED);
	*places = (struct ring_collective *)(memory + layout.collective);
	return (struct ring_header *)memory;
}

static void unmap(struct ring_header *header)
{
	struct ring_layout layout = {0};

	ring_layout(&sizes, &layout);
	munmap(header, layout.size);
}

static void records_come_in_order_and_once(void **state)
{
	struct collective_record got[PLACES];
	uint32_t nr_lost;

	(void)state;
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 10; i++)
			assert_true(push(100 * round + i));
		assert_int_equal(read_some(got, 4, false, &nr_lost), 4);
		assert_int_equal(read_some(got + 4, PLACES - 4, false, &nr_lost), 6);
		for (uint64_t i = 0; i < 10; i++)
			assert_int_equal(got[i].count, 100 * round + i);
		assert_int_equal(read_some(got, PLACES, false, &nr_lost), 0);
		release();
	}
}

static void a_full_lane_takes_no_more_until_it_is_released(void **state)
{
	struct collective_record got[PLACES];
	uint32_t nr_lost;

	(void)state;
	for (uint64_t i = 0; i < PLACES; i++)
		assert_true(push(i));
	assert_false(push(99));
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), PLACES);
	assert_false(push(99));
	assert_int_equal(record_ring_release_crowded(pair.agent), 1);
	assert_true(push(99));
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 1);
	assert_int_equal(got[0].count, 99);
}

static void a_ring_without_the_lane_takes_none(void **state)
{
	(void)state;
	record_ring_fixture_close(&pair);
	sizes.collectives = 0;
	pair = record_ring_fixture_open(&sizes);
	assert_false(push(1));
	sizes.collectives = 3;
	struct ring_layout layout = {0};
	assert_int_equal(ring_layout(&sizes, &layout), -EPROTO);
}

static void what_is_claimed_and_not_written_ends_the_reading(void **state)
{
	struct collective_record got[PLACES];
	struct ring_collective *places;
	struct ring_header *header = header_of(&places);
	uint32_t nr_lost;

	(void)state;
	assert_true(push(1));
	atomic_fetch_add(&header->collective.produced, 1);
	assert_true(push(3));
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 1);
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 0);
	assert_int_equal(nr_lost, 0);
	places[1].record.count = 2;
	atomic_store(&places[1].turn, 2);
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 2);
	assert_int_equal(got[0].count, 2);
	assert_int_equal(got[1].count, 3);
	unmap(header);
}

static void what_nobody_will_write_any_more_is_left_out_and_counted(void **state)
{
	struct collective_record got[PLACES];
	struct ring_collective *places;
	struct ring_header *header = header_of(&places);
	uint32_t nr_lost;

	(void)state;
	assert_true(push(1));
	atomic_fetch_add(&header->collective.produced, 2);
	assert_true(push(4));
	assert_int_equal(read_some(got, PLACES, true, &nr_lost), 2);
	assert_int_equal(nr_lost, 2);
	assert_int_equal(got[1].count, 4);
	unmap(header);
}

static void a_lane_that_claims_more_than_it_holds_is_given_up(void **state)
{
	struct collective_record got;
	struct ring_collective *places;
	struct ring_header *header = header_of(&places);
	uint32_t nr_lost;

	(void)state;
	atomic_store(&header->collective.produced, PLACES + 1);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(
		record_ring_read_collectives(pair.agent, &snapshot, true, &got, 1, &nr_lost),
		-EPROTO);
	assert_int_equal(nr_lost, 0);
	unmap(header);
}

static void the_next_agent_goes_on_after_what_arrived(void **state)
{
	const uint8_t first[RECORD_RING_EPOCH] = {1}, second[RECORD_RING_EPOCH] = {2};
	struct collective_record got[PLACES];
	struct ledger_entry lost;
	uint32_t nr_lost;

	(void)state;
	record_ring_own(pair.agent, first);
	for (uint64_t seq = 1; seq <= 2; seq++) {
		assert_true(push(10 * seq));
		assert_true(push(10 * seq + 1));
		assert_int_equal(read_some(got, PLACES, false, &nr_lost), 2);
		assert_int_equal(record_ring_mark(pair.agent, seq), 0);
	}
	record_ring_unmap(pair.agent);
	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	record_ring_resume(pair.agent, 1);
	record_ring_own(pair.agent, second);
	assert_int_equal(record_ring_ledger(pair.agent, &lost, 1), 0);
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 2);
	assert_int_equal(got[0].count, 20);

	/* What was given back before it arrived is gone. */
	assert_int_equal(record_ring_mark(pair.agent, 5), 0);
	for (uint64_t i = 0; i < 10; i++)
		assert_true(push(i));
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 10);
	assert_int_equal(record_ring_release_crowded(pair.agent), 1);
	record_ring_unmap(pair.agent);
	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	record_ring_resume(pair.agent, 5);
	assert_int_equal(record_ring_ledger(pair.agent, &lost, 1), 1);
	assert_int_equal(lost.reason, LEDGER_COLLECTIVE_LOST);
	assert_int_equal(lost.count, 10);
}

static void what_is_there_already_can_be_skipped(void **state)
{
	struct collective_record got[PLACES];
	uint32_t nr_lost;

	(void)state;
	assert_true(push(1));
	record_ring_skip(pair.agent);
	assert_true(push(2));
	assert_int_equal(read_some(got, PLACES, false, &nr_lost), 1);
	assert_int_equal(got[0].count, 2);
}

#define THREADS 4
#define EACH_OF 5000u

static void *push_often(void *argument)
{
	for (uint64_t i = 1; i <= EACH_OF;)
		i += record_ring_push_collective(
			pair.guest,
			&(struct collective_record){
				.tid = (uint32_t)(uintptr_t)argument, .count = i, .sequence = ~i});
	return NULL;
}

static void threads_write_at_once_and_each_in_its_order(void **state)
{
	struct collective_record got[PLACES];
	uint64_t last[THREADS] = {0};
	pthread_t threads[THREADS];
	uint32_t nr_lost, total = 0;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, push_often, (void *)i), 0);
	while (total < THREADS * EACH_OF) {
		uint32_t nr = read_some(got, PLACES, false, &nr_lost);

		for (uint32_t i = 0; i < nr; i++) {
			assert_int_equal(got[i].count, ++last[got[i].tid]);
			assert_true(got[i].sequence == ~got[i].count);
		}
		total += nr;
		release();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(records_come_in_order_and_once),
		TEST(a_full_lane_takes_no_more_until_it_is_released),
		TEST(a_ring_without_the_lane_takes_none),
		TEST(what_is_claimed_and_not_written_ends_the_reading),
		TEST(what_nobody_will_write_any_more_is_left_out_and_counted),
		TEST(a_lane_that_claims_more_than_it_holds_is_given_up),
		TEST(the_next_agent_goes_on_after_what_arrived),
		TEST(what_is_there_already_can_be_skipped),
		TEST(threads_write_at_once_and_each_in_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
