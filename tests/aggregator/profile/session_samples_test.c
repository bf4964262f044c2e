#include "aggregator/profile/session_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/raw_log.h"
#include "aggregator/profile/roster.h"

static struct collection *collection;
static struct agent_session *session;
static uint32_t process_id;

/* An agent that has defined two strings, the collection's 5 and 6, two nodes, its 8 and 9, and one process. */
static int set_up(void **state)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};

	(void)state;
	collection = collection_create();
	session = collection_session(collection, epoch);
	assert_int_equal(roster_add_process(collection->roster, &(struct roster_identity){.pid = 1},
					    &process_id),
			 0);
	agent_session_add_id(session, SESSION_STRINGS, 5);
	agent_session_add_id(session, SESSION_STRINGS, 6);
	agent_session_add_id(session, SESSION_NODES, 8);
	agent_session_add_id(session, SESSION_NODES, 9);
	agent_session_add_id(session, SESSION_PROCESSES, process_id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	return 0;
}

static int apply(uint32_t process, const struct host_sample *samples, uint32_t count)
{
	const struct message message = {
		.samples = {.process_id = process, .nr_samples = count, .samples = samples}};
	const char *reason = NULL;
	int result = session_samples_apply(session, collection, &message, &reason);

	assert_non_null(reason);
	return result;
}

static void samples_of_one_key_are_added_up_and_ids_translated(void **state)
{
	const struct host_sample samples[] = {
		{.time_ns = 100, .duration_ns = 10, .tid = 7, .stack_id = 1},
		{.time_ns = 90, .duration_ns = 11, .tid = 7, .stack_id = 1},
		{.time_ns = 120,
		 .duration_ns = 5,
		 .tid = 7,
		 .stack_id = 2,
		 .name_id = 1,
		 .kind = 1},
		{.time_ns = 130,
		 .duration_ns = 6,
		 .tid = 8,
		 .stack_id = 2,
		 .name_id = 1,
		 .kind = 1},
		{.time_ns = 140, .duration_ns = 7, .tid = 8, .name_id = 2, .kind = 2},
		{.time_ns = 150, .duration_ns = 12, .tid = 7, .stack_id = 1},
	};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(1, samples, 5), 0);
	assert_int_equal(apply(1, samples + 5, 1), 0);
	assert_int_equal(apply(1, NULL, 0), 0);
	const struct fold_row *rows = fold_table_rows(collection->samples, &count);
	assert_int_equal(count, 4);
	assert_int_equal(rows[0].key.process_id, process_id);
	assert_int_equal(rows[0].key.kind, HOST_SAMPLE_CPU);
	assert_int_equal(rows[0].key.stack_id, 8);
	assert_int_equal(rows[0].key.name_id, 0);
	assert_int_equal(rows[0].count, 3);
	assert_int_equal(rows[0].ns, 33);
	assert_int_equal(rows[1].key.kind, HOST_SAMPLE_OFF_CPU);
	assert_int_equal(rows[1].key.stack_id, 9);
	assert_int_equal(rows[1].key.name_id, 5);
	assert_int_equal(rows[1].ns, 5);
	assert_int_equal(rows[2].key.tid, 8);
	assert_int_equal(rows[3].key.stack_id, 0);
	assert_int_equal(rows[3].key.name_id, 6);
	fold_table_rows(collection->totals, &count);
	assert_int_equal(count, 0);
}

static void what_is_not_defined_is_refused_and_changes_nothing(void **state)
{
	const struct host_sample stack[] = {{.duration_ns = 1}, {.duration_ns = 1, .stack_id = 3}};
	const struct host_sample name[] = {{.duration_ns = 1}, {.duration_ns = 1, .name_id = 3}};
	const struct host_sample command[] = {{.duration_ns = 1},
					      {.duration_ns = 1, .command_id = 3}};
	const struct host_sample kind[] = {{.duration_ns = 1},
					   {.duration_ns = 1, .kind = HOST_SAMPLE_KINDS}};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(0, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(apply(2, stack, 1), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, stack, 2), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, name, 2), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, command, 2), REFUSE_UNDEFINED);
	assert_int_equal(apply(1, kind, 2), REFUSE_MALFORMED);
	fold_table_rows(collection->samples, &count);
	assert_int_equal(count, 0);
}

static void sums_stick_where_an_agent_sends_nonsense(void **state)
{
	const struct host_sample samples[] = {{.duration_ns = UINT64_MAX}, {.duration_ns = 5}};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(1, samples, 2), 0);
	const struct fold_row *rows = fold_table_rows(collection->samples, &count);
	assert_int_equal(count, 1);
	assert_true(rows[0].ns == UINT64_MAX);
	assert_int_equal(rows[0].count, 2);
}

static void samples_of_kernels_are_sums_of_their_number_alone(void **state)
{
	const struct host_sample samples[] = {
		{.time_ns = 90, .duration_ns = 40, .stack_id = 1, .name_id = 2, .kind = 3},
		{.time_ns = 95, .duration_ns = 5, .stack_id = 1, .name_id = 2, .kind = 3},
		{.time_ns = 95, .duration_ns = 7, .tid = 1, .stack_id = 1, .name_id = 2, .kind = 3},
	};
	uint32_t count;

	(void)state;
	raw_log_start(collection->raw);
	assert_int_equal(apply(1, samples, 3), 0);
	const struct fold_row *rows = fold_table_rows(collection->samples, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].key.kind, HOST_SAMPLE_KERNEL);
	assert_int_equal(rows[0].key.stack_id, 8);
	assert_int_equal(rows[0].key.name_id, 6);
	assert_int_equal(rows[0].count, 45);
	assert_int_equal(rows[0].ns, 0);
	assert_int_equal(rows[1].key.tid, 1);
	assert_int_equal(rows[1].count, 7);
	assert_false(kept_log_has_samples(collection->kept, process_id));
	raw_log_samples(collection->raw, &count);
	assert_int_equal(count, 0);
}

static void samples_are_kept_by_themselves_where_that_is_wanted(void **state)
{
	const struct host_sample sample = {.time_ns = 130,
					   .duration_ns = 6,
					   .tid = 8,
					   .stack_id = 2,
					   .name_id = 1,
					   .cpu = 5,
					   .command_id = 2,
					   .kind = HOST_SAMPLE_OFF_CPU};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(1, &sample, 1), 0);
	raw_log_samples(collection->raw, &count);
	assert_int_equal(count, 0);
	raw_log_start(collection->raw);
	assert_int_equal(apply(1, &sample, 1), 0);
	assert_int_equal(apply(1, &sample, 1), 0);
	const struct raw_sample *raw = raw_log_samples(collection->raw, &count);
	assert_int_equal(count, 2);
	assert_int_equal(raw[1].process_id, process_id);
	assert_int_equal(raw[1].sample.time_ns, 130);
	assert_int_equal(raw[1].sample.duration_ns, 6);
	assert_int_equal(raw[1].sample.stack_id, 9);
	assert_int_equal(raw[1].sample.name_id, 5);
	assert_int_equal(raw[1].sample.command_id, 6);
	assert_int_equal(raw[1].sample.cpu, 5);
	assert_int_equal(raw[1].sample.kind, HOST_SAMPLE_OFF_CPU);
	raw_log_saved(collection->raw);
	raw_log_samples(collection->raw, &count);
	assert_int_equal(count, 0);
}

static void a_hosts_first_clock_counts(void **state)
{
	uint32_t count;

	(void)state;
	assert_int_equal(raw_log_offset(collection->raw, 3), 0);
	assert_int_equal(raw_log_clock(collection->raw, 0, 5), 0);
	assert_int_equal(raw_log_clock(collection->raw, 3, 0), 0);
	assert_int_equal(raw_log_clock(collection->raw, 3, -7), 0);
	assert_int_equal(raw_log_clock(collection->raw, 3, 8), 0);
	const struct raw_clock *clocks = raw_log_clocks(collection->raw, &count);
	assert_true(count >= 3);
	assert_int_equal(clocks[1].realtime_offset_ns, 0);
	assert_int_equal(clocks[2].realtime_offset_ns, -7);
	assert_false(clocks[2].saved);
	raw_log_saved(collection->raw);
	assert_true(clocks[2].saved);
	assert_false(clocks[1].saved);
	assert_int_equal(raw_log_offset(collection->raw, 3), -7);
	assert_int_equal(raw_log_offset(collection->raw, 0), 0);
	assert_int_equal(raw_log_load_clock(collection->raw, 200, 9), 0);
	clocks = raw_log_clocks(collection->raw, &count);
	assert_true(count >= 200);
	assert_int_equal(clocks[199].realtime_offset_ns, 9);
	assert_true(clocks[199].saved);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(samples_of_one_key_are_added_up_and_ids_translated),
		TEST(what_is_not_defined_is_refused_and_changes_nothing),
		TEST(sums_stick_where_an_agent_sends_nonsense),
		TEST(samples_of_kernels_are_sums_of_their_number_alone),
		TEST(samples_are_kept_by_themselves_where_that_is_wanted),
		TEST(a_hosts_first_clock_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
