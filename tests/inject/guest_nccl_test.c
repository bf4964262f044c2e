/* The whole guest under fake NCCL, which tells its calls as NCCL does. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/collective.h"
#include "test_agent.h"

#define ARGV(...)        ((const char *const[]){FAKE_RANKS, __VA_ARGS__, NULL})
#define ENVIRONMENT(...) ((const char *const[]){tasks_variable, __VA_ARGS__, NULL})
#define PLUGIN           "NCCL_PROFILER_PLUGIN=" GUEST
#define PLANS            256u

static struct test_agent agent;
static char tasks_path[128], tasks_variable[160];

static int set_up(void **state)
{
	(void)state;
	test_agent_open(&agent);
	snprintf(tasks_path, sizeof(tasks_path), "%s/tasks", agent.folder);
	snprintf(tasks_variable, sizeof(tasks_variable), "FAKE_NCCL_TASKS=%s", tasks_path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(tasks_path);
	test_agent_close(&agent);
	return 0;
}

static void run(const char *const *argv, const char *const *environment)
{
	test_agent_start(&agent, &(struct test_program){.argv = argv, .environment = environment});
	test_agent_finish(&agent);
	if (!WIFEXITED(agent.status) || WEXITSTATUS(agent.status) != 0)
		print_error("status %#x, output:\n%s", (unsigned int)agent.status, agent.output);
	assert_true(WIFEXITED(agent.status));
	assert_int_equal(WEXITSTATUS(agent.status), 0);
}

static const struct gpu_record *kernel_of(uint32_t correlation_id)
{
	for (uint32_t i = 0; i < agent.nr_records; i++)
		if (agent.records[i].kind == RECORD_GPU_KERNEL &&
		    agent.records[i].correlation_id == correlation_id)
			return &agent.records[i];
	return NULL;
}

static const struct collective_record *find(uint64_t key, uint32_t rank, uint64_t sequence,
					    bool ranks_known)
{
	for (uint32_t i = 0; i < agent.nr_collectives; i++) {
		const struct collective_record *call = &agent.collectives[i];

		if (call->sequence != sequence || call->communicator_id == 0 ||
		    call->communicator_id > agent.nr_communicators)
			continue;
		const struct definition_communicator *communicator =
			&agent.communicators[call->communicator_id - 1];
		assert_int_equal(communicator->communicator_id, call->communicator_id);
		assert_int_equal(communicator->nr_ranks, ranks_known ? 2 : COLLECTIVE_NOT_KNOWN);
		if (communicator->key == key && communicator->rank == rank)
			return call;
	}
	return NULL;
}

struct task {
	uint32_t tid, rank, plan, captured;
	uint64_t key, sequence, function_sequence, count;
};

/* false: a line of another kind. */
static bool parse(char *line, struct task *task)
{
	char *fields[15], *rest = line;

	if (strncmp(line, "task\t", 5) != 0)
		return false;
	for (int i = 0; i < 15; i++) {
		fields[i] = strsep(&rest, "\t");
		assert_non_null(fields[i]);
	}
	*task = (struct task){.tid = (uint32_t)strtoul(fields[2], NULL, 10),
			      .key = strtoull(fields[3], NULL, 16),
			      .rank = (uint32_t)strtoul(fields[4], NULL, 10),
			      .sequence = strtoull(fields[6], NULL, 10),
			      .function_sequence = strtoull(fields[7], NULL, 10),
			      .count = strtoull(fields[10], NULL, 10),
			      .plan = (uint32_t)strtoul(fields[13], NULL, 10),
			      .captured = (uint32_t)strtoul(fields[14], NULL, 10)};
	return true;
}

static void check_task(const struct task *task, bool ranks_known, uint32_t plans[static PLANS])
{
	const struct collective_record *call =
		find(task->key, task->rank, task->sequence, ranks_known);

	assert_non_null(call);
	assert_int_equal(call->tid, task->tid);
	assert_int_equal(call->count, task->count);
	assert_int_equal(call->function_sequence, task->function_sequence);
	const struct gpu_record *kernel = kernel_of(call->correlation_id);
	assert_non_null(kernel);
	assert_non_null(strstr(agent.names[kernel->name_id], "ncclDevKernel"));
	assert_int_equal(kernel->device_id, task->rank);
	assert_true(task->plan < PLANS);
	assert_true(plans[task->plan] == 0 || plans[task->plan] == call->correlation_id);
	plans[task->plan] = call->correlation_id;
}

/* Each task of the truth that is not captured; those of a plan have one launch, and no other plan has it. Returns their
 * number. */
static uint32_t check_tasks(bool ranks_known)
{
	uint32_t plans[PLANS] = {0}, nr = 0;
	char line[512];
	FILE *file = fopen(tasks_path, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct task task;

		if (!parse(line, &task) || task.captured)
			continue;
		check_task(&task, ranks_known, plans);
		nr++;
	}
	fclose(file);
	for (uint32_t i = 0; i < PLANS; i++)
		for (uint32_t j = 0; j < i && plans[i]; j++)
			assert_int_not_equal(plans[i], plans[j]);
	return nr;
}

static void each_version_tells_each_task_with_its_kernel(void **state)
{
	const char version[] = "1234567";

	(void)state;
	for (size_t i = 0; version[i]; i++) {
		char profiler[] = "FAKE_NCCL_PROFILER=vN";

		profiler[sizeof(profiler) - 2] = version[i];
		run(ARGV("--threads", "--steps", "20", "--mix"), ENVIRONMENT(PLUGIN, profiler));
		uint32_t nr = check_tasks(version[i] >= '4');
		assert_int_equal(nr, 2 * (20 + 3 + 3 + 4 + 2 + 1 + 1));
		assert_int_equal(agent.nr_collectives, nr + 2); /* and two that were captured */
		assert_int_equal(agent.nr_communicators, 4);
		assert_int_equal(test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES),
				 nr + 2);
		assert_int_equal(
			test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVE_LOST), 0);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void calls_have_their_streams_and_stacks(void **state)
{
	uint64_t frames[RECORD_STACK_DEPTH];

	(void)state;
	run(ARGV("--threads", "--steps", "5"), ENVIRONMENT(PLUGIN));
	assert_int_equal(agent.nr_collectives, 10);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_not_equal(agent.collectives[i].stream, 0);
		assert_true(record_ring_read_stack(agent.ring, agent.collectives[i].stack_id,
						   frames) > 2);
		assert_true(agent.collectives[i].duration_ns > 0);
	}
}

static void nothing_is_recorded_that_is_not_wanted(void **state)
{
	(void)state;
	run(ARGV("--threads", "--steps", "5"), ENVIRONMENT(PLUGIN, "FLAMEGRID_COLLECTIVES=off"));
	assert_true(agent.nr_records >= 20);
	assert_int_equal(agent.nr_collectives, 0);
	assert_int_equal(test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES), 0);
}

static void nothing_comes_without_the_plugin(void **state)
{
	(void)state;
	run(ARGV("--threads", "--steps", "5"), ENVIRONMENT("NCCL_PROFILER_PLUGIN=none"));
	assert_true(agent.nr_records >= 20);
	assert_int_equal(agent.nr_collectives, 0);
}

static void a_program_that_cuda_gave_no_guest_goes_on(void **state)
{
	(void)state;
	run(ARGV("--threads", "--steps", "5"), ENVIRONMENT(PLUGIN, "CUDA_INJECTION64_PATH="));
	assert_null(agent.ring);
}

static void a_program_whose_agent_does_not_answer_goes_on(void **state)
{
	(void)state;
	run(ARGV("--threads", "--steps", "5"),
	    ENVIRONMENT(PLUGIN, "FLAMEGRID_SOCKET=/nowhere/agent"));
	assert_null(agent.ring);
}

static void calls_outside_of_windows_are_numbered_alone(void **state)
{
	(void)state;
	/* A window that never opens. */
	run(ARGV("--threads", "--steps", "5"),
	    ENVIRONMENT(PLUGIN, "FLAMEGRID_WINDOW=range=control"));
	assert_non_null(agent.ring);
	assert_int_equal(agent.nr_collectives, 0);
	assert_int_equal(test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_version_tells_each_task_with_its_kernel),
		TEST(calls_have_their_streams_and_stacks),
		TEST(nothing_is_recorded_that_is_not_wanted),
		TEST(nothing_comes_without_the_plugin),
		TEST(a_program_that_cuda_gave_no_guest_goes_on),
		TEST(a_program_whose_agent_does_not_answer_goes_on),
		TEST(calls_outside_of_windows_are_numbered_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
