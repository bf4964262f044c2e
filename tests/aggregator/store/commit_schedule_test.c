#include "aggregator/store/commit_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000ull

static struct commit_schedule changed_at(uint64_t now_ns)
{
	struct commit_schedule schedule = {.changed = true};

	commit_schedule_date(&schedule, now_ns, 0);
	return schedule;
}

static void nothing_is_committed_while_nothing_has_changed(void **state)
{
	struct commit_schedule schedule = {.hurry = true};

	(void)state;
	commit_schedule_date(&schedule, 5 * MS, 0);
	assert_false(commit_schedule_is_due(&schedule, UINT64_MAX, COMMIT_SCHEDULE_ROWS));
	assert_int_equal(commit_schedule_until(&schedule, 1000 * MS), 1000 * MS);
}

static void a_change_is_committed_after_the_interval(void **state)
{
	struct commit_schedule schedule = changed_at(5 * MS);

	(void)state;
	commit_schedule_date(&schedule, 50 * MS, 0); /* later changes put it off no further */
	assert_false(commit_schedule_is_due(&schedule, 105 * MS - 1, 0));
	assert_int_equal(commit_schedule_until(&schedule, 1000 * MS), 105 * MS);
	assert_int_equal(commit_schedule_until(&schedule, 7 * MS), 7 * MS);
	assert_true(commit_schedule_is_due(&schedule, 105 * MS, 0));
}

static void much_at_once_is_committed_before(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	schedule.bytes = COMMIT_SCHEDULE_BYTES - 1;
	assert_false(commit_schedule_is_due(&schedule, 1, 0));
	schedule.bytes++;
	assert_true(commit_schedule_is_due(&schedule, 1, 0));
	schedule = changed_at(0);
	assert_false(commit_schedule_is_due(&schedule, 1, COMMIT_SCHEDULE_ROWS - 1));
	assert_true(commit_schedule_is_due(&schedule, 1, COMMIT_SCHEDULE_ROWS));
	commit_schedule_done(&schedule, 0, 0);
	assert_false(commit_schedule_is_due(&schedule, UINT64_MAX, COMMIT_SCHEDULE_ROWS));
	schedule = changed_at(0);
	assert_false(commit_schedule_is_due(&schedule, 1, 0));
	schedule.hurry = true;
	assert_true(commit_schedule_is_due(&schedule, 1, 0));
}

static void frames_of_many_agents_are_not_added_up(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	for (uint32_t agent = 0; agent < 1000; agent++)
		commit_schedule_note(&schedule, COMMIT_SCHEDULE_FRAMES - 1);
	assert_false(commit_schedule_is_due(&schedule, 1, 0));
	commit_schedule_note(&schedule, COMMIT_SCHEDULE_FRAMES);
	commit_schedule_note(&schedule, 1);
	assert_true(commit_schedule_is_due(&schedule, 1, 0));
	commit_schedule_done(&schedule, 0, 0);
	schedule.changed = true;
	assert_false(commit_schedule_is_due(&schedule, 1, 0));
}

static void after_a_failure_nothing_makes_it_sooner(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	schedule.hurry = true;
	schedule.bytes = COMMIT_SCHEDULE_BYTES;
	commit_schedule_fail(&schedule, 7 * MS);
	assert_false(commit_schedule_is_due(&schedule, 1007 * MS - 1, COMMIT_SCHEDULE_ROWS));
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), 1007 * MS);
	assert_true(commit_schedule_is_due(&schedule, 1007 * MS, 0));
	commit_schedule_done(&schedule, 0, 0);
	assert_false(schedule.failed || schedule.changed || schedule.hurry);
}

static void commits_keep_a_distance_while_changes_go_on(void **state)
{
	struct commit_schedule schedule = changed_at(5 * MS);

	(void)state;
	commit_schedule_done(&schedule, 105 * MS, 0);
	schedule.changed = true;
	commit_schedule_date(&schedule, 110 * MS, 0);
	assert_false(commit_schedule_is_due(&schedule, 605 * MS - 1, 0));
	assert_true(commit_schedule_is_due(&schedule, 605 * MS, 0));
	schedule.hurry = true;
	assert_true(commit_schedule_is_due(&schedule, 110 * MS, 0));
	commit_schedule_done(&schedule, 110 * MS, 0);
	schedule.changed = true;
	commit_schedule_date(&schedule, 550 * MS, 0); /* a change after a rest does not wait long */
	assert_false(commit_schedule_is_due(&schedule, 650 * MS - 1, 0));
	assert_true(commit_schedule_is_due(&schedule, 650 * MS, 0));
	commit_schedule_done(&schedule, 650 * MS, 0);
	schedule.changed = true;
	commit_schedule_date(&schedule, 651 * MS, 3);
	assert_true(commit_schedule_is_due(&schedule, 654 * MS, 0));
}

static void the_interval_can_be_chosen(void **state)
{
	struct commit_schedule schedule = {.changed = true};

	(void)state;
	commit_schedule_date(&schedule, 0, 3);
	assert_false(commit_schedule_is_due(&schedule, 3 * MS - 1, 0));
	assert_true(commit_schedule_is_due(&schedule, 3 * MS, 0));
}

/* The first commit is whole, since no message tells of new agents. */
static void a_costly_whole_commit_is_followed_by_commits_of_messages(void **state)
{
	struct commit_schedule schedule = changed_at(0);
	const uint64_t next_ns = 100 * MS + COMMIT_SCHEDULE_WHOLE_TIMES * 20 * MS;

	(void)state;
	assert_true(commit_schedule_is_whole(&schedule, 100 * MS, 0));
	commit_schedule_done(&schedule, 100 * MS, 20 * MS);
	assert_true(commit_schedule_is_clean(&schedule));
	schedule.changed = true;
	assert_false(commit_schedule_is_whole(&schedule, next_ns - 1, COMMIT_SCHEDULE_ROWS - 1));
	commit_schedule_logged(&schedule, 600 * MS, false);
	assert_false(commit_schedule_is_clean(&schedule));
	/* Even if nothing more comes. */
	assert_false(commit_schedule_is_due(&schedule, next_ns - 1, 0));
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), next_ns);
	assert_true(commit_schedule_is_due(&schedule, next_ns, 0));
	assert_true(commit_schedule_is_whole(&schedule, next_ns, 0));
	commit_schedule_done(&schedule, next_ns, 1000000 * MS);
	assert_true(commit_schedule_is_clean(&schedule));
	schedule.changed = true;
	assert_true(
		commit_schedule_is_whole(&schedule, next_ns + COMMIT_SCHEDULE_WHOLE_MS * MS, 0));
}

static void cheap_commits_are_all_whole(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	commit_schedule_done(&schedule, 100 * MS,
			     COMMIT_SCHEDULE_APART_MS * MS / COMMIT_SCHEDULE_WHOLE_TIMES);
	schedule.changed = true;
	assert_true(commit_schedule_is_whole(&schedule, 100 * MS, 0));
}

static void commits_that_readers_wait_for_and_large_ones_are_whole(void **state)
{
	struct commit_schedule schedule = {.changed = true, .whole_ns = 9000 * MS};

	(void)state;
	assert_false(commit_schedule_is_whole(&schedule, 1, 0));
	assert_true(commit_schedule_is_whole(&schedule, 1, COMMIT_SCHEDULE_ROWS));
	schedule.whole = true;
	assert_true(commit_schedule_is_whole(&schedule, 1, 0));
	schedule.whole = false;
	schedule.hurry = true;
	assert_true(commit_schedule_is_whole(&schedule, 1, 0));
	schedule.hurry = false;
	schedule.bytes = COMMIT_SCHEDULE_BYTES / 2;
	commit_schedule_logged(&schedule, 1, false);
	schedule.bytes = COMMIT_SCHEDULE_BYTES / 2 - 1;
	assert_false(commit_schedule_is_whole(&schedule, 1, 0));
	schedule.bytes++;
	assert_true(commit_schedule_is_whole(&schedule, 1, 0));
}

static void readers_may_ask_for_whole_commits_more_often(void **state)
{
	struct commit_schedule schedule = changed_at(0);
	const uint64_t next_ns = 100 * MS + COMMIT_SCHEDULE_WANTED_TIMES * 20 * MS;

	(void)state;
	assert_true(commit_schedule_heeds_readers(&schedule, 1));
	commit_schedule_done(&schedule, 100 * MS, 20 * MS);
	schedule.changed = true;
	commit_schedule_logged(&schedule, 300 * MS, false);
	assert_false(commit_schedule_heeds_readers(&schedule, next_ns - 1));
	assert_true(commit_schedule_heeds_readers(&schedule, next_ns));
	assert_false(commit_schedule_is_whole(&schedule, next_ns, 0));
	commit_schedule_done(&schedule, next_ns, 1000000 * MS);
	assert_true(
		commit_schedule_heeds_readers(&schedule, next_ns + COMMIT_SCHEDULE_WHOLE_MS * MS));
}

static void a_whole_commit_that_failed_is_tried_again_as_one(void **state)
{
	struct commit_schedule schedule = {.changed = true, .whole_ns = 50 * MS};

	(void)state;
	commit_schedule_logged(&schedule, 10 * MS, false);
	assert_true(commit_schedule_is_due(&schedule, 50 * MS, 0));
	commit_schedule_fail(&schedule, 50 * MS);
	assert_false(commit_schedule_is_due(&schedule, 1050 * MS - 1, 0));
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), 1050 * MS);
	assert_true(commit_schedule_is_due(&schedule, 1050 * MS, 0));
	assert_true(commit_schedule_is_whole(&schedule, 1050 * MS, 0));
}

/* Messages that are not kept are in no commit but a whole one. */
static void messages_are_kept_until_only_a_whole_commit_can_follow(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	schedule.whole_ns = UINT64_MAX;
	schedule.behind_bytes = 1;
	schedule.bytes = COMMIT_SCHEDULE_BYTES - 2;
	assert_true(commit_schedule_takes_messages(&schedule));
	assert_false(commit_schedule_is_whole(&schedule, 0, 0));
	schedule.bytes++;
	assert_true(commit_schedule_takes_messages(&schedule));
	assert_true(commit_schedule_is_whole(&schedule, 0, 0));
	schedule.bytes += COMMIT_SCHEDULE_SPARE;
	assert_false(commit_schedule_takes_messages(&schedule));
	commit_schedule_fail(&schedule, 0);
	assert_false(commit_schedule_takes_messages(&schedule));
	assert_true(commit_schedule_is_whole(&schedule, 0, 0));
	commit_schedule_done(&schedule, 0, 0);
	assert_true(commit_schedule_takes_messages(&schedule));
	schedule.whole = true;
	assert_false(commit_schedule_takes_messages(&schedule));
}

/* Else agents would wait for the whole commit, too. */
static void messages_are_stored_before_a_long_whole_commit(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	commit_schedule_done(&schedule, 0, COMMIT_SCHEDULE_LONG_MS * MS);
	schedule.changed = true;
	assert_true(commit_schedule_tells_first(&schedule));
	commit_schedule_logged(&schedule, 900 * MS, true);
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), 900 * MS);
	assert_true(commit_schedule_is_due(&schedule, 900 * MS, 0));
	schedule.changed = true; /* what comes in between does not put it off */
	assert_true(commit_schedule_is_whole(&schedule, 900 * MS, 0));
	assert_false(commit_schedule_tells_first(&schedule));
	commit_schedule_fail(&schedule, 900 * MS);
	assert_false(commit_schedule_is_due(&schedule, 1900 * MS - 1, 0));
	assert_true(commit_schedule_is_whole(&schedule, 1900 * MS, 0));
	commit_schedule_done(&schedule, 1900 * MS, COMMIT_SCHEDULE_LONG_MS * MS);
	assert_false(commit_schedule_is_due(&schedule, 1900 * MS, 0));
}

/* What came during it is read after it, and waits no longer than it must. */
static void after_a_long_whole_commit_messages_catch_up(void **state)
{
	struct commit_schedule schedule = changed_at(0);

	(void)state;
	commit_schedule_done(&schedule, 100 * MS, 700 * MS);
	schedule.changed = true;
	commit_schedule_date(&schedule, 800 * MS, 0);
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), 900 * MS);
	commit_schedule_logged(&schedule, 900 * MS, false);
	schedule.changed = true;
	commit_schedule_date(&schedule, 901 * MS, 0);
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX),
			 (900 + COMMIT_SCHEDULE_LATE_MS) * MS);
	commit_schedule_logged(&schedule, 1100 * MS, false);
	schedule.changed = true;
	commit_schedule_date(&schedule, 1101 * MS, 0);
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX),
			 (1100 + COMMIT_SCHEDULE_APART_MS) * MS);
}

static void a_whole_commit_comes_at_once_where_messages_are_in_no_other(void **state)
{
	const struct commit_schedule schedule = {.changed = true,
						 .cpu_ns = COMMIT_SCHEDULE_LONG_MS * MS};
	struct commit_schedule other = schedule;

	(void)state;
	assert_true(commit_schedule_tells_first(&schedule));
	other.cpu_ns--; /* it is not long */
	assert_false(commit_schedule_tells_first(&other));
	other = schedule;
	other.changed = false; /* nothing is new */
	assert_false(commit_schedule_tells_first(&other));
	other = schedule;
	other.whole = true;
	assert_false(commit_schedule_tells_first(&other));
	other = schedule;
	other.hurry = true;
	assert_false(commit_schedule_tells_first(&other));
	other = schedule;
	other.bytes = COMMIT_SCHEDULE_BYTES + COMMIT_SCHEDULE_SPARE;
	assert_false(commit_schedule_tells_first(&other));
	other = schedule;
	commit_schedule_fail(&other, 0);
	assert_false(commit_schedule_tells_first(&other));
}

/* A whole commit has rows of each process, whatever has come. */
static void many_processes_make_whole_commits_rarer(void **state)
{
	struct commit_schedule schedule = {
		.changed = true, .whole_ns = 9000 * MS, .nr_processes = 1000};
	const uint32_t rows = COMMIT_SCHEDULE_ROWS + 1000 * COMMIT_SCHEDULE_PROCESS_ROWS;

	(void)state;
	assert_false(commit_schedule_is_due(&schedule, 1, rows - 1));
	assert_true(commit_schedule_is_due(&schedule, 1, rows));
	assert_false(commit_schedule_is_whole(&schedule, 1, rows - 1));
	assert_true(commit_schedule_is_whole(&schedule, 1, rows));
	schedule.bytes = COMMIT_SCHEDULE_BYTES; /* that agents wait for */
	assert_true(commit_schedule_is_due(&schedule, 1, 0));
	assert_false(commit_schedule_is_whole(&schedule, 1, 0));
	commit_schedule_logged(&schedule, 1, false);
	schedule.bytes = 1000 * COMMIT_SCHEDULE_PROCESS_BYTES - 1;
	assert_false(commit_schedule_is_whole(&schedule, 1, 0));
	schedule.bytes++;
	assert_true(commit_schedule_is_whole(&schedule, 1, 0));
	schedule.bytes += COMMIT_SCHEDULE_SPARE - 1;
	assert_true(commit_schedule_takes_messages(&schedule));
	schedule.bytes++;
	assert_false(commit_schedule_takes_messages(&schedule));
	commit_schedule_done(&schedule, 1, 0);
	assert_int_equal(schedule.nr_processes, 1000);
}

static void a_commit_of_mostly_definitions_is_whole(void **state)
{
	struct commit_schedule schedule = {.changed = true,
					   .whole_ns = 9000 * MS,
					   .cpu_ns = COMMIT_SCHEDULE_LONG_MS * MS,
					   .bytes = 2 * COMMIT_SCHEDULE_DEFINITIONS,
					   .definition_bytes = COMMIT_SCHEDULE_DEFINITIONS};

	(void)state;
	assert_false(commit_schedule_is_whole(&schedule, 1, 0)); /* half of it are others */
	assert_true(commit_schedule_tells_first(&schedule));
	commit_schedule_logged(&schedule, 1, false);
	schedule.changed = true;
	schedule.definition_bytes += 2;
	schedule.bytes = 2;
	assert_true(commit_schedule_is_whole(&schedule, 1, 0));
	assert_false(commit_schedule_tells_first(&schedule));
	commit_schedule_done(&schedule, 1, 0);
	assert_int_equal(schedule.definition_bytes, 0);
	schedule = (struct commit_schedule){.whole_ns = 9000 * MS,
					    .bytes = COMMIT_SCHEDULE_DEFINITIONS - 1,
					    .definition_bytes = COMMIT_SCHEDULE_DEFINITIONS - 1};
	assert_false(commit_schedule_is_whole(&schedule, 1, 0));
}

/* Each of their commits is whole. */
static void agents_that_end_together_share_a_commit(void **state)
{
	struct commit_schedule schedule = changed_at(0);
	const uint64_t next_ns = 100 * MS + COMMIT_SCHEDULE_HURRY_TIMES * 50 * MS;

	(void)state;
	schedule.hurry = true;
	assert_true(commit_schedule_is_due(&schedule, 0, 0)); /* the first one does not wait */
	commit_schedule_done(&schedule, 100 * MS, 50 * MS);
	schedule.changed = schedule.hurry = true;
	commit_schedule_date(&schedule, 120 * MS, 0);
	assert_false(commit_schedule_is_due(&schedule, next_ns - 1, 0));
	assert_int_equal(commit_schedule_until(&schedule, UINT64_MAX), next_ns);
	assert_true(commit_schedule_is_due(&schedule, next_ns, 0));
	commit_schedule_done(&schedule, next_ns, 1000000 * MS);
	schedule.changed = schedule.hurry = true;
	assert_false(commit_schedule_is_due(&schedule, next_ns, 0));
	assert_true(commit_schedule_is_due(&schedule, next_ns + COMMIT_SCHEDULE_APART_MS * MS, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_processes_make_whole_commits_rarer),
		cmocka_unit_test(a_commit_of_mostly_definitions_is_whole),
		cmocka_unit_test(agents_that_end_together_share_a_commit),
		cmocka_unit_test(messages_are_stored_before_a_long_whole_commit),
		cmocka_unit_test(after_a_long_whole_commit_messages_catch_up),
		cmocka_unit_test(a_whole_commit_comes_at_once_where_messages_are_in_no_other),
		cmocka_unit_test(messages_are_kept_until_only_a_whole_commit_can_follow),
		cmocka_unit_test(nothing_is_committed_while_nothing_has_changed),
		cmocka_unit_test(a_change_is_committed_after_the_interval),
		cmocka_unit_test(much_at_once_is_committed_before),
		cmocka_unit_test(frames_of_many_agents_are_not_added_up),
		cmocka_unit_test(after_a_failure_nothing_makes_it_sooner),
		cmocka_unit_test(commits_keep_a_distance_while_changes_go_on),
		cmocka_unit_test(the_interval_can_be_chosen),
		cmocka_unit_test(a_costly_whole_commit_is_followed_by_commits_of_messages),
		cmocka_unit_test(cheap_commits_are_all_whole),
		cmocka_unit_test(commits_that_readers_wait_for_and_large_ones_are_whole),
		cmocka_unit_test(readers_may_ask_for_whole_commits_more_often),
		cmocka_unit_test(a_whole_commit_that_failed_is_tried_again_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
