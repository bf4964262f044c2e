/* What one process makes many of stays bounded in the aggregator, and is counted. */
#include "aggregator/agent_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/collection.h"
#include "aggregator/fold_limit.h"
#include "aggregator/fold_table.h"
#include "aggregator/roster.h"
#include "aggregator/timeline_table.h"

#define AT_ONCE  1000u
#define DURATION 7u

static struct collection *collection;
static struct agent_session *session;
static uint32_t nr_correlations;

static void apply(struct message *message)
{
	const char *reason;

	message->process.seq = session->received_seq + 1;
	assert_int_equal(agent_session_apply(session, collection, message, &reason), 0);
}

static int set_up(void **state)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct message process = {.type = MESSAGE_PROCESS,
				  .process = {.process_id = 1, .pid = 7, .state = PROCESS_RUNNING}};

	(void)state;
	nr_correlations = 0;
	collection = collection_create();
	session = collection_session(collection, epoch);
	assert_non_null(session);
	apply(&process);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	return 0;
}

/* A kernel and its launch on each of count streams from first on. */
static void run_kernels(uint32_t first, uint32_t count, uint32_t device_id)
{
	static struct launch_record launches[AT_ONCE];
	static struct gpu_record records[AT_ONCE];
	struct message events = {.type = MESSAGE_EVENTS,
				 .events = {.process_id = 1, .launches = launches, .gpu = records}};

	while (count > 0) {
		uint32_t nr = count < AT_ONCE ? count : AT_ONCE;

		for (uint32_t i = 0; i < nr; i++) {
			uint32_t id = ++nr_correlations;

			launches[i] = (struct launch_record){
				.time_ns = 1, .correlation_id = id, .tid = 9, .window = 1};
			records[i] = (struct gpu_record){.start_ns = 1000,
							 .end_ns = 1000 + DURATION,
							 .correlation_id = id,
							 .window = 1,
							 .device_id = device_id,
							 .stream_id = first + i};
		}
		events.events.nr_launches = events.events.nr_gpu = nr;
		apply(&events);
		first += nr;
		count -= nr;
	}
}

static void end_process(void)
{
	struct message process = {.type = MESSAGE_PROCESS,
				  .process = {.process_id = 1, .pid = 7, .state = PROCESS_ENDED}};

	apply(&process);
}

static void say_ledger(const struct ledger_entry *entries, uint32_t nr_entries)
{
	struct message ledger = {
		.type = MESSAGE_LEDGER,
		.ledger = {.process_id = 1, .nr_entries = nr_entries, .entries = entries}};

	apply(&ledger);
}

static uint64_t count_of(uint32_t reason)
{
	const struct roster_process *process = roster_process(collection->roster, 1);
	uint64_t count = 0;

	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (process->ledger[i].reason == reason)
			count += process->ledger[i].count;
	return count;
}

static void rows_beyond_the_limit_are_merged_counted_and_exact_in_sum(void **state)
{
	const uint32_t nr = FOLD_LIMIT_ROWS_MAX + 5000;
	uint64_t count = 0, ns = 0;
	uint32_t nr_rows;

	(void)state;
	run_kernels(1, nr, 0);
	const struct fold_row *rows = fold_table_rows(collection->totals, &nr_rows);
	for (uint32_t i = 0; i < nr_rows; i++) {
		count += rows[i].count;
		ns += rows[i].ns;
	}
	assert_int_equal(count, nr);
	assert_int_equal(ns, (uint64_t)nr * DURATION);
	assert_in_range(nr_rows, FOLD_LIMIT_ROWS_MAX, FOLD_LIMIT_ROWS_MAX + 100);
	/* A few whose marks are alike are taken for known. */
	assert_in_range(count_of(LEDGER_ROWS_MERGED), 4900, 5000);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED) + nr_rows - 1, nr);

	/* A row that is known goes on. */
	uint64_t merged = count_of(LEDGER_ROWS_MERGED);
	run_kernels(1, 10, 0);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), merged);
}

static void what_was_merged_stays_in_the_ledger(void **state)
{
	const struct ledger_entry entries[] = {
		{.device_id = 0, .reason = LEDGER_RECORDS, .count = 3},
		{.device_id = LEDGER_DEVICE_NONE, .reason = LEDGER_ROWS_MERGED, .count = 1000000},
	};
	struct roster_process *process = roster_process(collection->roster, 1);

	(void)state;
	say_ledger(entries, 1);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 0);
	assert_int_equal(roster_process_add_merged(process, 5), 0);
	assert_int_equal(roster_process_add_merged(process, 0), 0);
	say_ledger(entries, 2);
	assert_int_equal(count_of(LEDGER_RECORDS), 3);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 5);
	assert_int_equal(roster_process_add_merged(process, 2), 0);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 7);
	end_process();
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 7);
}

static uint32_t nr_timelines(void)
{
	uint32_t nr;

	timeline_table_entries(collection->timelines, &nr);
	return nr;
}

static void timelines_of_streams_and_devices_are_bounded(void **state)
{
	(void)state;
	run_kernels(1, 2 * AGENT_SESSION_STREAMS_MAX, 0);
	/* One for all further streams; the others are the device's and the process's own. */
	uint32_t nr = nr_timelines();
	assert_in_range(nr, AGENT_SESSION_STREAMS_MAX + 1, AGENT_SESSION_STREAMS_MAX + 8);
	for (uint32_t i = 0; i < 500; i++)
		run_kernels(1, 1, 1000000 + i);
	assert_in_range(nr_timelines(), nr, nr + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			rows_beyond_the_limit_are_merged_counted_and_exact_in_sum, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_was_merged_stays_in_the_ledger, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(timelines_of_streams_and_devices_are_bounded,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
