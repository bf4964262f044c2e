#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/agent.h"
#include "node-agent/agent_unrecorded.h"
#include "node-agent/files/proc_file.h"
#include "proto/ledger.h"
#include "proto/offer_name.h"
#include "tests/node-agent/guests/aggregator_view.h"
#include "tests/node-agent/guests/guest_fixture.h"
#include "tests/node-agent/guests/guest_program.h"
#include "tests/node-agent/publish/router_fixture.h"

struct fixture {
	char directory[64], socket[96], devices[96];
	struct aggregator_view view;
	struct agent *agent;
	pthread_t thread;
	int result;
};

static void *run(void *argument)
{
	struct fixture *fixture = argument;

	fixture->result = agent_run(fixture->agent);
	return NULL;
}

static void start_agent(struct fixture *fixture, struct agent_options *options)
{
	char *error = NULL;

	options->socket_path = fixture->socket;
	options->node_name = "node01";
	options->devices_path = fixture->devices;
	options->drain_interval_ms = 1;
	if (agent_create(options, &fixture->agent, &error))
		fail_msg("agent: %s", error);
	assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/agent_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->socket, sizeof(fixture->socket), "%s/agent", fixture->directory);
	snprintf(fixture->devices, sizeof(fixture->devices), "%s/devices", fixture->directory);
	FILE *devices = fopen(fixture->devices, "we");
	fputs("3 0000:17:00.0 00000000000000000000000000000001 fake\n", devices);
	fclose(devices);
	aggregator_view_init(&fixture->view);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	agent_destroy(fixture->agent);
	aggregator_view_fini(&fixture->view);
	unlink(fixture->devices);
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

static void stop_and_serve(struct fixture *fixture)
{
	agent_stop(fixture->agent);
	aggregator_view_serve_until_bye(&fixture->view);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
}

static void a_guest_that_says_goodbye_is_sent_whole(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct agent_status status;
	int ready;

	start_agent(fixture, &options);
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

	stop_and_serve(fixture);
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
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	start_agent(fixture, &options);
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
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

/* Killed by a signal of that rank's user; whose word comes after the end. */
static void stop_guest(struct fixture *fixture, int32_t rank, int signal_number)
{
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	start_agent(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 2000, GUEST_PROGRAM_WAITS, &ready);
	guest_program_await(ready);
	kill(pid, signal_number);
	guest_program_reap(pid, signal_number);
	assert_int_equal(agent_stopped(fixture->agent, rank, signal_number), 0);
	aggregator_view_serve_until_ended(&fixture->view, 1);
}

static void a_guest_that_the_user_stopped_counts_as_that(void **state)
{
	struct fixture *fixture = *state;

	stop_guest(fixture, AGENT_STOP_ALL, SIGINT);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->launches, 2000);
	assert_int_equal(process->ledger[LEDGER_INTERRUPTED_END], 1);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 0);
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void a_stop_of_another_rank_explains_nothing(void **state)
{
	struct fixture *fixture = *state;

	stop_guest(fixture, 4711, SIGTERM);
	struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->ledger[LEDGER_TERMINATED_END], 0);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 1);
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void many_guests_at_once_are_told_apart(void **state)
{
	enum { GUESTS = 12 };
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	pid_t pids[GUESTS];
	int ready[GUESTS];

	start_agent(fixture, &options);
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
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void stopping_drains_processes_that_still_run(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	int ready;

	start_agent(fixture, &options);
	pid_t pid = guest_program_start(fixture->socket, 1500, GUEST_PROGRAM_WAITS, &ready);
	guest_program_await(ready);
	stop_and_serve(fixture);
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
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router),
					.window_bytes = 1};
	int ready;

	start_agent(fixture, &options);
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
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void an_absent_aggregator_is_given_up_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = "ipc:///tmp/agent_test_nobody_is_here",
					.give_up_ms = 100};
	struct agent_status status;
	int ready;

	start_agent(fixture, &options);
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
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};

	start_agent(fixture, &options);
	assert_non_null(router_fixture_receive(fixture->view.router, AGGREGATOR_VIEW_WAIT_MS));
	router_fixture_refuse(fixture->view.router, REFUSE_MALFORMED);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
	assert_int_equal(fixture->result, -EPROTO);
}

static void a_second_guest_of_one_process_ends_the_first(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct record_ring *first, *second;
	int first_fd, second_fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &first, &first_fd), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &second, &second_fd), 0);
	/* The welcome comes from the agent alone; nobody needs to serve meanwhile. */
	assert_int_equal(guest_fixture_handshake(fixture->socket, first_fd, 1), HANDSHAKE_OK);
	guest_program_write_work(first, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, second_fd, 2), HANDSHAKE_OK);
	guest_program_write_work(second, 7);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	stop_and_serve(fixture);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->state, PROCESS_UNCLEAN);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->launches, 5);
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->state, PROCESS_RUNNING);
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->launches, 7);
	record_ring_destroy(first);
	record_ring_destroy(second);
	close(first_fd);
	close(second_fd);
}

static void a_guest_that_comes_again_is_the_same_process(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct agent_status status;
	struct record_ring *ring;
	int fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &fd), 0);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	guest_program_write_work(ring, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	assert_true(record_ring_last_beat(ring) > 0);
	guest_program_write_work(ring, 7);
	stop_and_serve(fixture);
	agent_status(fixture->agent, &status);
	assert_int_equal(status.processes, 1);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->state, PROCESS_RUNNING);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->launches, 12);
	record_ring_destroy(ring);
	close(fd);
}

/* So it is with an agent that was stalled: its guests have offered their rings again, and ended meanwhile. */
static void own_ring_that_comes_after_its_process_is_gone_is_not_read_again(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router),
					.may_restart = true};
	struct agent_status status;
	struct record_ring *first, *second;
	int first_fd, second_fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &first, &first_fd), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &second, &second_fd), 0);
	assert_int_equal(guest_fixture_handshake(fixture->socket, first_fd, 1), HANDSHAKE_OK);
	guest_program_write_work(first, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, second_fd, 2), HANDSHAKE_OK);
	do {
		sched_yield();
		agent_status(fixture->agent, &status);
	} while (status.processes_running != 1);
	/* Nobody serves, so nothing is acknowledged, nor released. */
	assert_int_equal(guest_fixture_handshake(fixture->socket, first_fd, 1), HANDSHAKE_OK);
	guest_program_write_work(second, 7);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	agent_stop(fixture->agent);
	/* It says no goodbye: a guest stays behind. */
	while (pthread_tryjoin_np(fixture->thread, NULL) != 0)
		aggregator_view_serve(&fixture->view, 1);
	agent_status(fixture->agent, &status);
	assert_int_equal(status.processes, 2);
	assert_int_equal(status.launches, 12);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->launches, 5);
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->launches, 7);
	record_ring_destroy(first);
	record_ring_destroy(second);
	close(first_fd);
	close(second_fd);
}

static void guests_that_wait_when_the_agent_is_asked_to_end_are_read(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(1);
	struct record_ring *ring;
	char *error = NULL;
	int ring_fd;

	/* Its loop has not begun: who comes now waits in its queue. */
	options.socket_path = fixture->socket;
	options.node_name = "node01";
	options.devices_path = fixture->devices;
	assert_int_equal(agent_create(&options, &fixture->agent, &error), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &ring_fd), 0);
	guest_program_write_work(ring, 5);
	int fd = guest_fixture_connect(fixture->socket);
	assert_int_equal(guest_fixture_send(fd, &hello, sizeof(hello), &ring_fd, 1), sizeof(hello));
	close(fd);
	agent_stop(fixture->agent);
	assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
	aggregator_view_serve_until_bye(&fixture->view);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
	assert_int_equal(aggregator_view_process(&fixture->view, 1)->launches, 5);
	record_ring_destroy(ring);
	close(ring_fd);
}

#define NOT_NAMED 100u

static char unnamed[8],
	*program = unnamed; /* our own first argument, which is what we are called */

/* It says that there is no memory for a ring; the agent hangs up once it has heard. */
static void say_absence(const struct fixture *fixture)
{
	const struct guest_hello hello = guest_fixture_hello(1);
	const struct guest_absence absence = {
		.magic = HANDSHAKE_ABSENCE_MAGIC,
		.version = HANDSHAKE_VERSION,
		.pid = hello.pid,
		.error = ENOMEM,
		.start_ticks = hello.start_ticks,
		.pid_namespace = hello.pid_namespace,
		.file_limit_bytes = UINT64_MAX,
		.memory_limit_bytes = UINT64_MAX,
	};
	int fd = guest_fixture_connect(fixture->socket);
	char byte;

	assert_int_equal(guest_fixture_send(fd, &absence, sizeof(absence), NULL, 0),
			 sizeof(absence));
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

static void processes_that_cannot_be_recorded_are_named_or_counted(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};

	start_agent(fixture, &options);
	for (uint32_t i = 0; i < AGENT_UNRECORDED_MAX + NOT_NAMED; i++) {
		/* Each says that it is another program. */
		snprintf(program, sizeof("12345"), "%u", i);
		say_absence(fixture);
	}
	stop_and_serve(fixture);
	for (uint32_t id = 1; id <= AGENT_UNRECORDED_MAX; id++)
		assert_non_null(strstr(aggregator_view_process(&fixture->view, id)->notice,
				       "Cannot allocate memory"));
	struct aggregator_view_process *rest =
		aggregator_view_process(&fixture->view, AGENT_UNRECORDED_MAX + 1);
	assert_int_equal(rest->state, PROCESS_ENDED);
	assert_non_null(strstr(rest->notice, "this process and 99 others of its user"));
	assert_int_equal(aggregator_view_process(&fixture->view, AGENT_UNRECORDED_MAX + 2)->state,
			 0);
	/* What is only counted has no words. */
	assert_true(fixture->view.nr_strings < AGENT_UNRECORDED_MAX + NOT_NAMED / 2);
}

/* ---- offers that an agent before did not read ---- */

#define STRANGER 12345u /* a user; not that of the test */

static void leave_offer(const struct fixture *fixture, const struct guest_hello *hello, uid_t uid)
{
	char name[OFFER_NAME_SIZE], path[256];

	offer_name(hello, name);
	snprintf(path, sizeof(path), "%s" HANDSHAKE_OFFERS "/%s", fixture->socket, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, uid, (gid_t)-1), 0);
	close(fd);
}

static void make_offers(const struct fixture *fixture)
{
	char path[128];

	snprintf(path, sizeof(path), "%s" HANDSHAKE_OFFERS, fixture->socket);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The next agent begins at a later time than that of the files. */
static void start_later(struct fixture *fixture, struct agent_options *options)
{
	struct stat begin, now;

	assert_int_equal(chmod(fixture->directory, 0700) | stat(fixture->directory, &begin), 0);
	do
		assert_int_equal(chmod(fixture->directory, 0700) | stat(fixture->directory, &now),
				 0);
	while (now.st_ctim.tv_sec == begin.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == begin.st_ctim.tv_nsec);
	options->may_restart = true;
	start_agent(fixture, options);
}

static void offers_that_nobody_read_are_told_of_or_counted(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};

	make_offers(fixture);
	for (uint32_t i = 0; i < AGENT_UNRECORDED_MAX + NOT_NAMED; i++) {
		struct guest_hello hello = guest_fixture_hello(1);

		memcpy(hello.instance, &i, sizeof(i));
		hello.start_ticks--; /* it has ended, and its pid is ours */
		hello.pid_namespace = proc_file_pid_namespace(getpid());
		leave_offer(fixture, &hello, geteuid());
	}
	start_later(fixture, &options);
	stop_and_serve(fixture);
	for (uint32_t id = 1; id <= AGENT_UNRECORDED_MAX; id++) {
		const struct aggregator_view_process *process =
			aggregator_view_process(&fixture->view, id);

		assert_int_equal(process->state, PROCESS_UNCLEAN);
		assert_non_null(strstr(process->notice, "the agent was killed before"));
		assert_null(strstr(process->command, "agent_test"));
	}
	struct aggregator_view_process *rest =
		aggregator_view_process(&fixture->view, AGENT_UNRECORDED_MAX + 1);
	assert_non_null(strstr(rest->notice, "this process and 99 others of its user"));
	assert_int_equal(aggregator_view_process(&fixture->view, AGENT_UNRECORDED_MAX + 2)->state,
			 0);
}

/* Only root can give a file to a user. */
static void an_offer_tells_nothing_of_another_users_process(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(1);
	bool is_root = geteuid() == 0;

	make_offers(fixture);
	hello.start_ticks = proc_file_start_ticks(getpid()) - (is_root ? 0 : 1);
	hello.pid_namespace = proc_file_pid_namespace(getpid());
	leave_offer(fixture, &hello, is_root ? STRANGER : geteuid());
	start_later(fixture, &options);
	stop_and_serve(fixture);
	const struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_string_equal(process->command, "[unknown command]");
	assert_string_equal(process->job, "");
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->state, 0);
}

static void an_offer_of_a_process_that_lives_waits_for_it(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(1);
	struct guest_welcome welcome;
	struct record_ring *ring;
	int ring_fd;

	make_offers(fixture);
	hello.start_ticks = proc_file_start_ticks(getpid());
	hello.pid_namespace = proc_file_pid_namespace(getpid());
	leave_offer(fixture, &hello, geteuid());
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &ring_fd), 0);
	guest_program_write_work(ring, 5);
	start_later(fixture, &options);
	int fd = guest_fixture_connect(fixture->socket);
	assert_int_equal(guest_fixture_send(fd, &hello, sizeof(hello), &ring_fd, 1), sizeof(hello));
	assert_int_equal(recv(fd, &welcome, sizeof(welcome), 0), sizeof(welcome));
	close(fd);
	assert_int_equal(welcome.status, HANDSHAKE_OK);
	agent_stop(fixture->agent);
	/* It says no goodbye: a guest stays behind. */
	while (pthread_tryjoin_np(fixture->thread, NULL) != 0)
		aggregator_view_serve(&fixture->view, 1);
	const struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->launches, 5);
	assert_int_equal(process->state, PROCESS_RUNNING);
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->state, 0);
	record_ring_destroy(ring);
	close(ring_fd);
	/* The register keeps it, for its account is open. */
	char path[128];
	snprintf(path, sizeof(path), "%s.guests", fixture->socket);
	unlink(path);
}

static void guest_whose_pid_is_anothers_by_now_is_not_taken_for_that_one(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(2);
	struct guest_welcome welcome;
	struct record_ring *living, *ended;
	int living_fd, ended_fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &living, &living_fd), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ended, &ended_fd), 0);
	assert_int_equal(guest_fixture_handshake(fixture->socket, living_fd, 1), HANDSHAKE_OK);
	guest_program_write_work(ended, 5);
	/* The one that had this pid before us. */
	hello.start_ticks--;
	hello.pid_namespace = proc_file_pid_namespace(getpid());
	int fd = guest_fixture_connect(fixture->socket);
	assert_int_equal(guest_fixture_send(fd, &hello, sizeof(hello), &ended_fd, 1),
			 sizeof(hello));
	assert_int_equal(recv(fd, &welcome, sizeof(welcome), 0), sizeof(welcome));
	close(fd);
	assert_int_equal(welcome.status, HANDSHAKE_OK);
	guest_program_write_work(living, 7);
	stop_and_serve(fixture);

	struct aggregator_view_process *processes = fixture->view.processes;
	struct aggregator_view_process *first = &processes[processes[1].launches == 7 ? 1 : 2];
	struct aggregator_view_process *second = &processes[processes[1].launches == 7 ? 2 : 1];
	assert_int_equal(first->launches, 7);
	assert_int_equal(first->state, PROCESS_RUNNING);
	assert_int_equal(second->launches, 5);
	assert_int_equal(second->state, PROCESS_UNCLEAN);
	assert_null(strstr(second->command, "agent_test"));
	record_ring_destroy(living);
	record_ring_destroy(ended);
	close(living_fd);
	close(ended_fd);
}

static void errors_at_the_start_name_what_and_where(void **state)
{
	struct fixture *fixture = *state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
		TEST(a_second_guest_of_one_process_ends_the_first),
		TEST(a_guest_that_comes_again_is_the_same_process),
		TEST(own_ring_that_comes_after_its_process_is_gone_is_not_read_again),
		TEST(guests_that_wait_when_the_agent_is_asked_to_end_are_read),
		TEST(offers_that_nobody_read_are_told_of_or_counted),
		TEST(an_offer_tells_nothing_of_another_users_process),
		TEST(an_offer_of_a_process_that_lives_waits_for_it),
		TEST(guest_whose_pid_is_anothers_by_now_is_not_taken_for_that_one),
		TEST(processes_that_cannot_be_recorded_are_named_or_counted),
		TEST(errors_at_the_start_name_what_and_where),
	};

	program = argv[0];
	if (argc == 5 && strcmp(argv[1], "guest") == 0)
		return guest_program_run(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
