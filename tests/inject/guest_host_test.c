/* What the guest does to the program it sits in, above all when something is missing or goes wrong:
 * nothing. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_agent.h"

#define ARGV(...)        ((const char *const[]){FAKE_LAUNCHES, __VA_ARGS__, NULL})
#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct test_agent agent;

static int set_up(void **state)
{
	(void)state;
	test_agent_open(&agent);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_agent_close(&agent);
	return 0;
}

static void run(const char *const *argv, const char *const *environment)
{
	test_agent_start(&agent, &(struct test_program){.argv = argv, .environment = environment});
	test_agent_finish(&agent);
}

static void assert_exit_code(int code)
{
	if (!WIFEXITED(agent.status) || WEXITSTATUS(agent.status) != code)
		print_error("status %#x, output:\n%s", (unsigned int)agent.status, agent.output);
	assert_true(WIFEXITED(agent.status));
	assert_int_equal(WEXITSTATUS(agent.status), code);
}

static bool has_records(struct test_agent *self)
{
	return self->nr_records > 0;
}

/* Whether a link in /proc/PID/fd has this in its target. */
static bool has_descriptor(const char *part)
{
	char path[512], target[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)agent.pid);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)agent.pid, entry->d_name);
		ssize_t size = readlink(path, target, sizeof(target) - 1);

		target[size > 0 ? size : 0] = '\0';
		found = found || strstr(target, part) != NULL;
	}
	closedir(folder);
	return found;
}

/* A line of /proc/PID/task/TID/status of the thread of that name. */
static bool thread_status(const char *name, const char *field, char value[256])
{
	char path[512], line[256], comm[64] = "";
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)agent.pid);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry = readdir(folder); entry && !found; entry = readdir(folder)) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)agent.pid,
			 entry->d_name);
		FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");

		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "Name: %63s", comm) == 1)
				found = strcmp(comm, name) == 0;
			if (found && strncmp(line, field, strlen(field)) == 0)
				memcpy(value, line + strlen(field) + 1,
				       sizeof(line) - strlen(field) - 1);
		}
		if (file)
			fclose(file);
	}
	closedir(folder);
	return found;
}

static void guest_keeps_no_descriptor_and_takes_no_signals(void **state)
{
	char blocked[256] = "";

	(void)state;
	test_agent_start(&agent,
			 &(struct test_program){.argv = ARGV("--forever", "--sync-every", "100")});
	test_agent_serve(&agent, has_records);
	assert_false(has_descriptor("memfd"));
	assert_false(has_descriptor("socket"));
	assert_true(thread_status("flamegrid", "SigBlk", blocked));
	/* All but SIGKILL, SIGSTOP and the two that the C library keeps for itself. */
	assert_int_equal(strtoull(blocked, NULL, 16) | 0x180040100u, 0xffffffffffffffffu);
	kill(agent.pid, SIGKILL);
	test_agent_finish(&agent);
}

static void missing_cupti_is_said_and_the_job_runs(void **state)
{
	(void)state;
	run(ARGV("--launches", "50"), ENVIRONMENT("FLAMEGRID_CUPTI=/nowhere/libcupti.so.13"));
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches + agent.nr_records, 0);
	assert_int_equal(agent.nr_notices, 1);
	assert_int_equal(agent.notices[0].head.code, NOTICE_NO_CUPTI);
	assert_non_null(strstr(agent.notices[0].text, "/nowhere/libcupti.so.13"));
}

static void taken_subscriber_is_said_and_the_job_runs(void **state)
{
	(void)state;
	run(ARGV("--launches", "50"), ENVIRONMENT("FAKE_CUPTI_TAKEN=1"));
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches + agent.nr_records, 0);
	assert_true(test_agent_has_notice(&agent, NOTICE_SUBSCRIBER_TAKEN));
	assert_int_equal(agent.notices[0].head.value, 39);
	assert_non_null(strstr(agent.notices[0].text, ": Nsight Systems ("));
}

static void cupti_that_does_not_start_is_said_and_the_job_runs(void **state)
{
	(void)state;
	run(ARGV("--launches", "50"),
	    ENVIRONMENT("FAKE_CUPTI_INIT_FAIL=15", "FLAMEGRID_CUPTI=" FAKE_CUPTI));
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches + agent.nr_records, 0);
	assert_true(test_agent_has_notice(&agent, NOTICE_CUPTI_FAILED));
}

static void without_an_agent_the_job_runs(void **state)
{
	(void)state;
	run(ARGV("--launches", "50"), ENVIRONMENT("FLAMEGRID_SOCKET=/nowhere/socket"));
	assert_exit_code(0);
	assert_int_equal(agent.nr_connections, 0);
	test_agent_close(&agent);
	test_agent_open(&agent);
	run(ARGV("--launches", "50"), ENVIRONMENT("FLAMEGRID_SOCKET="));
	assert_exit_code(0);
	assert_int_equal(agent.nr_connections, 0);
}

static void refused_guest_switches_itself_off(void **state)
{
	(void)state;
	agent.answer = HANDSHAKE_REFUSED_USER;
	run(ARGV("--launches", "50"), NULL);
	assert_exit_code(0);
	assert_non_null(agent.ring);
	assert_false(agent.finished);
	assert_int_equal(agent.nr_launches + agent.nr_records + agent.nr_modules, 0);
}

static void guest_for_which_there_is_no_place_records_and_asks_again(void **state)
{
	(void)state;
	agent.answer = HANDSHAKE_REFUSED_FULL;
	run(ARGV("--launches", "50"), NULL);
	assert_exit_code(0);
	assert_true(agent.nr_connections > 1);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches, 50);
	assert_int_equal(agent.nr_records, 50);
}

static void silent_agent_delays_the_job_by_a_second_and_loses_nothing(void **state)
{
	struct timespec before, after;

	(void)state;
	agent.silent = true;
	clock_gettime(CLOCK_MONOTONIC, &before);
	run(ARGV("--launches", "50"), NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_exit_code(0);
	assert_true(after.tv_sec - before.tv_sec <
		    10); /* a loaded machine may be slow; for ever it is not */
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches, 50);
	assert_int_equal(agent.nr_records, 50);
}

static void what_cupti_has_not_delivered_when_the_process_must_end_is_counted(void **state)
{
	static const char *const environment[] = {"FAKE_CUPTI_LATE=3", NULL};

	(void)state;
	run(ARGV("--launches", "50"), environment);
	assert_exit_code(0);
	assert_false(agent.finished);
	assert_int_equal(agent.nr_launches, 50);
	assert_int_equal(agent.nr_records, 0);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCH_UNDELIVERED), 50);
}

static void file_size_limit_switches_the_guest_off_without_a_signal(void **state)
{
	(void)state;
	test_agent_start(&agent, &(struct test_program){.argv = ARGV("--launches", "50"),
							.file_size_limit = 1 << 20});
	test_agent_finish(&agent);
	assert_exit_code(0);
	assert_null(agent.ring);
}

static void forked_child_leaves_the_ring_alone(void **state)
{
	static const char *const well[] = {FORK_PROGRAM, "exit", NULL};

	(void)state;
	run(well, NULL);
	assert_exit_code(0);
	assert_non_null(strstr(agent.output, "child 0\n"));
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches, 150);
	assert_int_equal(agent.nr_records, 150);
	assert_int_equal(agent.nr_connections, 1);
}

static void forked_childs_end_is_not_the_end(void **state)
{
	static const char *const killed[] = {FORK_PROGRAM, "kill", NULL};

	(void)state;
	run(killed, NULL);
	assert_true(WIFSIGNALED(agent.status));
	assert_non_null(strstr(agent.output, "child 0\n"));
	assert_false(agent.finished);
	assert_int_equal(agent.nr_launches, 150);
}

static void program_sees_nothing_of_the_guest(void **state)
{
	char with[sizeof(agent.output)];

	(void)state;
	run(ARGV("--launches", "500", "--copies", "3"), NULL);
	assert_exit_code(0);
	strcpy(with, strchr(agent.output, '\n'));
	test_agent_close(&agent);
	test_agent_open(&agent);
	run(ARGV("--launches", "500", "--copies", "3"), ENVIRONMENT("CUDA_INJECTION64_PATH="));
	assert_exit_code(0);
	assert_null(agent.ring);
	assert_string_equal(with, strchr(agent.output, '\n'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(program_sees_nothing_of_the_guest),
		TEST(guest_keeps_no_descriptor_and_takes_no_signals),
		TEST(missing_cupti_is_said_and_the_job_runs),
		TEST(taken_subscriber_is_said_and_the_job_runs),
		TEST(cupti_that_does_not_start_is_said_and_the_job_runs),
		TEST(without_an_agent_the_job_runs),
		TEST(refused_guest_switches_itself_off),
		TEST(guest_for_which_there_is_no_place_records_and_asks_again),
		TEST(silent_agent_delays_the_job_by_a_second_and_loses_nothing),
		TEST(what_cupti_has_not_delivered_when_the_process_must_end_is_counted),
		TEST(file_size_limit_switches_the_guest_off_without_a_signal),
		TEST(forked_child_leaves_the_ring_alone),
		TEST(forked_childs_end_is_not_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
