/* The whole guest in real processes on fake CUDA: what it hands over is compared with what the
 * programs say they did. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "test_agent.h"

#define ARGV(...)        ((const char *const[]){FAKE_LAUNCHES, __VA_ARGS__, NULL})
#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct test_agent agent;
static uint32_t generation; /* of the agent: which run it saw */

static int set_up(void **state)
{
	(void)state;
	test_agent_open(&agent);
	generation++;
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

static uint64_t count_kernels(uint32_t device_id, const char *name)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < agent.nr_records; i++)
		if (agent.records[i].kind == RECORD_GPU_KERNEL &&
		    agent.records[i].device_id == device_id &&
		    strcmp(agent.names[agent.records[i].name_id], name) == 0)
			nr++;
	return nr;
}

static uint64_t count_memory(uint32_t device_id, const char *kind)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < agent.nr_records; i++) {
		const struct gpu_record *record = &agent.records[i];
		const char *own = record->kind == RECORD_GPU_MEMSET ? "memset"
				  : record->copy_kind == 1          ? "HtoD"
				  : record->copy_kind == 8          ? "DtoD"
								    : "other";

		if (record->kind != RECORD_GPU_KERNEL && record->device_id == device_id &&
		    strcmp(own, kind) == 0)
			nr++;
	}
	return nr;
}

/* Every line that the program printed against the records; returns how much work it said it did. */
static uint64_t compare_with_output(void)
{
	uint64_t work = 0;
	unsigned int device;
	unsigned long long said;
	char text[sizeof(agent.output)], name[128];

	strcpy(text, agent.output);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "launched %u %127s %llu", &device, name, &said) == 3)
			assert_int_equal(count_kernels(device, name), said);
		else if (sscanf(line, "copied %u %127s %llu", &device, name, &said) == 3)
			assert_int_equal(count_memory(device, name), said);
		else
			said = 0;
		work += said;
	}
	return work;
}

/* The launch of a correlation id; NULL: none. Correlation ids are handed out from 1 on. */
static const struct launch_record *find_launch(uint32_t correlation_id)
{
	static uint32_t index[1u << 22]; /* position + 1 */
	static uint32_t indexed;

	if (indexed != generation) {
		memset(index, 0, sizeof(index));
		for (uint32_t i = 0; i < agent.nr_launches; i++) {
			assert_true(agent.launches[i].correlation_id <
				    sizeof(index) / sizeof(index[0]));
			if (!(agent.launches[i].flags & RECORD_LAUNCH_FAILED))
				index[agent.launches[i].correlation_id] = i + 1;
		}
		indexed = generation;
	}
	return index[correlation_id] ? &agent.launches[index[correlation_id] - 1] : NULL;
}

static uint64_t nr_unmatched(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < agent.nr_records; i++)
		if (!find_launch(agent.records[i].correlation_id))
			nr++;
	return nr;
}

static void every_launch_and_record_arrives_and_matches(void **state)
{
	(void)state;
	run(ARGV("--threads", "4", "--devices", "2", "--streams", "3", "--launches", "2000",
		 "--kernels", "7", "--copies", "25"),
	    NULL);
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(compare_with_output(), 4 * (2000 + 3 * 25));
	assert_int_equal(nr_unmatched(), 0);
	assert_int_equal(agent.nr_launches, 4 * (2000 + 3 * 25));
	assert_int_equal(test_agent_ledger(&agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES),
			 agent.nr_launches);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_RECORDS), agent.nr_records);
	for (int reason = LEDGER_LAUNCH_RING_FULL; reason < LEDGER_REASONS; reason++)
		if (reason != LEDGER_RECORDS &&
		    ledger_reason_class((uint32_t)reason) != LEDGER_COST)
			assert_int_equal(test_agent_ledger_sum(&agent, (enum ledger_reason)reason),
					 0);
	/* One call in each block of 64, on each thread. */
	const uint64_t metered = test_agent_ledger_sum(&agent, LEDGER_METER_ENTRY);
	assert_in_range(metered, 4 * (2075 / 64), 4 * (2075 / 64 + 1));
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_METER), 64 * metered);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_METER_THREADS), 4);
	assert_true(test_agent_ledger_sum(&agent, LEDGER_METER_BUFFERS) > 0);
	assert_true(test_agent_ledger_sum(&agent, LEDGER_METER_FLUSHES) > 0);
	for (uint32_t i = 0; i < agent.nr_records; i++) {
		assert_int_equal(agent.records[i].window, 1);
		assert_true(agent.records[i].start_ns <= agent.records[i].end_ns);
	}
}

static void guest_says_who_it_is(void **state)
{
	uint8_t none[16] = {0};

	(void)state;
	run(ARGV("--launches", "10"), ENVIRONMENT("FAKE_CUDA_DEVICES=3"));
	assert_exit_code(0);
	assert_int_equal(agent.hello.pid, agent.pid);
	assert_true(agent.hello.start_ticks > 0);
	assert_true(agent.hello.pid_namespace > 0);
	assert_memory_not_equal(agent.hello.instance, none, sizeof(none));
	assert_int_equal(agent.nr_devices, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(agent.devices[i].device_id, i);
		assert_memory_not_equal(agent.devices[i].uuid, none, sizeof(none));
	}
	assert_memory_not_equal(agent.devices[0].uuid, agent.devices[1].uuid, 16);
	assert_int_equal(agent.nr_windows, 2); /* its begin and its end */
	assert_true(agent.nr_clocks >= 1);
	assert_true(agent.last_clock.error_ns < 1000000000);
	assert_true(test_agent_has_notice(&agent, NOTICE_CUPTI_FOUND));
	assert_non_null(strstr(agent.notices[0].text, "libcupti.so.13"));
}

static void devices_say_what_their_multiprocessors_have(void **state)
{
	const struct device_limits h200 = {9,      0,    132,   32,    2048,   32,  65536,
					   233472, 1024, 65536, 49152, 232448, 1024};

	(void)state;
	run(ARGV("--launches", "10"), NULL);
	assert_exit_code(0);
	assert_int_equal(agent.nr_devices, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_memory_equal(&agent.devices[i].limits, &h200, sizeof(h200));
}

/* Registers and shared memory follow from the kernel's name. */
static void launches_are_counted_by_their_configuration(void **state)
{
	uint64_t count = 0, ns = 0, records_ns = 0;

	(void)state;
	run(ARGV("--launches", "1200", "--kernels", "3", "--shapes", "4", "--threads", "2",
		 "--devices", "2"),
	    NULL);
	assert_exit_code(0);
	assert_int_equal(agent.nr_configs, 3 * 4 * 2);
	for (uint32_t i = 0; i < agent.nr_configs; i++) {
		const struct definition_kernel_config *sums = &agent.configs[i];

		assert_int_equal(sums->count, 100);
		assert_int_equal(agent.names[sums->config.name_id][0], 'k');
		assert_int_equal(sums->config.dynamic_shared_bytes,
				 1024 * (sums->config.grid_x - 8));
		assert_int_equal(sums->config.block_x, 64u << (sums->config.grid_x - 8) % 3);
		assert_true(sums->config.registers >= 16 && sums->config.registers <= 128);
		assert_true(sums->min_ns * sums->count <= sums->total_ns &&
			    sums->total_ns <= sums->max_ns * sums->count);
		count += sums->count;
		ns += sums->total_ns;
	}
	for (uint32_t i = 0; i < agent.nr_records; i++)
		records_ns += agent.records[i].end_ns - agent.records[i].start_ns;
	assert_int_equal(count, agent.nr_records);
	assert_int_equal(ns, records_ns);
}

static void assert_calls(const char *name, uint64_t count, uint64_t errors)
{
	const struct definition_api_statistic *call = test_agent_call(&agent, name, 0);

	if (!call)
		fail_msg("no calls of %s", name);
	assert_int_equal(call->count, count);
	assert_int_equal(call->errors, errors);
	assert_true(call->min_ns * count <= call->total_ns &&
		    call->total_ns <= call->max_ns * count);
}

static void calls_are_counted_where_it_is_asked_for(void **state)
{
	(void)state;
	run(ARGV("--launches", "1000", "--threads", "8", "--copies", "5", "--sync-every", "10"),
	    ENVIRONMENT("FLAMEGRID_API=all", "FAKE_CUDA_FAIL_LAUNCH=100"));
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_calls("cudaLaunchKernel", 8000, 80);
	assert_calls("cuLaunchKernel", 8000, 80);
	assert_calls("cudaMemcpy", 40, 0);
	assert_calls("cuMemcpyHtoD_v2", 40, 0);
	assert_calls("cudaDeviceSynchronize", 808, 0);
	assert_calls("cudaMalloc", 8, 0);
	assert_int_equal(test_agent_call(&agent, "cudaLaunchKernel", 701)->count, 80);
	assert_int_equal(test_agent_call(&agent, "cuLaunchKernel", 701)->count, 80);
	/* The guest's own questions are not the program's calls. */
	assert_null(test_agent_call(&agent, "cuDeviceGetUuid_v2", 0));
	assert_null(test_agent_call(&agent, "cuDeviceGetAttribute", 0));
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_STATISTIC_LOST), 0);
	/* And launches are recorded as ever. */
	assert_int_equal(compare_with_output(), 8000 - 80 + 8 * 15);
	assert_int_equal(nr_unmatched(), 0);
}

static void only_named_calls_are_counted(void **state)
{
	(void)state;
	run(ARGV("--launches", "300", "--copies", "5"),
	    ENVIRONMENT("FLAMEGRID_API=cudaMalloc*,cuLaunchKernel"));
	assert_exit_code(0);
	assert_int_equal(agent.nr_calls, 2);
	assert_calls("cudaMalloc", 1, 0);
	assert_calls("cuLaunchKernel", 300, 0);
	assert_int_equal(agent.nr_launches, 300 + 15);
}

static void nothing_is_counted_by_default(void **state)
{
	(void)state;
	run(ARGV("--launches", "300"), NULL);
	assert_exit_code(0);
	assert_int_equal(agent.nr_calls, 0);
}

static void lists_that_cannot_be_are_said(void **state)
{
	static const char *const lists[] = {"FLAMEGRID_API=cudaMalloc;",
					    "FLAMEGRID_API=cudaMallocc"};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		run(ARGV("--launches", "30"), ENVIRONMENT(lists[i]));
		assert_exit_code(0);
		assert_int_equal(agent.nr_calls, 0);
		assert_int_equal(agent.nr_launches, 30);
		assert_true(test_agent_has_notice(&agent, NOTICE_STACKS_OPTION));
		test_agent_close(&agent);
		test_agent_open(&agent);
		generation++;
	}
}

static void stacks_lead_from_the_launch_to_main(void **state)
{
	uint64_t frames[RECORD_STACK_DEPTH];
	uint32_t stack_of_kernel[8] = {0};

	(void)state;
	run(ARGV("--launches", "80", "--kernels", "8"), NULL);
	assert_exit_code(0);
	for (uint32_t i = 0; i < agent.nr_records; i++) {
		const struct gpu_record *record = &agent.records[i];
		const struct launch_record *launch = find_launch(record->correlation_id);
		uint32_t kernel = (uint32_t)atoi(agent.names[record->name_id] + 1);
		int in_program = 0;

		assert_non_null(launch);
		/* launch_from_kN, step, run_thread: one stack for each kernel. */
		assert_true(kernel < 8);
		if (stack_of_kernel[kernel])
			assert_int_equal(launch->stack_id, stack_of_kernel[kernel]);
		stack_of_kernel[kernel] = launch->stack_id;

		int depth = record_ring_read_stack(agent.ring, launch->stack_id, frames);
		assert_true(depth > 4);
		/* Above the program's own frames is the C library, which keeps no frame pointers.
		 */
		for (int k = 0; k < depth && in_program < 3; k++) {
			const struct test_module *module = test_agent_module(&agent, frames[k] - 1);

			assert_non_null(module);
			if (k == 0)
				assert_true(module->head.flags & DEFINITION_MODULE_CUDA);
			in_program += (module->head.flags & DEFINITION_MODULE_MAIN) != 0;
		}
		assert_int_equal(in_program, 3);
	}
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(stack_of_kernel[i], stack_of_kernel[k]);
}

static void records_of_every_cupti_version_are_complete(void **state)
{
	static const char *const versions[] = {"FAKE_CUPTI_VERSION=19", "FAKE_CUPTI_VERSION=21",
					       "FAKE_CUPTI_VERSION=28",
					       "FAKE_CUPTI_VERSION=130000"};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		run(ARGV("--launches", "700", "--copies", "9", "--threads", "2"),
		    ENVIRONMENT(versions[i]));
		assert_exit_code(0);
		assert_true(agent.finished);
		assert_int_equal(compare_with_output(), 2 * (700 + 27));
		assert_int_equal(nr_unmatched(), 0);
		test_agent_close(&agent);
		test_agent_open(&agent);
		generation++;
	}
}

static void process_that_dies_leaves_what_it_launched(void **state)
{
	static const char *const ways[] = {"_exit", "kill9-self", "abort"};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		run(ARGV("--launches", "3000", "--exit", ways[i]), NULL);
		assert_false(agent.finished);
		assert_int_equal(agent.nr_launches, 3000);
		assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES), 3000);
		assert_int_equal(nr_unmatched(), 0);
		test_agent_close(&agent);
		test_agent_open(&agent);
		generation++;
	}
}

static bool has_many_records(struct test_agent *self)
{
	return self->nr_records > 20000;
}

static void process_killed_in_full_flight_loses_nothing_that_was_published(void **state)
{
	(void)state;
	test_agent_start(&agent, &(struct test_program){.argv = ARGV("--forever", "--threads", "2",
								     "--sync-every", "100")});
	test_agent_serve(&agent, has_many_records);
	kill(agent.pid, SIGKILL);
	test_agent_finish(&agent);
	assert_false(agent.finished);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES),
			 agent.nr_launches +
				 test_agent_ledger_sum(&agent, LEDGER_LAUNCH_RING_FULL));
	assert_true(agent.nr_records > 20000);
}

static bool has_launch_without_lane(struct test_agent *self)
{
	return self->ring && test_agent_ledger_sum(self, LEDGER_LAUNCH_NO_LANE) > 0;
}

static void more_threads_than_lanes_are_counted(void **state)
{
	(void)state;
	test_agent_start(&agent, &(struct test_program){.argv = ARGV("--forever", "--threads",
								     "300", "--sync-every", "10")});
	test_agent_serve(&agent, has_launch_without_lane);
	kill(agent.pid, SIGKILL);
	test_agent_finish(&agent);
	assert_true(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES) >=
		    agent.nr_launches + test_agent_ledger_sum(&agent, LEDGER_LAUNCH_RING_FULL) +
			    test_agent_ledger_sum(&agent, LEDGER_LAUNCH_NO_LANE));
	/* The two counters are added to one after the other: death may come between. */
	assert_true(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES) <=
		    agent.nr_launches + test_agent_ledger_sum(&agent, LEDGER_LAUNCH_RING_FULL) +
			    test_agent_ledger_sum(&agent, LEDGER_LAUNCH_NO_LANE) + 300);
}

static void threads_one_after_another_share_lanes(void **state)
{
	(void)state;
	run(ARGV("--threads", "600", "--launches", "3"), NULL);
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches + test_agent_ledger_sum(&agent, LEDGER_LAUNCH_NO_LANE),
			 1800);
	assert_int_equal(compare_with_output(), 1800);
}

static void unread_ring_fills_and_counts_but_the_job_goes_on(void **state)
{
	(void)state;
	agent.greedy = true;
	run(ARGV("--launches", "140000", "--sync-every", "1000"), NULL);
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(agent.nr_launches, 1 << 17);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCH_RING_FULL),
			 140000 - (1 << 17));
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES), 140000);
	assert_int_equal(agent.nr_records, 140000);
}

static void failed_launches_are_marked(void **state)
{
	uint32_t nr_marks = 0;
	unsigned long long said = 0;

	(void)state;
	run(ARGV("--launches", "1000"), ENVIRONMENT("FAKE_CUDA_FAIL_LAUNCH=100"));
	assert_exit_code(0);
	for (uint32_t i = 0; i < agent.nr_launches; i++) {
		if (!(agent.launches[i].flags & RECORD_LAUNCH_FAILED))
			continue;
		nr_marks++;
		assert_non_null(find_launch(agent.launches[i].correlation_id));
	}
	assert_int_equal(sscanf(strstr(agent.output, "failed"), "failed %llu", &said), 1);
	assert_true(said > 0);
	assert_int_equal(nr_marks, said);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCH_FAILED), said);
	assert_int_equal(test_agent_ledger_sum(&agent, LEDGER_LAUNCHES), 1000);
	assert_int_equal(compare_with_output(), 1000 - said);
}

static void what_cupti_drops_is_counted(void **state)
{
	(void)state;
	run(ARGV("--launches", "1000"), ENVIRONMENT("FAKE_CUPTI_DROP=50"));
	assert_exit_code(0);
	assert_true(test_agent_ledger_sum(&agent, LEDGER_CUPTI_DROPPED) > 0);
	assert_int_equal(agent.nr_records + test_agent_ledger_sum(&agent, LEDGER_CUPTI_DROPPED),
			 1000);
}

static void records_without_times_are_counted(void **state)
{
	(void)state;
	run(ARGV("--launches", "1000"), ENVIRONMENT("FAKE_CUPTI_ZERO_TIME=40"));
	assert_exit_code(0);
	assert_true(test_agent_ledger(&agent, 0, LEDGER_INVALID_TIME) > 0);
	assert_int_equal(agent.nr_records + test_agent_ledger(&agent, 0, LEDGER_INVALID_TIME),
			 1000);
	assert_int_equal(test_agent_ledger(&agent, 0, LEDGER_RECORDS), 1000);
}

static void kernels_that_run_at_exit_are_counted(void **state)
{
	(void)state;
	run(ARGV("--launches", "100"), ENVIRONMENT("FAKE_CUDA_RUN_ON=2"));
	assert_exit_code(0);
	assert_true(agent.finished);
	assert_int_equal(test_agent_ledger(&agent, 0, LEDGER_STILL_RUNNING), 2);
	assert_int_equal(agent.nr_records, 98);
}

static void records_out_of_order_and_late_all_arrive(void **state)
{
	(void)state;
	run(ARGV("--launches", "2000", "--threads", "2", "--streams", "2"),
	    ENVIRONMENT("FAKE_CUPTI_SHUFFLE=16", "FAKE_CUPTI_LATE=2"));
	assert_exit_code(0);
	assert_int_equal(compare_with_output(), 4000);
	assert_int_equal(nr_unmatched(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_launch_and_record_arrives_and_matches),
		TEST(guest_says_who_it_is),
		TEST(devices_say_what_their_multiprocessors_have),
		TEST(launches_are_counted_by_their_configuration),
		TEST(calls_are_counted_where_it_is_asked_for),
		TEST(only_named_calls_are_counted),
		TEST(nothing_is_counted_by_default),
		TEST(lists_that_cannot_be_are_said),
		TEST(stacks_lead_from_the_launch_to_main),
		TEST(records_of_every_cupti_version_are_complete),
		TEST(process_that_dies_leaves_what_it_launched),
		TEST(process_killed_in_full_flight_loses_nothing_that_was_published),
		TEST(more_threads_than_lanes_are_counted),
		TEST(threads_one_after_another_share_lanes),
		TEST(unread_ring_fills_and_counts_but_the_job_goes_on),
		TEST(failed_launches_are_marked),
		TEST(what_cupti_drops_is_counted),
		TEST(records_without_times_are_counted),
		TEST(kernels_that_run_at_exit_are_counted),
		TEST(records_out_of_order_and_late_all_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
