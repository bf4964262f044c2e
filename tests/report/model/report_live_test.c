#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "completeness_fixture.h"
#include "proto/absence.h"
#include "proto/host_sample.h"
#include "report_fixture.h"

static void a_live_profile_is_live_and_not_incomplete(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_agent(1, 1);
	report_fixture.profile.written = true;
	report_fixture.profile.nr_nodes = 4;
	completeness_verdict(REPORT_LIVE,
			     "live: it is still being recorded, and nothing is lost so far");
}

static void a_live_profile_names_nodes_that_are_not_heard_of(void **state)
{
	const uint64_t second_ns = 1000000000u;
	struct profile *profile = &report_fixture.profile;

	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_agent(1, report_fixture_process("node07", 7, 56, 0));
	struct agent_session *other = completeness_agent(2, 1);
	profile->written = true;
	profile->read_ns = COMPLETENESS_NOON_NS + 63 * second_ns;
	other->spoke_ns = profile->read_ns - 30 * second_ns + 1;
	completeness_verdict(
		REPORT_LIVE,
		"live: it is still being recorded, and nothing is lost so far; 1 of 2 nodes "
		"has not been heard of for 63 s, so the newest data is that old (dead, cut "
		"off, or behind): node07 (rank 56) since 2026-11-22 12:01:07");
	other->spoke_ns--;
	completeness_verdict(
		REPORT_LIVE,
		"live: it is still being recorded, and nothing is lost so far; 2 of 2 nodes "
		"have not been heard of for up to 63 s, so the newest data is that old "
		"(dead, cut off, or behind): node01 (rank 3) since 2026-11-22 12:01:40, "
		"node07 (rank 56) since 2026-11-22 12:01:07");
	/* A goodbye is the last word, and who never spoke is not known to be late. */
	other->ended = true;
	report_fixture.collection->sessions[0]->spoke_ns = 0;
	completeness_verdict(REPORT_LIVE,
			     "live: it is still being recorded, and nothing is lost so far");
}

static void what_a_live_part_has_not_sent_is_said_and_is_missing_if_it_never_comes(void **state)
{
	struct store_note note = {
		.kind = STORE_NOTE_UNSENT, .key = "01", .text = "node07 (1.32 % of its GPU time)"};

	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	report_fixture.profile.notes = &note;
	report_fixture.profile.nr_notes = 1;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 part of the profile was too large to be sent at once, and "
		"the stacks of the rest are missing: node07 (1.32 % of its GPU time)");
	report_fixture.profile.written = true;
	completeness_verdict(
		REPORT_LIVE,
		"live: it is still being recorded, and nothing is lost so far; 1 part of "
		"the profile was too large to be sent at once, and the stacks of the rest "
		"come later: "
		"node07 (1.32 % of its GPU time)");
	report_fixture.profile.notes = NULL;
	report_fixture.profile.nr_notes = 0;
}

static void what_a_live_profile_has_lost_by_damage_does_not_come(void **state)
{
	struct store_note notes[] = {
		{.kind = STORE_NOTE_DAMAGED, .key = "01", .text = "node07 (3 of 214 pages)"},
		{.kind = STORE_NOTE_UNSENT, .key = "01", .text = "node07 (1.32 % of its GPU time)"},
	};

	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	report_fixture.profile.notes = notes;
	report_fixture.profile.nr_notes = 2;
	report_fixture.profile.written = true;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 1 part of the profile was damaged, and what it held is "
			     "missing: node07 (3 of 214 pages)");
	report_fixture.profile.written = false;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 part of the profile was damaged, and what it held is "
		"missing: node07 (3 of 214 pages); 1 part of the profile was too large to "
		"be sent at once, and the stacks of the rest are missing: node07 (1.32 % of "
		"its GPU time)");
	report_fixture.profile.notes = NULL;
	report_fixture.profile.nr_notes = 0;
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, completeness_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_live_profile_is_live_and_not_incomplete),
		TEST(a_live_profile_names_nodes_that_are_not_heard_of),
		TEST(what_a_live_part_has_not_sent_is_said_and_is_missing_if_it_never_comes),
		TEST(what_a_live_profile_has_lost_by_damage_does_not_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
