#include "proto/trust/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KEYS                                                                                       \
	"server-public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n"                                 \
	"client-public Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n"                                 \
	"client-secret D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\n"

struct fixture {
	char folder[64], path[96];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/rendezvous_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0); /* nothing else was left in it */
	free(fixture);
	return 0;
}

static const struct rendezvous example = {
	.step = "4711.0",
	.number = ".2",
	.first = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
	.nr_endpoints = 2,
	.endpoints = {"tcp://10.0.0.1:4000", "tcp://[fe80::1%eth0]:4000"},
	.keys = {.server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
		 .server_secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6",
		 .client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
		 .client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"},
};

static struct rendezvous_file *write_example(const char *path, const struct rendezvous *rendezvous)
{
	struct rendezvous_file *file;

	assert_int_equal(rendezvous_create(path, &file), 0);
	assert_int_equal(rendezvous_publish(file, rendezvous), 0);
	return file;
}

static void what_is_written_is_read_but_for_the_aggregators_secret(void **state)
{
	const struct fixture *fixture = *state;
	struct rendezvous expected = example, rendezvous;
	struct stat status;
	char *error;

	memset(expected.keys.server_secret, 0, KEY_SET_TEXT);
	rendezvous_close(write_example(fixture->path, &example));
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), 0);
	assert_null(error);
	assert_memory_equal(&rendezvous, &expected, sizeof(expected));
}

static void a_file_of_a_job_before_is_replaced(void **state)
{
	const struct fixture *fixture = *state;
	struct rendezvous second = example, rendezvous;
	char *error;

	*second.step = '\0';
	second.nr_endpoints = 1;
	struct rendezvous_file *first_file = write_example(fixture->path, &example);
	struct rendezvous_file *second_file = write_example(fixture->path, &second);
	rendezvous_close(first_file);
	assert_int_equal(rendezvous_lock_dead(fixture->path), -EBUSY);
	rendezvous_close(second_file);
	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), 0);
	assert_string_equal(rendezvous.step, "");
	assert_int_equal(rendezvous.nr_endpoints, 1);
}

static void a_place_that_cannot_be_written_is_an_error(void **state)
{
	struct rendezvous_file *file;

	(void)state;
	assert_int_equal(rendezvous_create("/proc/nonexistent/file", &file), -ENOENT);
	assert_null(file);
	rendezvous_close(file);
}

static void a_file_that_is_not_published_replaces_nothing(void **state)
{
	const struct fixture *fixture = *state;
	struct rendezvous rendezvous;
	struct rendezvous_file *file;
	char *error;

	rendezvous_close(write_example(fixture->path, &example));
	assert_int_equal(rendezvous_create(fixture->path, &file), 0);
	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), 0);
	rendezvous_close(file);
	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), 0);
}

/* With too few descriptors, say: an error, and nothing in the place that nobody would remove. */
static void a_file_that_cannot_be_written_replaces_nothing(void **state)
{
	const struct fixture *fixture = *state;
	struct rendezvous_file *file;
	struct rlimit limit, none;

	assert_int_equal(rendezvous_create(fixture->path, &file), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int status = rendezvous_publish(file, &example);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(status < 0);
	assert_int_equal(access(fixture->path, F_OK), -1);
	rendezvous_close(file);
}

static void its_lock_tells_whether_the_writer_lives(void **state)
{
	const struct fixture *fixture = *state;
	int dead;

	assert_int_equal(rendezvous_lock_dead(fixture->path), -ENOENT);
	assert_int_equal(rendezvous_is_held(fixture->path), -ENOENT);
	struct rendezvous_file *file = write_example(fixture->path, &example);
	assert_int_equal(rendezvous_lock_dead(fixture->path), -EBUSY);
	assert_int_equal(rendezvous_is_held(fixture->path), 1);
	rendezvous_close(file);
	assert_int_equal(rendezvous_is_held(fixture->path), 0);
	dead = rendezvous_lock_dead(fixture->path);
	assert_true(dead >= 0);
	assert_int_equal(rendezvous_lock_dead(fixture->path), -EBUSY);
	close(dead);
}

/* It stays with the parent, which starts another child in its place. */
static void the_lock_outlives_a_child_that_published(void **state)
{
	const struct fixture *fixture = *state;
	struct rendezvous_file *file;
	int status, dead;

	assert_int_equal(rendezvous_create(fixture->path, &file), 0);
	assert_false(rendezvous_is_published(file));
	pid_t pid = fork();
	if (pid == 0) {
		if (rendezvous_publish(file, &example) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_true(rendezvous_is_published(file));
	assert_int_equal(rendezvous_lock_dead(fixture->path), -EBUSY);
	rendezvous_close(file);
	dead = rendezvous_lock_dead(fixture->path);
	assert_true(dead >= 0);
	close(dead);
}

static void damaged_files_are_errors_in_words(void **state)
{
	const struct fixture *fixture = *state;
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"", "no endpoint"},
		{KEYS, "no endpoint"},
		{"endpoint tcp://10.0.0.1:1\n", "keys are missing"},
		{KEYS "endpoint tcp://1\nstep a\nstep b\n", "line 6: step: is there twice"},
		{KEYS "endpoint tcp://1\nnumber .2\nnumber .2\n", "line 6: number: is there twice"},
		{KEYS "endpoint tcp://1\nfirst a\nfirst a\n", "line 6: first: is there twice"},
		{KEYS "endpoint tcp://1\nnumber 2\n", "line 5: number: not a number behind"},
		{KEYS "endpoint tcp://1\nnumber /\n", "line 5: number: not a number behind"},
		{KEYS "endpoint tcp://1\nnumber /2/x\n", "line 5: number: not a number behind"},
		{KEYS "endpoint tcp://1\nnumber .2345678\n", "line 5: number: too long"},
		{KEYS "endpunkt tcp://1\n", "line 4: endpunkt: no such name"},
		{"endpoint "
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
		 "line 1: endpoint: too long"},
	};
	struct rendezvous rendezvous;
	char *error;

	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), -ENOENT);
	free(error);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = open(fixture->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)),
				 strlen(cases[i].text));
		close(fd);
		assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), -EINVAL);
		if (!strstr(error, cases[i].words))
			fail_msg("%s: without \"%s\"", error, cases[i].words);
		free(error);
		assert_int_equal(rendezvous.nr_endpoints, 0);
	}
}

static void no_more_endpoints_are_taken_than_there_is_room_for(void **state)
{
	const struct fixture *fixture = *state;
	FILE *file = fopen(fixture->path, "w");
	struct rendezvous rendezvous;
	char *error;

	for (unsigned int i = 0; i <= RENDEZVOUS_ENDPOINTS_MAX; i++)
		fprintf(file, "endpoint tcp://10.0.0.1:%u\n", i);
	fclose(file);
	chmod(fixture->path, 0600);
	assert_int_equal(rendezvous_read(fixture->path, &rendezvous, &error), -EINVAL);
	assert_non_null(strstr(error, "line 33: endpoint: too many"));
	free(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read_but_for_the_aggregators_secret),
		TEST(a_file_of_a_job_before_is_replaced),
		TEST(a_place_that_cannot_be_written_is_an_error),
		TEST(a_file_that_is_not_published_replaces_nothing),
		TEST(a_file_that_cannot_be_written_replaces_nothing),
		TEST(its_lock_tells_whether_the_writer_lives),
		TEST(the_lock_outlives_a_child_that_published),
		TEST(damaged_files_are_errors_in_words),
		TEST(no_more_endpoints_are_taken_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
