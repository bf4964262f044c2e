#include "cli/base/private_dir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/private_dir_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	unsetenv("TMPDIR");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder); /* nothing is left in it */
}

static bool is_in_folder(void)
{
	struct private_dir dir;
	struct stat status;

	assert_int_equal(private_dir_create(&dir), 0);
	assert_int_equal(stat(dir.path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	bool in_folder = strncmp(dir.path, folder, strlen(folder)) == 0;
	private_dir_remove(&dir);
	assert_int_equal(access(dir.path[0] ? dir.path : "/proc/nonexistent", F_OK), -1);
	return in_folder;
}

static void it_is_made_only_where_others_cannot_replace_it(void **state)
{
	(void)state;
	assert_true(is_in_folder());
	assert_int_equal(chmod(folder, 0777), 0);
	assert_false(is_in_folder());
	assert_int_equal(chmod(folder, 01777), 0);
	assert_true(is_in_folder());
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chown(folder, 65534, 65534), 0);
	assert_false(is_in_folder());
	assert_int_equal(chmod(folder, 01777), 0);
	assert_false(is_in_folder());
	assert_int_equal(chown(folder, 0, 0), 0);
	assert_true(is_in_folder());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_made_only_where_others_cannot_replace_it,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
