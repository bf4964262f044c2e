/* From a guest's definitions to STATISTICS messages. */
#include "node-agent/guests/process_statistics.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/cmocka_test.h"
#include "proto/batch/statistics_table.h"
#include "ring_source_fixture.h"

static struct message_api_call calls[2 * PROCESS_STATISTICS_BATCH];
static struct message_kernel_config configs[2 * PROCESS_STATISTICS_BATCH];
static uint32_t nr_calls, nr_configs, nr_messages;
static int answer;

static int keep(void *context, struct message *message)
{
	const struct message_statistics *statistics = &message->statistics;

	assert_null(context);
	assert_int_equal(message->type, MESSAGE_STATISTICS);
	assert_int_equal(statistics->process_id, 9);
	if (answer)
		return answer;
	assert_true(statistics->nr_calls <= PROCESS_STATISTICS_BATCH);
	assert_true(statistics->nr_configs <= PROCESS_STATISTICS_BATCH);
	memcpy(calls + nr_calls, statistics->calls, statistics->nr_calls * sizeof(*calls));
	memcpy(configs + nr_configs, statistics->configs,
	       statistics->nr_configs * sizeof(*configs));
	nr_calls += statistics->nr_calls;
	nr_configs += statistics->nr_configs;
	nr_messages++;
	return 0;
}

static int send_all(struct process_statistics *statistics)
{
	nr_calls = nr_configs = nr_messages = 0;
	return process_statistics_send(statistics, 9, keep, NULL);
}

static void define_call(struct ring_source_fixture *fixture, uint32_t domain, uint32_t cbid,
			uint64_t count, const char *name)
{
	const struct definition_api_statistic head = {
		.domain = domain, .cbid = cbid, .count = count, .total_ns = 10 * count};

	assert_true(record_ring_define(fixture->guest, DEFINITION_API_STATISTIC, &head,
				       sizeof(head), name, (uint32_t)strlen(name)));
}

static void calls_and_configurations_reach_a_message(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_kernel_config config = {
		.config = {.device_id = 1, .name_id = 1, .grid_x = 8}, .count = 5, .total_ns = 50};

	ring_source_fixture_define_name(fixture, 1, "gemm");
	define_call(fixture, STATISTICS_RUNTIME, 20, 3, "cudaMalloc");
	record_ring_define(fixture->guest, DEFINITION_KERNEL_CONFIG, &config, sizeof(config), NULL,
			   0);
	ring_source_fixture_pass(fixture);
	assert_int_equal(send_all(fixture->statistics), 0);
	assert_int_equal(nr_messages, 1);
	assert_int_equal(nr_calls, 1);
	assert_int_equal(calls[0].cbid, 20);
	assert_int_equal(calls[0].total_ns, 30);
	assert_memory_equal(string_dictionary_texts(fixture->strings, calls[0].name)->data,
			    "cudaMalloc", 10);
	assert_int_equal(nr_configs, 1);
	assert_int_equal(configs[0].count, 5);
	assert_int_equal(configs[0].config.grid_x, 8);
	assert_memory_equal(
		string_dictionary_texts(fixture->strings, configs[0].config.name_id)->data, "gemm",
		4);
}

static void only_what_changed_is_sent_again(void **state)
{
	struct ring_source_fixture *fixture = *state;

	define_call(fixture, STATISTICS_RUNTIME, 20, 3, "cudaMalloc");
	define_call(fixture, STATISTICS_DRIVER, 20, 3, "cuModuleLoadDataEx");
	ring_source_fixture_pass(fixture);
	assert_int_equal(send_all(fixture->statistics), 0);
	assert_int_equal(nr_calls, 2);
	assert_int_equal(send_all(fixture->statistics), 0);
	assert_int_equal(nr_messages, 0);
	define_call(fixture, STATISTICS_DRIVER, 20, 4, "another name is not looked at");
	ring_source_fixture_pass(fixture);
	assert_int_equal(send_all(fixture->statistics), 0);
	assert_int_equal(nr_calls, 1);
	assert_memory_equal(string_dictionary_texts(fixture->strings, calls[0].name)->data,
			    "cuModuleLoadDataEx", 18);
}

static void what_no_guest_writes_is_not_believed(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_kernel_config config = {
		.config = {.device_id = UINT32_MAX, .name_id = 77}, .count = 5};

	define_call(fixture, 0, 20, 3, "x");
	define_call(fixture, 3, 20, 3, "x");
	record_ring_define(fixture->guest, DEFINITION_API_STATISTIC, "short", 5, NULL, 0);
	record_ring_define(fixture->guest, DEFINITION_KERNEL_CONFIG, "short", 5, NULL, 0);
	record_ring_define(fixture->guest, DEFINITION_KERNEL_CONFIG, &config, sizeof(config), NULL,
			   0);
	ring_source_fixture_pass(fixture);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_UNTRUSTED_RING),
			 4);
	assert_int_equal(send_all(fixture->statistics), 0);
	assert_int_equal(nr_calls, 0);
	assert_int_equal(nr_configs, 1);
	assert_int_equal(configs[0].config.device_id, RECORD_DEVICES_MAX - 1);
	assert_int_equal(configs[0].config.name_id, STRING_NONE);
}

static void rows_beyond_the_table_are_lost_and_said(void **state)
{
	struct ring_source_fixture *fixture = *state;

	for (uint32_t i = 0; i < STATISTICS_TABLE_CALLS + 3; i++) {
		define_call(fixture, STATISTICS_DRIVER, i, 1, "cuMany");
		if (i % 20 == 19)
			ring_source_fixture_pass(fixture);
		if (i % 20 == 19)
			ring_ownership_acknowledged(&fixture->ownership, UINT64_MAX);
	}
	ring_source_fixture_pass(fixture);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_STATISTIC_LOST),
			 3);
}

static void many_rows_are_many_messages(void **state)
{
	struct process_statistics *statistics = process_statistics_create();

	(void)state;
	assert_non_null(statistics);
	for (uint32_t i = 0; i < PROCESS_STATISTICS_BATCH + 10; i++)
		assert_int_equal(
			process_statistics_take_config(
				statistics,
				&(struct definition_kernel_config){.config.grid_x = i, .count = 1},
				0),
			0);
	assert_int_equal(process_statistics_take_call(
				 statistics, &(struct definition_api_statistic){.domain = 1}, 0),
			 0);
	answer = -EPIPE;
	assert_int_equal(send_all(statistics), -EPIPE);
	answer = 0;
	assert_int_equal(send_all(statistics), 0);
	assert_int_equal(nr_messages, 2);
	assert_int_equal(nr_calls, 1);
	assert_int_equal(nr_configs, PROCESS_STATISTICS_BATCH + 10);
	for (uint32_t i = 0; i < nr_configs; i++)
		assert_int_equal(configs[i].config.grid_x, i);
	process_statistics_destroy(statistics);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(calls_and_configurations_reach_a_message),
		TEST(only_what_changed_is_sent_again),
		TEST(what_no_guest_writes_is_not_believed),
		TEST(rows_beyond_the_table_are_lost_and_said),
		cmocka_unit_test(many_rows_are_many_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
