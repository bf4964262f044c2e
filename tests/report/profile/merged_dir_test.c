#include "report/profile/merged_dir.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

static char parent[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(parent, sizeof(parent), "/tmp/flamegrid-merged.XXXXXX");
	return mkdtemp(parent) ? setenv("TMPDIR", parent, 1) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unsetenv("TMPDIR");
	return rmdir(parent);
}

static const char *path_of(const char *directory, const char *file)
{
	static char path[PATH_MAX + NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	return path;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void make_file(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void create(struct merged_dir *dir)
{
	char *error = NULL;

	assert_int_equal(merged_dir_create(dir, &error), 0);
	assert_null(error);
}

/* What a killed reader leaves. */
static const char *leave(const char *name, mode_t mode, bool with_copy)
{
	static char path[PATH_MAX];

	strcpy(path, path_of(parent, name));
	assert_int_equal(mkdir(path, 0700), 0);
	if (with_copy) {
		make_file(path_of(path, MERGED_DIR_FILE));
		make_file(path_of(path, MERGED_DIR_FILE "-journal"));
	}
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void it_goes_with_its_copy(void **state)
{
	struct merged_dir dir;
	struct stat status;
	char path[PATH_MAX];

	(void)state;
	create(&dir);
	strcpy(path, dir.path);
	assert_int_equal(strncmp(path, parent, strlen(parent)), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	make_file(path_of(path, MERGED_DIR_FILE));
	merged_dir_remove(&dir);
	assert_false(exists(path));
	merged_dir_remove(&dir);
}

static void the_next_one_removes_what_a_killed_reader_left(void **state)
{
	struct merged_dir dir;

	(void)state;
	const char *left = leave("flamegrid-report-killed", 0700, true);
	create(&dir);
	assert_false(exists(left));
	merged_dir_remove(&dir);
}

static void a_copy_that_was_not_finished_goes_too(void **state)
{
	struct merged_dir dir;

	(void)state;
	const char *left = leave("flamegrid-report-unfinished", 0700, false);
	make_file(path_of(left, MERGED_DIR_FILE ".new"));
	make_file(path_of(left, MERGED_DIR_FILE ".new-journal"));
	create(&dir);
	assert_false(exists(left));
	make_file(path_of(dir.path, MERGED_DIR_FILE ".new"));
	merged_dir_remove(&dir);
}

static void one_in_use_stays(void **state)
{
	struct merged_dir first, second;

	(void)state;
	create(&first);
	make_file(path_of(first.path, MERGED_DIR_FILE));
	create(&second);
	assert_true(exists(path_of(first.path, MERGED_DIR_FILE)));
	merged_dir_remove(&second);
	merged_dir_remove(&first);
}

/* Its maker may be about to lock it. */
static void one_without_a_copy_stays(void **state)
{
	struct merged_dir dir;

	(void)state;
	const char *left = leave("flamegrid-report-new", 0700, false);
	create(&dir);
	assert_true(exists(left));
	merged_dir_remove(&dir);
	assert_int_equal(rmdir(left), 0);
}

static void what_is_not_ours_stays(void **state)
{
	struct merged_dir dir;

	(void)state;
	const char *left = leave("flamegrid-report-open", 0755, true);
	create(&dir);
	assert_true(exists(path_of(left, MERGED_DIR_FILE)));
	merged_dir_remove(&dir);
	unlink(path_of(left, MERGED_DIR_FILE));
	unlink(path_of(left, MERGED_DIR_FILE "-journal"));
	assert_int_equal(rmdir(left), 0);
}

/* A link into another directory is not followed. */
static void a_link_stays(void **state)
{
	struct merged_dir dir;
	char link[PATH_MAX];

	(void)state;
	const char *target = leave("target", 0700, true);
	strcpy(link, path_of(parent, "flamegrid-report-link"));
	assert_int_equal(symlink(target, link), 0);
	create(&dir);
	assert_true(exists(path_of(target, MERGED_DIR_FILE)));
	merged_dir_remove(&dir);
	unlink(link);
	unlink(path_of(target, MERGED_DIR_FILE));
	unlink(path_of(target, MERGED_DIR_FILE "-journal"));
	assert_int_equal(rmdir(target), 0);
}

static void a_parent_that_is_missing_is_an_error(void **state)
{
	struct merged_dir dir;
	char *error = NULL;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	assert_true(merged_dir_create(&dir, &error) < 0);
	assert_non_null(strstr(error, "/nowhere/"));
	free(error);
	merged_dir_remove(&dir);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(it_goes_with_its_copy),
		TEST(the_next_one_removes_what_a_killed_reader_left),
		TEST(a_copy_that_was_not_finished_goes_too),
		TEST(one_in_use_stays),
		TEST(one_without_a_copy_stays),
		TEST(what_is_not_ours_stays),
		TEST(a_link_stays),
		TEST(a_parent_that_is_missing_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
