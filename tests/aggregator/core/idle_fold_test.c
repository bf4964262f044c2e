#include "aggregator/core/idle_fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/idle_work.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PROCESS       3u
#define DEVICE        2u

static struct fold_table *table;

static int set_up(void **state)
{
	(void)state;
	table = fold_table_create();
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	fold_table_destroy(table);
	return 0;
}

static void fold_some(const struct idle_gap *gaps, uint32_t nr_gaps, struct host_sample *samples,
		      uint32_t nr_samples)
{
	assert_int_equal(
		idle_fold(table, PROCESS, DEVICE, gaps, nr_gaps, samples, nr_samples, false), 0);
}

static void fold(const struct idle_gap *gaps, uint32_t nr_gaps, struct host_sample *samples,
		 uint32_t nr_samples)
{
	assert_int_equal(
		idle_fold(table, PROCESS, DEVICE, gaps, nr_gaps, samples, nr_samples, true), 0);
}

/* What stands under a cause and stack of a thread. */
static uint64_t ns_of(uint32_t tid, enum idle_cause cause, uint32_t stack_id)
{
	uint32_t count;
	const struct fold_row *rows = fold_table_rows(table, &count);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].key.process_id, PROCESS);
		assert_int_equal(rows[i].key.device_id, DEVICE);
		if (rows[i].key.tid == tid && rows[i].key.kind == cause &&
		    rows[i].key.stack_id == stack_id)
			ns += rows[i].ns;
	}
	return ns;
}

static uint64_t ns_of_all(void)
{
	uint32_t count;
	const struct fold_row *rows = fold_table_rows(table, &count);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < count; i++)
		ns += rows[i].ns;
	return ns;
}

static struct host_sample cpu(uint32_t tid, uint64_t time_ns, uint64_t duration_ns, uint32_t stack)
{
	return (struct host_sample){
		.time_ns = time_ns, .duration_ns = duration_ns, .tid = tid, .stack_id = stack};
}

static struct host_sample wait(uint32_t tid, uint64_t start_ns, uint64_t end_ns, uint32_t stack)
{
	return (struct host_sample){.time_ns = end_ns,
				    .duration_ns = end_ns - start_ns,
				    .tid = tid,
				    .stack_id = stack,
				    .name_id = 40 + stack,
				    .kind = HOST_SAMPLE_OFF_CPU};
}

static void waits_count_by_what_lies_in_the_gap(void **state)
{
	const struct idle_gap gap = {1000, 2000, 7, false};
	struct host_sample samples[] = {
		wait(7, 1900, 2500, 3), /* out of order, and beyond the end */
		wait(7, 500, 1100, 1),  wait(7, 1200, 1500, 2),
		wait(8, 1000, 2000, 9), /* of another thread */
		wait(7, 2000, 2600, 4), wait(7, 100, 400, 5),
	};

	(void)state;
	fold(&gap, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 1), 100);
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 2), 300);
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 3), 100);
	assert_int_equal(ns_of(7, IDLE_UNKNOWN, 0), 500);
	assert_int_equal(ns_of_all(), 1000);
}

static void the_rest_is_shared_by_the_samples_on_the_cpu_in_the_gap(void **state)
{
	const struct idle_gap gap = {1000, 2000, 7, false};
	struct host_sample samples[] = {
		cpu(7, 1000, 100, 8), /* before the gap */
		cpu(7, 1300, 400, 1),   cpu(7, 1800, 400, 1),
		cpu(7, 2000, 400, 2),   cpu(7, 2501, 400, 9), /* after it */
		wait(7, 1500, 1600, 5),
	};

	(void)state;
	fold(&gap, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 5), 100);
	assert_int_equal(ns_of(7, IDLE_CPU, 1), 600);
	assert_int_equal(ns_of(7, IDLE_CPU, 2), 300);
	assert_int_equal(ns_of_all(), 1000);
}

static void shares_lose_no_nanosecond(void **state)
{
	const struct idle_gap gap = {0, 1000, 7, false};
	struct host_sample samples[] = {cpu(7, 100, 3000, 1), cpu(7, 200, 3000, 2),
					cpu(7, 300, 1000, 3)};

	(void)state;
	fold(&gap, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_CPU, 1), 428);
	assert_int_equal(ns_of(7, IDLE_CPU, 2), 429);
	assert_int_equal(ns_of(7, IDLE_CPU, 3), 143);
	assert_int_equal(ns_of_all(), 1000);
}

static void the_next_sample_has_what_of_its_period_lies_in_the_gap(void **state)
{
	const struct idle_gap gaps[] = {
		{1000, 1100, 7, false}, {5000, 5100, 7, false}, {9000, 9100, 7, false}};
	struct host_sample samples[] = {cpu(7, 2000, 950, 1), cpu(7, 6000, 900, 2)};

	(void)state;
	fold(gaps, LENGTH(gaps), samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_CPU, 1), 50); /* its period begins at 1050 */
	assert_int_equal(ns_of(7, IDLE_CPU, 2), 0);  /* at 5100: too late */
	assert_int_equal(ns_of(7, IDLE_UNKNOWN, 0), 250);
}

/* 8,000 ns asleep, which nobody recorded, and 6,000 ns of work, with a tick in each 1,000 ns. */
static void a_sample_is_given_no_more_than_its_period(void **state)
{
	const struct idle_gap gaps[] = {{10000, 18000, 7, false}, {20000, 26000, 7, false}};
	struct host_sample samples[] = {
		cpu(8, 500, 1000, 9),   cpu(7, 10010, 1000, 1), cpu(7, 18500, 1000, 1),
		cpu(7, 20500, 1000, 2), cpu(7, 21500, 1000, 2), cpu(7, 22500, 1000, 2),
		cpu(7, 23500, 1000, 2), cpu(7, 24500, 1000, 2), cpu(7, 25500, 1000, 2),
		cpu(8, 30000, 1000, 9),
	};

	(void)state;
	fold(gaps, LENGTH(gaps), samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_CPU, 1), 1500); /* of the second what lies in the gap */
	assert_int_equal(ns_of(7, IDLE_NOT_ON_CPU, 0), 6500);
	assert_int_equal(ns_of(7, IDLE_CPU, 2), 6000);
	assert_int_equal(ns_of_all(), 14000);
}

static void that_no_tick_saw_the_thread_is_said_only_where_one_would_have(void **state)
{
	const struct idle_gap before = {100, 900, 7, false}, within = {2000, 2999, 7, false},
			      longer = {2000, 3000, 7, false}, behind = {4000, 6000, 7, false};
	struct host_sample samples[] = {cpu(8, 1000, 1000, 9), cpu(8, 5000, 1000, 9)};

	(void)state;
	fold(&before, 1, samples, LENGTH(samples)); /* it may have been watched from then on */
	fold(&within, 1, samples, LENGTH(samples)); /* shorter than a period */
	fold(&behind, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_UNKNOWN, 0), 800 + 999 + 2000);
	fold(&longer, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_NOT_ON_CPU, 0), 1000);
	fold_some(&longer, 1, samples, LENGTH(samples)); /* the tick's sample may be lost */
	assert_int_equal(ns_of(7, IDLE_NOT_ON_CPU, 0), 1000);
	assert_int_equal(ns_of(7, IDLE_UNKNOWN, 0), 800 + 999 + 2000 + 1000);
}

static void gaps_of_no_known_thread_are_unknown(void **state)
{
	const struct idle_gap gaps[] = {{1000, 1100, 0, false}, {2000, 2050, 9, false}};
	struct host_sample samples[] = {cpu(0, 1050, 100, 1), cpu(7, 2010, 100, 2)};

	(void)state;
	fold(gaps, LENGTH(gaps), samples, LENGTH(samples));
	assert_int_equal(ns_of(0, IDLE_UNKNOWN, 0), 100);
	assert_int_equal(ns_of(9, IDLE_UNKNOWN, 0), 50);
	assert_int_equal(ns_of_all(), 150);
	fold(gaps, 1, NULL, 0);
	assert_int_equal(ns_of_all(), 250);
}

static void waits_that_cannot_be_are_cut_and_the_sum_stays(void **state)
{
	const struct idle_gap gap = {1000, 2000, 7, false};
	struct host_sample samples[] = {
		wait(7, 900, 1500, 1),
		wait(7, 1000, 1600, 2),
		wait(7, 0, 3000, 3),
		{.time_ns = 3000, .duration_ns = UINT64_MAX, .tid = 7, .stack_id = 4, .kind = 1},
		{.time_ns = 1990, .duration_ns = UINT64_MAX, .tid = 7, .stack_id = 5, .kind = 0},
		{.time_ns = 1995, .duration_ns = UINT64_MAX, .tid = 7, .stack_id = 6, .kind = 0},
	};

	(void)state;
	fold(&gap, 1, samples, LENGTH(samples));
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 1), 500);
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 2), 100);
	assert_int_equal(ns_of(7, IDLE_OFF_CPU, 3), 400);
	assert_int_equal(ns_of_all(), 1000);
	fold_table_clear(table);
	fold(&gap, 1, samples + 4, 2); /* its order of the first time stays: no waits are left */
	assert_int_equal(ns_of_all(), 1000);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit;
}

/* Nanosecond by nanosecond: who has it. */
static void any_gaps_and_samples_add_up_and_waits_are_exact(void **state)
{
	enum { SPAN = 4000, THREADS = 3, GAPS = 40, SAMPLES = 120 };
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct idle_gap gaps[GAPS];
		struct host_sample samples[SAMPLES];
		uint64_t waits[THREADS] = {0}, whole = 0, at[THREADS] = {0};
		uint32_t nr_samples = 0;
		static bool waiting[THREADS][SPAN];

		memset(waiting, 0, sizeof(waiting));
		while (nr_samples < SAMPLES) {
			uint32_t t = random_below(&seed, THREADS);
			uint64_t start = at[t] + random_below(&seed, 90);
			uint64_t end = start + 1 + random_below(&seed, 90);

			if (random_below(&seed, 2) && end < SPAN) {
				memset(&waiting[t][start], 1, end - start);
				samples[nr_samples++] = wait(t + 1, start, end, 1);
				at[t] = end;
			} else {
				samples[nr_samples++] =
					cpu(t + 1, random_below(&seed, SPAN), 100, 2);
			}
		}
		for (uint32_t i = 0; i < GAPS; i++) {
			uint32_t t = random_below(&seed, THREADS);
			uint64_t start = i * (SPAN / GAPS) + random_below(&seed, 50);

			gaps[i] = (struct idle_gap){start, start + 1 + random_below(&seed, 50),
						    t + 1, false};
			whole += gaps[i].end_ns - gaps[i].start_ns;
			for (uint64_t ns = start; ns < gaps[i].end_ns; ns++)
				waits[t] += waiting[t][ns];
		}
		fold(gaps, GAPS, samples, SAMPLES);
		assert_int_equal(ns_of_all(), whole);
		for (uint32_t t = 0; t < THREADS; t++)
			assert_int_equal(ns_of(t + 1, IDLE_OFF_CPU, 1), waits[t]);
		fold_table_clear(table);
	}
}

/* --- work --- */

static void work_is_joined_over_short_gaps_and_the_first_one_owns_it(void **state)
{
	struct idle_work work[] = {
		{.start_ns = 50000, .end_ns = 60000, .process_id = 2, .tid = 9},
		{.start_ns = 1000, .end_ns = 2000, .process_id = 1, .tid = 7},
		{.start_ns = 11999, .end_ns = 12500, .process_id = 1, .tid = 8},
		{.start_ns = 1500, .end_ns = 5000, .process_id = 1, .tid = 6},
		{.start_ns = 22500, .end_ns = 22501, .process_id = 1, .tid = 5},
		{.start_ns = 50000, .end_ns = 50001, .process_id = 1, .tid = 4},
	};

	(void)state;
	assert_int_equal(idle_work_merge(work, LENGTH(work)), 3);
	assert_int_equal(work[0].start_ns, 1000);
	assert_int_equal(work[0].end_ns, 12500);
	assert_int_equal(work[0].tid, 7);
	assert_int_equal(work[1].start_ns, 22500); /* the gap before it is just long enough */
	assert_int_equal(work[2].tid, 4);
	assert_int_equal(work[2].end_ns, 60000);
	assert_int_equal(idle_work_merge(work, 0), 0);
}

static void work_may_be_merged_in_any_parts(void **state)
{
	enum { COUNT = 300 };
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct idle_work whole[COUNT], parts[COUNT];
		uint32_t half = random_below(&seed, COUNT), nr_whole, nr_parts;

		for (uint32_t i = 0; i < COUNT; i++) {
			uint64_t start = random_below(&seed, 5000000);

			whole[i] = (struct idle_work){.start_ns = start,
						      .end_ns = start + random_below(&seed, 20000),
						      .process_id = 1 + random_below(&seed, 3),
						      .tid = random_below(&seed, 4)};
		}
		memcpy(parts, whole, sizeof(parts));
		nr_whole = idle_work_merge(whole, COUNT);
		nr_parts = idle_work_merge(parts, half);
		memmove(parts + nr_parts, parts + half, (COUNT - half) * sizeof(*parts));
		nr_parts = idle_work_merge(parts, nr_parts + COUNT - half);
		assert_int_equal(nr_parts, nr_whole);
		assert_memory_equal(parts, whole, nr_whole * sizeof(*whole));
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(waits_count_by_what_lies_in_the_gap),
		TEST(the_rest_is_shared_by_the_samples_on_the_cpu_in_the_gap),
		TEST(shares_lose_no_nanosecond),
		TEST(the_next_sample_has_what_of_its_period_lies_in_the_gap),
		TEST(a_sample_is_given_no_more_than_its_period),
		TEST(that_no_tick_saw_the_thread_is_said_only_where_one_would_have),
		TEST(gaps_of_no_known_thread_are_unknown),
		TEST(waits_that_cannot_be_are_cut_and_the_sum_stays),
		TEST(any_gaps_and_samples_add_up_and_waits_are_exact),
		cmocka_unit_test(work_is_joined_over_short_gaps_and_the_first_one_owns_it),
		cmocka_unit_test(work_may_be_merged_in_any_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
