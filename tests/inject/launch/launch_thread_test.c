#include "inject/launch/launch_thread.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/inject/test_ring.h"

#define KEPT    8u
#define AT_ONCE (KEPT + 4)
#define ROUNDS  40u
#define NR      50u

static struct test_ring ring;

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	return launch_thread_init(KEPT);
}

static int tear_down(void **state)
{
	(void)state;
	test_ring_fini(&ring);
	return 0;
}

/* What a thread finds, and then leaves. */
struct visit {
	struct launch_thread *thread;
	uint64_t hash, outer;
	uintptr_t high;
	uint32_t trail;
	int lane;
};

static void *visit(void *user)
{
	struct visit *seen = user;
	struct launch_thread *thread = launch_thread_own(ring.guest, 1);

	*seen = (struct visit){
		.thread = thread,
		.hash = thread->scratch.stacks.entries[3].hash,
		.outer = thread->outer_correlation_id,
		.high = thread->scratch.bounds.high,
		.trail = thread->scratch.rules.trail.nr,
		.lane = thread->lane,
	};
	thread->scratch.stacks.entries[3].hash = 77;
	thread->scratch.bounds.high = 4096;
	thread->scratch.rules.trail.nr = 5;
	thread->outer_correlation_id = 9;
	return NULL;
}

static struct visit visit_by_a_thread(void)
{
	struct visit seen;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, visit, &seen), 0);
	pthread_join(thread, NULL);
	return seen;
}

static void thread_takes_over_what_holds_for_all(void **state)
{
	struct visit first = visit_by_a_thread(), second = visit_by_a_thread();

	(void)state;
	assert_int_equal(first.hash, 0);
	assert_ptr_equal(second.thread, first.thread);
	assert_int_equal(second.lane, first.lane);
	assert_int_equal(second.hash, 77);
	/* The stack and the calls were that thread's own. */
	assert_int_equal(second.high, 0);
	assert_int_equal(second.trail, 0);
	assert_int_equal(second.outer, 0);
}

static void stacks_of_another_ring_are_forgotten(void **state)
{
	visit_by_a_thread();
	tear_down(state);
	assert_int_equal(set_up(state), 0);
	assert_int_equal(visit_by_a_thread().hash, 0);
}

static pthread_barrier_t barrier;

static void *meet(void *user)
{
	*(struct launch_thread **)user = launch_thread_here(ring.guest);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* How many lie one behind the other: those that are kept, as others are whole pages. */
static uint32_t nr_in_one_array(struct launch_thread *const *threads, uint32_t nr)
{
	uint32_t in_array = 1;

	for (uint32_t i = 1; i < nr; i++)
		in_array += (uintptr_t)threads[i] - (uintptr_t)threads[i - 1] == sizeof(**threads);
	return in_array;
}

static void more_threads_than_are_kept_have_one_each(void **state)
{
	static struct launch_thread *own[AT_ONCE];
	static pthread_t threads[AT_ONCE];
	pthread_attr_t attributes;

	(void)state;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256u << 10);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(pthread_barrier_init(&barrier, NULL, AT_ONCE), 0);
		for (uint32_t i = 0; i < AT_ONCE; i++)
			assert_int_equal(pthread_create(&threads[i], &attributes, meet, &own[i]),
					 0);
		for (uint32_t i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&barrier);
		qsort(own, AT_ONCE, sizeof(own[0]), compare);
		assert_non_null(own[0]);
		for (uint32_t i = 1; i < AT_ONCE; i++)
			assert_ptr_not_equal(own[i], own[i - 1]);
		assert_int_equal(nr_in_one_array(own, AT_ONCE), KEPT);
	}
}

static void *come_and_go(void *user)
{
	struct launch_thread *thread = launch_thread_own(ring.guest, 1);
	uint64_t mine = (uint64_t)(uintptr_t)user;

	thread->load_begin_ns = mine;
	for (int i = 0; i < 20; i++) {
		sched_yield();
		if (thread->load_begin_ns != mine)
			return (void *)1; /* another thread has the same */
	}
	return NULL;
}

static void threads_that_come_and_go_never_share(void **state)
{
	pthread_t threads[NR];
	uintptr_t nr_shared = 0;
	void *shared;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < NR; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, come_and_go,
							(void *)(uintptr_t)(round * NR + i + 1)),
					 0);
		for (uint32_t i = 0; i < NR; i++) {
			pthread_join(threads[i], &shared);
			nr_shared += (uintptr_t)shared;
		}
	}
	assert_int_equal(nr_shared, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(thread_takes_over_what_holds_for_all, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_another_ring_are_forgotten, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(more_threads_than_are_kept_have_one_each, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(threads_that_come_and_go_never_share, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
