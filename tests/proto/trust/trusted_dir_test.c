/* Needs root, to give directories away. */
#include "proto/trust/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER 65534

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/trusted_dir_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int check(uid_t owner, mode_t mode)
{
	assert_int_equal(chown(folder, owner, (gid_t)-1), 0);
	assert_int_equal(chmod(folder, mode), 0);
	return trusted_dir_check_parent(folder);
}

static void others_may_write_to_a_sticky_directory_alone(void **state)
{
	(void)state;
	assert_int_equal(check(0, 0755), 0);
	assert_int_equal(check(0, 01777), 0);
	assert_int_equal(check(0, 0777), -EPERM);
	assert_int_equal(check(0, 0775), -EPERM);
}

static void nobody_else_may_own_it(void **state)
{
	(void)state;
	assert_int_equal(check(OTHER, 0700), -EPERM);
	assert_int_equal(check(OTHER, 01777), -EPERM);
	assert_int_equal(check(OTHER, 01755), -EPERM);
}

#ifndef __SANITIZE_THREAD__ /* it has a thread of its own, and a user namespace takes a process of one thread */

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_put;
}

/* As in a container that knows of one user alone: all others have no name there. Returns what the check says. */
static int check_in_container(uid_t owner, mode_t mode)
{
	int status;

	assert_int_equal(chown(folder, owner, (gid_t)-1), 0);
	assert_int_equal(chmod(folder, mode), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 || !put("/proc/self/uid_map", "0 0 1\n"))
			_exit(255);
		_exit(-trusted_dir_check_parent(folder));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void the_hosts_tmp_serves_in_a_container(void **state)
{
	(void)state;
	assert_int_equal(check_in_container(12345, 01777), 0);
	assert_int_equal(check_in_container(12345, 0777), -EPERM);
	assert_int_equal(check_in_container(12345, 0755), -EPERM);
}

#endif

static void what_is_no_directory_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(trusted_dir_check_parent("/dev/null"), -ENOTDIR);
	assert_int_equal(trusted_dir_check_parent("/proc/nonexistent"), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(others_may_write_to_a_sticky_directory_alone),
		TEST(nobody_else_may_own_it),
#ifndef __SANITIZE_THREAD__
		TEST(the_hosts_tmp_serves_in_a_container),
#endif
		TEST(what_is_no_directory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
