#include "cli/run/recording_room.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

static unsigned nr_allowed; /* threads that pthread_create() starts; the next ones fail */
static unsigned nr_started;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument)
{
	if (nr_started == nr_allowed)
		return EAGAIN;
	nr_started++;
	return __real_pthread_create(thread, attributes, run, argument);
}

static bool is_unlimited; /* RLIMIT_NPROC reads as no limit */

int __real_getrlimit(__rlimit_resource_t resource, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *limit);

int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int result = __real_getrlimit(resource, limit);

	if (is_unlimited && resource == RLIMIT_NPROC)
		limit->rlim_cur = RLIM_INFINITY;
	return result;
}

/* What a process finds that has set this limit. */
struct found {
	int result;
	char text[256];
};

static void find_under(int resource, rlim_t soft, struct found *found)
{
	struct found *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;

	assert_true(shared != MAP_FAILED);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit;
		char *error = NULL;

		__real_getrlimit((__rlimit_resource_t)resource, &limit);
		limit.rlim_cur = soft;
		if (setrlimit((__rlimit_resource_t)resource, &limit) != 0)
			_exit(1);
		shared->result = recording_room_check(&error);
		if (error)
			snprintf(shared->text, sizeof(shared->text), "%s", error);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	*found = *shared;
	munmap(shared, sizeof(*shared));
}

static int set_up(void **state)
{
	(void)state;
	nr_allowed = RECORDING_ROOM_THREADS;
	nr_started = 0;
	return 0;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void everything_is_given_back(void **state)
{
	int before = count_descriptors();
	char *error = (char *)"";

	(void)state;
	assert_int_equal(recording_room_check(&error), 0);
	assert_null(error);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(nr_started, RECORDING_ROOM_THREADS);
}

static void few_descriptors_are_named(void **state)
{
	struct found found;
	char expected[128];
	rlim_t limit = RECORDING_ROOM_DESCRIPTORS;

	(void)state;
	find_under(RLIMIT_NOFILE, limit, &found);
	assert_int_equal(found.result, -EMFILE);
	snprintf(expected, sizeof(expected), "the limit of open files (ulimit -n, %u) leaves ",
		 RECORDING_ROOM_DESCRIPTORS);
	assert_non_null(strstr(found.text, expected));
	assert_non_null(strstr(found.text, " of the 64 descriptors that a recording takes"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void too_little_data_is_named(void **state)
{
	struct found found;

	(void)state;
	find_under(RLIMIT_DATA, 20000u << 10, &found);
	assert_int_equal(found.result, -ENOMEM);
	assert_non_null(strstr(found.text, "the limit of data (ulimit -d, 20000 KiB) leaves"));
}

static void too_little_address_space_is_named(void **state)
{
	struct found found;

	(void)state;
	find_under(RLIMIT_AS, 50000u << 10, &found);
	assert_int_equal(found.result, -ENOMEM);
	assert_non_null(
		strstr(found.text, "the limit of virtual memory (ulimit -v, 50000 KiB) leaves"));
}
#endif

static void few_threads_are_named(void **state)
{
	struct found found;

	(void)state;
	nr_allowed = 2;
	find_under(RLIMIT_NPROC, 3, &found);
	assert_int_equal(found.result, -EAGAIN);
	assert_string_equal(found.text,
			    "the limit of the user's processes and threads (ulimit -u, 3) leaves "
			    "2 of the 7 threads that a recording takes");
}

/* RLIMIT_NPROC is no limit, whatever it is here, and there is memory. */
static void a_cgroup_may_be_why(void **state)
{
	struct rlimit limit;
	struct found found;

	(void)state;
	__real_getrlimit(RLIMIT_NPROC, &limit);
	nr_allowed = 0;
	is_unlimited = true;
	find_under(RLIMIT_NPROC, limit.rlim_cur, &found);
	is_unlimited = false;
	assert_int_equal(found.result, -EAGAIN);
	assert_string_equal(found.text, "the cgroup (pids.max) or the system leaves 0 of the 7 "
					"threads that a recording takes");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_is_given_back),
		TEST(few_descriptors_are_named),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		TEST(too_little_data_is_named),
		TEST(too_little_address_space_is_named),
#endif
		TEST(few_threads_are_named),
		TEST(a_cgroup_may_be_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
