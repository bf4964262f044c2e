/* Which samples of counters are kept, and how they wait. */
#include "node-agent/counters/counter_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "aggregator/core/kept_window.h"

#define MS 1000000ull

static struct counter_queue queue;
static struct counter_sample taken[COUNTER_QUEUE_MAX];
static uint64_t now_ns;

static int set_up(void **state)
{
	(void)state;
	now_ns = 1795000000000 * MS;
	return counter_queue_init(&queue, now_ns, MS);
}

static int tear_down(void **state)
{
	(void)state;
	counter_queue_fini(&queue);
	return 0;
}

static void add(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, now_ns += MS)
		counter_queue_add(
			&queue, &(struct counter_sample){.begin_ns = now_ns, .end_ns = now_ns + MS},
			0, now_ns);
}

/* Adds a sample of these times from now on, and returns whether it was dropped. */
static bool drops(int64_t begin_ns, int64_t end_ns)
{
	const uint64_t dropped = queue.sums.dropped, samples = queue.sums.samples;

	counter_queue_add(&queue,
			  &(struct counter_sample){.begin_ns = now_ns + (uint64_t)begin_ns,
						   .end_ns = now_ns + (uint64_t)end_ns},
			  0, now_ns);
	assert_int_equal(queue.sums.dropped + queue.sums.samples, dropped + samples + 1);
	return queue.sums.dropped > dropped;
}

static void samples_leave_in_their_order(void **state)
{
	(void)state;
	add(10);
	assert_int_equal(counter_queue_take(&queue, taken, 4), 4);
	assert_int_equal(taken[3].begin_ns, now_ns - 7 * MS);
	add(COUNTER_QUEUE_MAX - 6);
	assert_int_equal(counter_queue_take(&queue, taken, 6), 6);
	assert_int_equal(taken[0].begin_ns, queue.sums.begin_ns + 4 * MS);
	assert_int_equal(counter_queue_take(&queue, taken, COUNTER_QUEUE_MAX),
			 COUNTER_QUEUE_MAX - 6);
	assert_int_equal(taken[COUNTER_QUEUE_MAX - 7].end_ns, now_ns);
	assert_int_equal(counter_queue_take(&queue, taken, 1), 0);
	assert_int_equal(queue.sums.samples, COUNTER_QUEUE_MAX + 4);
	assert_int_equal(queue.sums.kept, COUNTER_QUEUE_MAX + 4);
	assert_int_equal(queue.sums.unsent, 0);
	assert_int_equal(queue.sums.last_ns, now_ns);
}

static void samples_without_room_are_counted(void **state)
{
	(void)state;
	/* All windows are kept up to this number. */
	add(COUNTER_QUEUE_MAX - 1);
	const uint64_t kept = queue.sums.kept;
	add(2000);
	assert_int_equal(queue.count, COUNTER_QUEUE_MAX);
	assert_true(queue.sums.kept > kept + 1);
	assert_int_equal(queue.sums.unsent, queue.sums.kept - COUNTER_QUEUE_MAX);
	assert_int_equal(queue.sums.samples, COUNTER_QUEUE_MAX + 1999);
}

/* An hour: each level keeps as many samples, so it lasts twice as long as the one before. */
static void a_long_run_keeps_windows_of_high_levels(void **state)
{
	uint64_t kept = 0;

	(void)state;
	for (uint32_t second = 0; second < 3600; second++) {
		const uint32_t level = queue.level;

		add(1000);
		const uint32_t count = counter_queue_take(&queue, taken, COUNTER_QUEUE_MAX);
		for (uint32_t i = 0; i < count; i++)
			assert_true(kept_window_level(taken[i].begin_ns / KEPT_WINDOW_GPU_NS) >=
				    level);
		kept += count;
	}
	assert_int_equal(queue.level, kept / COUNTER_QUEUE_LEVEL);
	assert_in_range(queue.level, 6, 8);
	assert_int_equal(queue.sums.kept, kept);
	assert_int_equal(queue.sums.samples, 3600000);
}

static void times_that_cannot_be_are_dropped(void **state)
{
	const int64_t ms = MS, s = 1000 * ms;

	(void)state;
	assert_true(drops(-2 * s, -2 * s + ms)); /* before anybody asked */
	assert_true(drops(3600 * s, 3600 * s + ms));
	assert_true(drops(INT64_MAX - ms, INT64_MAX));
	assert_true(drops(0, 0));
	assert_true(drops(ms, 0));
	assert_true(drops(0, 4 * ms + 1));
	assert_int_equal(queue.sums.last_ns, queue.sums.begin_ns);
	assert_false(drops(0, ms));
	assert_true(drops(0, ms));      /* again */
	assert_true(drops(-ms, ms));    /* back */
	assert_true(drops(ms / 4, ms)); /* time that is covered */
	assert_false(drops(ms, 5 * ms));
	assert_false(drops(5 * ms - ms / 2, 6 * ms)); /* a little of it may be */
	assert_int_equal(queue.sums.samples, 3);
	assert_int_equal(queue.sums.dropped, 9);
	assert_int_equal(queue.sums.covered_ns, 6 * MS);
	assert_int_equal(queue.sums.last_ns, now_ns + 6 * MS);
	assert_int_equal(counter_queue_take(&queue, taken, 8), 3);
}

static void counts_stay_within_63_bits(void **state)
{
	(void)state;
	counter_queue_drop(&queue, UINT64_MAX);
	counter_queue_drop(&queue, UINT64_MAX);
	assert_int_equal(queue.sums.dropped, INT64_MAX);
	counter_queue_overflow(&queue);
	assert_int_equal(queue.sums.overflows, 1);
}

static void samples_without_a_value_are_counted(void **state)
{
	(void)state;
	counter_queue_add(&queue,
			  &(struct counter_sample){.begin_ns = now_ns, .end_ns = now_ns + MS}, 3,
			  now_ns);
	now_ns += MS;
	add(4);
	assert_int_equal(queue.sums.samples, 5);
	assert_int_equal(queue.sums.invalid, 1);
}

static void a_refusal_is_told_with_its_time(void **state)
{
	(void)state;
	counter_queue_refuse(&queue, COUNTER_NO_RIGHT, now_ns + 5);
	assert_int_equal(queue.sums.refusal, COUNTER_NO_RIGHT);
	assert_int_equal(queue.sums.last_ns, now_ns + 5);
	counter_queue_refuse(&queue, COUNTER_SAMPLED, now_ns);
	assert_int_equal(queue.sums.refusal, COUNTER_SAMPLED);
	assert_int_equal(queue.sums.last_ns, now_ns + 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_leave_in_their_order),
		TEST(samples_without_room_are_counted),
		TEST(a_long_run_keeps_windows_of_high_levels),
		TEST(times_that_cannot_be_are_dropped),
		TEST(counts_stay_within_63_bits),
		TEST(samples_without_a_value_are_counted),
		TEST(a_refusal_is_told_with_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
