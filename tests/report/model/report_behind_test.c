#include "report/model/report_behind.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"
#include "report/model/report_summary.h"
#include "report_fixture.h"

#define MS 1000000ull

/* An agent of the process's node, which found the aggregator behind. */
static void add_agent(uint8_t number, uint32_t process_id, uint64_t count, uint64_t longest_ns)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {number};
	struct agent_session *session = collection_session(report_fixture.collection, epoch);
	struct ledger_entry *entry = malloc(sizeof(*entry));

	assert_non_null(session);
	assert_non_null(entry);
	*entry = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_BEHIND, count, longest_ns};
	session->host =
		roster_process(report_fixture.collection->roster, process_id)->identity.host;
	session->ended = true;
	session->ledger = entry;
	session->nr_ledger = 1;
}

static void assert_ledger(const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_fixture_build(DEMANGLE_FULL);
	report_summary_ledger(out, report_fixture.tree, "");
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void the_report_names_the_node_that_waited_and_nothing_is_lost(void **state)
{
	(void)state;
	add_agent(1, report_fixture_process("n3", 100, 0, 0), 2, 4000 * MS);
	assert_ledger("noted: times that the aggregator was behind: node n3 by up to 4.000 s, and "
		      "nothing was lost by it [behind]: 2\n");
	assert_int_equal(report_fixture.tree->lost, 0);
	assert_int_equal(report_fixture.tree->losses[0].ns, 4000 * MS);
}

static void of_several_agents_the_worst_is_named_and_waits_are_not_added_up(void **state)
{
	(void)state;
	add_agent(1, report_fixture_process("n3", 100, 0, 0), 2, 4000 * MS);
	add_agent(2, report_fixture_process("n4", 100, 1, 0), 1, 7500 * MS);
	add_agent(3, report_fixture_process("n5", 100, 2, 0), 0, 0);
	assert_ledger("noted: times that the aggregator was behind: 2 agents, node n4 by up to "
		      "7.500 s, and nothing was lost by it [behind]: 3\n");
	assert_int_equal(report_fixture.tree->losses[0].ns, 7500 * MS);
}

static void losses_in_rings_of_such_a_node_are_counted(void **state)
{
	const struct ledger_entry full = {LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL, 12, 0};
	uint32_t late = report_fixture_process("n3", 100, 0, 0);
	uint32_t other = report_fixture_process("n4", 100, 1, 0);
	struct roster *roster = report_fixture.collection->roster;

	(void)state;
	add_agent(1, late, 1, 4000 * MS);
	roster_process_set_ledger(roster_process(roster, late), &full, 1);
	roster_process_set_ledger(roster_process(roster, other), &full, 1);
	assert_ledger("lost: launches lost: launch lane full [launch_ring_full]: 24\n"
		      "noted: times that the aggregator was behind: node n3 by up to 4.000 s, and "
		      "12 launches and records found no room in rings [behind]: 1\n");
}

static void a_process_that_claims_the_counter_names_no_node(void **state)
{
	const struct ledger_entry claim = {LEDGER_DEVICE_NONE, LEDGER_BEHIND, 5, 0};

	(void)state;
	roster_process_set_ledger(
		roster_process(report_fixture.collection->roster, report_fixture.process_id),
		&claim, 1);
	assert_ledger("noted: times that the aggregator was behind [behind]: 5\n");
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_report_names_the_node_that_waited_and_nothing_is_lost),
		TEST(of_several_agents_the_worst_is_named_and_waits_are_not_added_up),
		TEST(losses_in_rings_of_such_a_node_are_counted),
		TEST(a_process_that_claims_the_counter_names_no_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
