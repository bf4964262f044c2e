#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/agent_unrecorded.h"
#include "node-agent/files/proc_file.h"
#include "proto/offer_name.h"
#include "tests/node-agent/agent_fixture.h"
#include "tests/node-agent/guests/guest_fixture.h"
#include "tests/node-agent/guests/guest_program.h"
#include "tests/node-agent/publish/router_fixture.h"

static void a_second_guest_of_one_process_ends_the_first(void **state)
{
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct record_ring *first, *second;
	int first_fd, second_fd;

	agent_fixture_start(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &first, &first_fd), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &second, &second_fd), 0);
	/* The welcome comes from the agent alone; nobody needs to serve meanwhile. */
	assert_int_equal(guest_fixture_handshake(fixture->socket, first_fd, 1), HANDSHAKE_OK);
	guest_program_write_work(first, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, second_fd, 2), HANDSHAKE_OK);
	guest_program_write_work(second, 7);
	aggregator_view_serve_until_ended(&fixture->view, 1);
	agent_fixture_stop_and_serve(fixture);
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct agent_status status;
	struct record_ring *ring;
	int fd;

	agent_fixture_start(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &fd), 0);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	guest_program_write_work(ring, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	assert_true(record_ring_last_beat(ring) > 0);
	guest_program_write_work(ring, 7);
	agent_fixture_stop_and_serve(fixture);
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router),
					.may_restart = true};
	struct agent_status status;
	struct record_ring *first, *second;
	int first_fd, second_fd;

	agent_fixture_start(fixture, &options);
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(1);
	struct record_ring *ring;
	int ring_fd;

	/* The agent's loop has not begun: a guest that comes now waits in its queue. */
	agent_fixture_create(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &ring_fd), 0);
	guest_program_write_work(ring, 5);
	int fd = guest_fixture_connect(fixture->socket);
	assert_int_equal(guest_fixture_send(fd, &hello, sizeof(hello), &ring_fd, 1), sizeof(hello));
	close(fd);
	agent_stop(fixture->agent);
	agent_fixture_run(fixture);
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
static void say_absence(const struct agent_fixture *fixture)
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};

	agent_fixture_start(fixture, &options);
	for (uint32_t i = 0; i < AGENT_UNRECORDED_MAX + NOT_NAMED; i++) {
		/* Each says that it is another program. */
		snprintf(program, sizeof("12345"), "%u", i);
		say_absence(fixture);
	}
	agent_fixture_stop_and_serve(fixture);
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

static void leave_offer(const struct agent_fixture *fixture, const struct guest_hello *hello,
			uid_t uid)
{
	char name[OFFER_NAME_SIZE], path[256];

	offer_name(hello, name);
	snprintf(path, sizeof(path), "%s" HANDSHAKE_OFFERS "/%s", fixture->socket, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, uid, (gid_t)-1), 0);
	close(fd);
}

static void make_offers(const struct agent_fixture *fixture)
{
	char path[128];

	snprintf(path, sizeof(path), "%s" HANDSHAKE_OFFERS, fixture->socket);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The next agent begins at a later time than that of the files. */
static void start_later(struct agent_fixture *fixture, struct agent_options *options)
{
	struct stat begin, now;

	assert_int_equal(chmod(fixture->directory, 0700) | stat(fixture->directory, &begin), 0);
	do
		assert_int_equal(chmod(fixture->directory, 0700) | stat(fixture->directory, &now),
				 0);
	while (now.st_ctim.tv_sec == begin.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == begin.st_ctim.tv_nsec);
	options->may_restart = true;
	agent_fixture_start(fixture, options);
}

static void offers_that_nobody_read_are_told_of_or_counted(void **state)
{
	struct agent_fixture *fixture = *state;
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
	agent_fixture_stop_and_serve(fixture);
	for (uint32_t id = 1; id <= AGENT_UNRECORDED_MAX; id++) {
		const struct aggregator_view_process *process =
			aggregator_view_process(&fixture->view, id);

		assert_int_equal(process->state, PROCESS_UNCLEAN);
		assert_non_null(strstr(process->notice, "the agent was killed before"));
		assert_null(strstr(process->command, "agent_socket_test"));
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(1);
	bool is_root = geteuid() == 0;

	make_offers(fixture);
	hello.start_ticks = proc_file_start_ticks(getpid()) - (is_root ? 0 : 1);
	hello.pid_namespace = proc_file_pid_namespace(getpid());
	leave_offer(fixture, &hello, is_root ? STRANGER : geteuid());
	start_later(fixture, &options);
	agent_fixture_stop_and_serve(fixture);
	const struct aggregator_view_process *process = aggregator_view_process(&fixture->view, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_string_equal(process->command, "[unknown command]");
	assert_string_equal(process->job, "");
	assert_int_equal(aggregator_view_process(&fixture->view, 2)->state, 0);
}

static void an_offer_of_a_process_that_lives_waits_for_it(void **state)
{
	struct agent_fixture *fixture = *state;
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
	struct agent_fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->view.router)};
	struct guest_hello hello = guest_fixture_hello(2);
	struct guest_welcome welcome;
	struct record_ring *living, *ended;
	int living_fd, ended_fd;

	agent_fixture_start(fixture, &options);
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
	agent_fixture_stop_and_serve(fixture);

	struct aggregator_view_process *processes = fixture->view.processes;
	struct aggregator_view_process *first = &processes[processes[1].launches == 7 ? 1 : 2];
	struct aggregator_view_process *second = &processes[processes[1].launches == 7 ? 2 : 1];
	assert_int_equal(first->launches, 7);
	assert_int_equal(first->state, PROCESS_RUNNING);
	assert_int_equal(second->launches, 5);
	assert_int_equal(second->state, PROCESS_UNCLEAN);
	assert_null(strstr(second->command, "agent_socket_test"));
	record_ring_destroy(living);
	record_ring_destroy(ended);
	close(living_fd);
	close(ended_fd);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, agent_fixture_set_up, agent_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_guest_of_one_process_ends_the_first),
		TEST(a_guest_that_comes_again_is_the_same_process),
		TEST(own_ring_that_comes_after_its_process_is_gone_is_not_read_again),
		TEST(guests_that_wait_when_the_agent_is_asked_to_end_are_read),
		TEST(offers_that_nobody_read_are_told_of_or_counted),
		TEST(an_offer_tells_nothing_of_another_users_process),
		TEST(an_offer_of_a_process_that_lives_waits_for_it),
		TEST(guest_whose_pid_is_anothers_by_now_is_not_taken_for_that_one),
		TEST(processes_that_cannot_be_recorded_are_named_or_counted),
	};

	(void)argc;
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
