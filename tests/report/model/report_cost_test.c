/* The line of report_summary_cost(), and the same figures in JSON. */
#include "report/model/report_summary.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"
#include "report_fixture.h"

#define MS 1000000ull

static const struct ledger_entry metered[] = {
	{LEDGER_DEVICE_NONE, LEDGER_METER, 64000, 64 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_ENTRY, 1000, 10 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_NATIVE, 1000, 30 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_PYTHON, 1000, 12 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_INTERN, 1000, 8 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_EXIT, 1000, 4 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_STACKS, 20, 6 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_THREADS, 2, 7000 * MS},
	{LEDGER_DEVICE_NONE, LEDGER_METER_TABLES, 3 << 20, 5 * MS},
};

#define NR_METERED (sizeof(metered) / sizeof(metered[0]))

static void add_process(const char *node, const struct ledger_entry *entries, size_t nr)
{
	uint32_t id = report_fixture_process(node, 100, 0, 0);

	assert_int_equal(
		roster_process_set_ledger(roster_process(report_fixture.collection->roster, id),
					  entries, (uint32_t)nr),
		0);
}

static void add_agent(uint8_t number, uint64_t peak_bytes, uint64_t cpu_ns, uint64_t run_ns)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {number};
	struct agent_session *session = collection_session(report_fixture.collection, epoch);
	struct ledger_entry *entries = calloc(2, sizeof(*entries));

	assert_non_null(session);
	assert_non_null(entries);
	entries[0] =
		(struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_METER_AGENT, peak_bytes, cpu_ns};
	entries[1] = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_METER_AGENT_RUN, 1, run_ns};
	session->host = 1;
	session->ended = true;
	session->ledger = entries;
	session->nr_ledger = 2;
}

static void assert_cost(const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_fixture_build(DEMANGLE_FULL);
	report_summary_cost(out, report_fixture.tree, "");
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void a_profile_without_a_meter_has_no_line(void **state)
{
	(void)state;
	add_agent(1, 1 << 20, MS, 1000 * MS);
	assert_cost("");
}

static void the_line_names_the_guests_and_the_agents_part(void **state)
{
	(void)state;
	add_process("n1", metered, NR_METERED);
	add_agent(1, 41 << 20, 30 * MS, 10000 * MS);
	assert_cost("profiling cost: 1.00 % of the launching threads' time (guest 70.000 ms: about "
		    "64,000 launches of 1.000 us each, 20 new stacks of 6.000 ms in all; without "
		    "CUPTI); agent 0.30 % of a core, 41.0 MiB at "
		    "most; 3.0 MiB of unwind tables built\n");
	assert_int_equal(report_fixture.tree->nr_losses, 0); /* costs are no notes */
}

static void processes_and_agents_add_up(void **state)
{
	const struct ledger_entry interrupted[] = {
		metered[0],
		metered[1],
		{LEDGER_DEVICE_NONE, LEDGER_METER_OUTLIER, 3, 900 * MS},
		{LEDGER_DEVICE_NONE, LEDGER_METER_THREADS, 1, 6400 * MS},
	};

	(void)state;
	add_process("n1", metered, NR_METERED);
	add_process("n2", interrupted, sizeof(interrupted) / sizeof(interrupted[0]));
	add_agent(1, 41 << 20, 30 * MS, 10000 * MS);
	add_agent(2, 20 << 20, 10 * MS, 10000 * MS);
	assert_cost(
		"profiling cost: 1.00 % of the launching threads' time (guest 134.000 ms: "
		"about 128,000 launches of 1.000 us each, 20 new stacks of 6.000 ms in all; "
		"without "
		"CUPTI and 3 interrupted launches); "
		"agents 0.20 % of a core each, 41.0 MiB at most; 3.0 MiB of unwind tables built\n");
	const struct profile_cost *cost = &report_fixture.tree->cost;
	assert_int_equal(cost->metered, 2000);
	assert_int_equal(cost->threads.count, 3);
	assert_int_equal(cost->part_ns[PROFILE_COST_ENTRY], 20 * MS);
	assert_int_equal(cost->part_ns[PROFILE_COST_EXIT], 4 * MS);
	assert_int_equal(cost->outliers.ns, 900 * MS);
}

static void too_few_launches_have_no_share(void **state)
{
	const struct ledger_entry few = {LEDGER_DEVICE_NONE, LEDGER_METER_THREADS, 1, 0};

	(void)state;
	add_process("n1", &few, 1);
	assert_cost("profiling cost: not known for launches: metered launches stand for 0 of 0 "
		    "launches\n");
}

static void metered_launches_stand_for_their_threads_alone(void **state)
{
	const struct ledger_entry launches = {LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 130000, 0};

	(void)state;
	add_process("n1", metered, NR_METERED);
	add_process("n2", &launches, 1);
	assert_cost("profiling cost: not known for launches: metered launches stand for 64,000 of "
		    "130,000 launches, 20 new stacks of 6.000 ms in all; 3.0 MiB of unwind tables "
		    "built\n");
}

/* Of all processes, it is the one in which the guest took most, not the one with the largest share. */
static void the_thread_that_paid_most_stands_beside_all_threads(void **state)
{
	const struct ledger_entry more[] = {
		{LEDGER_DEVICE_NONE, LEDGER_METER_BUSIEST, 30000, 60 * MS},
		{LEDGER_DEVICE_NONE, LEDGER_METER_BUSIEST_THREAD, 18, 1000 * MS},
		{LEDGER_DEVICE_NONE, LEDGER_METER_WALL, 1, 1500 * MS},
	};
	const struct ledger_entry less[] = {
		{LEDGER_DEVICE_NONE, LEDGER_METER_BUSIEST, 64, 1 * MS},
		{LEDGER_DEVICE_NONE, LEDGER_METER_BUSIEST_THREAD, 3, 2 * MS},
		{LEDGER_DEVICE_NONE, LEDGER_METER_WALL, 1, 500 * MS},
	};

	(void)state;
	add_process("n1", more, 3);
	add_process("n2", metered, NR_METERED);
	add_process("n3", less, 3);
	assert_cost("profiling cost: 1.00 % of the launching threads' time, 6.00 % of that of the "
		    "thread which paid most (guest 70.000 ms: about 64,000 launches of 1.000 us "
		    "each, 20 new stacks of 6.000 ms in all; without CUPTI); 3.0 MiB of unwind "
		    "tables built\n");
	const struct profile_cost *cost = &report_fixture.tree->cost;
	assert_int_equal(cost->busiest.count, 30000);
	assert_int_equal(cost->busiest_thread_ns, 1000 * MS);
	assert_int_equal(cost->processes.count, 2);
	assert_int_equal(cost->processes.ns, 2000 * MS);
}

static void sums_do_not_wrap(void **state)
{
	const struct ledger_entry huge[] = {
		{LEDGER_DEVICE_NONE, LEDGER_METER, 1, UINT64_MAX},
		{LEDGER_DEVICE_NONE, LEDGER_METER_STACKS, 1, UINT64_MAX},
		{LEDGER_DEVICE_NONE, LEDGER_METER_THREADS, 1, 1},
	};

	(void)state;
	add_process("n1", huge, 3);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(profile_cost_guest_ns(&report_fixture.tree->cost), UINT64_MAX);
	assert_int_equal(profile_cost_share(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(profile_cost_share(1, 0), 0);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_profile_without_a_meter_has_no_line),
		TEST(the_line_names_the_guests_and_the_agents_part),
		TEST(processes_and_agents_add_up),
		TEST(too_few_launches_have_no_share),
		TEST(metered_launches_stand_for_their_threads_alone),
		TEST(the_thread_that_paid_most_stands_beside_all_threads),
		TEST(sums_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
