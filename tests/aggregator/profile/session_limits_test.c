/* What one process makes many of stays bounded in the aggregator, and is counted. */
#include "aggregator/profile/agent_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_limit.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/profile/session_modules.h"

#define AT_ONCE  1000u
#define DURATION 7u

static struct collection *collection;
static struct agent_session *session;
static uint32_t nr_correlations;

static void apply(struct message *message)
{
	const char *reason;

	message->process.seq = session->received_seq + 1;
	assert_int_equal(session_apply(session, collection, message, &reason), 0);
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

/* count launches, then the records of the first ones. */
static void launch_early(uint32_t count, uint32_t nr_records)
{
	static struct launch_record launches[AT_ONCE];
	static struct gpu_record records[AT_ONCE];
	struct message events = {.type = MESSAGE_EVENTS,
				 .events = {.process_id = 1, .launches = launches, .gpu = records}};

	for (uint32_t done = 0; done < count; done += events.events.nr_launches) {
		events.events.nr_launches = count - done < AT_ONCE ? count - done : AT_ONCE;
		for (uint32_t i = 0; i < events.events.nr_launches; i++)
			launches[i] = (struct launch_record){.time_ns = 1,
							     .correlation_id = done + i + 1,
							     .tid = 9,
							     .window = 1};
		apply(&events);
	}
	events.events.nr_launches = 0;
	for (uint32_t done = 0; done < nr_records; done += events.events.nr_gpu) {
		events.events.nr_gpu = nr_records - done < AT_ONCE ? nr_records - done : AT_ONCE;
		for (uint32_t i = 0; i < events.events.nr_gpu; i++)
			records[i] = (struct gpu_record){.start_ns = 1000,
							 .end_ns = 1000 + DURATION,
							 .correlation_id = done + i + 1,
							 .window = 1,
							 .stream_id = 1};
		apply(&events);
	}
}

static void records_of_launches_that_were_given_up_are_in_the_ledger(void **state)
{
	const uint32_t given_up = CORRELATOR_LAUNCHES_MAX / 16 + 1;

	(void)state;
	launch_early(CORRELATOR_LAUNCHES_MAX + 1, given_up + 10);
	end_process();
	const struct roster_process *process = roster_process(collection->roster, 1);

	assert_int_equal(count_of(LEDGER_LAUNCH_GIVEN_UP), given_up);
	assert_int_equal(process->counts.unmatched, given_up);
	assert_int_equal(process->counts.matched, 10);
}

/* A kernel, node 1, and a line in it, node 2. */
static void say_kernel(void)
{
	static const struct message_text strings[] = {{"gemm", 4}, {"hot.cu", 6}};
	static const struct message_code codes[] = {{0, 1}, {2, 1}};
	static const struct message_frame frames[] = {{.code = 1}, {.code = 2, .offset = 17}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}};
	struct message names = {.type = MESSAGE_STRINGS,
				.strings = {.base = 1, .count = 2, .strings = strings}};
	struct message stacks = {.type = MESSAGE_STACKS,
				 .stacks = {.module_base = 1,
					    .code_base = 1,
					    .nr_codes = 2,
					    .codes = codes,
					    .frame_base = 1,
					    .nr_frames = 2,
					    .frames = frames,
					    .node_base = 1,
					    .nr_nodes = 2,
					    .nodes = nodes}};

	apply(&names);
	apply(&stacks);
}

/* Three samples of the line on each of count GPUs. */
static void sample_kernel(uint32_t count)
{
	static struct host_sample samples[AT_ONCE];
	struct message message = {.type = MESSAGE_SAMPLES,
				  .samples = {.process_id = 1, .samples = samples}};

	for (uint32_t first = 0; first < count; first += AT_ONCE) {
		const uint32_t nr = count - first < AT_ONCE ? count - first : AT_ONCE;

		for (uint32_t i = 0; i < nr; i++)
			samples[i] = (struct host_sample){.time_ns = 1,
							  .duration_ns = 3,
							  .tid = first + i,
							  .stack_id = 2,
							  .kind = HOST_SAMPLE_KERNEL};
		message.samples.nr_samples = nr;
		apply(&message);
	}
}

static void samples_of_kernels_beyond_the_limit_lose_their_place_then_their_kernel(void **state)
{
	const uint32_t beyond = 5000, nr = 2 * FOLD_LIMIT_ROWS_MAX + beyond;
	uint64_t count = 0;
	uint32_t nr_rows, nr_by_depth[3] = {0};

	(void)state;
	say_kernel();
	sample_kernel(nr);
	const struct fold_row *rows = fold_table_rows(collection->samples, &nr_rows);
	for (uint32_t i = 0; i < nr_rows; i++) {
		count += rows[i].count;
		nr_by_depth[catalog_node(collection->catalog, rows[i].key.stack_id)->depth]++;
	}
	assert_int_equal(count, 3ull * nr);
	assert_in_range(nr_by_depth[2], FOLD_LIMIT_ROWS_MAX, FOLD_LIMIT_ROWS_MAX + 100);
	assert_in_range(nr_by_depth[1], FOLD_LIMIT_ROWS_MAX, FOLD_LIMIT_ROWS_MAX + 100);
	assert_int_equal(nr_by_depth[0], 1);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), nr - nr_by_depth[2]);
	end_process();
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), nr - nr_by_depth[2]);
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
	assert_int_equal(roster_process_count(process, LEDGER_ROWS_MERGED, 5), 0);
	assert_int_equal(roster_process_count(process, LEDGER_ROWS_MERGED, 0), 0);
	say_ledger(entries, 2);
	assert_int_equal(count_of(LEDGER_RECORDS), 3);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 5);
	assert_int_equal(roster_process_count(process, LEDGER_ROWS_MERGED, 2), 0);
	assert_int_equal(count_of(LEDGER_ROWS_MERGED), 7);
	assert_int_equal(roster_process_count(process, LEDGER_NAME_LIMIT, 9), 0);
	say_ledger(entries, 2);
	assert_int_equal(count_of(LEDGER_NAME_LIMIT), 9);
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
	run_kernels(1, 2 * SESSION_EVENTS_STREAMS_MAX, 0);
	/* One for all further streams; the others are the device's and the process's own. */
	uint32_t nr = nr_timelines();
	assert_in_range(nr, SESSION_EVENTS_STREAMS_MAX + 1, SESSION_EVENTS_STREAMS_MAX + 8);
	for (uint32_t i = 0; i < 500; i++)
		run_kernels(1, 1, 1000000 + i);
	assert_in_range(nr_timelines(), nr, nr + 8);
}

/* A name of WIRE_STRING_MAX bytes that nobody has used before. Returns the session's id of it. */
static uint32_t say_name(uint32_t owner, uint32_t number)
{
	static char bytes[WIRE_STRING_MAX];
	const uint32_t id = session->ids[SESSION_STRINGS].count + 1;
	struct message_text text = {bytes, sizeof(bytes)};
	struct message strings = {
		.type = MESSAGE_STRINGS,
		.strings = {.base = id, .count = 1, .strings = &text, .owners = &owner}};

	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, &owner, sizeof(owner));
	memcpy(bytes + sizeof(owner), &number, sizeof(number));
	apply(&strings);
	return id;
}

static bool is_left_out(uint32_t id)
{
	return agent_session_translate(session, SESSION_STRINGS, id) ==
	       session_strings_left_out(collection->catalog);
}

/* Returns how many of them were kept. */
static uint32_t say_names(uint32_t owner, uint32_t count)
{
	uint32_t nr_kept = 0;

	for (uint32_t i = 0; i < count; i++)
		nr_kept += !is_left_out(say_name(owner, i));
	return nr_kept;
}

static void a_user_with_too_many_names_leaves_room_to_others(void **state)
{
	const uint32_t all = TEXT_SHARES_MAX / (WIRE_STRING_MAX + TEXT_SHARES_COST);

	(void)state;
	assert_in_range(say_names(1000, 2 * all), all / 2, all / 2 + 1);
	assert_in_range(say_names(1001, 2 * all), all / 4, all / 4 + 1);
	/* What is known costs nothing. */
	assert_false(is_left_out(say_name(1000, 0)));
	/* Nobody's share: whatever is left. */
	assert_in_range(say_names(0, 2 * all), all / 4 - 1, all / 4 + 1);
	assert_true(is_left_out(say_name(1002, 0)));
}

static void records_without_room_for_their_name_are_counted_and_their_times_are_exact(void **state)
{
	struct gpu_record records[] = {
		{.start_ns = 100, .end_ns = 107, .correlation_id = 1, .window = 1},
		{.start_ns = 200, .end_ns = 211, .correlation_id = 2, .window = 1},
		{.start_ns = 300, .end_ns = 313, .correlation_id = 3, .window = 1},
	};
	struct message events = {.type = MESSAGE_EVENTS,
				 .events = {.process_id = 1, .nr_gpu = 3, .gpu = records}};
	uint64_t ns = 0;
	uint32_t nr_rows;

	(void)state;
	records[0].name_id = say_name(1000, 0);
	say_names(1000, TEXT_SHARES_MAX / WIRE_STRING_MAX);
	records[1].name_id = say_name(1000, UINT32_MAX);
	records[2].name_id = say_name(1000, UINT32_MAX - 1);
	apply(&events);
	assert_int_equal(count_of(LEDGER_NAME_LIMIT), 2);
	end_process();
	const struct fold_row *rows = fold_table_rows(collection->totals, &nr_rows);
	for (uint32_t i = 0; i < nr_rows; i++)
		ns += rows[i].ns;
	assert_int_equal(ns, 7 + 11 + 13);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(count_of(LEDGER_NAME_LIMIT), 2);
}

static void short_names_are_bounded_in_number(void **state)
{
	struct text_shares shares = {0};
	bool has_room = true;
	uint32_t nr = 0;

	(void)state;
	for (; has_room; nr++)
		assert_int_equal(text_shares_take(&shares, 1000, 1, &has_room), 0);
	assert_in_range(nr, 1500000, 1600000);
	text_shares_fini(&shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			rows_beyond_the_limit_are_merged_counted_and_exact_in_sum, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			samples_of_kernels_beyond_the_limit_lose_their_place_then_their_kernel,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			records_of_launches_that_were_given_up_are_in_the_ledger, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_was_merged_stays_in_the_ledger, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(timelines_of_streams_and_devices_are_bounded,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_user_with_too_many_names_leaves_room_to_others,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			records_without_room_for_their_name_are_counted_and_their_times_are_exact,
			set_up, tear_down),
		cmocka_unit_test(short_names_are_bounded_in_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
