#include "aggregator/core/stream_timeline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stream_timeline *timeline;

/* What a store does: keeps the lists of unsaved intervals and the sums. */
#define LISTS_MAX 4096u

static struct {
	struct timeline_interval *lists[LISTS_MAX];
	uint32_t counts[LISTS_MAX], nr_lists;
	struct timeline_sums sums;
	uint32_t nr_open;
	uint64_t busy_ns;
} saved;

static void forget_saved(void)
{
	for (uint32_t i = 0; i < saved.nr_lists; i++)
		free(saved.lists[i]);
	saved.nr_lists = 0;
}

static int set_up(void **state)
{
	(void)state;
	timeline = stream_timeline_create(STREAM_TIMELINE_INTERVALS);
	return timeline ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	forget_saved();
	stream_timeline_destroy(timeline);
	return 0;
}

static void limit(uint32_t intervals_max)
{
	stream_timeline_destroy(timeline);
	timeline = stream_timeline_create(intervals_max);
	assert_non_null(timeline);
}

static void add(uint64_t start_ns, uint64_t end_ns)
{
	assert_int_equal(stream_timeline_add(timeline, start_ns, end_ns), 0);
}

static void busy_time_is_the_union(void **state)
{
	(void)state;
	struct timeline_sums sums;

	add(10, 20);
	add(30, 40);
	add(35, 50);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(stream_timeline_busy_ns(timeline), 30);
	assert_int_equal(sums.records, 3);
	assert_int_equal(sums.sum_ns, 35);
	assert_int_equal(sums.first_ns, 10);
	assert_int_equal(sums.last_ns, 50);
	assert_int_equal(sums.late, 0);
}

static void neighbours_that_touch_become_one_interval(void **state)
{
	(void)state;
	uint32_t nr_open;

	for (uint64_t i = 0; i < 10000; i++)
		add(10 + i, 11 + i);
	stream_timeline_open(timeline, &nr_open);
	assert_int_equal(nr_open, 1);
	assert_int_equal(stream_timeline_busy_ns(timeline), 10000);
}

static void an_interval_may_close_a_gap_later(void **state)
{
	(void)state;
	uint32_t nr_open;

	add(10, 20);
	add(30, 40);
	add(50, 60);
	add(15, 55);
	const struct timeline_interval *open = stream_timeline_open(timeline, &nr_open);
	assert_int_equal(nr_open, 1);
	assert_int_equal(open[0].start_ns, 10);
	assert_int_equal(open[0].end_ns, 60);
}

static void empty_activities_count_but_take_no_time(void **state)
{
	(void)state;
	struct timeline_sums sums;

	add(10, 10);
	add(20, 30);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.records, 2);
	assert_int_equal(sums.first_ns, 10);
	assert_int_equal(stream_timeline_busy_ns(timeline), 10);
}

static void a_record_that_comes_too_late_is_counted(void **state)
{
	(void)state;
	struct timeline_sums sums;

	limit(4);
	for (uint64_t i = 1; i <= 4; i++)
		add(i * 100, i * 100 + 10);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.horizon_ns, 210);
	assert_int_equal(stream_timeline_busy_ns(timeline), 40);
	add(150, 260);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.late, 1);
	assert_int_equal(sums.late_ns, 60);
	assert_int_equal(stream_timeline_busy_ns(timeline), 90);
}

static void a_closed_timeline_keeps_its_sums(void **state)
{
	(void)state;
	uint32_t nr_open;

	add(10, 20);
	add(30, 40);
	stream_timeline_close(timeline);
	stream_timeline_open(timeline, &nr_open);
	assert_int_equal(nr_open, 0);
	assert_int_equal(stream_timeline_busy_ns(timeline), 20);
	add(50, 60);
	assert_int_equal(stream_timeline_busy_ns(timeline), 30);
}

static void a_span_that_was_watched_is_idle_around_its_work(void **state)
{
	(void)state;
	struct timeline_sums sums;

	stream_timeline_span(timeline, 5, 100);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.last_ns, 0); /* without work there is none */
	add(10, 20);
	add(30, 40);
	stream_timeline_span(timeline, 5, 100);
	stream_timeline_span(timeline, 12, 35); /* it only grows */
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.first_ns, 5);
	assert_int_equal(sums.last_ns, 100);
	assert_int_equal(sums.records, 2);
	assert_int_equal(stream_timeline_busy_ns(timeline), 20);
	assert_int_equal(stream_timeline_idle_ns(timeline), 75);
	stream_timeline_uncaptured(timeline, 70);
	stream_timeline_uncaptured(timeline, 30);
	assert_int_equal(stream_timeline_idle_ns(timeline), 45);
	assert_int_equal(stream_timeline_busy_ns(timeline), 20);
}

static void save(void)
{
	bool whole;
	uint32_t count;
	const struct timeline_interval *list = stream_timeline_unsaved(timeline, &count, &whole);

	assert_true(timeline_interval_ordered(list, count));
	if (whole)
		forget_saved();
	assert_true(saved.nr_lists < LISTS_MAX);
	struct timeline_interval *copy = malloc((count + 1) * sizeof(*copy));
	assert_non_null(copy);
	if (count)
		memcpy(copy, list, count * sizeof(*copy));
	saved.lists[saved.nr_lists] = copy;
	saved.counts[saved.nr_lists++] = count;
	stream_timeline_sums(timeline, &saved.sums);
	stream_timeline_open(timeline, &saved.nr_open);
	saved.busy_ns = stream_timeline_busy_ns(timeline);
	stream_timeline_saved(timeline);
}

static struct stream_timeline *restored(uint32_t intervals_max)
{
	struct stream_timeline *copy = stream_timeline_create(intervals_max);

	assert_non_null(copy);
	for (uint32_t i = 0; i < saved.nr_lists; i++)
		assert_int_equal(stream_timeline_load(copy, saved.lists[i], saved.counts[i]), 0);
	assert_int_equal(stream_timeline_restore(copy, &saved.sums, saved.nr_open, saved.busy_ns),
			 0);
	return copy;
}

static void assert_same(struct stream_timeline *a, struct stream_timeline *b)
{
	struct timeline_sums a_sums, b_sums;
	uint32_t a_open, b_open;

	stream_timeline_sums(a, &a_sums);
	stream_timeline_sums(b, &b_sums);
	assert_memory_equal(&a_sums, &b_sums, sizeof(a_sums));
	const struct timeline_interval *a_at = stream_timeline_open(a, &a_open);
	const struct timeline_interval *b_at = stream_timeline_open(b, &b_open);
	assert_int_equal(a_open, b_open);
	if (a_open)
		assert_memory_equal(a_at, b_at, a_open * sizeof(*a_at));
	assert_int_equal(stream_timeline_busy_ns(a), stream_timeline_busy_ns(b));
}

static void what_is_restored_goes_on_as_before(void **state)
{
	(void)state;
	add(10, 20);
	add(30, 40);
	save();
	struct stream_timeline *copy = restored(STREAM_TIMELINE_INTERVALS);
	assert_int_equal(stream_timeline_add(copy, 15, 35), 0);
	assert_int_equal(stream_timeline_busy_ns(copy), 30);
	stream_timeline_destroy(copy);
}

static void what_is_as_it_was_is_not_unsaved(void **state)
{
	(void)state;
	bool whole;
	uint32_t count;

	for (uint64_t i = 1; i <= 5; i++)
		add(100 * i, 100 * i + 10);
	stream_timeline_unsaved(timeline, &count, &whole);
	assert_int_equal(count, 5);
	assert_true(whole);
	save();
	add(610, 620);
	add(350, 360);
	const struct timeline_interval *list = stream_timeline_unsaved(timeline, &count, &whole);
	assert_int_equal(count, 4);
	assert_false(whole);
	assert_int_equal(list[0].start_ns, 350);
	assert_int_equal(list[3].start_ns, 610);
	save();
	stream_timeline_unsaved(timeline, &count, &whole);
	assert_int_equal(count, 0);
	assert_false(whole);
	add(615, 630);
	list = stream_timeline_unsaved(timeline, &count, &whole);
	assert_int_equal(count, 1);
	assert_false(whole);
	assert_int_equal(list[0].start_ns, 610);
	assert_int_equal(list[0].end_ns, 630);
	save();
	add(1, 1000);
	list = stream_timeline_unsaved(timeline, &count, &whole);
	assert_int_equal(count, 1);
	assert_true(whole);
	assert_int_equal(list[0].end_ns, 1000);
}

static void what_cannot_be_saved_takes_no_more_memory_than_what_is_open(void **state)
{
	(void)state;
	bool whole;
	uint32_t count;

	limit(1024);
	add(1, 2);
	save();
	for (uint64_t i = 1; i < 100000; i++)
		add(10 * i, 10 * i + 5);
	stream_timeline_unsaved(timeline, &count, &whole);
	assert_true(whole);
	assert_in_range(count, 1, 1024);
	save();
	struct stream_timeline *copy = restored(1024);
	assert_same(copy, timeline);
	stream_timeline_destroy(copy);
}

static void a_closed_timeline_has_nothing_to_load(void **state)
{
	(void)state;
	add(10, 20);
	save();
	add(30, 40);
	stream_timeline_close(timeline);
	save();
	assert_int_equal(saved.nr_lists, 1);
	assert_int_equal(saved.counts[0], 0);
	struct stream_timeline *copy = restored(STREAM_TIMELINE_INTERVALS);
	assert_same(copy, timeline);
	stream_timeline_destroy(copy);
}

static void nonsense_is_not_loaded(void **state)
{
	(void)state;
	const struct timeline_interval crossed[] = {{20, 30}, {25, 40}}, empty[] = {{20, 20}};
	const struct timeline_interval touching[] = {{20, 30}, {30, 40}};

	assert_int_equal(stream_timeline_load(timeline, crossed, 2), -EINVAL);
	assert_int_equal(stream_timeline_load(timeline, empty, 1), -EINVAL);
	assert_int_equal(stream_timeline_load(timeline, touching, 2), -EINVAL);
	assert_int_equal(stream_timeline_busy_ns(timeline), 0);
}

static void assert_not_restored(struct timeline_sums sums, uint32_t nr_open, uint64_t busy_ns)
{
	const struct timeline_interval open = {20, 30};

	limit(STREAM_TIMELINE_INTERVALS);
	assert_int_equal(stream_timeline_load(timeline, &open, 1), 0);
	assert_int_equal(stream_timeline_restore(timeline, &sums, nr_open, busy_ns), -EINVAL);
}

static void nonsense_is_not_restored(void **state)
{
	(void)state;
	assert_not_restored((struct timeline_sums){.close_at = 1}, 2, 10);
	assert_not_restored((struct timeline_sums){.close_at = 1}, 1, 11);
	assert_not_restored((struct timeline_sums){.close_at = 1, .horizon_ns = 25}, 1, 10);
	assert_not_restored((struct timeline_sums){.close_at = 1, .horizon_ns = 30}, 1, 10);
	assert_not_restored((struct timeline_sums){.close_at = 7, .records = 7}, 1, 10);
	assert_not_restored((struct timeline_sums){.close_at = 1 << 20}, 1, 10);
	assert_not_restored(
		(struct timeline_sums){
			.close_at = 1, .first_ns = 20, .last_ns = 35, .uncaptured_ns = 6},
		1, 10);
	assert_not_restored(
		(struct timeline_sums){
			.close_at = 1, .first_ns = 20, .last_ns = 35, .uncaptured_ns = UINT64_MAX},
		1, 10);
}

/* --- against a bitmap of nanoseconds ---------------------------------------------------------- */

#define SPAN 4000u

static uint32_t random_below(uint64_t *seed, uint32_t limit_value)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit_value;
}

static void random_intervals_in_any_order_agree_with_a_bitmap(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint8_t busy[SPAN] = {0};
		uint64_t random = seed, expected = 0, sum = 0;
		struct timeline_sums sums;

		limit(STREAM_TIMELINE_INTERVALS);
		for (uint32_t i = 0; i < 300; i++) {
			uint32_t start = 1 + random_below(&random, SPAN - 40);
			uint32_t length = random_below(&random, 30);

			memset(busy + start, 1, length);
			add(start, start + length);
			sum += length;
		}
		for (uint32_t i = 0; i < SPAN; i++)
			expected += busy[i];
		stream_timeline_sums(timeline, &sums);
		assert_int_equal(stream_timeline_busy_ns(timeline), expected);
		assert_int_equal(sums.sum_ns, sum);
		assert_int_equal(sums.late, 0);
	}
}

/* Disorder within the bound costs nothing, however long the stream is. */
static void slightly_unordered_streams_stay_exact_for_ever(void **state)
{
	(void)state;
	uint64_t random = 42, expected = 0;
	struct timeline_sums sums;
	struct timeline_interval batch[64];

	limit(256);
	for (uint64_t base = 1; base < 1000000; base += 64 * 100) {
		for (uint32_t i = 0; i < 64; i++) {
			batch[i].start_ns = base + i * 100;
			batch[i].end_ns = batch[i].start_ns + 1 + random_below(&random, 90);
			expected += batch[i].end_ns - batch[i].start_ns;
		}
		for (uint32_t i = 63; i > 0; i--) {
			uint32_t j = random_below(&random, i + 1);
			struct timeline_interval swapped = batch[i];

			batch[i] = batch[j];
			batch[j] = swapped;
		}
		for (uint32_t i = 0; i < 64; i++)
			add(batch[i].start_ns, batch[i].end_ns);
	}
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.late, 0);
	assert_int_equal(stream_timeline_busy_ns(timeline), expected);
}

/* --- a device as CUPTI delivers it ------------------------------------------------------------ */

#define THREADS        4u
#define STREAMS        4u     /* of each thread */
#define RUN            10000u /* records in a buffer */
#define DEVICE_RECORDS (THREADS * RUN * 12u)

struct delivery {
	struct timeline_interval *records; /* in the order of arrival */
	uint64_t busy_ns, span_ns;
};

/* Each thread has a few streams with short kernels; its records come buffer by buffer, and the
 * threads' buffers cover the same time. */
static void deliver(struct delivery *delivery, uint64_t gap_ns)
{
	uint64_t random = 7, clocks[THREADS][STREAMS], base_ns = 1000000;
	uint32_t at = 0;

	delivery->records = calloc(DEVICE_RECORDS, sizeof(*delivery->records));
	assert_non_null(delivery->records);
	for (uint32_t i = 0; i < THREADS * STREAMS; i++)
		clocks[i / STREAMS][i % STREAMS] = base_ns + random_below(&random, 1000);
	while (at < DEVICE_RECORDS) {
		for (uint32_t i = 0; i < RUN; i++, at++) {
			uint64_t *clock = &clocks[at / RUN % THREADS][i % STREAMS];
			uint64_t start_ns = *clock + random_below(&random, (uint32_t)gap_ns);

			*clock = start_ns + 1 + random_below(&random, 200);
			delivery->records[at] = (struct timeline_interval){start_ns, *clock};
			if (*clock > delivery->span_ns)
				delivery->span_ns = *clock;
		}
	}
	uint8_t *busy = calloc(1, delivery->span_ns);
	assert_non_null(busy);
	for (uint32_t i = 0; i < DEVICE_RECORDS; i++)
		memset(busy + delivery->records[i].start_ns, 1,
		       delivery->records[i].end_ns - delivery->records[i].start_ns);
	delivery->busy_ns = 0;
	for (uint64_t ns = 0; ns < delivery->span_ns; ns++)
		delivery->busy_ns += busy[ns];
	free(busy);
}

static void add_all(const struct delivery *delivery, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		add(delivery->records[i].start_ns, delivery->records[i].end_ns);
}

static void buffers_of_several_threads_give_the_exact_union(void **state)
{
	(void)state;
	struct delivery delivery = {0};
	struct timeline_sums sums;

	for (uint32_t gap_ns = 100; gap_ns <= 1600; gap_ns *= 4) {
		limit(STREAM_TIMELINE_DEVICE_INTERVALS);
		deliver(&delivery, gap_ns);
		add_all(&delivery, 0, DEVICE_RECORDS);
		stream_timeline_sums(timeline, &sums);
		assert_int_equal(sums.late, 0);
		assert_int_equal(sums.records, DEVICE_RECORDS);
		assert_int_equal(stream_timeline_busy_ns(timeline), delivery.busy_ns);
		assert_int_equal(sums.last_ns, delivery.span_ns);
		free(delivery.records);
	}
}

/* The same where old intervals have to be closed on the way. */
static void closing_by_number_keeps_the_union_exact(void **state)
{
	(void)state;
	struct delivery delivery = {0};
	struct timeline_sums sums;

	limit(1u << 17);
	deliver(&delivery, 6400);
	add_all(&delivery, 0, DEVICE_RECORDS);
	stream_timeline_sums(timeline, &sums);
	assert_true(sums.horizon_ns > 0);
	assert_int_equal(sums.late, 0);
	assert_int_equal(stream_timeline_busy_ns(timeline), delivery.busy_ns);
	free(delivery.records);
}

/* Whatever is saved when, and wherever one goes on from what was saved: records that are late with
 * the one are late with the other. */
static void saving_and_restoring_changes_nothing(void **state)
{
	(void)state;
	static const uint32_t limits[] = {64, 4096, 1u << 15, STREAM_TIMELINE_DEVICE_INTERVALS};
	struct delivery delivery = {0};
	uint64_t random = 11;

	deliver(&delivery, 1600);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct stream_timeline *undisturbed = stream_timeline_create(limits[i]);
		uint32_t at = 0;

		assert_non_null(undisturbed);
		limit(limits[i]);
		forget_saved();
		while (at < DEVICE_RECORDS) {
			uint32_t end = at + 1 + random_below(&random, 30000);

			end = end < DEVICE_RECORDS ? end : DEVICE_RECORDS;
			add_all(&delivery, at, end);
			for (uint32_t j = at; j < end; j++)
				assert_int_equal(stream_timeline_add(undisturbed,
								     delivery.records[j].start_ns,
								     delivery.records[j].end_ns),
						 0);
			at = end;
			if (random_below(&random, 2))
				save();
			if (random_below(&random, 4) == 0) {
				save();
				stream_timeline_destroy(timeline);
				timeline = restored(limits[i]);
			}
		}
		assert_same(timeline, undisturbed);
		stream_timeline_destroy(undisturbed);
	}
	free(delivery.records);
}

static void old_intervals_are_closed_unless_they_are_few(void **state)
{
	(void)state;
	struct timeline_sums sums;
	uint32_t nr_open;
	uint64_t at_ns = 1000;

	limit(STREAM_TIMELINE_DEVICE_INTERVALS);
	for (uint32_t i = 0; i < STREAM_TIMELINE_KEEP; i++, at_ns += 1000000000)
		add(at_ns, at_ns + 10);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.horizon_ns, 0);
	for (uint32_t i = 0; i < STREAM_TIMELINE_KEEP; i++, at_ns += 1000000000)
		add(at_ns, at_ns + 10);
	stream_timeline_open(timeline, &nr_open);
	assert_in_range(nr_open, STREAM_TIMELINE_KEEP, 2 * STREAM_TIMELINE_KEEP - 1);
	stream_timeline_sums(timeline, &sums);
	assert_true(sums.horizon_ns > 0);
	assert_int_equal(stream_timeline_busy_ns(timeline), 20 * STREAM_TIMELINE_KEEP);
	for (uint32_t i = 0; i < 100000; i++, at_ns += 1000)
		add(at_ns, at_ns + 10);
	add(at_ns - STREAM_TIMELINE_SPAN_NS, at_ns);
	stream_timeline_sums(timeline, &sums);
	assert_int_equal(sums.late, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(busy_time_is_the_union),
		TEST(neighbours_that_touch_become_one_interval),
		TEST(an_interval_may_close_a_gap_later),
		TEST(empty_activities_count_but_take_no_time),
		TEST(a_record_that_comes_too_late_is_counted),
		TEST(a_closed_timeline_keeps_its_sums),
		TEST(a_span_that_was_watched_is_idle_around_its_work),
		TEST(what_is_restored_goes_on_as_before),
		TEST(what_is_as_it_was_is_not_unsaved),
		TEST(what_cannot_be_saved_takes_no_more_memory_than_what_is_open),
		TEST(a_closed_timeline_has_nothing_to_load),
		TEST(nonsense_is_not_loaded),
		TEST(nonsense_is_not_restored),
		TEST(random_intervals_in_any_order_agree_with_a_bitmap),
		TEST(slightly_unordered_streams_stay_exact_for_ever),
		TEST(buffers_of_several_threads_give_the_exact_union),
		TEST(closing_by_number_keeps_the_union_exact),
		TEST(saving_and_restoring_changes_nothing),
		TEST(old_intervals_are_closed_unless_they_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
