#include "guest_program.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_fixture.h"
#include "proto/definition.h"

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

void guest_program_write_work(struct record_ring *ring, uint32_t count)
{
	uint64_t frames[] = {(uint64_t)(uintptr_t)guest_program_write_work + 1,
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

int guest_program_run(char **arguments)
{
	uint32_t count = (uint32_t)atoi(arguments[1]);
	enum guest_program_end end = (enum guest_program_end)atoi(arguments[2]);
	struct record_ring *ring;
	int fd;

	if (record_ring_create(&guest_fixture_sizes, &ring, &fd) ||
	    guest_fixture_handshake(arguments[0], fd, 1) != HANDSHAKE_OK)
		return 1;
	close(fd);
	write_definitions(ring);
	guest_program_write_work(ring, count);
	if (end == GUEST_PROGRAM_GOODBYE)
		record_ring_finish(ring);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	while (end == GUEST_PROGRAM_WAITS)
		pause();
	record_ring_destroy(ring);
	return 0;
}

pid_t guest_program_start(const char *socket_path, uint32_t count, enum guest_program_end end,
			  int *ready)
{
	char count_text[16], end_text[16];
	char *arguments[] = {program_invocation_name,
			     (char[]){"guest"},
			     (char *)socket_path,
			     count_text,
			     end_text,
			     NULL};
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

void guest_program_await(int ready)
{
	char byte;

	assert_int_equal(read(ready, &byte, 1), 1);
	close(ready);
}

void guest_program_reap(pid_t pid, int expected_signal)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (expected_signal)
		assert_int_equal(WTERMSIG(status), expected_signal);
	else
		assert_int_equal(status, 0);
}
