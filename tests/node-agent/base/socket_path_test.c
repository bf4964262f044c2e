#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/base/socket_path.h"

#define AGENTS 6
#define ROUNDS 100

enum outcome { LISTENS = 1, IN_USE = 2, OTHER = 3 };

struct fixture {
	char directory[64], path[96], lock[112];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/socket-path-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/agent", fixture->directory);
	snprintf(fixture->lock, sizeof(fixture->lock), "%s.lock", fixture->path);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	unlink(fixture->lock);
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

/* A socket that an agent has left when it was killed. */
static void leave_stale(const struct fixture *fixture)
{
	const char *problem;
	int fd;

	unlink(fixture->path);
	fd = socket_path_listen(fixture->path, 0600, &problem);
	assert_true(fd >= 0);
	close(fd);
}

/* Begins when the others do, says what came of it, and stays until all have said. */
static void be_agent(const struct fixture *fixture, int start, int said, int end)
{
	const char *problem;
	char byte;

	if (read(start, &byte, 1) != 0)
		_exit(1);
	int fd = socket_path_listen(fixture->path, 0600, &problem);
	byte = fd >= 0 ? LISTENS : fd == -EADDRINUSE ? IN_USE : OTHER;
	if (write(said, &byte, 1) != 1 || read(end, &byte, 1) != 0)
		_exit(1);
	_exit(0);
}

static void run_round(const struct fixture *fixture)
{
	int start[2], said[2], end[2], counts[OTHER + 1] = {0}, status;
	char byte;

	assert_true(pipe(start) == 0 && pipe(said) == 0 && pipe(end) == 0);
	for (int i = 0; i < AGENTS; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			close(start[1]);
			close(end[1]);
			be_agent(fixture, start[0], said[1], end[0]);
		}
	}
	close(start[1]);
	for (int i = 0; i < AGENTS; i++) {
		assert_int_equal(read(said[0], &byte, 1), 1);
		counts[(int)byte]++;
	}
	close(end[1]);
	for (int i = 0; i < AGENTS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(counts[LISTENS], 1);
	assert_int_equal(counts[IN_USE], AGENTS - 1);
	close(start[0]);
	close(said[0]);
	close(said[1]);
	close(end[0]);
}

static void of_agents_that_start_at_once_one_listens(void **state)
{
	const struct fixture *fixture = *state;

	for (int i = 0; i < ROUNDS; i++) {
		leave_stale(fixture);
		run_round(fixture);
	}
	assert_int_equal(access(fixture->lock, F_OK), -1);
}

static void the_second_agent_says_that_another_one_listens(void **state)
{
	const struct fixture *fixture = *state;
	const char *problem;
	int first = socket_path_listen(fixture->path, 0600, &problem);

	assert_true(first >= 0);
	assert_int_equal(socket_path_listen(fixture->path, 0600, &problem), -EADDRINUSE);
	assert_string_equal(problem, "another agent listens there");
	close(first);
	int second = socket_path_listen(fixture->path, 0600, &problem);
	assert_true(second >= 0);
	close(second);
}

static void what_is_no_lock_of_ours_is_not_taken(void **state)
{
	const struct fixture *fixture = *state;
	const char *problem;

	assert_int_equal(mkfifo(fixture->lock, 0600), 0);
	assert_int_equal(socket_path_listen(fixture->path, 0600, &problem), -EEXIST);
	assert_string_equal(problem, "something that is not a lock of ours lies beside it");
	unlink(fixture->lock);
	assert_int_equal(symlink("/tmp/elsewhere", fixture->lock), 0);
	assert_int_equal(socket_path_listen(fixture->path, 0600, &problem), -ELOOP);
	assert_string_equal(problem, "its lock can't be taken");
	assert_int_equal(access(fixture->path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_agents_that_start_at_once_one_listens, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_second_agent_says_that_another_one_listens,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_lock_of_ours_is_not_taken, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
