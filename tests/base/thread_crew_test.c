#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "base/thread_crew.h"

static uint32_t nr_cpus;
static bool has_threads;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	(void)pid;
	(void)size;
	if (!nr_cpus)
		return -1;
	CPU_ZERO(cpus);
	for (uint32_t i = 0; i < nr_cpus; i++)
		CPU_SET(3 * i, cpus);
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument)
{
	return has_threads ? __real_pthread_create(thread, attributes, run, argument) : EAGAIN;
}

struct work {
	uint32_t done[THREAD_CREW_MOST + 1];
	pthread_t threads[THREAD_CREW_MOST];
	char names[THREAD_CREW_MOST][16];
};

static void note(void *context, uint32_t part)
{
	struct work *work = context;

	work->done[part]++;
	work->threads[part] = pthread_self();
	pthread_getname_np(pthread_self(), work->names[part], sizeof(work->names[part]));
}

static void each_part_is_done_once(void **state)
{
	(void)state;
	for (uint32_t nr = 1; nr <= THREAD_CREW_MOST; nr++)
		for (int i = 0; i < 2; i++) {
			struct work work = {.done = {0}};

			has_threads = i;
			thread_crew_run(nr, note, &work);
			for (uint32_t part = 0; part <= THREAD_CREW_MOST; part++)
				assert_int_equal(work.done[part], part < nr);
			assert_true(pthread_equal(work.threads[0], pthread_self()));
			for (uint32_t part = 1; part < nr; part++)
				assert_int_equal(
					pthread_equal(work.threads[part], pthread_self()) != 0,
					!has_threads);
			/* The caller's thread keeps its name. */
			for (uint32_t part = 0; part < nr; part++)
				assert_int_equal(strcmp(work.names[part], THREAD_CREW_NAME) == 0,
						 part && has_threads);
		}
}

static void there_are_as_many_parts_as_cpus(void **state)
{
	static const uint32_t sizes[][2] = {
		{0, 1}, {1, 1}, {3, 3}, {8, 8}, {200, THREAD_CREW_MOST}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		nr_cpus = sizes[i][0];
		assert_int_equal(thread_crew_size(), sizes[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_is_done_once),
		cmocka_unit_test(there_are_as_many_parts_as_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
