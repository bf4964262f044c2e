#include "cli/job/step_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct job_step step = {.key = "4711.0", .rank = 0, .world_size = 2};
static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/step_dir_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	unsetenv("SLURMD_NODENAME");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder); /* nothing is left in it */
}

static void all_of_a_step_find_one_directory_and_others_another(void **state)
{
	struct job_step other = step;
	struct step_dir a, b, c, d;

	(void)state;
	strcpy(other.key, "4711.1");
	assert_int_equal(step_dir_lock(&a, &step, NULL), 0);
	step_dir_unlock(&a);
	assert_int_equal(step_dir_lock(&b, &step, NULL), 0);
	assert_string_equal(a.path, b.path);
	assert_int_equal(step_dir_lock(&c, &other, NULL), 0);
	assert_string_not_equal(a.path, c.path);
	assert_int_equal(step_dir_lock(&d, &step, "another-node"), 0);
	assert_string_not_equal(a.path, d.path);
	step_dir_remove(&b);
	step_dir_remove(&c);
	step_dir_remove(&d);
}

static void only_this_user_can_enter_it(void **state)
{
	struct step_dir dir;
	struct stat status;

	(void)state;
	assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
	assert_int_equal(stat(dir.path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	step_dir_remove(&dir);
}

/* It cannot be had there, so the next place is taken. */
static void a_directory_that_others_can_enter_is_not_used(void **state)
{
	struct step_dir dir, next;

	(void)state;
	assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
	step_dir_unlock(&dir);
	assert_int_equal(chmod(dir.path, 0770), 0);
	assert_int_equal(step_dir_lock(&next, &step, NULL), 0);
	assert_string_not_equal(next.path, dir.path);
	step_dir_remove(&next);
	step_dir_remove(&dir);
	assert_int_equal(symlink("/tmp", dir.path), 0);
	assert_int_equal(step_dir_lock(&next, &step, NULL), 0);
	assert_string_not_equal(next.path, dir.path);
	step_dir_remove(&next);
	assert_int_equal(unlink(dir.path), 0);
}

/* A name that can be computed beforehand was taken, and is given back while the step runs: all of the step meet all the
 * same. */
static void a_name_that_another_user_has_taken_is_not_needed(void **state)
{
	struct step_dir taken, first, second;

	(void)state;
	assert_int_equal(step_dir_lock(&taken, &step, NULL), 0);
	assert_int_equal(chown(taken.path, 65534, 65534), 0);
	step_dir_unlock(&taken);
	assert_int_equal(step_dir_lock(&first, &step, NULL), 0);
	assert_string_not_equal(first.path, taken.path);
	assert_memory_equal(first.path, folder, strlen(folder));
	step_dir_unlock(&first);
	step_dir_remove(&taken);
	assert_int_equal(step_dir_lock(&second, &step, NULL), 0);
	assert_string_equal(second.path, first.path);
	step_dir_remove(&second);
}

/* Writes a name that can be known from an earlier run of the step. */
static void guess_name(const char *path, int number, char *guess, size_t size)
{
	const size_t stem_size = sizeof("/" STEP_DIR_PREFIX) - 1 + 16;
	char suffix[16] = "";

	if (number)
		snprintf(suffix, sizeof(suffix), ".%d", number);
	snprintf(guess, size, "%.*s%s", (int)(strlen(folder) + stem_size), path, suffix);
}

static void names_that_another_user_has_taken_keep_no_step_out(void **state)
{
	struct step_dir first, second;
	char taken[128];

	(void)state;
	assert_int_equal(step_dir_lock(&first, &step, NULL), 0);
	step_dir_remove(&first);
	for (int i = 0; i < 200; i++) {
		guess_name(first.path, i, taken, sizeof(taken));
		assert_int_equal(mkdir(taken, 0700), 0);
		assert_int_equal(chown(taken, 65534, 65534), 0);
	}
	assert_int_equal(step_dir_lock(&first, &step, NULL), 0);
	assert_memory_equal(first.path, folder, strlen(folder));
	step_dir_unlock(&first);
	assert_int_equal(step_dir_lock(&second, &step, NULL), 0);
	assert_string_equal(second.path, first.path);
	step_dir_remove(&second);
	for (int i = 0; i < 200; i++) {
		guess_name(first.path, i, taken, sizeof(taken));
		assert_int_equal(rmdir(taken), 0);
	}
}

/* A killed keeper left a file that the removal of leftovers does not know. */
static void a_directory_that_was_never_chosen_is_taken_with_what_is_in_it(void **state)
{
	struct step_dir first, second;
	char life[128];

	(void)state;
	assert_int_equal(step_dir_lock(&first, &step, NULL), 0);
	step_dir_file(&first, STEP_DIR_LIFE, life, sizeof(life));
	assert_int_equal(unlink(life), 0);
	step_dir_file(&first, "agent.guests", life, sizeof(life));
	assert_int_equal(mkdir(life, 0700), 0);
	step_dir_unlock(&first);
	assert_int_equal(step_dir_lock(&second, &step, NULL), 0);
	assert_string_equal(second.path, first.path);
	assert_int_equal(rmdir(life), 0);
	step_dir_remove(&second);
}

static void a_folder_is_used_as_long_as_sockets_in_it_fit(void **state)
{
	char path[128], socket[128];
	struct step_dir dir;

	(void)state;
	for (size_t size = 30; size <= 55; size++) {
		snprintf(path, sizeof(path), "%s/%0*d", folder, (int)(size - strlen(folder) - 1),
			 0);
		assert_int_equal(strlen(path), size);
		assert_int_equal(mkdir(path, 0700), 0);
		setenv("XDG_RUNTIME_DIR", path, 1);
		setenv("TMPDIR", folder, 1);
		assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
		assert_int_equal(strncmp(dir.path, path, size) == 0, size <= 54);
		step_dir_file(&dir, "members", socket, sizeof(socket));
		assert_true(strlen(socket) < sizeof(((struct sockaddr_un *)0)->sun_path));
		step_dir_remove(&dir);
		assert_int_equal(rmdir(path), 0);
	}
	unsetenv("TMPDIR");
}

static void where_others_could_replace_it_is_no_place_for_it(void **state)
{
	struct step_dir dir;

	(void)state;
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
	assert_int_not_equal(strncmp(dir.path, folder, strlen(folder)), 0);
	step_dir_remove(&dir);
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
	assert_memory_equal(dir.path, folder, strlen(folder));
	step_dir_remove(&dir);
}

/* Each counts in a file, without any other care, and the last of a round removes all: no count is lost. */
static void count_in(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct step_dir dir;
		char path[128];
		int count = 0;

		if (step_dir_lock(&dir, &step, NULL))
			_exit(1);
		step_dir_file(&dir, "count", path, sizeof(path));
		FILE *file = fopen(path, "r");
		if (file) {
			if (fscanf(file, "%d", &count) != 1)
				_exit(2);
			fclose(file);
		}
		file = fopen(path, "w");
		if (!file || fprintf(file, "%d", count + 1) < 0 || fclose(file))
			_exit(3);
		if (count % 7 == 6) { /* and starts anew in another directory */
			int total = open("total", O_WRONLY | O_APPEND | O_CREAT, 0600);

			if (total < 0 || dprintf(total, "%d\n", count + 1) < 0 || unlink(path))
				_exit(4);
			close(total);
			step_dir_remove(&dir);
		} else {
			step_dir_unlock(&dir);
		}
	}
	_exit(0);
}

static void the_lock_holds_while_others_remove_and_make_it(void **state)
{
	const int processes = 4, rounds = 350;
	int sum = 0, part, status;
	char path[128];

	(void)state;
	assert_int_equal(chdir(folder), 0);
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			count_in(rounds);
	for (int i = 0; i < processes; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	FILE *total = fopen("total", "r");
	assert_non_null(total);
	while (fscanf(total, "%d", &part) == 1) {
		assert_int_equal(part, 7);
		sum += part;
	}
	fclose(total);
	assert_int_equal(sum, processes * rounds);
	snprintf(path, sizeof(path), "%s/total", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(chdir("/"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_a_step_find_one_directory_and_others_another),
		TEST(only_this_user_can_enter_it),
		TEST(a_directory_that_others_can_enter_is_not_used),
		TEST(a_name_that_another_user_has_taken_is_not_needed),
		TEST(names_that_another_user_has_taken_keep_no_step_out),
		TEST(a_directory_that_was_never_chosen_is_taken_with_what_is_in_it),
		TEST(a_folder_is_used_as_long_as_sockets_in_it_fit),
		TEST(where_others_could_replace_it_is_no_place_for_it),
		TEST(the_lock_holds_while_others_remove_and_make_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
