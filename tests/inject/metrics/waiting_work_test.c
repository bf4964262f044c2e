#include "inject/metrics/waiting_work.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define THREADS 4
#define ROUNDS  20000

static const char nccl[] = "ncclDevKernel_AllReduce";

static _Atomic int nr_flushes;
static time_t now_s;
static pthread_barrier_t barrier;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){.tv_sec = now_s};
	return 0;
}

static void flush_soon(void)
{
	nr_flushes++;
}

static int set_up(void **state)
{
	(void)state;
	now_s += 3600;
	nr_flushes = 0;
	waiting_work_init(flush_soon);
	return 0;
}

static void names_of_nccl_and_nvshmem_wait(void **state)
{
	(void)state;
	assert_true(waiting_work_is(nccl));
	assert_true(waiting_work_is("_Z20nvshmemi_barrier_kernelv"));
	assert_true(waiting_work_is("my_nccl"));
	assert_false(waiting_work_is("gemm"));
	assert_false(waiting_work_is("ncc_l"));
	assert_false(waiting_work_is(""));
	assert_false(waiting_work_is(NULL));
}

static void a_kernel_is_such_work_until_its_record(void **state)
{
	(void)state;
	assert_true(waiting_work_is_none());
	waiting_work_launched();
	assert_false(waiting_work_is_none());
	assert_false(waiting_work_is_capturing());
	assert_false(waiting_work_is_in_graphs());
	waiting_work_ended("gemm");
	waiting_work_ended(NULL);
	assert_false(waiting_work_is_none());
	waiting_work_ended("nvshmemi_barrier");
	assert_true(waiting_work_is_none());
}

static void each_kernel_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		waiting_work_launched();
	for (int i = 0; i < 3; i++) {
		assert_false(waiting_work_is_none());
		waiting_work_ended(nccl);
	}
	assert_true(waiting_work_is_none());
}

/* Records of kernels that a graph launched come as well. */
static void ends_without_a_beginning_count_nothing(void **state)
{
	(void)state;
	waiting_work_ended(nccl);
	waiting_work_capture(false);
	assert_true(waiting_work_is_none());
	waiting_work_launched();
	assert_false(waiting_work_is_none());
	waiting_work_ended(nccl);
	waiting_work_capture(true);
	assert_true(waiting_work_is_capturing());
}

static void captures_are_such_work_until_the_last_ends(void **state)
{
	(void)state;
	waiting_work_capture(true);
	waiting_work_capture(true);
	assert_true(waiting_work_is_capturing());
	assert_false(waiting_work_is_none());
	waiting_work_capture(false);
	assert_true(waiting_work_is_capturing());
	assert_false(waiting_work_is_none());
	waiting_work_capture(false);
	assert_false(waiting_work_is_capturing());
	assert_true(waiting_work_is_none());
	assert_false(waiting_work_is_in_graphs());
}

static void a_launch_in_a_capture_is_such_work_for_good(void **state)
{
	(void)state;
	waiting_work_capture(true);
	waiting_work_launched();
	assert_true(waiting_work_is_in_graphs());
	waiting_work_capture(false);
	waiting_work_ended(nccl);
	assert_false(waiting_work_is_capturing());
	assert_true(waiting_work_is_in_graphs());
	assert_false(waiting_work_is_none());
}

static void a_record_is_missing_once_some_were_dropped(void **state)
{
	(void)state;
	waiting_work_launched();
	assert_false(waiting_work_is_missing());
	waiting_work_dropped();
	assert_true(waiting_work_is_missing());
	assert_false(waiting_work_is_none());
	waiting_work_ended(nccl);
	assert_false(waiting_work_is_missing());
	assert_true(waiting_work_is_none());
}

static void init_forgets_all(void **state)
{
	(void)state;
	waiting_work_launched();
	waiting_work_capture(true);
	waiting_work_launched();
	waiting_work_capture(true);
	waiting_work_dropped();
	waiting_work_init(flush_soon);
	assert_false(waiting_work_is_capturing());
	assert_false(waiting_work_is_in_graphs());
	assert_true(waiting_work_is_none());
	assert_int_equal(nr_flushes, 0);
}

static void records_are_asked_for_now_and_then(void **state)
{
	(void)state;
	waiting_work_launched();
	assert_false(waiting_work_is_none());
	assert_int_equal(nr_flushes, 1);
	assert_false(waiting_work_is_none());
	assert_int_equal(nr_flushes, 1);
	now_s++;
	assert_false(waiting_work_is_none());
	assert_false(waiting_work_is_none());
	assert_int_equal(nr_flushes, 2);
	waiting_work_ended(nccl);
	now_s++;
	assert_true(waiting_work_is_none());
	assert_int_equal(nr_flushes, 2);
}

/* Captures and graphs do not end by records. */
static void captures_ask_for_no_records(void **state)
{
	(void)state;
	waiting_work_capture(true);
	waiting_work_launched();
	assert_false(waiting_work_is_none());
	waiting_work_capture(false);
	assert_false(waiting_work_is_none());
	assert_int_equal(nr_flushes, 0);
}

/* Of each thread one kernel and one capture are left. */
static void *launch_and_capture(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++)
		waiting_work_launched();
	for (int i = 1; i < ROUNDS; i++)
		waiting_work_ended(nccl);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		waiting_work_capture(true);
		if (i)
			waiting_work_capture(false);
	}
	return unused;
}

static void *ask(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++)
		if (waiting_work_is_none())
			return "none";
	return unused;
}

static void run_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	void *wrong;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	pthread_barrier_destroy(&barrier);
}

static void counts_of_threads_are_exact(void **state)
{
	(void)state;
	run_threads(launch_and_capture);
	assert_false(waiting_work_is_in_graphs());
	for (int i = 0; i < THREADS; i++) {
		assert_true(waiting_work_is_capturing());
		waiting_work_capture(false);
	}
	assert_false(waiting_work_is_capturing());
	for (int i = 0; i < THREADS; i++) {
		assert_false(waiting_work_is_none());
		waiting_work_ended(nccl);
	}
	assert_true(waiting_work_is_none());
}

static void one_of_many_threads_asks_for_records(void **state)
{
	(void)state;
	waiting_work_launched();
	run_threads(ask);
	assert_int_equal(nr_flushes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_of_nccl_and_nvshmem_wait, set_up),
		cmocka_unit_test_setup(a_kernel_is_such_work_until_its_record, set_up),
		cmocka_unit_test_setup(each_kernel_counts, set_up),
		cmocka_unit_test_setup(ends_without_a_beginning_count_nothing, set_up),
		cmocka_unit_test_setup(captures_are_such_work_until_the_last_ends, set_up),
		cmocka_unit_test_setup(a_launch_in_a_capture_is_such_work_for_good, set_up),
		cmocka_unit_test_setup(a_record_is_missing_once_some_were_dropped, set_up),
		cmocka_unit_test_setup(init_forgets_all, set_up),
		cmocka_unit_test_setup(records_are_asked_for_now_and_then, set_up),
		cmocka_unit_test_setup(captures_ask_for_no_records, set_up),
		cmocka_unit_test_setup(counts_of_threads_are_exact, set_up),
		cmocka_unit_test_setup(one_of_many_threads_asks_for_records, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
