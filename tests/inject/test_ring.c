#include "test_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void test_ring_init_sizes(struct test_ring *ring, const struct record_ring_sizes *sizes)
{
	int fd;

	assert_int_equal(record_ring_create(sizes, &ring->guest, &fd), 0);
	assert_int_equal(record_ring_map(fd, &ring->agent), 0);
	close(fd);
}

void test_ring_init(struct test_ring *ring)
{
	test_ring_init_sizes(ring, &(struct record_ring_sizes){
					   .launch_lanes = TEST_RING_LANES,
					   .launch_lane_records = TEST_RING_LAUNCHES,
					   .activity_records = TEST_RING_ACTIVITY,
					   .definition_bytes = 512u << 10,
					   .stacks = TEST_RING_STACKS,
					   .stack_words = TEST_RING_STACK_WORDS,
					   .codes = 256,
					   .code_words = 1u << 14,
				   });
}

void test_ring_fini(struct test_ring *ring)
{
	record_ring_destroy(ring->guest);
	record_ring_unmap(ring->agent);
}

uint32_t test_ring_launches(struct test_ring *ring, uint32_t lane, struct launch_record *out,
			    uint32_t max)
{
	record_ring_snapshot(ring->agent, &ring->snapshot);
	int nr = record_ring_read_launches(ring->agent, &ring->snapshot, lane, out, max);

	assert_true(nr >= 0);
	return (uint32_t)nr;
}

uint32_t test_ring_activity(struct test_ring *ring, struct gpu_record *out, uint32_t max)
{
	record_ring_snapshot(ring->agent, &ring->snapshot);
	int nr = record_ring_read_activity(ring->agent, &ring->snapshot, out, max);

	assert_true(nr >= 0);
	return (uint32_t)nr;
}

int test_ring_definition(struct test_ring *ring, uint32_t *type, void *body, uint32_t max)
{
	uint32_t size;

	record_ring_snapshot(ring->agent, &ring->snapshot);
	int got = record_ring_read_definition(ring->agent, &ring->snapshot, type, body, max, &size);
	assert_true(got >= 0);
	return got ? (int)size : -1;
}

void test_ring_release(struct test_ring *ring)
{
	struct record_ring_position position;

	assert_int_equal(record_ring_position(ring->agent, &position), 0);
	record_ring_release(ring->agent, &position);
	free(position.launch);
}

struct ledger_entry test_ring_ledger(struct test_ring *ring, uint32_t device_id,
				     enum ledger_reason reason)
{
	static struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	int nr = record_ring_ledger(ring->agent, entries, sizeof(entries) / sizeof(entries[0]));

	for (int i = 0; i < nr; i++)
		if (entries[i].device_id == device_id && entries[i].reason == (uint32_t)reason)
			return entries[i];
	return (struct ledger_entry){.device_id = device_id, .reason = reason};
}
