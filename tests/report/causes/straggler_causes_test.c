/* What a late rank does more of, in windows that are planted: samples and kernels of a few milliseconds each. */
#include "report/causes/straggler_causes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/host_sample.h"
#include "report/profile/profile.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS   4u
#define WINDOWS 10u
#define MS      1000000ull
#define START   (100 * MS)
#define STEP    (100 * MS) /* a window is the first half of each */
#define THREAD  9u

static uint32_t processes[RANKS];
static struct straggler_cause *causes;
static uint32_t nr_causes;
static struct straggler_scope scope;

static int set_up(void **state)
{
	job_set_up(state);
	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 7, i, RANKS);
		for (uint32_t step = 0; step < WINDOWS; step++) {
			const struct collective call = job_all_reduce(
				1, step + 1, 0, START + step * STEP + STEP / 2, STEP / 4);

			job_call(processes[i], &call);
		}
	}
	return 0;
}

static int tear_down(void **state)
{
	straggler_causes_free(causes, nr_causes);
	causes = NULL;
	nr_causes = 0;
	return job_tear_down(state);
}

static uint64_t window_ns(uint32_t step)
{
	return START + step * STEP;
}

/* A rank runs, or waits, for ms in each window, in samples of a millisecond, or one of ms. */
static void runs(uint32_t rank, const char *stack, uint32_t ms)
{
	for (uint32_t step = 0; step < WINDOWS; step++)
		for (uint32_t i = 1; i <= ms; i++)
			job_sample(processes[rank], HOST_SAMPLE_CPU, stack, "", THREAD,
				   window_ns(step) + i * MS, MS);
}

static void waits(uint32_t rank, const char *stack, const char *reason, uint32_t ms)
{
	for (uint32_t step = 0; step < WINDOWS; step++)
		job_sample(processes[rank], HOST_SAMPLE_OFF_CPU, stack, reason, THREAD,
			   window_ns(step) + (1 + ms) * MS, ms * MS);
}

static void kernels(uint32_t rank, const char *name, uint32_t count, uint64_t ns)
{
	static uint32_t correlation_id;

	for (uint32_t step = 0; step < WINDOWS; step++)
		for (uint32_t i = 0; i < count; i++)
			job_kernel(
				processes[rank],
				&(struct job_kernel){
					.name = name,
					.stack = "train.py:main;train.py:forward;cudaLaunchKernel",
					.correlation_id = ++correlation_id,
					.tid = THREAD,
					.start_ns = window_ns(step) + i * 10 * MS + MS,
					.ns = ns,
					.delay_ns = 1000});
}

/* Finds causes of rank 0, which is late_ms late in each window. */
static void find(uint64_t late_ms)
{
	struct straggler_party parties[RANKS] = {{0}};
	struct straggler_window windows[WINDOWS];
	const struct straggler_question question = {
		.parties = parties,
		.nr_parties = RANKS,
		.extent = STRAGGLER_LATE,
		.collectives = WINDOWS,
		.late_ns = late_ms * MS,
		.window_late_ns = late_ms * MS,
	};

	job_commit();
	for (uint32_t i = 0; i < WINDOWS; i++)
		windows[i] = (struct straggler_window){window_ns(i), window_ns(i) + STEP / 2};
	const struct straggler_window_list list = {
		.windows = windows, .count = WINDOWS, .collectives = WINDOWS};
	for (uint32_t i = 0; i < RANKS; i++) {
		parties[i].process = processes[i];
		parties[i].windows =
			(struct straggler_windows){.host = list, .idle = list, .gpu = list};
	}
	struct profile *profile = job_profile();
	struct collective_folds *folds = job_collectives();

	assert_int_equal(straggler_causes_find(profile, job_path(), folds, &question, &causes,
					       &nr_causes, &scope),
			 0);
	assert_int_equal(scope.extent, STRAGGLER_LATE);
	assert_int_equal(scope.late_ns, late_ms * MS);
	collective_folds_destroy(folds);
	profile_destroy(profile);
}

static void assert_cause(uint32_t index, enum straggler_sort sort, const char *function,
			 const char *what, uint64_t excess_ns, enum straggler_effect effect)
{
	assert_true(index < nr_causes);
	assert_int_equal(causes[index].sort, sort);
	assert_string_equal(causes[index].function, function);
	assert_string_equal(causes[index].what, what);
	assert_int_equal(causes[index].excess_ns, excess_ns);
	assert_int_equal(causes[index].effect, effect);
	assert_int_equal(causes[index].extent, STRAGGLER_LATE);
}

/* Each runs 20 ms in augment(), and the late one 24 ms more in tokenize(). */
static void what_the_late_rank_alone_does_is_named(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		runs(i, "train.py:main;train.py:augment", 20);
	runs(0, "train.py:main;train.py:tokenize", 24);
	find(24);
	assert_int_equal(nr_causes, 1);
	assert_cause(0, STRAGGLER_CPU, "train.py:tokenize", "", 24 * MS, STRAGGLER_NO_EFFECT);
	assert_true(causes[0].share > 0.999 && causes[0].share < 1.001);
	assert_string_equal(causes[0].stack, "train.py:main;train.py:tokenize");
}

/* Imports are before the windows, and what is behind them is so, too. */
static void what_lies_outside_of_the_windows_is_no_cause(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		runs(i, "train.py:main;train.py:augment", 20);
	for (uint32_t i = 1; i <= 90; i++)
		job_sample(processes[0], HOST_SAMPLE_CPU, "train.py:<module>;train.py:imports", "",
			   THREAD, i * MS, MS);
	for (uint32_t step = 0; step < WINDOWS; step++)
		for (uint32_t i = 0; i < 30; i++)
			job_sample(processes[0], HOST_SAMPLE_CPU, "train.py:main;train.py:later",
				   "", THREAD, window_ns(step) + STEP / 2 + (2 + i) * MS, MS);
	find(24);
	assert_int_equal(nr_causes, 0);
}

/* The median of the others runs for 10 ms, and one of them for as long as the late one. */
static void the_median_of_the_others_is_compared(void **state)
{
	(void)state;
	runs(0, "train.py:main;train.py:augment", 40);
	runs(1, "train.py:main;train.py:augment", 10);
	runs(2, "train.py:main;train.py:augment", 10);
	runs(3, "train.py:main;train.py:augment", 40);
	find(30);
	assert_int_equal(nr_causes, 1);
	assert_cause(0, STRAGGLER_CPU, "train.py:augment", "", 30 * MS, STRAGGLER_NO_EFFECT);
}

static void a_small_part_of_the_lateness_is_no_cause(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		waits(i, "train.py:main;loader.py:next;poll", "poll", 10 + (i == 0));
	find(100);
	assert_int_equal(nr_causes, 0);
}

static void a_wait_has_its_reason_and_function(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		waits(i, "train.py:main;loader.py:next;poll;do_poll_[k]", "poll", i == 0 ? 22 : 10);
	find(12);
	assert_int_equal(nr_causes, 1);
	assert_cause(0, STRAGGLER_WAITS, "loader.py:next", "poll", 12 * MS, STRAGGLER_NO_EFFECT);
}

/* Without a CPU it was in two functions, which is one cause. */
static void the_run_queue_is_one_cause(void **state)
{
	(void)state;
	waits(0, "train.py:main;train.py:augment", "run queue", 6);
	for (uint32_t step = 0; step < WINDOWS; step++)
		job_sample(processes[0], HOST_SAMPLE_OFF_CPU, "train.py:main;train.py:forward",
			   "run queue", THREAD, window_ns(step) + 20 * MS, 8 * MS);
	find(14);
	assert_int_equal(nr_causes, 1);
	assert_int_equal(causes[0].sort, STRAGGLER_RUN_QUEUE);
	assert_int_equal(causes[0].excess_ns, 14 * MS);
}

static void slower_kernels_and_more_of_them_are_told_apart(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++) {
		kernels(i, "gemm", 1, i == 0 ? 9 * MS : 3 * MS);
		kernels(i, "copy", i == 0 ? 4 : 1, 2 * MS);
	}
	find(12);
	assert_int_equal(nr_causes, 2);
	const uint32_t gemm = strcmp(causes[0].what, "gemm") == 0 ? 0 : 1;

	assert_cause(gemm, STRAGGLER_GPU_WORK, "train.py:forward", "gemm", 6 * MS,
		     STRAGGLER_NO_EFFECT);
	assert_false(causes[gemm].more);
	assert_cause(1 - gemm, STRAGGLER_GPU_WORK, "train.py:forward", "copy", 6 * MS,
		     STRAGGLER_NO_EFFECT);
	assert_true(causes[1 - gemm].more);
	assert_true(causes[1 - gemm].launches > 2.9 && causes[1 - gemm].launches < 3.1);
}

/* If the GPU's work explains all, the host's held up nobody. A wait for another thread is an effect of its work. */
static void effects_come_last(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++) {
		kernels(i, "gemm", 1, i == 0 ? 9 * MS : 3 * MS);
		waits(i, "train.py:main;queue.py:put;futex_wait_[k]", "futex", i == 0 ? 30 : 10);
	}
	find(6);
	assert_int_equal(nr_causes, 2);
	assert_cause(0, STRAGGLER_GPU_WORK, "train.py:forward", "gemm", 6 * MS,
		     STRAGGLER_NO_EFFECT);
	assert_int_equal(causes[1].sort, STRAGGLER_THREAD_WAITS);
	assert_int_equal(causes[1].effect, STRAGGLER_HOST_EFFECT);
	assert_true(straggler_causes_most(causes, nr_causes) > 0.99 &&
		    straggler_causes_most(causes, nr_causes) < 1.01);
}

/* A rank's own wait for its GPU follows from the GPU's work. */
static void a_wait_for_the_gpu_is_no_cause(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++) {
		kernels(i, "gemm", 1, 3 * MS);
		waits(i, "train.py:main;train.py:forward;cudaStreamSynchronize;futex_wait_[k]",
		      "poll", i == 0 ? 30 : 10);
	}
	find(20);
	assert_int_equal(nr_causes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_the_late_rank_alone_does_is_named),
		TEST(what_lies_outside_of_the_windows_is_no_cause),
		TEST(the_median_of_the_others_is_compared),
		TEST(a_small_part_of_the_lateness_is_no_cause),
		TEST(a_wait_has_its_reason_and_function),
		TEST(the_run_queue_is_one_cause),
		TEST(slower_kernels_and_more_of_them_are_told_apart),
		TEST(effects_come_last),
		TEST(a_wait_for_the_gpu_is_no_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
