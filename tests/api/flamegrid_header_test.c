#include "api/flamegrid.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS  1000

struct fake_guest_counts {
	atomic_uint pushes, pops, steps, step_ends, starts, stops, names;
};

/* Runs in a process of its own, because the first call decides for all later ones. Its result is an exit status. */
static void assert_in_child(int (*run)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void call_each(void)
{
	flamegrid_range_push("range");
	flamegrid_range_pop();
	flamegrid_step();
	flamegrid_step_end();
	flamegrid_start();
	flamegrid_stop();
	flamegrid_name_stream(NULL, "stream");
}

static struct fake_guest_counts *counts_of_guest(void)
{
	void *guest = dlopen(FAKE_GUEST, RTLD_NOW | RTLD_NOLOAD);

	return guest ? dlsym(guest, "fake_guest_counts") : NULL;
}

static bool each_was_counted(unsigned int times)
{
	struct fake_guest_counts *counts = counts_of_guest();

	return counts && counts->pushes == times && counts->pops == times &&
	       counts->steps == times && counts->step_ends == times && counts->starts == times &&
	       counts->stops == times && counts->names == times;
}

static int without_guest(void)
{
	unsetenv("CUDA_INJECTION64_PATH");
	errno = EXDEV;
	call_each();
	if (errno != EXDEV || counts_of_guest())
		return 1;
	/* It does not look again. */
	setenv("CUDA_INJECTION64_PATH", FAKE_GUEST, 1);
	call_each();
	return counts_of_guest() != NULL;
}

static void a_program_without_a_guest_calls_nothing(void **state)
{
	(void)state;
	assert_in_child(without_guest);
}

static int with_guest(void)
{
	setenv("CUDA_INJECTION64_PATH", FAKE_GUEST, 1);
	errno = EXDEV;
	call_each();
	return errno != EXDEV || !each_was_counted(1);
}

static void a_program_loads_the_guest_that_the_environment_names(void **state)
{
	(void)state;
	assert_in_child(with_guest);
}

static int with_loaded_guest(void)
{
	unsetenv("CUDA_INJECTION64_PATH");
	if (!dlopen(FAKE_GUEST, RTLD_NOW | RTLD_LOCAL))
		return 1;
	call_each();
	return !each_was_counted(1);
}

static void a_guest_that_is_there_is_found(void **state)
{
	(void)state;
	assert_in_child(with_loaded_guest);
}

static int with_tool_of_others(void)
{
	setenv("CUDA_INJECTION64_PATH", OTHER_TOOL, 1);
	call_each();
	return dlopen(OTHER_TOOL, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static void the_library_of_another_tool_is_not_loaded(void **state)
{
	(void)state;
	assert_in_child(with_tool_of_others);
}

static int with_missing_guest(void)
{
	setenv("CUDA_INJECTION64_PATH", "/nonexistent/libflamegrid_inject.so", 1);
	call_each();
	return 0;
}

static void a_guest_that_is_missing_is_none(void **state)
{
	(void)state;
	assert_in_child(with_missing_guest);
}

static int with_older_guest(void)
{
	setenv("CUDA_INJECTION64_PATH", FAKE_GUEST, 1);
	setenv("FAKE_GUEST_IS_OLDER", "1", 1);
	call_each();
	return !each_was_counted(0);
}

static void a_guest_with_fewer_functions_is_none(void **state)
{
	(void)state;
	assert_in_child(with_older_guest);
}

static void *call_often(void *nothing)
{
	for (int i = 0; i < ROUNDS; i++)
		call_each();
	return nothing;
}

static int with_threads(void)
{
	pthread_t threads[THREADS];

	setenv("CUDA_INJECTION64_PATH", FAKE_GUEST, 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_often, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return !each_was_counted(THREADS * ROUNDS);
}

static void the_first_calls_may_come_from_several_threads(void **state)
{
	(void)state;
	assert_in_child(with_threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_a_guest_calls_nothing),
		cmocka_unit_test(a_program_loads_the_guest_that_the_environment_names),
		cmocka_unit_test(a_guest_that_is_there_is_found),
		cmocka_unit_test(the_library_of_another_tool_is_not_loaded),
		cmocka_unit_test(a_guest_that_is_missing_is_none),
		cmocka_unit_test(a_guest_with_fewer_functions_is_none),
		cmocka_unit_test(the_first_calls_may_come_from_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
