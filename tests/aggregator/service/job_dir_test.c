#include "aggregator/service/job_dir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job_folder.h"

static void create(const char *user, const char *key, char path[static PATH_MAX])
{
	job_folder_make(user, key, JOB_DIR_IS_OPEN, "", 0, path);
}

static void expect(const char *path, enum job_dir_state state)
{
	struct job_mark mark;
	enum job_dir_state found;
	char *error;

	assert_int_equal(job_dir_read(path, &mark, &found, &error), 0);
	assert_null(error);
	assert_int_equal(found, state);
	assert_string_equal(mark.user, "alice");
	assert_string_equal(mark.key, "4711.0");
	assert_int_equal(mark.nr_nodes, 4);
	assert_int_equal(mark.world_size, 32);
	assert_int_equal(mark.flags, 1);
}

static void a_mark_says_whose_job_it_is_and_how_far(void **state)
{
	char path[PATH_MAX], file[PATH_MAX];

	(void)state;
	create("alice", "4711.0", path);
	expect(path, JOB_DIR_IS_OPEN);
	assert_int_equal(job_dir_finish(path), -ENOENT);
	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, file), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(job_dir_close(path), -ENOENT);
	job_folder_write(path, JOB_DIR_STORE, "", 0);
	assert_int_equal(job_dir_close(path), 0);
	expect(path, JOB_DIR_IS_CLOSED);
	assert_int_equal(job_dir_finish(path), 0);
	expect(path, JOB_DIR_IS_COMPLETE);
	struct stat status;
	assert_int_equal(job_dir_file(path, JOB_DIR_COMPLETE, file), 0);
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_int_equal(job_dir_finish(path), -ENOENT);
}

static void a_directory_without_a_mark_has_none(void **state)
{
	struct job_mark mark;
	enum job_dir_state found;
	char *error;

	(void)state;
	assert_int_equal(job_dir_read(job_folder, &mark, &found, &error), -ENOENT);
	assert_non_null(error);
	free(error);
	assert_int_equal(job_dir_read("/proc/nowhere", &mark, &found, &error), -ENOENT);
	assert_non_null(error);
	free(error);
}

static void a_name_may_be_of_several_users(void **state)
{
	char path[PATH_MAX], long_user[MESSAGE_JOB_NAME_MAX + 1] = "";

	(void)state;
	create("a-b", "c", path);
	assert_string_equal(strrchr(path, '/') + 1, "a-b-c");
	assert_true(job_dir_may_be("a-b-c", "a-b"));
	assert_true(job_dir_may_be("a-b-c", "a"));
	assert_true(job_dir_may_be("a-b-c", ""));
	assert_false(job_dir_may_be("a-b-c", "a-"));
	assert_false(job_dir_may_be("a-b-c", "b"));
	assert_false(job_dir_may_be("a-b", "a-b"));
	/* A user's name as it stands in that of a directory. */
	create("x/y", "c", path);
	assert_true(job_dir_may_be(strrchr(path, '/') + 1, "x/y"));
	memset(long_user, 'u', MESSAGE_JOB_NAME_MAX);
	create(long_user, "c", path);
	assert_true(job_dir_may_be(strrchr(path, '/') + 1, long_user));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_mark_says_whose_job_it_is_and_how_far,
						job_folder_set_up, job_folder_tear_down),
		cmocka_unit_test_setup_teardown(a_directory_without_a_mark_has_none,
						job_folder_set_up, job_folder_tear_down),
		cmocka_unit_test_setup_teardown(a_name_may_be_of_several_users, job_folder_set_up,
						job_folder_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
