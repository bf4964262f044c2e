#include "inject/metrics/device_launches.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <string.h>

#include "inject/launch/launch_thread.h"
#include "proto/record.h"

#define THREADS 4
#define ROUNDS  100000u
#define DEVICE  3u
#define OTHER   (RECORD_DEVICES_MAX - 1)

static struct launch_thread threads[THREADS];
static pthread_barrier_t barrier;

static int set_up(void **state)
{
	(void)state;
	memset(threads, 0, sizeof(threads));
	device_launches_init();
	return 0;
}

static void launch(struct launch_thread *thread, uint32_t device_id)
{
	device_launches_enter(thread, device_id);
	device_launches_exit(thread);
}

static void a_launch_counts_on_its_device(void **state)
{
	const uint64_t before = device_launches_count(DEVICE);
	const uint64_t before_other = device_launches_count(OTHER);

	(void)state;
	device_launches_enter(&threads[0], DEVICE);
	assert_int_equal(device_launches_count(DEVICE), before + 1);
	assert_int_equal(device_launches_inside(DEVICE), 1);
	device_launches_enter(&threads[1], OTHER);
	device_launches_enter(&threads[2], DEVICE);
	assert_int_equal(device_launches_inside(DEVICE), 2);
	assert_int_equal(device_launches_inside(OTHER), 1);
	device_launches_exit(&threads[0]);
	device_launches_exit(&threads[1]);
	device_launches_exit(&threads[2]);
	assert_int_equal(device_launches_inside(DEVICE), 0);
	assert_int_equal(device_launches_inside(OTHER), 0);
	assert_int_equal(device_launches_count(DEVICE), before + 2);
	assert_int_equal(device_launches_count(OTHER), before_other + 1);
}

static void an_exit_without_a_launch_does_nothing(void **state)
{
	(void)state;
	device_launches_exit(&threads[0]);
	launch(&threads[0], DEVICE);
	device_launches_exit(&threads[0]);
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		assert_int_equal(device_launches_inside(i), 0);
}

static void a_launch_that_threw_ends_with_the_next_one(void **state)
{
	const uint64_t before = device_launches_count(DEVICE);

	(void)state;
	device_launches_enter(&threads[0], DEVICE);
	device_launches_enter(&threads[0], DEVICE);
	assert_int_equal(device_launches_inside(DEVICE), 1);
	device_launches_enter(&threads[0], OTHER);
	assert_int_equal(device_launches_inside(DEVICE), 0);
	assert_int_equal(device_launches_inside(OTHER), 1);
	assert_int_equal(device_launches_count(DEVICE), before + 2);
	device_launches_exit(&threads[0]);
	assert_int_equal(device_launches_inside(OTHER), 0);
}

static void init_keeps_the_numbers_of_launches_alone(void **state)
{
	(void)state;
	device_launches_enter(&threads[0], DEVICE);
	const uint64_t before = device_launches_count(DEVICE);

	device_launches_init();
	assert_int_equal(device_launches_inside(DEVICE), 0);
	assert_int_equal(device_launches_count(DEVICE), before);
}

static void own_launches_are_not_shared(void **state)
{
	(void)state;
	device_launches_enter(&threads[0], DEVICE);
	const struct device_launches_mark mark = device_launches_mark(DEVICE);

	assert_int_equal(mark.device_id, DEVICE);
	assert_false(mark.is_shared);
	assert_false(device_launches_were_shared(&mark, 0));
	device_launches_exit(&threads[0]);
	launch(&threads[0], DEVICE);
	launch(&threads[1], DEVICE); /* such as a backward pass */
	assert_false(device_launches_were_shared(&mark, 2));
	launch(&threads[1], OTHER);
	assert_false(device_launches_were_shared(&mark, 2));
}

static void others_launches_are_shared(void **state)
{
	(void)state;
	device_launches_enter(&threads[0], DEVICE);
	const struct device_launches_mark mark = device_launches_mark(DEVICE);

	device_launches_enter(&threads[1], DEVICE);
	assert_true(device_launches_were_shared(&mark, 0));
	assert_false(device_launches_were_shared(&mark, 1));
	launch(&threads[2], DEVICE);
	assert_true(device_launches_were_shared(&mark, 1));
}

static void others_at_a_launch_share_from_the_beginning(void **state)
{
	struct device_launches_mark mark;

	(void)state;
	device_launches_enter(&threads[1], DEVICE);
	device_launches_enter(&threads[0], DEVICE);
	mark = device_launches_mark(DEVICE);
	assert_true(mark.is_shared);
	device_launches_exit(&threads[1]);
	assert_true(device_launches_were_shared(&mark, 0));
	mark = device_launches_mark(DEVICE);
	assert_false(mark.is_shared);
	device_launches_enter(&threads[1], OTHER);
	mark = device_launches_mark(DEVICE);
	assert_false(mark.is_shared);
	assert_false(device_launches_were_shared(&mark, 0));
}

static void *run(void *user)
{
	struct launch_thread *thread = user;
	const char *wrong = NULL;

	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		launch(thread, DEVICE);
		device_launches_enter(thread, DEVICE); /* throws */
		device_launches_enter(thread, OTHER);
	}
	device_launches_enter(thread, DEVICE);
	pthread_barrier_wait(&barrier);
	if (device_launches_inside(DEVICE) != THREADS || device_launches_inside(OTHER) != 0)
		wrong = "threads inside";
	pthread_barrier_wait(&barrier);
	device_launches_exit(thread);
	return (void *)wrong;
}

static void counts_of_threads_are_exact(void **state)
{
	const uint64_t before = device_launches_count(DEVICE);
	const uint64_t before_other = device_launches_count(OTHER);
	pthread_t all[THREADS];
	void *wrong;

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&all[i], NULL, run, &threads[i]), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(all[i], &wrong);
		assert_null(wrong);
	}
	pthread_barrier_destroy(&barrier);
	assert_int_equal(device_launches_count(DEVICE), before + THREADS * (2 * ROUNDS + 1));
	assert_int_equal(device_launches_count(OTHER), before_other + THREADS * ROUNDS);
	assert_int_equal(device_launches_inside(DEVICE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_launch_counts_on_its_device, set_up),
		cmocka_unit_test_setup(an_exit_without_a_launch_does_nothing, set_up),
		cmocka_unit_test_setup(a_launch_that_threw_ends_with_the_next_one, set_up),
		cmocka_unit_test_setup(init_keeps_the_numbers_of_launches_alone, set_up),
		cmocka_unit_test_setup(own_launches_are_not_shared, set_up),
		cmocka_unit_test_setup(others_launches_are_shared, set_up),
		cmocka_unit_test_setup(others_at_a_launch_share_from_the_beginning, set_up),
		cmocka_unit_test_setup(counts_of_threads_are_exact, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
