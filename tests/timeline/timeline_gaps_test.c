#include "tests/support/cmocka_test.h"

#include <stdint.h>

#include "aggregator/profile/collection.h"
#include "report/profile/profile.h"
#include "timeline/trace/timeline_busy.h"
#include "timeline/trace/timeline_gaps.h"

static struct profile profile;

static int set_up(void **state)
{
	profile.collection = collection_create();
	*state = timeline_gaps_create(&profile);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	timeline_gaps_destroy(*state);
	collection_destroy(profile.collection);
	return 0;
}

static struct timeline_work work_of(uint32_t device_id, uint64_t start_ns, uint64_t end_ns)
{
	return (struct timeline_work){.start_ns = start_ns,
				      .end_ns = end_ns,
				      .process_id = 1,
				      .device_id = device_id,
				      .launch = TIMELINE_SOURCE_NONE,
				      .kind = RECORD_GPU_KERNEL};
}

static void add(struct timeline_gaps *gaps, uint32_t device_id, uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline_work work = work_of(device_id, start_ns, end_ns);

	assert_int_equal(timeline_gaps_add(gaps, &work), 0);
}

static void work_that_comes_late_closes_a_gap(void **state)
{
	struct timeline_gaps *gaps = *state;
	struct timeline_gap gap;

	add(gaps, 0, 100, 200);
	add(gaps, 0, 900, 1000);
	add(gaps, 0, 1050, 1100);
	add(gaps, 0, 150, 880); /* another stream */
	assert_true(timeline_gaps_largest(gaps, NULL, &gap));
	assert_int_equal(gap.start_ns, 1000);
	assert_int_equal(gap.end_ns, 1050);
}

static void gpus_have_gaps_of_their_own(void **state)
{
	struct timeline_gaps *gaps = *state;
	struct timeline_gap gap;

	add(gaps, 0, 100, 200);
	add(gaps, 1, 200, 300);
	add(gaps, 0, 250, 300);
	add(gaps, 1, 370, 400);
	assert_true(timeline_gaps_largest(gaps, NULL, &gap));
	assert_int_equal(gap.device_id, 1);
	assert_int_equal(gap.start_ns, 300);
	assert_int_equal(gap.end_ns, 370);
}

static void waits_are_no_work(void **state)
{
	struct timeline_gaps *gaps = *state;
	struct timeline_work wait = work_of(0, 200, 900);
	struct timeline_gap gap;

	add(gaps, 0, 100, 200);
	wait.kind = RECORD_GPU_SYNC;
	assert_int_equal(timeline_gaps_add(gaps, &wait), 0);
	assert_false(timeline_gaps_largest(gaps, NULL, &gap));
	add(gaps, 0, 900, 1000);
	assert_true(timeline_gaps_largest(gaps, NULL, &gap));
	assert_int_equal(gap.end_ns - gap.start_ns, 700);
}

/* Work comes in an order in which most stretches stay apart, and is more than is kept. */
static void the_largest_gap_outlives_the_small_ones(void **state)
{
	const uint64_t nr = TIMELINE_GAPS_KEPT + TIMELINE_GAPS_KEPT / 2, large = nr / 3;
	struct timeline_gaps *gaps = *state;
	struct timeline_gap gap;

	for (uint64_t i = 0; i < nr; i++) {
		const uint64_t n = i * 7919 % nr,
			       start_ns = 1000 + 100 * n + (n > large ? 5000 : 0);

		add(gaps, 0, start_ns, start_ns + 60 + n % 30);
	}
	assert_true(timeline_gaps_largest(gaps, NULL, &gap));
	assert_int_equal(gap.start_ns, 1000 + 100 * large + 60 + large % 30);
	assert_int_equal(gap.end_ns, 1000 + 100 * (large + 1) + 5000);
}

static void busy_time_is_counted_by_step(void **state)
{
	/* two streams that overlap; a gap of two steps; a device beside it */
	const struct timeline_work work[] = {
		work_of(0, 10500, 11200),
		work_of(1, 10600, 10700),
		work_of(0, 11000, 12500),
		work_of(0, 40000, 40500),
	};
	static const struct timeline_load want[] = {
		{10000, 500, 0}, {11000, 1000, 0}, {12000, 500, 0}, {13000, 0, 0},
		{40000, 500, 0}, {41000, 0, 0},    {10000, 100, 1}, {11000, 0, 1}};
	struct timeline_busy busy;

	(void)state;
	assert_int_equal(timeline_busy_init(&busy, NULL, work, 4, NULL), 0);
	assert_int_equal(busy.step_ns, 1000);
	assert_int_equal(busy.nr_loads, 8);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(busy.loads[i].time_ns, want[i].time_ns);
		assert_int_equal(busy.loads[i].busy_ns, want[i].busy_ns);
		assert_int_equal(busy.loads[i].device_id, want[i].device_id);
	}
	assert_int_equal(busy.nr_idle, 1);
	assert_int_equal(busy.idle[0].begin_ns, 12500);
	assert_int_equal(busy.idle[0].end_ns, 40000);
	assert_int_equal(busy.idle[0].reason, TIMELINE_IDLE_UNKNOWN);
	timeline_busy_fini(&busy);
	assert_int_equal(timeline_busy_init(&busy, NULL, work, 0, NULL), 0);
	assert_int_equal(busy.nr_loads + busy.nr_idle, 0);
	timeline_busy_fini(&busy);
}

static void idle_time_has_the_reason_of_the_launch_that_ends_it(void **state)
{
	enum { MS = 1000000 };
	static const struct timeline_launch launches[] = {
		{.time_ns = 12 * MS},       /* late by 2 ms */
		{.time_ns = 20 * MS + 500}, /* late by less than 1 ms */
		{.time_ns = 1},             /* long before its work */
		{.time_ns = 50 * MS},       /* a clock that is off: after its work began */
	};
	struct timeline_work work[] = {
		work_of(0, 0, 10 * MS),
		work_of(0, 13 * MS, 20 * MS),
		work_of(0, 21 * MS, 22 * MS),
		work_of(0, 21 * MS, 30 * MS),
		work_of(0, 40 * MS, 41 * MS),
		work_of(0, 44 * MS, 45 * MS),
		work_of(0, 45 * MS + 9999, 46 * MS),
	};
	static const struct timeline_idle want[] = {
		{10 * MS, 12 * MS, 0, 0, TIMELINE_IDLE_HOST},
		{12 * MS, 13 * MS, 0, 0, TIMELINE_IDLE_START},
		{20 * MS, 20 * MS + 500, 0, 1, TIMELINE_IDLE_LAUNCHES},
		{20 * MS + 500, 21 * MS, 0, 1, TIMELINE_IDLE_START},
		{30 * MS, 40 * MS, 0, 2, TIMELINE_IDLE_START},
		{41 * MS, 44 * MS, 0, 3, TIMELINE_IDLE_HOST},
	};
	struct timeline_busy busy;

	(void)state;
	work[1].launch = 0;
	work[2].launch = TIMELINE_SOURCE_NONE;
	work[3].launch = 1; /* of two that begin together, the one whose launch is here */
	work[4].launch = 2;
	work[5].launch = 3;
	assert_int_equal(timeline_busy_init(&busy, launches, work, 7, NULL), 0);
	assert_int_equal(busy.nr_idle, sizeof(want) / sizeof(*want));
	for (uint32_t i = 0; i < busy.nr_idle; i++) {
		assert_int_equal(busy.idle[i].begin_ns, want[i].begin_ns);
		assert_int_equal(busy.idle[i].end_ns, want[i].end_ns);
		assert_int_equal(busy.idle[i].launch, want[i].launch);
		assert_int_equal(busy.idle[i].reason, want[i].reason);
	}
	timeline_busy_fini(&busy);
}

static void times_may_be_any(void **state)
{
	const struct timeline_work work[] = {
		work_of(0, 1, 2),
		work_of(0, UINT64_MAX - 10, UINT64_MAX),
	};
	struct timeline_busy busy;

	(void)state;
	assert_int_equal(timeline_busy_init(&busy, NULL, work, 2, NULL), 0);
	assert_in_range(busy.nr_loads, 1, TIMELINE_BUSY_STEPS);
	assert_int_equal(busy.nr_idle, 1);
	timeline_busy_fini(&busy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A gap over two windows, and one that begins within a pause. */
static void nothing_is_known_between_windows(void **state)
{
	enum { MS = 1000000 };
	static const struct timeline_launch launches[] = {{.time_ns = 80 * MS}};
	static const struct timeline_idle want[] = {
		{10 * MS, 20 * MS, 0, TIMELINE_SOURCE_NONE, TIMELINE_IDLE_UNKNOWN},
		{20 * MS, 50 * MS, 0, TIMELINE_SOURCE_NONE, TIMELINE_IDLE_PAUSE},
		{50 * MS, 60 * MS, 0, TIMELINE_SOURCE_NONE, TIMELINE_IDLE_UNKNOWN},
		{60 * MS, 70 * MS, 0, TIMELINE_SOURCE_NONE, TIMELINE_IDLE_PAUSE},
		{70 * MS, 80 * MS, 0, 0, TIMELINE_IDLE_HOST},
		{80 * MS, 90 * MS, 0, 0, TIMELINE_IDLE_START},
	};
	struct timeline_work work[] = {work_of(0, 0, 10 * MS), work_of(0, 90 * MS, 91 * MS)};
	const uint32_t id = work[0].process_id;
	struct capture_pause list[] = {
		{1 * MS, 2 * MS, id}, {20 * MS, 50 * MS, id}, {60 * MS, 70 * MS, id}};
	const struct capture_pauses pauses = {list, 3};
	struct timeline_gap gap;
	struct timeline_busy busy;

	work[1].launch = 0;
	assert_int_equal(timeline_busy_init(&busy, launches, work, 2, &pauses), 0);
	assert_int_equal(busy.nr_idle, sizeof(want) / sizeof(*want));
	for (uint32_t i = 0; i < busy.nr_idle; i++) {
		assert_int_equal(busy.idle[i].begin_ns, want[i].begin_ns);
		assert_int_equal(busy.idle[i].end_ns, want[i].end_ns);
		assert_int_equal(busy.idle[i].launch, want[i].launch);
		assert_int_equal(busy.idle[i].reason, want[i].reason);
	}
	timeline_busy_fini(&busy);
	assert_int_equal(timeline_gaps_add(*state, &work[0]), 0);
	assert_int_equal(timeline_gaps_add(*state, &work[1]), 0);
	assert_true(timeline_gaps_largest(*state, NULL, &gap));
	assert_false(timeline_gaps_largest(*state, &pauses, &gap));
	list[1].process_id = list[2].process_id = id + 1; /* another process's */
	assert_true(timeline_gaps_largest(*state, &pauses, &gap));
	assert_int_equal(gap.end_ns, 90 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_that_comes_late_closes_a_gap),
		TEST(gpus_have_gaps_of_their_own),
		TEST(waits_are_no_work),
		TEST(the_largest_gap_outlives_the_small_ones),
		TEST(busy_time_is_counted_by_step),
		TEST(idle_time_has_the_reason_of_the_launch_that_ends_it),
		TEST(nothing_is_known_between_windows),
		TEST(times_may_be_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
