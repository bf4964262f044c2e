#include "report/watch/watch_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS    1000000ull
#define TIMES 30u

static void the_pace_is_that_of_each_communicators_steps(void **state)
{
	/* Two communicators: three collectives in a step of 12 ms, and one collective each 40 ms. */
	static const uint32_t kinds[] = {1, 2, 3};
	struct watch_meeting meetings[2 * TIMES] = {{0}};
	uint64_t called_ns[2 * TIMES], keys[] = {7, 8};
	const struct watch_recent recent = {.meetings = meetings,
					    .called_ns = called_ns,
					    .keys = keys,
					    .nr_meetings = 2 * TIMES,
					    .nr_keys = 2};
	struct watch_pace *paces;
	uint32_t count;

	(void)state;
	for (uint32_t i = 0; i < TIMES; i++) {
		meetings[i].kind = kinds[i % 3];
		called_ns[i] = 1000 * MS + i * 4 * MS;
		meetings[TIMES + i].communicator = 1;
		called_ns[TIMES + i] = 500 * MS + i * 40 * MS;
	}
	assert_int_equal(watch_pace_measure(&recent, &paces, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(paces[0].key, 7);
	assert_int_equal(paces[0].collectives, 3);
	assert_int_equal(paces[0].step_ns, 12 * MS);
	assert_int_equal(paces[1].key, 8);
	assert_int_equal(paces[1].collectives, 1);
	assert_int_equal(paces[1].step_ns, 40 * MS);
	free(paces);
}

/* Returns the pace of a communicator with equal collectives that come so long after one another, so many in a step. */
static uint64_t pace_of(const uint64_t *gaps_ns, uint32_t nr_gaps, uint32_t collectives)
{
	struct watch_meeting meetings[TIMES + 1] = {{0}};
	uint64_t called_ns[TIMES + 1] = {1000 * MS}, key = 7, step_ns;
	const struct watch_recent recent = {.meetings = meetings,
					    .called_ns = called_ns,
					    .keys = &key,
					    .nr_meetings = nr_gaps + 1,
					    .nr_keys = 1};
	struct watch_pace *paces;
	uint32_t count;

	for (uint32_t i = 0; i < nr_gaps; i++)
		called_ns[i + 1] = called_ns[i] + gaps_ns[i];
	assert_int_equal(watch_pace_measure(&recent, &paces, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(paces[0].collectives, collectives);
	step_ns = paces[0].step_ns;
	free(paces);
	return step_ns;
}

static void equal_collectives_that_follow_closely_are_a_step(void **state)
{
	uint64_t gaps_ns[28];

	(void)state;
	/* Four equal collectives in a step of 100 ms. */
	for (uint32_t i = 0; i < 28; i++)
		gaps_ns[i] = (i % 4 == 3 ? 70 : 10) * MS;
	assert_int_equal(pace_of(gaps_ns, 28, 4), 100 * MS);
}

static void what_happens_once_is_no_part_of_the_pace(void **state)
{
	uint64_t gaps_ns[24];

	(void)state;
	for (uint32_t i = 0; i < 24; i++)
		gaps_ns[i] = 40 * MS;
	gaps_ns[0] = 5000 * MS;
	gaps_ns[1] = 900 * MS;
	assert_int_equal(pace_of(gaps_ns, 24, 1), 40 * MS);
}

static void one_collective_has_no_pace(void **state)
{
	struct watch_meeting meeting = {0};
	uint64_t called_ns = 5, key = 7;
	const struct watch_recent recent = {
		.meetings = &meeting, .called_ns = &called_ns, .keys = &key, .nr_meetings = 1};
	struct watch_pace *paces;
	uint32_t count;

	(void)state;
	assert_int_equal(watch_pace_measure(&recent, &paces, &count), 0);
	assert_int_equal(count, 0);
}

static void what_was_seen_before_a_time_is_found(void **state)
{
	struct watch_pace_log log = {.entries = NULL};

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		const struct watch_pace paces[] = {{7, 3, (10 + i) * MS}, {8, 1, 40 * MS}};

		assert_int_equal(watch_pace_log_add(&log, i * 1000 * MS, paces, 2), 0);
	}
	assert_int_equal(watch_pace_log_before(&log, 4000 * MS, 7, 3), 12 * MS);
	assert_int_equal(watch_pace_log_before(&log, 4000 * MS, 8, 1), 40 * MS);
	assert_int_equal(watch_pace_log_before(&log, 4000 * MS, 7, 2), 0);
	assert_int_equal(watch_pace_log_before(&log, 4000 * MS, 9, 3), 0);
	watch_pace_log_fini(&log);
}

static void what_is_remembered_is_bounded(void **state)
{
	struct watch_pace_log log = {.entries = NULL};

	(void)state;
	/* The looks of one communicator, and then many that come and go. */
	for (uint64_t i = 0; i < 3 * WATCH_PACE_LOOKS; i++) {
		const struct watch_pace pace = {7, 1, (i + 1) * MS};

		assert_int_equal(watch_pace_log_add(&log, i, &pace, 1), 0);
	}
	assert_int_equal(log.nr_entries, WATCH_PACE_LOOKS);
	assert_int_equal(watch_pace_log_before(&log, 2 * WATCH_PACE_LOOKS - 1, 7, 1), 0);
	for (uint64_t i = 0; i < 2 * WATCH_PACE_MAX; i++) {
		const struct watch_pace pace = {100 + i, 1, MS};

		assert_int_equal(watch_pace_log_add(&log, 1000, &pace, 1), 0);
	}
	assert_int_equal(log.nr_entries, WATCH_PACE_MAX);
	watch_pace_log_fini(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pace_is_that_of_each_communicators_steps),
		cmocka_unit_test(equal_collectives_that_follow_closely_are_a_step),
		cmocka_unit_test(what_happens_once_is_no_part_of_the_pace),
		cmocka_unit_test(one_collective_has_no_pace),
		cmocka_unit_test(what_was_seen_before_a_time_is_found),
		cmocka_unit_test(what_is_remembered_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
