/* The times that are compared, of jobs of a few calls whose times are known to the nanosecond. */
#include "report/causes/straggler_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/collective_match.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS 3u
#define LATE  1u
#define STEPS 6u
#define MS    1000000ull
#define START (1000 * MS)
#define STEP  (20 * MS)

static struct collective_folds *folds;
static struct straggler_calls calls;

static int take(void *context, struct collective_match *match)
{
	(void)context;
	calls.match = *match;
	return collective_match_compare(&calls.match, folds->log, &calls.times_ns);
}

/* All ranks come to each collective 10 ms after the last one's end, the late rank late_ms[i] later. A collective takes
 * 1 ms from the last rank's call on. Clocks are one. */
static void play(const uint32_t late_ms[STEPS])
{
	uint32_t processes[RANKS];
	uint64_t now_ns = START;

	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 7, i, RANKS);
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		const uint64_t end_ns = now_ns + (11 + late_ms[step]) * MS;

		for (uint32_t i = 0; i < RANKS; i++) {
			const uint64_t from_ns =
				now_ns + 10 * MS + (i == LATE ? late_ms[step] * MS : 0);
			const struct collective call =
				job_all_reduce(1, step + 1, 0, from_ns, end_ns - from_ns);

			job_call(processes[i], &call);
		}
		now_ns = end_ns;
	}
	job_commit();
	folds = job_collectives();
	assert_int_equal(collective_match_each(folds->log, 100, true, take, NULL), 0);
	assert_int_equal(calls.match.nr_members, RANKS);
	assert_int_equal(calls.match.nr_rows, STEPS);
}

static int tear_down(void **state)
{
	collective_match_fini(&calls.match);
	free(calls.times_ns);
	free(calls.is_with);
	calls = (struct straggler_calls){.least_ns = 0};
	collective_folds_destroy(folds);
	folds = NULL;
	return job_tear_down(state);
}

static void assert_window(const struct straggler_window_list *list, uint32_t index,
			  uint64_t start_ns, uint64_t end_ns)
{
	assert_true(index < list->count);
	assert_int_equal(list->windows[index].start_ns, start_ns);
	assert_int_equal(list->windows[index].end_ns, end_ns);
}

/* The third and the fifth collective: 10 ms of work, and of the late rank 5 ms and 7 ms more. */
static void windows_lie_before_the_late_collectives_alone(void **state)
{
	static const uint32_t late_ms[STEPS] = {0, 0, 5, 0, 7, 0};
	const uint64_t third_ns = START + 2 * 11 * MS, fifth_ns = third_ns + 16 * MS + 11 * MS;
	uint64_t late_ns;
	uint32_t count;

	(void)state;
	play(late_ms);
	assert_int_equal(straggler_window_lateness(&calls, folds->log, LATE, &late_ns, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(late_ns, 6 * MS);
	for (uint32_t i = 0; i < RANKS; i++) {
		struct straggler_windows windows = {0};
		const uint64_t more = i == LATE ? 1 : 0;

		assert_int_equal(straggler_window_find(&calls, folds->log, LATE, i, &windows), 0);
		assert_int_equal(windows.host.count, 2);
		assert_true(windows.host.collectives > 1.5 && windows.host.collectives < 2.5);
		assert_window(&windows.host, 0, third_ns, third_ns + (10 + 5 * more) * MS);
		assert_window(&windows.host, 1, fifth_ns, fifth_ns + (10 + 7 * more) * MS);
		assert_window(&windows.idle, 0, third_ns, third_ns + (10 + 5 * more) * MS);
		assert_int_equal(windows.gpu.count, 0);
		straggler_windows_fini(&windows);
	}
}

/* What ranks do before it is their start. */
static void the_first_collective_does_not_count(void **state)
{
	static const uint32_t late_ms[STEPS] = {500, 0, 0, 0, 0, 0};
	uint64_t late_ns;
	uint32_t count;

	(void)state;
	play(late_ms);
	assert_int_equal(straggler_window_lateness(&calls, folds->log, LATE, &late_ns, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(late_ns, 0);
}

static void collectives_in_which_it_was_less_late_do_not_count(void **state)
{
	static const uint32_t late_ms[STEPS] = {0, 1, 5, 1, 7, 1};
	uint64_t late_ns, each_ns[STEPS];
	uint32_t count;

	(void)state;
	play(late_ms);
	calls.least_ns = 5 * MS;
	assert_int_equal(straggler_window_lateness(&calls, folds->log, LATE, &late_ns, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(late_ns, 6 * MS);
	assert_int_equal(straggler_window_late(&calls, LATE, each_ns, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(each_ns[0], 5 * MS);
	assert_int_equal(each_ns[1], 7 * MS);
	calls.least_ns = 0;
	assert_int_equal(straggler_window_late(&calls, LATE, each_ns, &count), 0);
	assert_int_equal(count, 5);
}

/* Of two ranks that are late together, each is the last if no third one is later. */
static void ranks_of_its_group_are_not_compared(void **state)
{
	static const uint32_t late_ms[STEPS] = {0, 0, 5, 0, 0, 0};
	uint64_t late_ns;
	uint32_t count;

	(void)state;
	play(late_ms);
	calls.is_with = calloc(RANKS, sizeof(*calls.is_with));
	assert_non_null(calls.is_with);
	calls.is_with[LATE] = calls.is_with[2] = true;
	assert_int_equal(straggler_window_lateness(&calls, folds->log, LATE, &late_ns, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(late_ns, 5 * MS);
}

/* The late rank's last 100 ms before the call; of the others a nanosecond. */
static void of_a_stall_the_time_counts_for_which_the_others_waited(void **state)
{
	static const uint32_t late_ms[STEPS] = {0, 0, 0, 100, 0, 0};
	const uint64_t called_ns = START + 3 * 11 * MS + 10 * MS;
	struct straggler_windows late = {0}, other = {0};

	(void)state;
	play(late_ms);
	calls.is_stall = true;
	calls.least_ns = 50 * MS;
	assert_int_equal(straggler_window_find(&calls, folds->log, LATE, LATE, &late), 0);
	assert_int_equal(straggler_window_find(&calls, folds->log, LATE, 0, &other), 0);
	assert_true(late.is_stall);
	assert_int_equal(late.host.count, 1);
	assert_window(&late.host, 0, called_ns, called_ns + 100 * MS);
	assert_window(&other.host, 0, called_ns - 1, called_ns);
	straggler_windows_fini(&late);
	straggler_windows_fini(&other);
}

static void a_span_is_one_window(void **state)
{
	const struct collective_fold_member member = {
		.start_ns = 100, .end_ns = 900, .gpu_start_ns = 50, .gpu_end_ns = 500};
	struct straggler_windows windows = {0};

	(void)state;
	assert_int_equal(straggler_window_span(&member, 40, &windows), 0);
	assert_window(&windows.host, 0, 100, 900);
	assert_window(&windows.idle, 0, 100, 900);
	assert_window(&windows.gpu, 0, 50, 500);
	assert_true(windows.gpu.collectives > 39.5 && windows.gpu.collectives < 40.5);
	straggler_windows_fini(&windows);
	assert_null(windows.host.windows);
}

static void times_are_cut_to_windows(void **state)
{
	struct straggler_window two[] = {{100, 200}, {300, 400}};
	const struct straggler_window_list list = {.windows = two, .count = 2};

	(void)state;
	assert_int_equal(straggler_window_overlap(&list, 0, 1000), 200);
	assert_int_equal(straggler_window_overlap(&list, 150, 350), 100);
	assert_int_equal(straggler_window_overlap(&list, 200, 300), 0);
	assert_int_equal(straggler_window_overlap(&list, 399, 401), 1);
	assert_int_equal(straggler_window_first(&list, 99), 0);
	assert_int_equal(straggler_window_first(&list, 200), 1);
	assert_int_equal(straggler_window_first(&list, 400), 2);
	assert_true(straggler_window_has(&list, 100));
	assert_true(straggler_window_has(&list, 199));
	assert_false(straggler_window_has(&list, 200));
	assert_false(straggler_window_has(&list, 99));
	assert_false(straggler_window_has(&list, 400));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(windows_lie_before_the_late_collectives_alone),
		TEST(the_first_collective_does_not_count),
		TEST(collectives_in_which_it_was_less_late_do_not_count),
		TEST(ranks_of_its_group_are_not_compared),
		TEST(of_a_stall_the_time_counts_for_which_the_others_waited),
		cmocka_unit_test(a_span_is_one_window),
		cmocka_unit_test(times_are_cut_to_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
