#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/node-agent/publish/router_fixture.h"

static const char *program;

/* Runs the program; its exit code, and what it printed. */
static int run(const char *const *arguments, char *output, size_t size)
{
	int pipes[2], status;
	size_t used = 0;
	ssize_t got;

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execv(program, (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(pipes[1]);
	while (used + 1 < size && (got = read(pipes[0], output + used, size - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define RUN(output, ...)                                                                           \
	run((const char *const[]){"flamegrid-agent", __VA_ARGS__, NULL}, output, sizeof(output))

static void help_and_version_are_printed(void **state)
{
	char output[4096];

	(void)state;
	assert_int_equal(RUN(output, "--help"), 0);
	assert_non_null(strstr(output, "--connect ENDPOINT"));
	assert_int_equal(RUN(output, "--version"), 0);
	assert_memory_equal(output, "flamegrid-agent ", 16);
}

static void wrong_usage_exits_with_2_and_one_line(void **state)
{
	char output[4096];

	(void)state;
	assert_int_equal(RUN(output, "--connect", "ipc:///tmp/x"), 2);
	assert_string_equal(output, "flamegrid-agent: --socket is missing\n");
	assert_int_equal(RUN(output, "--socket", "/tmp/x"), 2);
	assert_string_equal(output, "flamegrid-agent: --connect is missing\n");
	assert_int_equal(RUN(output, "more"), 2);
	assert_int_equal(RUN(output, "--unknown"), 2);
	assert_int_equal(RUN(output, "--log-level", "loud"), 2);
	assert_string_equal(output, "flamegrid-agent: --log-level loud: must be error, warning, "
				    "notice, info or debug\n");
}

static void an_endpoint_on_the_network_needs_insecure(void **state)
{
	char output[4096];

	(void)state;
	assert_int_equal(
		RUN(output, "--connect", "tcp://10.1.2.3:7040", "--socket", "/proc/nonexistent/agent"),
		2);
	assert_non_null(strstr(output, "tcp://10.1.2.3:7040"));
	assert_non_null(strstr(output, "--insecure"));
	assert_int_equal(RUN(output, "--connect", "tcp://10.1.2.3:7040", "--socket",
			     "/proc/nonexistent/agent", "--insecure"),
			 1);
	assert_non_null(strstr(output, "flamegrid-agent: tcp://10.1.2.3:7040: what is sent there"));
}

static void a_failure_exits_with_1_and_names_what_and_where(void **state)
{
	char output[4096];

	(void)state;
	assert_int_equal(RUN(output, "--connect", "ipc:///tmp/x", "--socket", "/proc/nonexistent/agent"),
			 1);
	assert_memory_equal(output, "flamegrid-agent: socket: /proc/nonexistent/agent: ", 50);
	assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
}

/* What a process has in its environment, as one text; "": nothing could be read. */
static void read_environment(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	int fd = open(path, O_RDONLY);
	ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < got; i++)
		if (text[i] == '\0')
			text[i] = '\n';
	text[got > 0 ? got : 0] = '\0';
}

static void sigterm_ends_it_with_a_last_flush(void **state)
{
	char directory[] = "/tmp/agent_program_test.XXXXXX", path[64];
	struct router_fixture *router = router_fixture_create("tcp://127.0.0.1:*");
	static char environment[64 << 10];
	const struct message *message;
	int status;

	(void)state;
	unsetenv("GLIBC_TUNABLES");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/agent", directory);
	pid_t pid = fork();
	if (pid == 0) {
		execl(program, "flamegrid-agent", "--connect", router_fixture_endpoint(router),
		      "--socket", path, "--quiet", (char *)NULL);
		_exit(127);
	}
	message = router_fixture_receive(router, 20000);
	assert_non_null(message);
	assert_int_equal(message->type, MESSAGE_HELLO);
	router_fixture_welcome(router, 0, 8, 1u << 20);
	assert_int_equal(access(path, F_OK), 0);
	read_environment(pid, environment, sizeof(environment));
	assert_non_null(strstr(environment, "GLIBC_TUNABLES=glibc.malloc.tcache_count=0\n"));
	kill(pid, SIGTERM);
	do {
		message = router_fixture_receive(router, 20000);
		assert_non_null(message);
	} while (message->type != MESSAGE_BYE);
	router_fixture_ack(router, message->bye.seq);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(directory), 0);
	router_fixture_destroy(router);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_and_version_are_printed),
		cmocka_unit_test(wrong_usage_exits_with_2_and_one_line),
		cmocka_unit_test(an_endpoint_on_the_network_needs_insecure),
		cmocka_unit_test(sigterm_ends_it_with_a_last_flush),
		cmocka_unit_test(a_failure_exits_with_1_and_names_what_and_where),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
