#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "timeline/strips/step_ticks.h"
#include "timeline/strips/strip_bins.h"

#define SPAN_NS   5000u
#define INTERVALS 60u
#define ROUNDS    300u

struct interval {
	uint64_t start_ns, end_ns;
	uint32_t part;
};

static uint32_t random_state = 7;

static uint32_t some(uint32_t most)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % most;
}

static int by_start(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;

	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* The truth, a nanosecond at a time. */
static void count(const struct interval *intervals, const struct strip_axis *axis, uint64_t *ns)
{
	memset(ns, 0, SPAN_NS * STRIP_PARTS * sizeof(*ns));
	for (uint64_t at_ns = axis->first_ns; at_ns < axis->first_ns + axis->nr_bins * axis->bin_ns;
	     at_ns++) {
		uint32_t first = STRIP_PARTS;

		for (uint32_t i = 0; i < INTERVALS; i++)
			if (intervals[i].start_ns <= at_ns && at_ns < intervals[i].end_ns &&
			    intervals[i].part < first)
				first = intervals[i].part;
		if (first < STRIP_PARTS)
			ns[(at_ns - axis->first_ns) / axis->bin_ns * STRIP_PARTS + first]++;
	}
}

static void make_intervals(struct interval *intervals)
{
	const uint32_t longest = 1 + some(800);

	for (uint32_t i = 0; i < INTERVALS; i++) {
		const uint64_t start_ns = 1000 + some(SPAN_NS);

		intervals[i] =
			(struct interval){start_ns, start_ns + some(longest), some(STRIP_PARTS)};
	}
	qsort(intervals, INTERVALS, sizeof(*intervals), by_start);
}

static void bins_hold_the_union_to_the_nanosecond(void **state)
{
	static uint64_t truth[SPAN_NS * STRIP_PARTS];
	struct interval intervals[INTERVALS];

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		/* The axis may begin behind, and end before, some of the work. */
		const struct strip_axis axis =
			strip_axis_of(900 + some(600), 1600 + some(SPAN_NS - 1600), 1 + some(1500));
		const uint32_t join = 1 + some(5);
		struct strip_bins bins;

		make_intervals(intervals);
		count(intervals, &axis, truth);
		assert_int_equal(strip_bins_init(&bins, &axis), 0);
		for (uint32_t i = 0; i < INTERVALS; i++)
			strip_bins_add(&bins, &axis, (enum strip_part)intervals[i].part,
				       intervals[i].start_ns, intervals[i].end_ns);
		strip_bins_end(&bins, &axis);
		assert_memory_equal(bins.ns, truth, axis.nr_bins * STRIP_PARTS * sizeof(*truth));

		const struct strip_axis joined = strip_axis_join(&axis, join);
		count(intervals, &joined, truth);
		strip_bins_join(&bins, &axis, join);
		/* The last one may reach behind the axis, where nothing was counted. */
		assert_memory_equal(bins.ns, truth,
				    (joined.nr_bins - 1) * STRIP_PARTS * sizeof(*truth));
		strip_bins_fini(&bins);
	}
}

static void an_axis_covers_its_time_with_few_bins(void **state)
{
	static const uint64_t spans_ns[] = {1, 2, 999, 1000, 1001, 123456789, UINT64_C(1) << 60};

	(void)state;
	for (uint32_t i = 0; i < sizeof(spans_ns) / sizeof(*spans_ns); i++) {
		const struct strip_axis axis = strip_axis_of(5, 5 + spans_ns[i], 1000);

		assert_in_range(axis.nr_bins, 1, 1000);
		assert_true(axis.nr_bins * axis.bin_ns >= spans_ns[i]);
		assert_true((axis.nr_bins - 1) * axis.bin_ns < spans_ns[i]);
	}
	assert_int_equal(strip_axis_of(5, 5, 1000).nr_bins, 0);
}

static void mark(struct step_ticks *ticks, uint32_t number, uint64_t time_ns, enum record_mark kind)
{
	step_ticks_add(ticks, &(struct timeline_launch){.time_ns = time_ns,
							.correlation_id = number,
							.flags = RECORD_LAUNCH_MARK,
							.mark = (uint8_t)kind});
}

static void a_tick_is_the_first_begin_of_its_step(void **state)
{
	static struct step_ticks ticks;

	(void)state;
	memset(&ticks, 0, sizeof(ticks));
	mark(&ticks, 1, 100, RECORD_MARK_STEP);
	mark(&ticks, 1, 90, RECORD_MARK_STEP);
	mark(&ticks, 2, 190, RECORD_MARK_STEP);
	mark(&ticks, 2, 200, RECORD_MARK_STEP);
	mark(&ticks, 3, 1, RECORD_MARK_STEP_END);
	mark(&ticks, 4, 1, RECORD_MARK_RANGES);
	step_ticks_add(&ticks, &(struct timeline_launch){.time_ns = 1, .correlation_id = 5});
	assert_int_equal(ticks.apart, 1);
	assert_int_equal(ticks.first, 1);
	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++)
		assert_int_equal(ticks.begins_ns[i], i == 0 ? 90 : i == 1 ? 190 : 0);
}

static void of_many_steps_some_have_ticks(void **state)
{
	static struct step_ticks ticks;
	const uint32_t nr_steps = 3 * STEP_TICKS_MOST;

	(void)state;
	memset(&ticks, 0, sizeof(ticks));
	for (uint32_t number = 1; number <= nr_steps; number++)
		mark(&ticks, number, 10 * number, RECORD_MARK_STEP);
	assert_int_equal(ticks.apart, 4);
	assert_int_equal(ticks.first, 4);
	for (uint32_t i = 0; i < nr_steps / 4; i++)
		assert_int_equal(ticks.begins_ns[i], 40 * (i + 1));
	/* A number that no program reaches does no harm. */
	mark(&ticks, UINT32_MAX, 5, RECORD_MARK_STEP);
	assert_in_range(UINT32_MAX / ticks.apart, 0, STEP_TICKS_MOST - 1);
}

/* Marks come by process, so lower numbers may come later. */
static void late_steps_have_ticks_in_any_order(void **state)
{
	static const uint32_t firsts[] = {0, 1, 312500, UINT32_MAX - 6000};
	static const uint32_t counts[] = {1, 900, STEP_TICKS_MOST, 5000};
	static struct step_ticks ticks;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		const uint32_t first = firsts[i / 4], nr = counts[i % 4];
		uint32_t kept = 0;

		memset(&ticks, 0, sizeof(ticks));
		for (uint32_t j = 0; j < nr; j++) { /* 7919 is a prime, so all come */
			const uint32_t number = first + (uint32_t)(j * 7919ull % nr);

			mark(&ticks, number, 10ull * (number - first) + 5, RECORD_MARK_STEP);
		}
		assert_int_equal(ticks.first % ticks.apart, 0);
		assert_in_range(ticks.apart, 1, nr <= STEP_TICKS_MOST ? 1 : 4);
		for (uint32_t j = 0; j < STEP_TICKS_MOST; j++) {
			const uint64_t number = ticks.first + (uint64_t)j * ticks.apart;

			kept += ticks.begins_ns[j] != 0;
			if (ticks.begins_ns[j])
				assert_int_equal(ticks.begins_ns[j], 10 * (number - first) + 5);
		}
		assert_in_range(kept, nr / ticks.apart, (nr - 1) / ticks.apart + 1);
	}
}

static void numbers_from_end_to_end_do_no_harm(void **state)
{
	static struct step_ticks ticks;

	(void)state;
	memset(&ticks, 0, sizeof(ticks));
	mark(&ticks, UINT32_MAX, 3, RECORD_MARK_STEP);
	mark(&ticks, 0, 2, RECORD_MARK_STEP);
	for (uint32_t i = 1; i < 5000; i++)
		mark(&ticks, UINT32_MAX - i * 800000u, 4, RECORD_MARK_STEP);
	assert_int_equal(ticks.first, 0);
	assert_int_equal(ticks.begins_ns[0], 2);
	assert_in_range(UINT32_MAX / ticks.apart, 0, STEP_TICKS_MOST - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_hold_the_union_to_the_nanosecond),
		cmocka_unit_test(an_axis_covers_its_time_with_few_bins),
		cmocka_unit_test(a_tick_is_the_first_begin_of_its_step),
		cmocka_unit_test(of_many_steps_some_have_ticks),
		cmocka_unit_test(late_steps_have_ticks_in_any_order),
		cmocka_unit_test(numbers_from_end_to_end_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
