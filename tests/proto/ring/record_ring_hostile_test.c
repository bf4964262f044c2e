/* What a guest can do to a reader that is not its own: nothing that costs more than its ring. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/ring/record_ring_reader.h"
#include "record_ring_fixture.h"

struct fixture {
	struct record_ring_fixture pair;
	struct ring_layout layout;
	uint8_t *raw; /* the guest's memory, to be scribbled on */
	struct record_ring_snapshot snapshot;
};

static struct fixture *open_fixture(const struct record_ring_sizes *sizes)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->pair = record_ring_fixture_open(sizes);
	assert_int_equal(ring_layout(sizes, &fixture->layout), 0);
	fixture->raw = mmap(NULL, fixture->layout.size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, fixture->pair.fd, 0);
	assert_true(fixture->raw != MAP_FAILED);
	return fixture;
}

static void close_fixture(struct fixture *fixture)
{
	munmap(fixture->raw, fixture->layout.size);
	record_ring_fixture_close(&fixture->pair);
	free(fixture);
}

static struct ring_header *header(struct fixture *fixture)
{
	return (struct ring_header *)fixture->raw;
}

static struct ring_lane *lane(struct fixture *fixture, uint32_t index)
{
	return (struct ring_lane *)(fixture->raw + fixture->layout.lane_controls) + index;
}

static uint64_t allocated_bytes(const struct fixture *fixture)
{
	struct stat status;

	assert_int_equal(fstat(fixture->pair.fd, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

static const struct record_ring_sizes large = {
	.launch_lanes = 64,
	.launch_lane_records = 1u << 15,
	.activity_records = 1u << 20,
	.definition_bytes = 1u << 20,
	.stacks = 1u << 16,
	.stack_words = 1u << 20,
	.codes = 1u << 10,
	.code_words = 1u << 16,
	.log_bytes = 1u << 20,
	.collectives = 1u << 12,
};

static void records_in_holes_were_never_written(void **state)
{
	struct fixture *fixture = open_fixture(&large);
	struct launch_record launches[16];
	struct gpu_record records[16];
	struct collective_record collectives[16];
	struct record_ring_code code;
	uint64_t frames[RECORD_STACK_DEPTH];
	uint32_t nr_lost;

	(void)state;
	header(fixture)->lanes = large.launch_lanes;
	header(fixture)->activity.produced = large.activity_records;
	header(fixture)->collective.produced = large.collectives;
	for (uint32_t i = 0; i < large.launch_lanes; i++)
		lane(fixture, i)->produced = large.launch_lane_records;
	uint64_t before = allocated_bytes(fixture);
	record_ring_own(fixture->pair.agent, (const uint8_t *)"an agent's epoch");
	record_ring_snapshot(fixture->pair.agent, &fixture->snapshot);
	for (uint32_t i = 0; i < large.launch_lanes; i++)
		assert_int_equal(record_ring_read_launches(fixture->pair.agent, &fixture->snapshot,
							   i, launches, 16),
				 -EPROTO);
	assert_int_equal(
		record_ring_read_activity(fixture->pair.agent, &fixture->snapshot, records, 16),
		-EPROTO);
	/* These are claimed before they are written. */
	assert_int_equal(record_ring_read_collectives(fixture->pair.agent, &fixture->snapshot,
						      false, collectives, 16, &nr_lost),
			 0);
	for (uint32_t i = 1; i <= large.stacks; i++)
		assert_int_equal(record_ring_read_stack(fixture->pair.agent, i, frames), -ENOENT);
	for (uint32_t i = 1; i <= large.codes; i++)
		assert_int_equal(record_ring_read_code(fixture->pair.agent, i, &code), -ENOENT);
	/* A mark, and nothing else: reading allocated nothing. */
	assert_true(allocated_bytes(fixture) - before <= 2 * 4096);
	close_fixture(fixture);
}

static void what_lies_before_a_hole_is_read(void **state)
{
	struct fixture *fixture = open_fixture(&large);
	static struct gpu_record records[1000];
	const uint32_t page = 4096 / sizeof(*records);

	(void)state;
	for (uint32_t i = 0; i < page; i++)
		record_ring_push_activity(fixture->pair.guest,
					  &(struct gpu_record){.start_ns = 1, .end_ns = 2}, 1);
	record_ring_snapshot(fixture->pair.agent, &fixture->snapshot);
	assert_int_equal(
		record_ring_read_activity(fixture->pair.agent, &fixture->snapshot, records, 1000),
		page);
	header(fixture)->activity.produced = 10 * page;
	record_ring_snapshot(fixture->pair.agent, &fixture->snapshot);
	assert_int_equal(
		record_ring_read_activity(fixture->pair.agent, &fixture->snapshot, records, 1000),
		-EPROTO);
	close_fixture(fixture);
}

static void huge_pages_are_no_ring(void **state)
{
	struct record_ring *ring;
	int fd = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC);

	(void)state;
	if (fd < 0)
		return; /* a kernel without them */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	assert_int_equal(record_ring_map(fd, &ring), -EPROTO);
	close(fd);
}

/* The control pages become ones that cannot be had, as if the kernel had no memory for them. */
static void take_pages_away(const struct record_ring *ring)
{
	int fd = memfd_create("nothing", MFD_CLOEXEC);

	assert_true(mmap(ring->base, ring->guard.size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == ring->base);
	close(fd);
}

static void a_fault_costs_its_ring_alone(void **state)
{
	struct fixture *bad = open_fixture(&record_ring_fixture_small);
	struct fixture *good = open_fixture(&record_ring_fixture_small);
	struct gpu_record record = {.start_ns = 1, .end_ns = 2}, out[4];
	struct ledger_entry entries[8];

	(void)state;
	record_ring_push_activity(bad->pair.guest, &record, 1);
	record_ring_push_activity(good->pair.guest, &record, 1);
	take_pages_away(bad->pair.agent);
	record_ring_snapshot(bad->pair.agent, &bad->snapshot);
	assert_true(record_ring_is_broken(bad->pair.agent));
	assert_int_equal(record_ring_read_activity(bad->pair.agent, &bad->snapshot, out, 4),
			 -EPROTO);
	assert_int_equal(record_ring_ledger(bad->pair.agent, entries, 8), -EPROTO);
	record_ring_beat(bad->pair.agent, 1);

	record_ring_snapshot(good->pair.agent, &good->snapshot);
	assert_false(record_ring_is_broken(good->pair.agent));
	assert_int_equal(record_ring_read_activity(good->pair.agent, &good->snapshot, out, 4), 1);
	close_fixture(bad);
	close_fixture(good);
}

static void a_lane_that_takes_back_what_was_read_is_given_up(void **state)
{
	struct fixture *fixture = open_fixture(&record_ring_fixture_small);
	struct gpu_record record = {.start_ns = 1, .end_ns = 2}, out[4];

	(void)state;
	for (int i = 0; i < 3; i++)
		record_ring_push_activity(fixture->pair.guest, &record, 1);
	record_ring_snapshot(fixture->pair.agent, &fixture->snapshot);
	assert_int_equal(record_ring_read_activity(fixture->pair.agent, &fixture->snapshot, out, 4),
			 3);
	header(fixture)->activity.produced = 2;
	record_ring_snapshot(fixture->pair.agent, &fixture->snapshot);
	assert_int_equal(record_ring_read_activity(fixture->pair.agent, &fixture->snapshot, out, 4),
			 -EPROTO);
	close_fixture(fixture);
}

static int ledger_with(uint64_t count, uint64_t ns)
{
	struct fixture *fixture = open_fixture(&record_ring_fixture_small);
	struct ledger_entry entries[8];

	record_ring_count(fixture->pair.guest, 0, LEDGER_RECORDS, count, ns);
	int nr = record_ring_ledger(fixture->pair.agent, entries, 8);
	close_fixture(fixture);
	return nr;
}

static void counters_above_what_can_be_counted_are_refused(void **state)
{
	struct fixture *fixture = open_fixture(&record_ring_fixture_small);
	struct ledger_entry entries[8];

	(void)state;
	assert_int_equal(ledger_with(LEDGER_COUNT_MAX, LEDGER_NS_MAX), 1);
	assert_int_equal(ledger_with(LEDGER_COUNT_MAX + 1, 0), -EPROTO);
	assert_int_equal(ledger_with(1, LEDGER_NS_MAX + 1), -EPROTO);
	assert_int_equal(ledger_with(UINT64_MAX, 0), -EPROTO);
	header(fixture)->lanes = 2;
	lane(fixture, 0)->dropped = 1ull << 63;
	lane(fixture, 1)->dropped = 1ull << 63; /* together 0 */
	assert_int_equal(record_ring_ledger(fixture->pair.agent, entries, 8), -EPROTO);
	lane(fixture, 0)->dropped = lane(fixture, 1)->dropped = 0;
	lane(fixture, 1)->marks = 2; /* of no record */
	assert_int_equal(record_ring_ledger(fixture->pair.agent, entries, 8), -EPROTO);
	lane(fixture, 1)->marks = 1; /* about to be written */
	assert_int_equal(record_ring_ledger(fixture->pair.agent, entries, 8), 0);
	close_fixture(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_in_holes_were_never_written),
		cmocka_unit_test(what_lies_before_a_hole_is_read),
		cmocka_unit_test(huge_pages_are_no_ring),
		cmocka_unit_test(a_fault_costs_its_ring_alone),
		cmocka_unit_test(a_lane_that_takes_back_what_was_read_is_given_up),
		cmocka_unit_test(counters_above_what_can_be_counted_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
