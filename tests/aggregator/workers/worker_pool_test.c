#include "aggregator/workers/worker_pool.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define TASKS  8u
#define ROUNDS 500u

struct counter {
	struct worker_task task; /* first */
	struct worker_pool *pool;
	uint64_t count; /* what run() changes and done() reads, without a lock */
	uint32_t nr_done, rounds;
	pthread_t thread; /* that ran it */
	bool had_decoder;
};

static void count_up(struct worker_task *task, struct batch_decoder *decoder)
{
	struct counter *counter = (struct counter *)task;

	counter->had_decoder = decoder;
	counter->thread = pthread_self();
	counter->count++;
}

static void again(struct worker_task *task)
{
	struct counter *counter = (struct counter *)task;

	counter->nr_done++;
	assert_int_equal(counter->count, counter->nr_done);
	if (counter->nr_done < counter->rounds)
		worker_pool_give(counter->pool, task);
}

static struct worker_pool *start(uint32_t nr_threads, int *wake_fd)
{
	struct worker_pool *pool;

	*wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(*wake_fd >= 0);
	assert_int_equal(worker_pool_start(nr_threads, *wake_fd, &pool), 0);
	return pool;
}

static void stop(struct worker_pool *pool, int wake_fd)
{
	worker_pool_stop(pool);
	close(wake_fd);
}

static void give(struct worker_pool *pool, struct counter *counter, uint32_t rounds)
{
	*counter = (struct counter){
		.task = {.run = count_up, .done = again}, .pool = pool, .rounds = rounds};
	worker_pool_give(pool, &counter->task);
}

static void each_task_runs_and_is_done_as_often_as_it_is_given(void **state)
{
	struct counter counters[TASKS];

	(void)state;
	for (uint32_t nr_threads = 0; nr_threads <= 3; nr_threads++) {
		int wake_fd;
		struct worker_pool *pool = start(nr_threads, &wake_fd);

		assert_int_equal(worker_pool_is_inline(pool), nr_threads == 0);
		for (uint32_t i = 0; i < TASKS; i++)
			give(pool, &counters[i], ROUNDS);
		while (worker_pool_wait(pool))
			;
		for (uint32_t i = 0; i < TASKS; i++) {
			assert_int_equal(counters[i].nr_done, ROUNDS);
			assert_true(counters[i].had_decoder);
			assert_int_equal(pthread_equal(counters[i].thread, pthread_self()) != 0,
					 nr_threads == 0);
		}
		assert_false(worker_pool_has_done(pool));
		stop(pool, wake_fd);
	}
}

static void without_threads_a_task_runs_at_once_and_is_done_by_a_step(void **state)
{
	int wake_fd;
	struct worker_pool *pool = start(0, &wake_fd);
	struct counter counter;

	(void)state;
	give(pool, &counter, 1);
	assert_int_equal(counter.count, 1);
	assert_int_equal(counter.nr_done, 0);
	assert_true(worker_pool_has_done(pool));
	worker_pool_step(pool);
	assert_int_equal(counter.nr_done, 1);
	assert_false(worker_pool_wait(pool));
	stop(pool, wake_fd);
}

struct gate {
	struct worker_task task; /* first */
	pthread_mutex_t lock;
	pthread_cond_t opens;
	bool is_open;
	uint32_t nr_done;
};

static void pass(struct worker_task *task, struct batch_decoder *decoder)
{
	struct gate *gate = (struct gate *)task;

	(void)decoder;
	pthread_mutex_lock(&gate->lock);
	while (!gate->is_open)
		pthread_cond_wait(&gate->opens, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void note(struct worker_task *task)
{
	((struct gate *)task)->nr_done++;
}

/* The thread writes after its task is ready. */
static void expect_wake(int wake_fd)
{
	struct pollfd poll_fd = {.fd = wake_fd, .events = POLLIN};
	uint64_t woken;

	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	assert_int_equal(read(wake_fd, &woken, sizeof(woken)), sizeof(woken));
}

static void a_task_that_stalls_holds_up_no_other(void **state)
{
	struct gate gate = {.task = {.run = pass, .done = note},
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .opens = PTHREAD_COND_INITIALIZER};
	struct counter counter;
	int wake_fd;
	struct worker_pool *pool = start(2, &wake_fd);

	(void)state;
	worker_pool_give(pool, &gate.task);
	give(pool, &counter, ROUNDS);
	while (counter.nr_done < ROUNDS)
		assert_true(worker_pool_wait(pool));
	assert_int_equal(gate.nr_done, 0);
	expect_wake(wake_fd);
	pthread_mutex_lock(&gate.lock);
	gate.is_open = true;
	pthread_cond_signal(&gate.opens);
	pthread_mutex_unlock(&gate.lock);
	while (worker_pool_wait(pool))
		;
	assert_int_equal(gate.nr_done, 1);
	expect_wake(wake_fd);
	stop(pool, wake_fd);
}

static void threads_are_as_many_as_cpus_within_bounds(void **state)
{
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_in_range(worker_pool_threads(), WORKER_POOL_MIN, WORKER_POOL_MAX);
	CPU_ZERO(&one);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(worker_pool_threads(), WORKER_POOL_MIN);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_runs_and_is_done_as_often_as_it_is_given),
		cmocka_unit_test(without_threads_a_task_runs_at_once_and_is_done_by_a_step),
		cmocka_unit_test(a_task_that_stalls_holds_up_no_other),
		cmocka_unit_test(threads_are_as_many_as_cpus_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
