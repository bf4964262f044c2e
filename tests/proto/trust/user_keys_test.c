#include "proto/trust/user_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
#define KEY_C "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static char folder[64], path[96];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/user_keys_test.XXXXXX");
	snprintf(path, sizeof(path), "%s/users.keys", mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void add(const char *user, const char *key)
{
	char *error;

	assert_int_equal(user_keys_add(path, user, key, &error), 0);
}

static struct user_keys *open_users(void)
{
	struct user_keys *users;
	char *error;

	assert_int_equal(user_keys_open(path, &users, &error), 0);
	return users;
}

/* In one step, as editors do. */
static void replace(const char *text)
{
	char next[128];

	snprintf(next, sizeof(next), "%s.next", path);
	int fd = open(next, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(rename(next, path), 0);
}

static void a_user_is_found_by_the_key(void **state)
{
	struct stat status;

	(void)state;
	add("bob", KEY_B);
	add("alice", KEY_A);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	struct user_keys *users = open_users();

	assert_string_equal(user_keys_find(users, KEY_A, 1), "alice");
	assert_string_equal(user_keys_find(users, KEY_B, 1), "bob");
	assert_null(user_keys_find(users, KEY_C, 1));
	assert_null(user_keys_find(users, "", 1));
	assert_null(user_keys_find(users, "short", 1));
	user_keys_close(users);
	user_keys_close(NULL);
}

static void a_changed_file_is_read_again(void **state)
{
	uint64_t now_ns = 5 * USER_KEYS_LOOK_NS;

	(void)state;
	add("alice", KEY_A);
	struct user_keys *users = open_users();

	assert_string_equal(user_keys_find(users, KEY_A, now_ns), "alice");
	replace("carol " KEY_C "\n");
	assert_null(user_keys_find(users, KEY_C, now_ns + USER_KEYS_LOOK_NS - 1));
	now_ns += USER_KEYS_LOOK_NS;
	assert_string_equal(user_keys_find(users, KEY_C, now_ns), "carol");
	assert_null(user_keys_find(users, KEY_A, now_ns)); /* no longer a user */
	replace("carol nonsense\n");
	now_ns += USER_KEYS_LOOK_NS;
	assert_string_equal(user_keys_find(users, KEY_C, now_ns), "carol");
	assert_int_equal(unlink(path), 0);
	now_ns += USER_KEYS_LOOK_NS;
	assert_string_equal(user_keys_find(users, KEY_C, now_ns), "carol");
	replace("# nobody\n");
	now_ns += USER_KEYS_LOOK_NS;
	assert_null(user_keys_find(users, KEY_C, now_ns));
	user_keys_close(users);
}

static void add_fails(const char *user, const char *key, int status, const char *words)
{
	char *error;

	assert_int_equal(user_keys_add(path, user, key, &error), status);
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("%s: without \"%s\"", error, words);
	free(error);
}

static void impossible_users_are_not_added(void **state)
{
	char name[USER_KEYS_NAME_MAX + 2];

	(void)state;
	add("alice", KEY_A);
	add_fails("alice", KEY_B, -EEXIST, "alice has a key already");
	add_fails("*", KEY_B, -EINVAL, "not a user's name");
	add_fails("", KEY_B, -EINVAL, "not a user's name");
	add_fails("a b", KEY_B, -EINVAL, "not a user's name");
	add_fails("#a", KEY_B, -EINVAL, "not a user's name");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add_fails(name, KEY_B, -EINVAL, "not a user's name");
	add_fails("bob", "key", -EINVAL, "not a key");
	struct user_keys *users = open_users();
	assert_string_equal(user_keys_find(users, KEY_A, 1), "alice");
	assert_null(user_keys_find(users, KEY_B, 1));
	user_keys_close(users);
}

static void open_fails(int status, const char *words)
{
	struct user_keys *users;
	char *error;

	assert_int_equal(user_keys_open(path, &users, &error), status);
	assert_null(users);
	assert_non_null(error);
	if (!strstr(error, words) || !strstr(error, path))
		fail_msg("%s: without \"%s\"", error, words);
	free(error);
}

static void a_file_that_may_not_be_believed_is_not_read(void **state)
{
	(void)state;
	open_fails(-ENOENT, "No such file");
	replace("alice " KEY_A "\nbob " KEY_A "\n");
	open_fails(-EINVAL, "is there twice");
	replace("alice " KEY_A "\nalice " KEY_B "\n");
	open_fails(-EINVAL, "alice");
	replace("alice\n");
	open_fails(-EINVAL, "line 1");
	replace("alice " KEY_A "\n");
	assert_int_equal(chmod(path, 0664), 0);
	open_fails(-EPERM, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_user_is_found_by_the_key, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_changed_file_is_read_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(impossible_users_are_not_added, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_may_not_be_believed_is_not_read, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
