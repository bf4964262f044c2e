#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "proto/ring/record_ring.h"
#include "record_ring_fixture.h"

#define LAUNCHES (1u << 15) /* a lane: 1 MiB */
#define ACTIVITY (1u << 14) /* 1 MiB */
#define MIB      (1u << 20)

static const struct record_ring_sizes sizes = {
	.launch_lanes = 2,
	.launch_lane_records = LAUNCHES,
	.activity_records = ACTIVITY,
	.definition_bytes = RECORD_RING_DEFINITION_MIN,
	.stacks = 16,
	.stack_words = 256,
	.codes = 4,
	.code_words = 64,
};

static uint64_t in_memory(const struct record_ring_fixture *pair)
{
	struct stat status;

	assert_int_equal(fstat(pair->fd, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

static void release_all(struct record_ring *agent)
{
	struct record_ring_position position;

	assert_int_equal(record_ring_position(agent, &position), 0);
	record_ring_release(agent, &position);
	free(position.launch);
}

/* Reads all launches that are there, numbered on from *next. */
static void read_launches(struct record_ring *agent, uint32_t *next)
{
	static struct record_ring_snapshot snapshot;
	static struct launch_record out[1024];
	int nr;

	record_ring_snapshot(agent, &snapshot);
	while ((nr = record_ring_read_launches(agent, &snapshot, 0, out, 1024)) > 0)
		for (int i = 0; i < nr; i++)
			assert_int_equal(out[i].correlation_id, (*next)++);
	assert_int_equal(nr, 0);
}

static void push_launches(struct record_ring *guest, uint32_t *next, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct launch_record record = {.time_ns = 1, .correlation_id = (*next)++};

		assert_true(record_ring_push_launch(guest, 0, &record));
	}
}

static void lane_that_rests_gives_its_memory_back(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&sizes);
	uint32_t pushed = 1, read = 1;

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	for (int round = 0; round < 5; round++) {
		push_launches(pair.guest, &pushed, LAUNCHES);
		assert_int_equal(record_ring_trim_launches(pair.guest), 0);
		/* What is not released may be read again, by the next agent. */
		read_launches(pair.agent, &read);
		assert_int_equal(record_ring_trim_launches(pair.guest), 0);
		release_all(pair.agent);
		uint64_t before = in_memory(&pair);
		uint64_t taken = record_ring_trim_launches(pair.guest);
		assert_in_range(taken, MIB * 5 / 6, MIB);
		assert_int_equal(in_memory(&pair), before - taken);
		assert_int_equal(record_ring_trim_launches(pair.guest), 0); /* it has gone */
	}
	assert_int_equal(read, pushed);
	record_ring_fixture_close(&pair);
}

static void lane_in_use_keeps_its_memory(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&sizes);
	uint32_t pushed = 1, read = 1;

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	for (int round = 0; round < 100; round++) {
		push_launches(pair.guest, &pushed, LAUNCHES / 10);
		read_launches(pair.agent, &read);
		release_all(pair.agent);
		assert_int_equal(record_ring_trim_launches(pair.guest), 0);
	}
	record_ring_fixture_close(&pair);
}

static void activity_lane_that_rests_gives_its_memory_back(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&sizes);
	static struct gpu_record records[ACTIVITY], out[ACTIVITY];
	struct record_ring_snapshot snapshot;

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < ACTIVITY; i++)
			records[i].start_ns = round * ACTIVITY + i + 1;
		/* Not in step with the lane. */
		assert_int_equal(record_ring_push_activity(pair.guest, records, ACTIVITY - 77),
				 ACTIVITY - 77);
		assert_int_equal(record_ring_trim_activity(pair.guest), 0);
		record_ring_snapshot(pair.agent, &snapshot);
		assert_int_equal(record_ring_read_activity(pair.agent, &snapshot, out, ACTIVITY),
				 ACTIVITY - 77);
		assert_memory_equal(out, records, (ACTIVITY - 77) * sizeof(out[0]));
		release_all(pair.agent);
		assert_in_range(record_ring_trim_activity(pair.guest), MIB - 8192, MIB);
		assert_int_equal(record_ring_trim_activity(pair.guest), 0);
	}
	record_ring_fixture_close(&pair);
}

static struct record_ring_fixture woken;
static uint32_t woken_pushed;

/* The lane's thread wakes up at the worst of moments, and launches until the lane seems full. */
int __real_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice)
{
	struct launch_record record = {.time_ns = 1, .correlation_id = woken_pushed};

	while (woken.guest && record_ring_push_launch(woken.guest, 0, &record))
		record.correlation_id = ++woken_pushed;
	return __real_madvise(memory, size, advice);
}

static void what_is_launched_within_a_trim_is_not_taken(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&sizes);
	uint32_t pushed = 0, read = 0;

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	for (int round = 0; round < 20; round++) {
		/* From another place of the lane each time, also around its end. */
		push_launches(pair.guest, &pushed, LAUNCHES / 7 * 2);
		read_launches(pair.agent, &read);
		release_all(pair.agent);
		assert_int_equal(record_ring_trim_launches(pair.guest), 0);
		woken = pair;
		woken_pushed = pushed;
		assert_true(record_ring_trim_launches(pair.guest) > MIB / 2);
		woken.guest = NULL;
		/* It had some room, and has all of it again. */
		assert_in_range(woken_pushed - pushed, LAUNCHES / 8, LAUNCHES / 4);
		pushed = woken_pushed;
		read_launches(pair.agent, &read);
		assert_int_equal(read, pushed);
		release_all(pair.agent);
		push_launches(pair.guest, &pushed, LAUNCHES);
		read_launches(pair.agent, &read);
		assert_int_equal(read, pushed);
		release_all(pair.agent);
	}
	record_ring_fixture_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lane_that_rests_gives_its_memory_back),
		cmocka_unit_test(lane_in_use_keeps_its_memory),
		cmocka_unit_test(activity_lane_that_rests_gives_its_memory_back),
		cmocka_unit_test(what_is_launched_within_a_trim_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
