#include "base/roomy_stack.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

#define LARGE (4u << 20)

static char *words[] = {"program", "verb", NULL};
static uintptr_t here;

static __attribute__((noinline)) int use_much(int number)
{
	volatile char large[LARGE];

	for (size_t i = 0; i < sizeof(large); i += 4096)
		large[i] = (char)number;
	return large[0] + large[LARGE - 4096];
}

static void *use_much_there(void *result)
{
	*(int *)result = use_much(2);
	return NULL;
}

/* The status, 7, is that of a whole run. */
static int run_deep(int argc, char **argv)
{
	pthread_t thread;
	int there = 0;

	if (argc != 2 || argv != words || pthread_create(&thread, NULL, use_much_there, &there))
		return 1;
	pthread_join(thread, NULL);
	return use_much(1) == 2 && there == 4 ? 7 : 2;
}

static int run_here(int argc, char **argv)
{
	char local;
	uintptr_t at = (uintptr_t)&local;

	return argc == 2 && argv == words && at < here && here - at < 65536 ? 7 : 1;
}

/* Returns the status that a process under this limit exits with. */
static int under(rlim_t bytes, int (*run)(int argc, char **argv))
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit;
		char local;

		here = (uintptr_t)&local;
		getrlimit(RLIMIT_STACK, &limit);
		limit.rlim_cur = bytes;
		if (setrlimit(RLIMIT_STACK, &limit) != 0)
			_exit(3);
		int result = roomy_stack_run(run, 2, words);
		struct rlimit after;
		_exit(getrlimit(RLIMIT_STACK, &after) == 0 && after.rlim_cur == bytes ? result : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void large_frames_fit_under_a_small_limit(void **state)
{
	(void)state;
	assert_int_equal(under(64 << 10, run_deep), 7);
	assert_int_equal(under(512 << 10, run_deep), 7);
}

static void an_ordinary_limit_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(under(8 << 20, run_here), 7);
	assert_int_equal(under(1 << 20, run_here), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_frames_fit_under_a_small_limit),
		cmocka_unit_test(an_ordinary_limit_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
