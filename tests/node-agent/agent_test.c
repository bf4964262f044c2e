#include "cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_fixture.h"
#include "node-agent/agent.h"
#include "node-agent/event_loop.h"
#include "proto/definition.h"
#include "proto/ledger.h"
#include "router_fixture.h"

#define WAIT_MS       20000
#define PROCESSES_MAX 32u
#define STRINGS_MAX   4096u

static char *program;

/* What an aggregator would know about one process. */
struct seen_process {
	uint32_t pid, state, nr_notices;
	int32_t rank;
	uint64_t launches, records, ledger[LEDGER_REASONS];
	uint32_t nr_devices;
	struct message_device device;
	char command[256], job[32];
};

struct fixture {
	char directory[64], socket[96], devices[96];
	struct router_fixture *router;
	struct agent *agent;
	pthread_t thread;
	int result;
	uint64_t seq; /* received without a gap */
	struct seen_process processes[PROCESSES_MAX + 1];
	char *strings[STRINGS_MAX + 1];
	uint32_t nr_strings, nr_frames, nr_native, nr_nodes, nr_symbols, nr_named;
	bool bye;
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
	options->quiet = true;
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
	fixture->router = router_fixture_create("tcp://127.0.0.1:*");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	agent_destroy(fixture->agent);
	router_fixture_destroy(fixture->router);
	for (uint32_t i = 0; i <= STRINGS_MAX; i++)
		free(fixture->strings[i]);
	unlink(fixture->devices);
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

/* ---- the aggregator's view
 * --------------------------------------------------------------------------------- */

static void take_strings(struct fixture *fixture, const struct message_strings *strings)
{
	assert_int_equal(strings->base, fixture->nr_strings + 1);
	for (uint32_t i = 0; i < strings->count; i++) {
		assert_true(fixture->nr_strings < STRINGS_MAX);
		fixture->strings[++fixture->nr_strings] =
			strndup(strings->strings[i].data, strings->strings[i].size);
	}
}

static void take_stacks(struct fixture *fixture, const struct message_stacks *stacks)
{
	fixture->nr_frames += stacks->nr_frames;
	for (uint32_t i = 0; i < stacks->nr_frames; i++)
		fixture->nr_native += stacks->frames[i].code == MESSAGE_FRAME_NATIVE;
	fixture->nr_nodes += stacks->nr_nodes;
	fixture->nr_symbols += stacks->nr_symbols;
	for (uint32_t i = 0; i < stacks->nr_symbols; i++) {
		assert_true(stacks->symbols[i].frame <= fixture->nr_frames);
		assert_true(stacks->symbols[i].name <= fixture->nr_strings);
		if (stacks->symbols[i].name)
			fixture->nr_named++;
	}
}

static struct seen_process *seen(struct fixture *fixture, uint32_t process_id)
{
	assert_in_range(process_id, 1, PROCESSES_MAX);
	return &fixture->processes[process_id];
}

static void take_process(struct fixture *fixture, const struct message_process *process)
{
	struct seen_process *own = seen(fixture, process->process_id);

	assert_int_equal(own->state, PROCESS_RUNNING);
	own->pid = process->pid;
	own->state = process->state;
	own->rank = process->rank;
	own->nr_notices = process->nr_notices;
	own->nr_devices = process->nr_devices;
	if (process->nr_devices > 0)
		own->device = process->devices[0];
	assert_in_range(process->command, 1, fixture->nr_strings);
	if (process->job)
		snprintf(own->job, sizeof(own->job), "%s", fixture->strings[process->job]);
	snprintf(own->command, sizeof(own->command), "%s", fixture->strings[process->command]);
}

static void take_events(struct fixture *fixture, const struct message_events *events)
{
	struct seen_process *own = seen(fixture, events->process_id);

	assert_true(own->pid > 0); /* PROCESS came before */
	assert_int_equal(own->state, PROCESS_RUNNING);
	own->launches += events->nr_launches;
	own->records += events->nr_gpu;
	for (uint32_t i = 0; i < events->nr_launches; i++)
		assert_true(events->launches[i].stack_id <= fixture->nr_nodes);
	for (uint32_t i = 0; i < events->nr_gpu; i++)
		assert_true(events->gpu[i].name_id <= fixture->nr_strings);
}

static void take_ledger(struct fixture *fixture, const struct message_ledger *ledger)
{
	struct seen_process *own = seen(fixture, ledger->process_id);

	assert_int_equal(own->state, PROCESS_RUNNING);
	memset(own->ledger, 0, sizeof(own->ledger));
	for (uint32_t i = 0; i < ledger->nr_entries; i++)
		own->ledger[ledger->entries[i].reason] += ledger->entries[i].count;
}

/* Takes one frame and answers it. false: none came in time. */
static bool serve(struct fixture *fixture, int wait_ms)
{
	const struct message *message = router_fixture_receive(fixture->router, wait_ms);
	uint64_t seq = message ? router_fixture_seq(message) : 0;

	if (!message)
		return false;
	if (message->type == MESSAGE_HELLO) {
		assert_memory_equal(message->hello.node.data, "node01", 6);
		router_fixture_welcome(fixture->router, fixture->seq, 8, 1u << 20);
	}
	if (message->type == MESSAGE_PING) {
		struct message pong = {.type = MESSAGE_PONG, .ping = message->ping};

		router_fixture_send(fixture->router, &pong);
	}
	if (seq == 0 || seq <= fixture->seq)
		return true;
	assert_int_equal(seq, fixture->seq + 1);
	fixture->seq = seq;
	assert_false(fixture->bye);
	if (message->type == MESSAGE_STRINGS)
		take_strings(fixture, &message->strings);
	else if (message->type == MESSAGE_STACKS)
		take_stacks(fixture, &message->stacks);
	else if (message->type == MESSAGE_PROCESS)
		take_process(fixture, &message->process);
	else if (message->type == MESSAGE_EVENTS)
		take_events(fixture, &message->events);
	else if (message->type == MESSAGE_LEDGER)
		take_ledger(fixture, &message->ledger);
	else if (message->type == MESSAGE_BYE)
		fixture->bye = true;
	router_fixture_ack(fixture->router, seq);
	return true;
}

static void serve_until_ended(struct fixture *fixture, uint32_t processes)
{
	uint32_t ended;

	do {
		assert_true(serve(fixture, WAIT_MS));
		ended = 0;
		for (uint32_t i = 1; i <= PROCESSES_MAX; i++)
			ended += fixture->processes[i].state != PROCESS_RUNNING;
	} while (ended < processes);
}

static void stop_and_serve(struct fixture *fixture)
{
	agent_stop(fixture->agent);
	while (!fixture->bye)
		assert_true(serve(fixture, WAIT_MS));
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
}

/* ---- guests
 * ------------------------------------------------------------------------------------------------
 */

enum guest_end {
	GUEST_GOODBYE,
	GUEST_WAITS, /* to be killed */
	GUEST_EXITS,
};

static void write_definitions(struct record_ring *ring)
{
	extern char etext, __executable_start;
	struct definition_module module = {
		.start = (uint64_t)(uintptr_t)&__executable_start,
		.end = ((uint64_t)(uintptr_t)&etext + 4095) / 4096 * 4096,
		.bias = (uint64_t)(uintptr_t)&__executable_start,
		.flags = DEFINITION_MODULE_MAIN,
	};
	struct definition_name name = {.name_id = 1};
	struct definition_device device = {.device_id = 0, .pci_bus = 0x17};
	struct definition_notice notice = {.code = NOTICE_NO_CUPTI};
	struct definition_clock clock = {.monotonic_ns = 5, .cupti_ns = 7};
	char path[256];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

	record_ring_define(ring, DEFINITION_MODULE, &module, sizeof(module), path, (uint32_t)size);
	record_ring_define(ring, DEFINITION_NAME, &name, sizeof(name), "kernel", 6);
	record_ring_define(ring, DEFINITION_DEVICE, &device, sizeof(device), "GPU", 3);
	record_ring_define(ring, DEFINITION_NOTICE, &notice, sizeof(notice), "a notice", 8);
	record_ring_define(ring, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
}

static void write_work(struct record_ring *ring, uint32_t count)
{
	uint64_t frames[] = {(uint64_t)(uintptr_t)write_work + 1,
			     (uint64_t)(uintptr_t)write_definitions + 1};
	uint32_t stack = record_ring_add_stack(ring, frames, 2);
	int lane = record_ring_claim_lane(ring);

	for (uint32_t i = 1; i <= count; i++) {
		struct launch_record launch = {
			.time_ns = i, .correlation_id = i, .stack_id = stack, .window = 1};
		struct gpu_record record = {.start_ns = i,
					    .end_ns = i + 1,
					    .correlation_id = i,
					    .name_id = 1,
					    .window = 1};

		record_ring_count(ring, 0, LEDGER_RECORDS, 1, 1);
		record_ring_push_launch(ring, (uint32_t)lane, &launch);
		if (record_ring_push_activity(ring, &record, 1) == 0)
			record_ring_count(ring, 0, LEDGER_RECORD_RING_FULL, 1, 1);
	}
}

/* The program as a guest: SOCKET COUNT END. Says so on its output once its work is published. */
static int be_guest(char **arguments)
{
	uint32_t count = (uint32_t)atoi(arguments[1]);
	enum guest_end end = (enum guest_end)atoi(arguments[2]);
	struct record_ring *ring;
	int fd;

	if (record_ring_create(&guest_fixture_sizes, &ring, &fd) ||
	    guest_fixture_handshake(arguments[0], fd, 1) != HANDSHAKE_OK)
		return 1;
	close(fd);
	write_definitions(ring);
	write_work(ring, count);
	if (end == GUEST_GOODBYE)
		record_ring_finish(ring);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	while (end == GUEST_WAITS)
		pause();
	record_ring_destroy(ring);
	return 0;
}

/* A process that the agent takes in; ready gets a byte once its work is published. A new program,
 * since a fork of a process with threads may find their locks taken. */
static pid_t start_guest(struct fixture *fixture, uint32_t count, enum guest_end end, int *ready)
{
	char count_text[16], end_text[16];
	char *arguments[] = {program,    (char[]){"guest"}, fixture->socket,
			     count_text, end_text,          NULL};
	char *environment[] = {(char[]){"SLURM_PROCID=5"}, (char[]){"SLURM_JOB_ID=99"}, NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2];
	pid_t pid;

	snprintf(count_text, sizeof(count_text), "%u", count);
	snprintf(end_text, sizeof(end_text), "%d", (int)end);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	assert_int_equal(
		posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environment), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	*ready = pipes[0];
	return pid;
}

static void await_guest(int ready)
{
	char byte;

	assert_int_equal(read(ready, &byte, 1), 1);
	close(ready);
}

static void reap(pid_t pid, int expected_signal)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (expected_signal)
		assert_int_equal(WTERMSIG(status), expected_signal);
	else
		assert_int_equal(status, 0);
}

/* ---- tests
 * -------------------------------------------------------------------------------------------------
 */

static void a_guest_that_says_goodbye_is_sent_whole(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	struct agent_status status;
	int ready;

	start_agent(fixture, &options);
	pid_t pid = start_guest(fixture, 3000, GUEST_GOODBYE, &ready);
	await_guest(ready);
	reap(pid, 0);
	serve_until_ended(fixture, 1);
	struct seen_process *process = seen(fixture, 1);
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
	assert_int_equal(fixture->nr_symbols, fixture->nr_native);
	assert_true(fixture->nr_named >= 1);
	agent_status(fixture->agent, &status);
	assert_int_equal(status.processes, 1);
	assert_int_equal(status.processes_running, 0);
	assert_int_equal(status.launches, 3000);
	assert_int_equal(status.records, 3000);
	assert_int_equal(status.sent_seq, fixture->seq);
	assert_int_equal(status.acked_seq, fixture->seq);
}

static void a_killed_guest_loses_nothing_that_it_had_published(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	int ready;

	start_agent(fixture, &options);
	pid_t pid = start_guest(fixture, 2000, GUEST_WAITS, &ready);
	await_guest(ready);
	kill(pid, SIGKILL);
	reap(pid, SIGKILL);
	serve_until_ended(fixture, 1);
	struct seen_process *process = seen(fixture, 1);
	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->launches, 2000);
	assert_int_equal(process->records, 2000);
	assert_int_equal(process->ledger[LEDGER_UNCLEAN_END], 1);
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void many_guests_at_once_are_told_apart(void **state)
{
	enum { GUESTS = 12 };
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	pid_t pids[GUESTS];
	int ready[GUESTS];

	start_agent(fixture, &options);
	for (uint32_t i = 0; i < GUESTS; i++)
		pids[i] = start_guest(fixture, 100 + i, i % 2 ? GUEST_GOODBYE : GUEST_EXITS,
				      &ready[i]);
	for (uint32_t i = 0; i < GUESTS; i++) {
		await_guest(ready[i]);
		reap(pids[i], 0);
	}
	serve_until_ended(fixture, GUESTS);
	for (uint32_t i = 1; i <= GUESTS; i++) {
		uint32_t guest = 0;

		while (guest < GUESTS && (uint32_t)pids[guest] != fixture->processes[i].pid)
			guest++;
		assert_true(guest < GUESTS);
		assert_int_equal(fixture->processes[i].launches, 100 + guest);
		assert_int_equal(fixture->processes[i].state,
				 guest % 2 ? PROCESS_ENDED : PROCESS_UNCLEAN);
	}
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
}

static void stopping_drains_processes_that_still_run(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	int ready;

	start_agent(fixture, &options);
	pid_t pid = start_guest(fixture, 1500, GUEST_WAITS, &ready);
	await_guest(ready);
	stop_and_serve(fixture);
	assert_int_equal(fixture->result, 0);
	assert_int_equal(seen(fixture, 1)->launches, 1500);
	assert_int_equal(seen(fixture, 1)->records, 1500);
	assert_int_equal(seen(fixture, 1)->state, PROCESS_RUNNING);
	assert_int_equal(seen(fixture, 1)->ledger[LEDGER_LAUNCHES], 1500);
	kill(pid, SIGKILL);
	reap(pid, SIGKILL);
}

static void a_full_window_leaves_the_loss_to_the_guests_count(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router),
					.window_bytes = 2000};
	int ready;

	start_agent(fixture, &options);
	/* Nobody answers until the guest has written more than its ring holds. */
	pid_t pid = start_guest(fixture, 100000, GUEST_GOODBYE, &ready);
	await_guest(ready);
	reap(pid, 0);
	serve_until_ended(fixture, 1);
	struct seen_process *process = seen(fixture, 1);
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
	pid_t pid = start_guest(fixture, 10, GUEST_GOODBYE, &ready);
	await_guest(ready);
	reap(pid, 0);
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
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};

	start_agent(fixture, &options);
	assert_non_null(router_fixture_receive(fixture->router, WAIT_MS));
	router_fixture_refuse(fixture->router, REFUSE_VERSION);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
	assert_int_equal(fixture->result, -EPROTO);
}

static void a_second_guest_of_one_process_ends_the_first(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	struct record_ring *first, *second;
	int first_fd, second_fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &first, &first_fd), 0);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &second, &second_fd), 0);
	/* The welcome comes from the agent alone; nobody needs to serve meanwhile. */
	assert_int_equal(guest_fixture_handshake(fixture->socket, first_fd, 1), HANDSHAKE_OK);
	write_work(first, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, second_fd, 2), HANDSHAKE_OK);
	write_work(second, 7);
	serve_until_ended(fixture, 1);
	stop_and_serve(fixture);
	assert_int_equal(seen(fixture, 1)->state, PROCESS_UNCLEAN);
	assert_int_equal(seen(fixture, 1)->launches, 5);
	assert_int_equal(seen(fixture, 2)->state, PROCESS_RUNNING);
	assert_int_equal(seen(fixture, 2)->launches, 7);
	record_ring_destroy(first);
	record_ring_destroy(second);
	close(first_fd);
	close(second_fd);
}

static void a_guest_that_comes_again_is_the_same_process(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = router_fixture_endpoint(fixture->router)};
	struct agent_status status;
	struct record_ring *ring;
	int fd;

	start_agent(fixture, &options);
	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &fd), 0);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	write_work(ring, 5);
	assert_int_equal(guest_fixture_handshake(fixture->socket, fd, 1), HANDSHAKE_OK);
	assert_true(record_ring_last_beat(ring) > 0);
	write_work(ring, 7);
	stop_and_serve(fixture);
	agent_status(fixture->agent, &status);
	assert_int_equal(status.processes, 1);
	assert_int_equal(seen(fixture, 1)->state, PROCESS_RUNNING);
	assert_int_equal(seen(fixture, 1)->launches, 12);
	record_ring_destroy(ring);
	close(fd);
}

static void errors_at_the_start_name_what_and_where(void **state)
{
	struct fixture *fixture = *state;
	struct agent_options options = {.endpoint = "tcp://127.0.0.1:1",
					.socket_path = "/nonexistent/agent",
					.devices_path = fixture->devices};
	char *error = NULL;

	assert_int_equal(agent_create(&options, &fixture->agent, &error), -ENOENT);
	assert_null(fixture->agent);
	assert_non_null(strstr(error, "/nonexistent/agent"));
	free(error);
	options.devices_path = "/nonexistent/devices";
	assert_int_equal(agent_create(&options, &fixture->agent, &error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/devices"));
	free(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_guest_that_says_goodbye_is_sent_whole),
		TEST(a_killed_guest_loses_nothing_that_it_had_published),
		TEST(many_guests_at_once_are_told_apart),
		TEST(stopping_drains_processes_that_still_run),
		TEST(a_full_window_leaves_the_loss_to_the_guests_count),
		TEST(an_absent_aggregator_is_given_up_after_a_while),
		TEST(an_aggregator_that_refuses_us_ends_the_agent),
		TEST(a_second_guest_of_one_process_ends_the_first),
		TEST(a_guest_that_comes_again_is_the_same_process),
		TEST(errors_at_the_start_name_what_and_where),
	};

	program = argv[0];
	if (argc == 5 && strcmp(argv[1], "guest") == 0)
		return be_guest(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
