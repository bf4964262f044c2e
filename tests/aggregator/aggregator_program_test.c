#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "aggregator_fixture.h"

extern char **environ;

static const char *program; /* flamegrid-aggregator */

static pid_t spawn(const char *first, ...)
{
	char *arguments[16] = {(char *)(uintptr_t)program};
	va_list more;
	pid_t child;
	int count = 1;

	va_start(more, first);
	for (const char *word = first; word; word = va_arg(more, const char *))
		arguments[count++] = (char *)(uintptr_t)word;
	va_end(more);
	assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
	return child;
}

static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Kills the program at every sequence number, with one more frame on its way, which it may have
 * taken or not. */
static void kill_9_at_every_sequence_number_changes_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];

	for (uint64_t seq = 1; seq <= scenario->nr_frames;) {
		pid_t child = spawn("--listen", fixture->socket_endpoint, "--store", fixture->path,
				    "--title", "a test", "--quiet", NULL);
		struct test_agent *agent =
			test_agent_connect(fixture->context, fixture->socket_endpoint);
		uint64_t durable_seq = test_agent_hello(agent, scenario);

		assert_true(durable_seq + 1 >= seq && durable_seq <= seq);
		aggregator_fixture_send(agent, scenario, durable_seq + 1, seq);
		test_agent_expect_ack(agent, seq);
		if (seq < scenario->nr_frames)
			aggregator_fixture_send(agent, scenario, seq + 1, seq + 1);
		kill(child, SIGKILL);
		assert_true(WIFSIGNALED(wait_for(child)));
		test_agent_close(agent);
		seq++;
	}
	aggregator_fixture_assert_report(fixture, expected);
}

static void the_program_ends_cleanly_at_sigterm(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	pid_t child = spawn("--listen", fixture->socket_endpoint, "--store", fixture->path,
			    "--title", "a test", "--quiet", NULL);
	struct test_agent *agent = test_agent_connect(fixture->context, fixture->socket_endpoint);
	char name[128];
	struct stat info;

	test_agent_hello(agent, &fixture->scenarios[0]);
	aggregator_fixture_send(agent, &fixture->scenarios[0], 1, fixture->scenarios[0].nr_frames);
	test_agent_expect_ack(agent, fixture->scenarios[0].nr_frames);
	kill(child, SIGTERM);
	int status = wait_for(child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	test_agent_close(agent);
	snprintf(name, sizeof(name), "%s-wal", fixture->path);
	assert_int_equal(stat(name, &info), -1);
	aggregator_fixture_assert_report(fixture, expected);
}

static void the_program_tells_usage_from_failure(void **state)
{
	struct aggregator_fixture *fixture = *state;

	assert_int_equal(WEXITSTATUS(wait_for(spawn("--listen", NULL))), 2);
	assert_int_equal(WEXITSTATUS(wait_for(spawn("--store", fixture->path, NULL))), 2);
	assert_int_equal(WEXITSTATUS(wait_for(spawn("surprise", NULL))), 2);
	assert_int_equal(WEXITSTATUS(wait_for(
				 spawn("--listen", "tcp://*:*", "--store", fixture->path, NULL))),
			 1);
	assert_int_equal(WEXITSTATUS(wait_for(spawn("--version", NULL))), 0);
	assert_int_equal(WEXITSTATUS(wait_for(spawn("--help", NULL))), 0);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(kill_9_at_every_sequence_number_changes_nothing),
		TEST(the_program_ends_cleanly_at_sigterm),
		TEST(the_program_tells_usage_from_failure),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
