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

static void all_goodbyes_make_a_profile_whole(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
}

static void agents_without_a_goodbye_are_named_with_node_ranks_and_time(void **state)
{
	(void)state;
	uint32_t other = report_fixture_process("node07", 7, 56, 0);

	completeness_kernels(1);
	for (uint32_t rank = 57; rank < 64; rank++)
		report_fixture_process("node07", rank, (int32_t)rank, 0);
	completeness_agent(1, 1)->ended = true;
	struct agent_session *session = completeness_agent(2, other);
	for (uint32_t id = other + 1; id < other + 8; id++)
		assert_int_equal(agent_session_add_id(session, SESSION_PROCESSES, id), 0);
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 1 of 2 agents did not say goodbye, so what came later is "
			     "missing: node07 (ranks 56-63) since 2026-11-22 12:01:07");
}

static void of_many_places_only_some_are_listed(void **state)
{
	(void)state;
	char node[16];

	completeness_kernels(1);
	for (uint8_t i = 0; i < 7; i++) {
		snprintf(node, sizeof(node), "n%d", i);
		completeness_agent((uint8_t)(i + 1), report_fixture_process(node, i + 1000u, -1, 0))
			->spoke_ns = 0;
	}
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 7 of 7 agents did not say goodbye, so what came later is "
			     "missing: n0, n1, n2, n3, and 3 more nodes");
}

static void an_agent_is_made_up_for_by_the_next_one_that_saw_the_end(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1);
	completeness_agent(2, 1)->ended = true;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
}

static void an_agent_of_another_job_succeeds_nobody(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1);
	struct agent_session *other = completeness_agent(2, 1);
	other->ended = true;
	other->writer = 2;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 1 of 2 agents did not say goodbye, so what came later is "
			     "missing: node01 (rank 3) since 2026-11-22 12:01:07");
}

static void the_successor_is_the_one_that_spoke_later(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	completeness_agent(2, 1)->spoke_ns = COMPLETENESS_NOON_NS - 1;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
	report_fixture.collection->sessions[1]->spoke_ns = COMPLETENESS_NOON_NS + 1;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 1 of 2 agents did not say goodbye, so what came later is "
			     "missing: node01 (rank 3) since 2026-11-22 12:01:07");
}

static void an_end_that_no_agent_saw_is_incomplete(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_agent(1, 1);
	/* Of the same node, and it has never heard of the process. */
	struct agent_session *next =
		completeness_agent(2, report_fixture_process("node01", 2, 4, 0));
	next->ended = true;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 2 processes ended while no agent read, so what came later "
		"may be missing: node01 (rank 3) since 2026-11-22 12:01:07");
	report_fixture.profile.written = true;
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_INCOMPLETE);
}

static void samples_of_the_kernel_die_with_their_agent(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_ledger(1, LEDGER_SAMPLES, 5);
	completeness_agent(1, 1);
	completeness_agent(2, 1)->ended = true;
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_INCOMPLETE);
}

static void add_samples_of_kernels(uint64_t count)
{
	const struct fold_key key = {.process_id = 1, .kind = HOST_SAMPLE_KERNEL};

	assert_int_equal(fold_table_add(report_fixture.collection->samples, &key, count, 0, 0), 0);
}

static void samples_of_kernels_are_those_that_were_counted(void **state)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLES, 100, 0},
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLE_OTHER, 10, 0},
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLE_LOST, 4, 0},
		{LEDGER_DEVICE_NONE, LEDGER_RECORDS, 1, 0},
	};

	(void)state;
	completeness_process(1)->counts.records = 1;
	assert_int_equal(roster_process_set_ledger(completeness_process(1), entries, 4), 0);
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	add_samples_of_kernels(86);
	completeness_verdict(REPORT_COMPLETE, "");
	assert_int_equal(report_fixture.tree->lost, 4);
	add_samples_of_kernels(3);
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 3 samples of running kernels missing, or here but never "
			     "counted: node01 (rank 3)");
}

static void a_killed_process_is_incomplete_and_no_lost_record(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_UNCLEAN;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_ledger(1, LEDGER_UNCLEAN_END, 1);
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 1 process ended without a goodbye (killed, or by _exit), "
		"so up to 0.5 s before the end may be missing [unclean_end]: node01 (rank "
		"3) at 2026-11-22 12:01:07");
	assert_int_equal(report_fixture.tree->lost, 0);
}

static void a_killed_process_lacks_more_of_its_kernels_samples(void **state)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_UNCLEAN_END, 1, 0},
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLES, 2, 0},
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLE_LOST, 2, 0},
	};

	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_UNCLEAN;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	assert_int_equal(roster_process_set_ledger(completeness_process(1), entries, 3), 0);
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 1 process ended without a goodbye (killed, or by _exit), "
		"so up to 0.5 s before the end, and 1 s of samples of kernels, may be missing "
		"[unclean_end]: node01 (rank 3) at 2026-11-22 12:01:07");
}

/* However it ended: what it did after it gave up is nowhere. */
static void a_process_that_gave_up_is_recorded_in_part(void **state)
{
	const char *verdict =
		"INCOMPLETE: 1 of 1 process recorded no more, since no agent had "
		"answered for a minute [guest_gave_up]: node01 (rank 3) last heard of "
		"at 2026-11-22 12:01:07";

	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_ledger(1, LEDGER_GUEST_GAVE_UP, 1);
	completeness_verdict(REPORT_INCOMPLETE, verdict);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_verdict(REPORT_INCOMPLETE, verdict);
}

static void a_stop_by_the_user_is_a_normal_end(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_UNCLEAN;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_ledger(1, LEDGER_INTERRUPTED_END, 1);
	completeness_verdict(REPORT_STOPPED,
			     "stopped by Ctrl-C (SIGINT) at 2026-11-22 12:01:07: up to "
			     "0.5 s of GPU work before that may be missing");
	completeness_ledger(1, LEDGER_TERMINATED_END, 1);
	completeness_verdict(REPORT_STOPPED,
			     "stopped by SIGTERM or SIGHUP at 2026-11-22 12:01:07: up to "
			     "0.5 s of GPU work before that may be missing");
}

static void a_stop_hides_no_killed_rank(void **state)
{
	(void)state;
	uint32_t other = report_fixture_process("node02", 2, 4, 0);

	completeness_kernels(1);
	completeness_process(1)->state = completeness_process(other)->state = PROCESS_UNCLEAN;
	completeness_ledger(1, LEDGER_TERMINATED_END, 1);
	completeness_ledger(other, LEDGER_UNCLEAN_END, 1);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_INCOMPLETE);
	assert_non_null(strstr(report_fixture.tree->verdict, "node02 (rank 4)"));
	assert_non_null(strstr(report_fixture.tree->verdict, "stopped by SIGTERM"));
}

/* Two of the four parts of a job look like a whole job. */
static void ranks_of_parts_that_were_not_merged_are_told(void **state)
{
	struct roster_process *process =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);

	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	process->rank = 1;
	process->world_size = 4;
	process->job = report_fixture_string("17.0");
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
	report_fixture.profile.nr_writers = 2;
	completeness_verdict(
		REPORT_COMPLETE,
		"nothing lost, but 3 of 4 ranks of job 17.0 are not in this profile (0, "
		"2-3): they have used no CUDA, were not recorded, or are in a part that was "
		"not merged");
	report_fixture.profile.nr_nodes = 1;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
	report_fixture.profile.nr_writers = 0;
}

static void nodes_that_did_not_join_are_counted(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_agent(1, 1)->ended = true;
	report_fixture.profile.nr_nodes = 4;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: 3 of 4 nodes did not join: their GPU work "
			     "is not in the profile");
}

static void an_aggregator_that_died_is_said(void **state)
{
	(void)state;
	completeness_kernels(1);
	report_fixture.profile.abandoned = true;
	completeness_agent(1, 1)->spoke_ns = 0;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: its aggregator ended without closing it; 1 of 1 agent did not "
		"say goodbye, so what came later is missing: node01 (rank 3)");
	report_fixture.profile.nr_writers = 3;
	report_fixture.profile.nr_open = 1;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 3 aggregators (of the job and of its nodes) ended without "
		"closing its part; 1 of 1 agent did not say goodbye, so what came later is "
		"missing: node01 (rank 3)");
	/* All had been said before. */
	report_fixture.collection->sessions[0]->ended = true;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
}

static void what_found_no_room_is_counted_and_its_reason_named(void **state)
{
	struct store_note notes[] = {
		{.kind = STORE_NOTE_FULL,
		 .key = "01",
		 .text = "at least 7 launches and 5 GPU records of the end found no room "
			 "(--max-size 1)"},
		{.kind = STORE_NOTE_FULL, .key = "02", .text = "node07: at least 1 launch"},
	};

	(void)state;
	completeness_agent(1, 1)->ended = true;
	report_fixture.profile.notes = notes;
	report_fixture.profile.nr_notes = 1;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: at least 7 launches and 5 GPU records of "
			     "the end found no room (--max-size 1)");
	report_fixture.profile.nr_notes = 2;
	completeness_verdict(REPORT_INCOMPLETE,
			     "INCOMPLETE: at least 7 launches and 5 GPU records of "
			     "the end found no room (--max-size 1), node07: at least "
			     "1 launch");
	assert_int_equal(report_fixture.tree->nr_notices, 0);
	report_fixture.profile.notes = NULL;
	report_fixture.profile.nr_notes = 0;
}

static void accounts_that_do_not_close_are_incomplete(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_ledger(1, LEDGER_RECORDS, 10);
	completeness_process(1)->counts.records = 8;
	completeness_verdict(REPORT_INCOMPLETE, "INCOMPLETE: 2 GPU records delivered, but in no "
						"account: node01 (rank 3)");
	completeness_process(1)->counts.records = 11;
	completeness_verdict(REPORT_INCOMPLETE, "INCOMPLETE: 1 GPU record here, but never "
						"delivered (counted twice?): node01 (rank 3)");
	completeness_process(1)->counts.records = 10;
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
}

static void launches_in_no_account_are_incomplete(void **state)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 300000, 0},
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL, 10, 0},
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCH_NO_LANE, 5, 0},
	};

	(void)state;
	completeness_kernels(1);
	assert_int_equal(roster_process_set_ledger(completeness_process(1), entries, 3), 0);
	completeness_process(1)->counts.launches = 3;
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_INCOMPLETE);
	assert_string_equal(report_fixture.tree->verdict,
			    "INCOMPLETE: 299,982 launch calls seen, but in no account: node01 "
			    "(rank 3)");
	completeness_process(1)->counts.launches = 299984;
	report_fixture_build(DEMANGLE_FULL);
	assert_string_equal(report_fixture.tree->verdict,
			    "INCOMPLETE: 1 launch call seen, but in no account: node01 (rank 3)");
	completeness_process(1)->counts.launches = 299985;
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_COMPLETE);
	/* Both sides of an account are final at the goodbye, and not before. */
	completeness_process(1)->counts.launches = 3;
	completeness_process(1)->state = PROCESS_RUNNING;
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->state, REPORT_COMPLETE);
}

/* The kernel's samples show the host's time; the GPU work is missing all the same. */
static void samples_do_not_hide_that_cupti_was_taken(void **state)
{
	const char *verdict = "INCOMPLETE: 1 of 1 process started CUDA and could not be recorded "
			      "(the notes say why): node01 (rank 3)";
	uint32_t notice = report_fixture_string(ABSENCE_FAILED "another profiler holds CUPTI");

	(void)state;
	completeness_kernels(1);
	completeness_ledger(1, LEDGER_SAMPLES, 1);
	assert_int_equal(roster_process_set_notices(completeness_process(1), &notice, 1), 0);
	completeness_verdict(REPORT_INCOMPLETE, verdict);
}

static void a_process_that_could_not_be_recorded_is_incomplete(void **state)
{
	(void)state;
	uint32_t other = report_fixture_process("node02", 2, 4, 0);
	uint32_t notice = report_fixture_string(ABSENCE_FAILED "libcupti was not found");

	assert_int_equal(roster_process_set_notices(completeness_process(other), &notice, 1), 0);
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 2 processes started CUDA and could not be recorded (the "
		"notes say why): node02 (rank 4); NOTHING WAS RECORDED: libcupti was not "
		"found");
	completeness_kernels(1);
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 2 processes started CUDA and could not be recorded (the "
		"notes say why): node02 (rank 4)");
	/* It found one later. */
	completeness_process(other)->counts.launches = completeness_process(other)->counts.records =
		1;
	completeness_ledger(other, LEDGER_RECORDS, 1);
	completeness_verdict(REPORT_COMPLETE, "nothing lost");
}

static void a_range_that_never_came_is_empty_and_not_incomplete(void **state)
{
	(void)state;
	uint32_t notice = report_fixture_string(ABSENCE_CHOSEN "no range 'x'");

	assert_int_equal(roster_process_set_notices(completeness_process(1), &notice, 1), 0);
	completeness_verdict(REPORT_EMPTY, "NOTHING WAS RECORDED: no range 'x'");
}

static void what_runs_on_after_the_goodbye_is_said(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_verdict(REPORT_COMPLETE,
			     "nothing lost while it was recorded, and 1 process ran on after that");
}

static void what_runs_on_is_said_beside_a_fault_and_a_stop(void **state)
{
	(void)state;
	completeness_kernels(1);
	uint32_t other = report_fixture_process("node02", 2, 4, 0);

	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_process(other)->state = PROCESS_UNCLEAN;
	completeness_process(other)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 2 processes ended without a goodbye (killed, or by _exit), "
		"so up to 0.5 s before the end may be missing [unclean_end]: node02 (rank 4) "
		"at 2026-11-22 12:01:07; 1 process ran on after the recording had ended");
	completeness_ledger(other, LEDGER_INTERRUPTED_END, 1);
	completeness_verdict(
		REPORT_STOPPED,
		"stopped by Ctrl-C (SIGINT) at 2026-11-22 12:01:07: up to 0.5 s of GPU work "
		"before that may be missing; 1 process ran on after the recording had ended");
}

static void a_recording_that_was_cut_off_is_incomplete_and_its_last_launches_are_lost(void **state)
{
	(void)state;
	completeness_kernels(1);
	completeness_process(1)->state = PROCESS_RUNNING;
	completeness_process(1)->spoke_ns = COMPLETENESS_NOON_NS;
	completeness_process(1)->counts.expired = 5;
	completeness_ledger(1, LEDGER_CUT_OFF, 1);
	completeness_verdict(
		REPORT_INCOMPLETE,
		"INCOMPLETE: 1 of 1 process ran on when the recording was cut off, so what "
		"came later is missing [cut_off]: node01 (rank 3) since 2026-11-22 12:01:07");
	assert_int_equal(report_fixture.tree->lost, 5);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, completeness_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_goodbyes_make_a_profile_whole),
		TEST(agents_without_a_goodbye_are_named_with_node_ranks_and_time),
		TEST(of_many_places_only_some_are_listed),
		TEST(an_agent_is_made_up_for_by_the_next_one_that_saw_the_end),
		TEST(an_agent_of_another_job_succeeds_nobody),
		TEST(the_successor_is_the_one_that_spoke_later),
		TEST(an_end_that_no_agent_saw_is_incomplete),
		TEST(samples_of_the_kernel_die_with_their_agent),
		TEST(samples_of_kernels_are_those_that_were_counted),
		TEST(a_killed_process_is_incomplete_and_no_lost_record),
		TEST(a_killed_process_lacks_more_of_its_kernels_samples),
		TEST(a_process_that_gave_up_is_recorded_in_part),
		TEST(a_stop_by_the_user_is_a_normal_end),
		TEST(a_stop_hides_no_killed_rank),
		TEST(ranks_of_parts_that_were_not_merged_are_told),
		TEST(nodes_that_did_not_join_are_counted),
		TEST(an_aggregator_that_died_is_said),
		TEST(what_found_no_room_is_counted_and_its_reason_named),
		TEST(accounts_that_do_not_close_are_incomplete),
		TEST(launches_in_no_account_are_incomplete),
		TEST(samples_do_not_hide_that_cupti_was_taken),
		TEST(a_process_that_could_not_be_recorded_is_incomplete),
		TEST(a_range_that_never_came_is_empty_and_not_incomplete),
		TEST(what_runs_on_after_the_goodbye_is_said),
		TEST(what_runs_on_is_said_beside_a_fault_and_a_stop),
		TEST(a_recording_that_was_cut_off_is_incomplete_and_its_last_launches_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
