#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "aggregator_fixture.h"

extern char **environ;

static const char *program;      /* flamegrid-aggregator */
static const char *stalled_disk; /* support/stalled_disk */

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
		/* If the last program stored the frame on its way, WELCOME has acknowledged it. */
		if (durable_seq < seq) {
			aggregator_fixture_send(agent, scenario, durable_seq + 1, seq);
			test_agent_expect_ack(agent, seq);
		}
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

/* What comes after durable_seq; then the program, which ends well. Takes the agent. */
static void send_rest_and_end(struct aggregator_fixture *fixture, struct test_agent *agent,
			      uint64_t durable_seq, pid_t child)
{
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_send(agent, scenario, durable_seq + 1, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	kill(child, SIGTERM);
	int status = wait_for(child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Sends a frame so often that the aggregator, whose loop stands still, stops to read; then the connection breaks. */
static void fill_and_break_connection(struct aggregator_fixture *fixture, const char *stalled)
{
	void *agent = zmq_socket(fixture->context, ZMQ_DEALER);
	const struct scenario *scenario = &fixture->scenarios[0];
	uint8_t welcome[256];
	int patience_ms = 60000, no_limit = 0;

	zmq_setsockopt(agent, ZMQ_RCVTIMEO, &patience_ms, sizeof(patience_ms));
	zmq_setsockopt(agent, ZMQ_SNDHWM, &no_limit, sizeof(no_limit));
	assert_int_equal(zmq_connect(agent, fixture->socket_endpoint), 0);
	zmq_send(agent, scenario->hello_frame.bytes, scenario->hello_frame.size, 0);
	assert_true(zmq_recv(agent, welcome, sizeof(welcome), 0) > 0);
	assert_int_equal(mkfifo(stalled, 0600), 0);
	zmq_send(agent, scenario->frames[0].bytes, scenario->frames[0].size, 0);
	int is_stalled = open(stalled, O_RDONLY); /* waits for it */
	assert_true(is_stalled >= 0);
	close(is_stalled);
	for (int i = 0; i < 64; i++)
		zmq_send(agent, scenario->frames[0].bytes, scenario->frames[0].size, 0);
	zmq_close(agent); /* sends what it has, and is gone */
}

static void a_connection_that_breaks_while_the_disk_stands_still_ends_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	char place[128], stalled[160];

	snprintf(place, sizeof(place), "%s/profile", fixture->folder);
	snprintf(stalled, sizeof(stalled), "%s.stalled", place);
	setenv("FLAMEGRID_STALL", place, 1);
	setenv("LD_PRELOAD", stalled_disk, 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	pid_t child = spawn("--listen", fixture->socket_endpoint, "--store", fixture->path,
			    "--title", "a test", "--quiet", NULL);
	unsetenv("LD_PRELOAD");
	unsetenv("ASAN_OPTIONS");
	fill_and_break_connection(fixture, stalled);

	struct test_agent *agent = test_agent_connect(fixture->context, fixture->socket_endpoint);
	uint64_t durable_seq = test_agent_hello(agent, &fixture->scenarios[0]);
	send_rest_and_end(fixture, agent, durable_seq, child);
	unlink(stalled);
	aggregator_fixture_assert_report(fixture, expected);
}

static int connect_silently(const char *endpoint)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", endpoint + strlen("ipc://"));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void connections_that_find_no_descriptor_end_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct rlimit few = {.rlim_cur = 48, .rlim_max = 48};
	int silent[64];
	char nothing;
	pid_t child = spawn("--listen", fixture->socket_endpoint, "--store", fixture->path,
			    "--title", "a test", "--quiet", NULL);
	struct test_agent *agent = test_agent_connect(fixture->context, fixture->socket_endpoint);

	test_agent_hello(agent, &fixture->scenarios[0]);
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, &few, NULL), 0);
	for (int i = 0; i < 64; i++)
		silent[i] = connect_silently(fixture->socket_endpoint);
	assert_true(recv(silent[63], &nothing, 1, 0) <= 0); /* waits until it is turned away */
	for (int i = 0; i < 64; i++)
		close(silent[i]);
	send_rest_and_end(fixture, agent, 0, child);
	aggregator_fixture_assert_report(fixture, expected);
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
		TEST(a_connection_that_breaks_while_the_disk_stands_still_ends_nothing),
		TEST(connections_that_find_no_descriptor_end_nothing),
	};

	if (argc != 3)
		return 2;
	program = argv[1];
	stalled_disk = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
