#include "aggregator/profile/session_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"

static struct collection *collection;
static struct agent_session *session;
static uint32_t process_id;

/* An agent that has defined two strings, the collection's 2 and 3, and one process. */
static int set_up(void **state)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};

	(void)state;
	collection = collection_create();
	session = collection_session(collection, epoch);
	assert_int_equal(roster_add_process(collection->roster, &(struct roster_identity){.pid = 1},
					    &process_id),
			 0);
	agent_session_add_id(session, SESSION_STRINGS, 2);
	agent_session_add_id(session, SESSION_STRINGS, 3);
	agent_session_add_id(session, SESSION_PROCESSES, process_id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	return 0;
}

static int apply(uint32_t process, const struct message_api_call *calls, uint32_t nr_calls,
		 const struct message_kernel_config *configs, uint32_t nr_configs)
{
	const struct message message = {.statistics = {.process_id = process,
						       .nr_calls = nr_calls,
						       .calls = calls,
						       .nr_configs = nr_configs,
						       .configs = configs}};
	const char *reason = NULL;
	int result = session_statistics_apply(session, collection, &message, &reason);

	assert_non_null(reason);
	return result;
}

static const struct statistics_table *table(void)
{
	return roster_process(collection->roster, process_id)->statistics;
}

static void names_are_translated_and_rows_replaced(void **state)
{
	struct message_api_call call = {.domain = 1, .cbid = 7, .name = 1, .count = 10};
	struct message_kernel_config config = {.config = {.name_id = 2, .grid_x = 8}, .count = 3};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(1, &call, 1, &config, 1), 0);
	call.count = 11;
	config.count = 4;
	assert_int_equal(apply(1, &call, 1, &config, 1), 0);
	assert_int_equal(statistics_table_calls(table(), &count)[0].name, 2);
	assert_int_equal(statistics_table_calls(table(), &count)[0].count, 11);
	assert_int_equal(count, 1);
	assert_int_equal(statistics_table_configs(table(), &count)[0].config.name_id, 3);
	assert_int_equal(statistics_table_configs(table(), &count)[0].count, 4);
	assert_int_equal(count, 1);
	assert_true(statistics_table_changed(table()));
}

static void what_is_not_defined_is_refused_and_changes_nothing(void **state)
{
	const struct message_api_call calls[] = {{.domain = 1, .cbid = 1, .name = 1},
						 {.domain = 1, .cbid = 2, .name = 3}};
	const struct message_kernel_config config = {.config.name_id = 3};

	(void)state;
	assert_int_equal(apply(2, NULL, 0, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(apply(0, NULL, 0, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, calls, 2, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, calls, 1, &config, 1), REFUSE_UNDEFINED);
	assert_null(table());
}

static void more_rows_than_there_may_be_are_refused(void **state)
{
	static struct message_kernel_config configs[STATISTICS_TABLE_CONFIGS];
	static struct message_api_call calls[STATISTICS_TABLE_CALLS];
	struct message_kernel_config other = {.config.grid_x = STATISTICS_TABLE_CONFIGS};
	struct message_api_call another = {.domain = 2};
	uint32_t count;

	(void)state;
	for (uint32_t i = 0; i < STATISTICS_TABLE_CONFIGS; i++)
		configs[i].config.grid_x = i;
	for (uint32_t i = 0; i < STATISTICS_TABLE_CALLS; i++)
		calls[i] = (struct message_api_call){.domain = 1, .cbid = i};
	assert_int_equal(apply(1, calls, STATISTICS_TABLE_CALLS, configs, STATISTICS_TABLE_CONFIGS),
			 0);
	configs[0].count = 9;
	assert_int_equal(apply(1, calls, STATISTICS_TABLE_CALLS, configs, STATISTICS_TABLE_CONFIGS),
			 0);
	configs[0].count = 10;
	assert_int_equal(apply(1, &another, 1, configs, 1), REFUSE_LIMIT);
	assert_int_equal(apply(1, NULL, 0, &other, 1), REFUSE_LIMIT);
	assert_int_equal(statistics_table_configs(table(), &count)[0].count, 9);
}

static int apply_metrics(const struct message_kernel_metric *metrics, uint32_t nr_metrics)
{
	const struct message message = {
		.statistics = {.process_id = 1, .nr_metrics = nr_metrics, .metrics = metrics}};
	const char *reason;

	return session_statistics_apply(session, collection, &message, &reason);
}

static void ids_of_measured_kernels_are_translated(void **state)
{
	struct message_kernel_metric metric = {
		.stack_id = 1, .name_id = 1, .metric = 2, .nr_passes = 1, .count = 5};
	const struct message_kernel_metric *rows;
	uint32_t count;

	(void)state;
	agent_session_add_id(session, SESSION_NODES, 7);
	assert_int_equal(apply_metrics(&metric, 1), 0);
	metric.count = 6;
	assert_int_equal(apply_metrics(&metric, 1), 0);
	rows = statistics_table_metrics(table(), &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].stack_id, 7);
	assert_int_equal(rows[0].name_id, 2);
	assert_int_equal(rows[0].metric, 3);
	assert_int_equal(rows[0].count, 6);
}

static void measured_kernels_of_unknown_ids_are_refused(void **state)
{
	const struct message_kernel_metric rows[] = {
		{.stack_id = 1, .metric = 1, .nr_passes = 1},
		{.name_id = 3, .metric = 1, .nr_passes = 1},
		{.metric = 3, .nr_passes = 1},
		{.metric = 0, .nr_passes = 1},
		{.device_id = RECORD_DEVICES_MAX, .metric = 1, .nr_passes = 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(apply_metrics(&rows[i], 1), REFUSE_UNDEFINED);
	assert_null(table());
}

static void more_measured_kernels_than_there_may_be_are_refused(void **state)
{
	static struct message_kernel_metric rows[STATISTICS_TABLE_METRICS / 64];

	(void)state;
	for (uint32_t device_id = 0; device_id < 64; device_id++) {
		const uint32_t nr = STATISTICS_TABLE_METRICS / 64;

		/* names from 0 on: only their number matters, so that the ids are defined here */
		for (uint32_t i = session->ids[SESSION_STRINGS].count; i < nr; i++)
			agent_session_add_id(session, SESSION_STRINGS, i + 2);
		for (uint32_t i = 0; i < nr; i++)
			rows[i] = (struct message_kernel_metric){
				.device_id = device_id, .name_id = i, .metric = 1, .nr_passes = 1};
		assert_int_equal(apply_metrics(rows, nr), 0);
	}
	rows[0].metric = 2;
	assert_int_equal(apply_metrics(rows, 1), REFUSE_LIMIT);
	rows[0].metric = 1;
	rows[0].count = 4;
	assert_int_equal(apply_metrics(rows, 1), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(names_are_translated_and_rows_replaced),
		TEST(what_is_not_defined_is_refused_and_changes_nothing),
		TEST(more_rows_than_there_may_be_are_refused),
		TEST(ids_of_measured_kernels_are_translated),
		TEST(measured_kernels_of_unknown_ids_are_refused),
		TEST(more_measured_kernels_than_there_may_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
