#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ledger.h"
#include "tests/node-agent/agent_fixture.h"
#include "tests/node-agent/guests/guest_program.h"
#include "tests/node-agent/publish/router_fixture.h"

static void a_guest_that_says_goodbye_is_sent_whole(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct agent_status status;
	int ready;

	agent_fixture_start(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 3000, GUEST_PROGRAM_GOODBYE, &ready);
	guest_program_await(ready);
	guest_program_reap(pid, 0);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->pid, pid);
	assert_int_equal(process->state, PROCESS_ENDED);
	assert_int_equal(process->launches, 3000);
	assert_int_equal(process->records, 3000);
	assert_int_equal(process->ledger[LEDGER_LAUNCHES], 3000);
	assert_int_equal(process->ledger[LEDGER_RECORDS], 3000);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 0);
	assert_int_equal(process->nr_devices, 1);
	assert_int_equal(process->device.index, 3);
	assert_int_equal(process->nr_notices, 1);
	assert_non_null(strstr(process->command, "agent_test guest"));
	assert_int_equal(process->rank, 5);
	assert_string_equal(process->job, "99");

	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
	assert_int_equal(fixture->view.nr_symbols, fixture->view.nr_native);
	assert_true(fixture->view.nr_named >= 1);
	agent_status(fixture->agent, &status);
	assert_int_equal(status.processes, 1);
	assert_int_equal(status.processes_running, 0);
	assert_int_equal(status.launches, 3000);
	assert_int_equal(status.records, 3000);
	assert_int_equal(status.sent_seq, fixture->view.seq);
	assert_int_equal(status.acked_seq, fixture->view.seq);
}

static void a_killed_guest_loses_nothing_that_it_had_published(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	agent_fixture_start(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 2000, GUEST_PROGRAM_WAITS, &ready);
	guest_program_await(ready);
	kill(pid, SIGKILL);
	guest_program_reap(pid, SIGKILL);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->launches, 2000);
	assert_int_equal(process->records, 2000);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 1);
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

/* Killed by a signal of that rank's user; whose word comes after the end. */
static void stop_guest(struct agent_fixture *fixture, int32_t rank, int signal_number)
{
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	agent_fixture_start(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 2000, GUEST_PROGRAM_WAITS, &ready);
	guest_program_await(ready);
	kill(pid, signal_number);
	guest_program_reap(pid, signal_number);
	assert_int_equal(agent_stopped(fixture->agent, rank, signal_number), 0);
	aggregator_view_serve_until_ended(&fixture->view, 1);
}

static void a_guest_that_the_user_stopped_counts_as_that(void **state)
{
	struct agent_fixture *fixture = *state;

	stop_guest(fixture, AGENT_STOP_ALL, SIGINT);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->launches, 2000);
	assert_int_equal(process->ledger[LEDGER_INTERRUPTED_END], 1);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 0);
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void a_stop_of_another_rank_explains_nothing(void **state)
{
	struct agent_fixture *fixture = *state;

	stop_guest(fixture, 4711, SIGTERM);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->ledger[LEDGER_TERMINATED_END], 0);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 1);
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void many_guests_at_once_are_told_apart(void **state)
{
	enum { GUESTS = 12 };
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	pid_t pids[GUESTS];
	int ready[GUESTS];

	agent_fixture_start(fixture, &options);
	for (uint32_t i = 0; i < GUESTS; i++)
		pids[i] = guest_program_start(fixture->socket, 100 + i,
					      i % 2 ? GUEST_PROGRAM_GOODBYE : GUEST_PROGRAM_EXITS,
					      &ready[i]);
	for (uint32_t i = 0; i < GUESTS; i++) {
		guest_program_await(ready[i]);
		guest_program_reap(pids[i], 0);
	}
	aggregator_view_serve_until_ended(&fixture->view, GUESTS);
	for (uint32_t i = 1; i <= GUESTS; i++) {
		uint32_t guest = 0;

		while (guest < GUESTS && (uint32_t)pids[guest] != fixture->view.processes[i].pid)
			guest++;
		assert_true(guest < GUESTS);
		assert_int_equal(fixture->view.processes[i].launches, 100 + guest);
		assert_int_equal(fixture->view.processes[i].state,
				 guest % 2 ? PROCESS_ENDED : PROCESS_UNCLEAN);
	}
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void stopping_drains_processes_that_still_run(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	agent_fixture_start(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 1500, GUEST_PROGRAM_WAITS, &ready);
	guest_program_await(ready);
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->launches, 1500);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->records, 1500);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->state, PROCESS_RUNNING);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->ledger[LEDGER_LAUNCHES], 1500);
	kill(pid, SIGKILL);
	guest_program_reap(pid, SIGKILL);
}

static void a_full_window_leaves_the_loss_to_the_guests_count(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router),
					.window_bytes = 1};
	int ready;

	agent_fixture_start(fixture, &options);
	/* Nobody answers until the guest has written more than its ring and one batch hold. */
	pid_t pid = guest_program_start(fixture->socket, 100000, GUEST_PROGRAM_GOODBYE, &ready);
	guest_program_await(ready);
	guest_program_reap(pid, 0);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	uint64_t lost_launches = process->ledger[LEDGER_LAUNCH_RING_FULL];
	uint64_t lost_records = process->ledger[LEDGER_RECORD_RING_FULL];
	assert_true(lost_launches > 0);
	assert_true(lost_records > 0);
	assert_int_equal(process->ledger[LEDGER_LAUNCHES], 100000);
	assert_int_equal(process->launches + lost_launches, 100000);
	assert_int_equal(process->records + lost_records, 100000);
	agent_fixture_stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void an_absent_aggregator_is_given_up_after_a_while(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = "ipc:///tmp/agent_test_nobody_is_here",
					.give_up_ms = 100};
	struct agent_status status;
	int ready;

	agent_fixture_start(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 10, GUEST_PROGRAM_GOODBYE, &ready);
	guest_program_await(ready);
	guest_program_reap(pid, 0);
	agent_stop(fixture->agent);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
	assert_int_equal(fixture->result, -ETIMEDOUT);
	agent_status(fixture->agent, &status);
	assert_false(status.connected);
	assert_int_equal(status.acked_seq, 0);
	assert_true(status.sent_seq > 0);
}

static void an_aggregator_that_refuses_us_ends_the_agent(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};

	agent_fixture_start(fixture, &options);
	assert_non_null(router_fixture_receive(fixture->view.router, AGGREGATOR_VIEW_WAIT_MS));
	router_fixture_refuse(fixture->view.router, REFUSE_MALFORMED);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
	assert_int_equal(fixture->result, -EPROTO);
}

static void errors_at_the_start_name_what_and_where(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = "tcp://127.0.0.1:1",
					.socket_path = "/proc/nonexistent/agent",
					.devices_path = fixture->devices};
	char *error = NULL;

	assert_int_equal(agent_create(&options, &fixture->agent, &error), -ENOENT);
	assert_null(fixture->agent);
	assert_non_null(strstr(error, "/proc/nonexistent/agent"));
	free(error);
	options.devices_path = "/proc/nonexistent/devices";
	assert_int_equal(agent_create(&options, &fixture->agent, &error), -ENOENT);
	assert_non_null(strstr(error, "/proc/nonexistent/devices"));
	free(error);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, agent_fixture_set_up, agent_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_guest_that_says_goodbye_is_sent_whole),
		TEST(a_killed_guest_loses_nothing_that_it_had_published),
		TEST(a_guest_that_the_user_stopped_counts_as_that),
		TEST(a_stop_of_another_rank_explains_nothing),
		TEST(many_guests_at_once_are_told_apart),
		TEST(stopping_drains_processes_that_still_run),
		TEST(a_full_window_leaves_the_loss_to_the_guests_count),
		TEST(an_absent_aggregator_is_given_up_after_a_while),
		TEST(an_aggregator_that_refuses_us_ends_the_agent),
		TEST(errors_at_the_start_name_what_and_where),
	};

	if (argc == 5 && strcmp(argv[1], "guest") == 0)
		return guest_program_run(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
