#include "report/model/report_summary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/roster.h"
#include "report_fixture.h"

#define EXPIRED                                                                                    \
	"launches for which no GPU record came (none does for launches captured into a graph, "    \
	"nor for copies of no bytes)"

/* --- the closing line ------------------------------------------------------------------------- */

static void assert_summary(const char *expected)
{
	char line[REPORT_SUMMARY_SIZE];

	report_fixture_build(DEMANGLE_FULL);
	assert_string_equal(report_summary_line(report_fixture.tree, line, sizeof(line)), expected);
}

/* Of the tree at hand. */
static void assert_ledger(const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	report_summary_ledger(out, report_fixture.tree, "");
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void a_complete_profile_says_that_nothing_is_lost(void **state)
{
	(void)state;
	report_fixture_add_row(report_fixture_key(report_fixture_stack("main", NULL), "k"), 1234567,
			       12345678901, 0);
	assert_summary("1,234,567 kernels, 12.346 s of GPU time, 100.00 % matched; nothing lost");
	assert_int_equal(report_fixture.tree->lost, 0);
}

static void an_empty_profile_says_that_it_has_seen_nothing(void **state)
{
	(void)state;
	assert_summary("NOTHING WAS RECORDED: 1 process started CUDA, and launched no GPU work "
		       "while capture was on");
	assert_int_equal(report_fixture.tree->state, REPORT_EMPTY);
}

static void graphs_that_ran_as_one_are_counted_as_such(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), "k");

	report_fixture_add_row(key, 2, 1000, 0);
	key.kind = RECORD_GPU_GRAPH;
	key.name_id = 0;
	report_fixture_add_row(key, 1, 3000, 0);
	assert_summary("2 kernels, 1 graph, 4.000 us of GPU time, 100.00 % matched; nothing lost");
	key.matched = 0;
	report_fixture_add_row(key, 1, 1000, 0);
	assert_summary("2 kernels, 2 graphs, 5.000 us of GPU time, 75.00 % matched; nothing lost");
	assert_ledger("noted: GPU records under [unknown stack]: no launch came "
		      "[unmatched_record]: 1\n");
	assert_int_equal(report_fixture.tree->graph_ns, 4000);
	assert_int_equal(report_fixture.tree->copies, 0);
}

static void not_quite_all_is_never_called_all(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), "k");

	report_fixture_add_row(key, 999999, 999999, 0);
	key.matched = 0;
	report_fixture_add_row(key, 1, 1, 0);
	assert_summary("1,000,000 kernels, 1.000 ms of GPU time, 99.99 % matched; nothing lost");
	assert_ledger("noted: GPU records under [unknown stack]: no launch came "
		      "[unmatched_record]: 1\n");
}

static void losses_and_notes_are_told_apart(void **state)
{
	(void)state;
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 30, 0},
		{0, LEDGER_RECORDS, 25, 900},
		{0, LEDGER_RECORD_RING_FULL, 10, 77},
		{1, LEDGER_RECORD_RING_FULL, 1, 3},
		{0, LEDGER_CUPTI_DROPPED, 2, 0},
		{0, LEDGER_LAUNCH_FAILED, 4, 0},
		{0, 4242, 5, 0},
	};
	struct roster_process *one =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), "k");

	report_fixture_add_row(key, 2, 900, 0);
	key.matched = 0;
	report_fixture_add_row(key, 1, 100, 0);
	assert_int_equal(roster_process_set_ledger(one, entries, 7), 0);
	one->counts.launches = 30;
	one->counts.failed = 3;
	one->counts.expired = 6;
	one->counts.records = 14;
	assert_summary("3 kernels, 1.000 us of GPU time, 66.66 % matched; lost 13");
	assert_ledger("lost: GPU records lost: activity lane full [record_ring_full]: 11 (80 ns)\n"
		      "lost: GPU records dropped by CUPTI [cupti_dropped]: 2\n"
		      "noted: launch calls that returned an error [launch_failed]: 4\n"
		      "noted: " EXPIRED " [launch_expired]: 6\n"
		      "noted: GPU records under [unknown stack]: no launch came "
		      "[unmatched_record]: 1\n");
	assert_int_equal(report_fixture.tree->lost, 13);
	assert_int_equal(report_fixture.tree->launches, 30);
	assert_int_equal(report_fixture.tree->launches_failed, 4);
}

/* The launches have expired and their records are unmatched, and both are named once. */
static void records_of_launches_given_up_are_a_loss(void **state)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 30, 0},
		{0, LEDGER_RECORDS, 10, 1000},
	};
	struct roster_process *one =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), "k");

	(void)state;
	report_fixture_add_row(key, 2, 900, 0);
	key.matched = 0;
	report_fixture_add_row(key, 8, 100, 0);
	assert_int_equal(roster_process_set_ledger(one, entries, 2), 0);
	assert_int_equal(roster_process_count(one, LEDGER_LAUNCH_GIVEN_UP, 7), 0);
	one->counts.launches = 30;
	one->counts.expired = 9;
	one->counts.records = 10;
	assert_summary("10 kernels, 1.000 us of GPU time, 20.00 % matched; lost 7");
	assert_ledger("lost: launches given up before their GPU records came, which are under "
		      "[unknown stack] [launch_given_up]: 7\n"
		      "noted: " EXPIRED " [launch_expired]: 2\n"
		      "noted: GPU records under [unknown stack]: no launch came "
		      "[unmatched_record]: 1\n");
	assert_int_equal(report_fixture.tree->lost, 7);
}

static void an_unclean_end_is_one_process_and_no_record(void **state)
{
	(void)state;
	static const char ledger[] = "noted: processes that ended without a goodbye: their last "
				     "records may be missing [unclean_end]: 1\n";
	const struct ledger_entry entry = {LEDGER_DEVICE_NONE, LEDGER_UNCLEAN_END, 1, 0};
	struct roster_process *one =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);

	one->state = PROCESS_UNCLEAN;
	report_fixture_build(DEMANGLE_FULL);
	assert_ledger(ledger);
	assert_int_equal(report_fixture.tree->processes[0].unclean, 1);
	assert_int_equal(report_fixture.tree->lost, 0);
	assert_int_equal(roster_process_set_ledger(one, &entry, 1), 0);
	report_fixture_build(DEMANGLE_FULL);
	assert_ledger(ledger);
	assert_int_equal(report_fixture.tree->lost, 0);
}

static void simulated_devices_are_announced(void **state)
{
	(void)state;
	struct roster_device device = {
		.host = 1, .index = 1, .name = report_fixture_string("Simulated GPU")};
	uint32_t id;

	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->simulated, 0);
	assert_int_equal(roster_add_device(report_fixture.collection->roster, &device, &id), 0);
	report_fixture_add_row(report_fixture_key(report_fixture_stack("main", NULL), "k"), 1, 5,
			       0);
	assert_summary("SIMULATED GPU: 1 kernel, 5 ns of GPU time, 100.00 % matched; nothing "
		       "lost");
	assert_int_equal(report_fixture.tree->simulated, 1);
}

static void set_notices(uint32_t process, const char *first, const char *second)
{
	const uint32_t notices[] = {report_fixture_string(first),
				    second ? report_fixture_string(second) : 0};

	assert_int_equal(roster_process_set_notices(
				 roster_process(report_fixture.collection->roster, process),
				 notices, second ? 2 : 1),
			 0);
}

static void assert_notices(const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_fixture_build(DEMANGLE_FULL);
	report_summary_notices(out, report_fixture.tree, "> ");
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void notices_are_listed_once_with_how_many_said_them(void **state)
{
	(void)state;
	assert_notices("");
	set_notices(report_fixture.process_id, "unwind tables: 9 of 9 files, 5 rows",
		    "unwind tables: 8 of 9 files, 5 rows");
	assert_notices("> note: unwind tables: 8 of 9 files, 5 rows\n");
	set_notices(report_fixture.process_id, "no libcupti", "CPython 3.11.2");
	assert_notices("> note: no libcupti\n> note: CPython 3.11.2\n");
	set_notices(report_fixture_process("node02", 101, 4, 1), "CPython 3.11.2", NULL);
	set_notices(report_fixture_process("node03", 102, 5, 1), "a\tb", NULL);
	assert_notices("> note: CPython 3.11.2 (2 of 3 processes)\n"
		       "> note: no libcupti (1 of 3 processes)\n"
		       "> note: a_b (1 of 3 processes)\n");
}

/* Their times and shares differ, and one line says all. */
static void what_ranks_say_about_a_limit_is_one_line(void **state)
{
	(void)state;
	set_notices(report_fixture.process_id,
		    "launches take no stack from 1.500 s on: before, with one frame, they cost "
		    "3.100 % of their threads' time (--max-cost)",
		    "CPython 3.11.2");
	assert_notices("> note: launches take no stack from 1.500 s on: before, with one frame, "
		       "they cost 3.100 % of their threads' time (--max-cost)\n"
		       "> note: CPython 3.11.2\n");
	set_notices(report_fixture_process("node02", 101, 4, 1),
		    "launches take no stack from 1.250 s on: before, with one frame, they cost "
		    "2.100 % of their threads' time (--max-cost)",
		    NULL);
	roster_process(report_fixture.collection->roster, report_fixture.process_id)->rank = 5;
	assert_notices("> note: launches take no stack from 1.250 to 1.500 s on in ranks 4-5: "
		       "before, with one frame, they cost 2.100 to 3.100 % of their threads' time "
		       "(--max-cost) (2 of 2 processes)\n"
		       "> note: CPython 3.11.2 (1 of 2 processes)\n");
}

static void add_rank(uint32_t pid, int32_t rank, int32_t world_size, const char *job)
{
	struct roster_process *process = roster_process(
		report_fixture.collection->roster, report_fixture_process("node", pid, rank, 0));

	process->world_size = world_size;
	process->job = job ? report_fixture_string(job) : 0;
}

static void ranks_of_which_nothing_came_are_noted(void **state)
{
	(void)state;
	roster_process(report_fixture.collection->roster, report_fixture.process_id)->rank = -1;
	add_rank(300, 0, 3, "27");
	add_rank(301, 0, 3, "27"); /* two processes of a rank */
	add_rank(302, 2, 3, "27");
	add_rank(303, 0, 1, "28");
	add_rank(304, 1, -1, NULL); /* nobody knows how many there are */
	assert_notices(
		"> note: 1 of 3 ranks of job 27 are not in this profile (1): they have used no "
		"CUDA, were not recorded, or are in a part that was not merged (3 of 6 "
		"processes)\n");
	add_rank(305, 1, 3, "27");
	assert_notices("");
}

/* Different bytes may be the same words. */
static void a_process_counts_once_for_a_notice(void **state)
{
	(void)state;
	set_notices(report_fixture.process_id, "a\tb", "a_b");
	assert_notices("> note: a_b\n");
	assert_int_equal(report_fixture.tree->notices[0].nr_processes, 1);
}

static void of_very_many_notices_the_rest_is_counted(void **state)
{
	(void)state;
	char text[32];

	for (uint32_t i = 0; i < REPORT_SUMMARY_NOTICES + 3; i++) {
		snprintf(text, sizeof(text), "notice %u", i);
		set_notices(report_fixture_process("node", 200 + i, 0, 0), text, NULL);
	}
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->nr_notices, REPORT_SUMMARY_NOTICES + 3);
	char *lines;
	size_t size;
	FILE *out = open_memstream(&lines, &size);
	report_summary_notices(out, report_fixture.tree, "");
	fclose(out);
	assert_non_null(strstr(lines, "note: notice 15 (1 of 20 processes)\n"
				      "note: 3 more in the JSON report\n"));
	free(lines);
}

static void reasons_to_come_show_up_by_themselves(void **state)
{
	(void)state;
	const struct ledger_entry entries[] = {{LEDGER_DEVICE_NONE, LEDGER_STACK_PARTIAL, 2, 0},
					       {LEDGER_DEVICE_NONE, LEDGER_PYTHON_OFF, 3, 0},
					       {LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL, 4, 0}};

	assert_int_equal(roster_process_set_ledger(roster_process(report_fixture.collection->roster,
								  report_fixture.process_id),
						   entries, 3),
			 0);
	report_fixture_build(DEMANGLE_FULL);
	assert_ledger("noted: launches with native frames missing: unwind table not ready "
		      "[stack_partial]: 2\n"
		      "noted: stacks whose Python frames cannot be read [python_off]: 3\n"
		      "noted: stacks with an unnamed Python frame: code table full "
		      "[code_table_full]: 4\n");
}

static void times_are_written_in_a_fitting_unit(void **state)
{
	(void)state;
	char text[32];

	assert_string_equal(report_summary_time(999, text), "999 ns");
	assert_string_equal(report_summary_time(1000, text), "1.000 us");
	assert_string_equal(report_summary_time(999999, text), "999.999 us");
	assert_string_equal(report_summary_time(1000000, text), "1.000 ms");
	assert_string_equal(report_summary_time(86400000000000, text), "86400.000 s");
	assert_string_equal(report_summary_time(1000499, text), "1.000 ms");
	assert_string_equal(report_summary_time(1000500, text), "1.001 ms");
	assert_string_equal(report_summary_time(999999499, text), "999.999 ms");
	assert_string_equal(report_summary_time(999999500, text), "1.000 s");
	assert_string_equal(report_summary_share(1, 3, text), "33.33%");
	assert_string_equal(report_summary_share(2, 3, text), "66.67%");
	assert_string_equal(report_summary_share(99999, 100000, text), "> 99.99%");
	assert_string_equal(report_summary_share(1, 1, text), "100.00%");
	assert_string_equal(report_summary_share(1, 100000, text), "< 0.01%");
	assert_string_equal(report_summary_share(0, 0, text), "0.00%");
	assert_string_equal(report_summary_count(0, text), "0");
	assert_string_equal(report_summary_count(999, text), "999");
	assert_string_equal(report_summary_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_complete_profile_says_that_nothing_is_lost),
		TEST(an_empty_profile_says_that_it_has_seen_nothing),
		TEST(graphs_that_ran_as_one_are_counted_as_such),
		TEST(not_quite_all_is_never_called_all),
		TEST(losses_and_notes_are_told_apart),
		TEST(records_of_launches_given_up_are_a_loss),
		TEST(an_unclean_end_is_one_process_and_no_record),
		TEST(simulated_devices_are_announced),
		TEST(notices_are_listed_once_with_how_many_said_them),
		TEST(what_ranks_say_about_a_limit_is_one_line),
		TEST(ranks_of_which_nothing_came_are_noted),
		TEST(a_process_counts_once_for_a_notice),
		TEST(of_very_many_notices_the_rest_is_counted),
		TEST(reasons_to_come_show_up_by_themselves),
		TEST(times_are_written_in_a_fitting_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
