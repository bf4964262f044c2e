#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/trust/key_set.h"

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
#define KEY_C "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define KEY_D "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"

static const struct key_set all = {KEY_A, KEY_B, KEY_C, KEY_D};

struct fixture {
	char folder[64], path[96];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/key_set_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/keys", fixture->folder);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static void write_text(const struct fixture *fixture, const char *text)
{
	int fd = open(fixture->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void read_fails(const struct fixture *fixture, enum key_role role, int status,
		       const char *words)
{
	const struct key_set none = {0};
	struct key_set keys = all;
	char *error;

	assert_int_equal(key_set_read(fixture->path, role, &keys, &error), status);
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("%s: without \"%s\"", error, words);
	assert_non_null(strstr(error, fixture->path));
	free(error);
	assert_memory_equal(&keys, &none, sizeof(keys));
}

static void each_role_gets_what_it_needs_and_no_more(void **state)
{
	const struct fixture *fixture = *state;
	struct key_set keys;
	struct stat status;
	char *error;

	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGGREGATOR, &all), 0);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(key_set_read(fixture->path, KEY_ROLE_AGGREGATOR, &keys, &error), 0);
	assert_null(error);
	assert_string_equal(keys.server_public, KEY_A);
	assert_string_equal(keys.server_secret, KEY_B);
	assert_string_equal(keys.client_public, KEY_C);
	assert_string_equal(keys.client_secret, "");
	assert_true(key_set_serves(&keys, KEY_ROLE_AGGREGATOR));
	assert_false(key_set_serves(&keys, KEY_ROLE_AGENT));

	unlink(fixture->path);
	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGENT, &all), 0);
	assert_int_equal(key_set_read(fixture->path, KEY_ROLE_AGENT, &keys, &error), 0);
	assert_string_equal(keys.server_secret, "");
	assert_string_equal(keys.client_secret, KEY_D);
	assert_true(key_set_serves(&keys, KEY_ROLE_AGENT));
}

static void a_file_that_is_there_stays(void **state)
{
	const struct fixture *fixture = *state;

	write_text(fixture, "mine");
	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGENT, &all), -EEXIST);
	read_fails(fixture, KEY_ROLE_AGENT, -EINVAL, "line 1");
}

static void the_other_roles_file_is_named(void **state)
{
	const struct fixture *fixture = *state;

	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGENT, &all), 0);
	read_fails(fixture, KEY_ROLE_AGGREGATOR, -EINVAL, "this is an agent's file");
	unlink(fixture->path);
	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGGREGATOR, &all), 0);
	read_fails(fixture, KEY_ROLE_AGENT, -EINVAL, "this is an aggregator's file");
}

static void a_file_that_others_can_read_is_refused(void **state)
{
	const struct fixture *fixture = *state;
	const mode_t modes[] = {0640, 0604, 0620, 0602, 0660, 0666};

	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGENT, &all), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		assert_int_equal(chmod(fixture->path, modes[i]), 0);
		read_fails(fixture, KEY_ROLE_AGENT, -EPERM, "chmod 600");
	}
}

static void the_group_may_read_what_root_shares_with_it(void **state)
{
	const struct fixture *fixture = *state;
	const mode_t refused[] = {0604, 0620, 0660, 0644};
	const int group = geteuid() == 0 ? 0 : -EPERM;
	struct key_set keys;
	char *error;

	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_AGENT, &all), 0);
	assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), 0);
	assert_int_equal(chmod(fixture->path, 0640), 0);
	assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), group);
	free(error);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(chmod(fixture->path, refused[i]), 0);
		assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), -EPERM);
		assert_non_null(strstr(error, fixture->path));
		free(error);
	}
}

static void everybody_may_read_the_public_key_alone(void **state)
{
	const struct fixture *fixture = *state;
	const struct key_set public = {.server_public = KEY_A};
	const mode_t refused[] = {0664, 0646};
	struct key_set keys;
	struct stat status;
	char *error;

	assert_int_equal(key_set_write(fixture->path, KEY_ROLE_PUBLIC, &all), 0);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), 0);
	assert_null(error);
	assert_memory_equal(&keys, &public, sizeof(keys));
	assert_true(key_set_serves(&keys, KEY_ROLE_PUBLIC));
	assert_false(key_set_serves(&keys, KEY_ROLE_AGENT));
	read_fails(fixture, KEY_ROLE_AGENT, -EPERM, "chmod 600"); /* no agent of a site's */
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(chmod(fixture->path, refused[i]), 0);
		assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), -EPERM);
		free(error);
	}
	unlink(fixture->path);
	write_text(fixture, "server-public " KEY_A "\nclient-secret " KEY_D "\n");
	assert_int_equal(key_set_read_shared(fixture->path, &keys, &error), -EINVAL);
	assert_non_null(strstr(error, "client-public is missing"));
	free(error);
}

static void a_proof_names_both_keys(void **state)
{
	char text[KEY_SET_PROOF];

	(void)state;
	key_set_proof(KEY_A, KEY_B, text);
	assert_string_equal(text, "flamegrid " KEY_A " " KEY_B);
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
	struct fixture *fixture = *state;

	read_fails(fixture, KEY_ROLE_AGENT, -ENOENT, "No such file");
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	read_fails(fixture, KEY_ROLE_AGENT, -EPERM,
		   "not a regular file"); /* and does not wait for a writer */
	unlink(fixture->path);
	if (geteuid() == 0) {
		write_text(fixture, "");
		assert_int_equal(chown(fixture->path, 65534, 65534), 0);
		read_fails(fixture, KEY_ROLE_AGENT, -EPERM, "another user");
	}
}

static void damaged_lines_are_named(void **state)
{
	const struct fixture *fixture = *state;
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"", "server-public is missing"},
		{"server-public " KEY_A "\n", "client-public is missing"},
		{"server-public\n", "line 1: not `NAME VALUE`"},
		{"server-public " KEY_A " " KEY_A "\n", "line 1: not `NAME VALUE`"},
		{"# words\n\nserver-publik " KEY_A "\n", "line 3: server-publik: no such name"},
		{"server-public " KEY_A "\nserver-public " KEY_A "\n",
		 "line 2: server-public: is there twice"},
		{"server-public " KEY_A "x\n", "line 1: server-public: not a key"},
		{"server-public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf\n", "not a key"},
		{"server-public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]y,7\n", "not a key"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_text(fixture, cases[i].text);
		read_fails(fixture, KEY_ROLE_AGENT, -EINVAL, cases[i].words);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_role_gets_what_it_needs_and_no_more),
		TEST(a_file_that_is_there_stays),
		TEST(the_other_roles_file_is_named),
		TEST(a_file_that_others_can_read_is_refused),
		TEST(the_group_may_read_what_root_shares_with_it),
		TEST(everybody_may_read_the_public_key_alone),
		TEST(a_proof_names_both_keys),
		TEST(what_is_no_file_of_ours_is_refused),
		TEST(damaged_lines_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
