#include "report/watch/watch_absence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/watch/watch_waits.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "watched_job.h"

static uint32_t nr_begun, nr_come;

static int count_waits(void *context, const struct watch_wait *wait, bool begins)
{
	(void)context;
	(void)wait;
	nr_begun += begins;
	nr_come += !begins;
	return 0;
}

/* All ranks but those with a bit call the next collective, whose kernel does not end. */
static void wait_for(uint32_t absent)
{
	watched.steps++;
	watched.now_ns += WORK * MS;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		const struct collective call = job_all_reduce(
			1, watched.steps, 99, watched_clock(rank, watched.now_ns), MS);

		if (!(absent & 1u << rank))
			job_call(watched.processes[rank], &call);
	}
}

static void a_rank_that_has_not_come_is_found(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	wait_for(1u << 5);
	struct watch_look found = watched_look();
	const uint64_t before = found.nr_absences ? found.absences[0].progress : 0;

	assert_int_equal(found.nr_findings, 0);
	assert_int_equal(found.nr_absences, 1);
	assert_string_equal(found.absences[0].finding.name, "rank 5 on node01");
	assert_string_equal(found.absences[0].finding.text,
			    "has not come to collective 41 (all_reduce, all ranks); 7 ranks wait "
			    "for it");
	assert_int_equal(found.absences[0].finding.nr_ranks, 1);
	assert_int_equal(found.absences[0].finding.ranks[0], 5);
	assert_in_range(found.absences[0].usual_ns / MS, 100, 120);
	assert_false(found.absences[0].has_ended);
	watch_look_fini(&found);
	found = watched_look();
	assert_int_equal(found.absences[0].progress, before);
	watch_look_fini(&found);
	job_end_at(watched.processes[5], JOB_DIES, 5);
	found = watched_look();
	assert_true(found.absences[0].has_ended);
	assert_non_null(strstr(found.absences[0].finding.text, "; its process has ended; 7 ranks"));
	watch_look_fini(&found);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		if (rank != 5)
			job_end_at(watched.processes[rank], JOB_TERMINATED, 6);
	found = watched_look();
	assert_true(found.absences[0].is_over);
	watch_look_fini(&found);
}

static void ranks_that_die_together_wait_for_nobody(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	wait_for(1u << 5);
	job_end_at(watched.processes[5], JOB_DIES, 5);
	job_end_at(watched.processes[6], JOB_DIES, 5);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_absences, 1);
	assert_string_equal(found.absences[0].finding.name, "ranks 5-6 on node01");
	assert_non_null(strstr(found.absences[0].finding.text,
			       "have not come to, or died in, collective 41 (all_reduce, all "
			       "ranks); their processes have ended; 6 ranks wait for them"));
	assert_int_equal(found.absences[0].nr_waiting, 6);
	assert_true(found.absences[0].has_ended);
	watch_look_fini(&found);
}

static void a_rank_that_was_ended_has_not_died(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	wait_for(1u << 5);
	job_end_at(watched.processes[5], JOB_TERMINATED, 5);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_absences, 1);
	assert_false(found.absences[0].has_ended);
	watch_look_fini(&found);
}

static void a_host_that_has_not_come_is_found_as_the_host(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	wait_for(0xf0);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_absences, 1);
	assert_string_equal(found.absences[0].finding.name, "node02 (4 ranks: 4-7)");
	assert_true(found.absences[0].finding.is_group);
	assert_int_equal(found.absences[0].finding.nr_ranks, 4);
	assert_int_equal(found.absences[0].nr_waiting, 4);
	watch_look_fini(&found);
}

static void with_capture_windows_nobody_is_missing(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	wait_for(1u << 5);
	job_window(watched.processes[3]);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_absences, 0);
	watch_look_fini(&found);
}

static void ranks_that_never_started_are_found(void **state)
{
	struct watch_waits waits = {.list = NULL};

	(void)state;
	job_world(RANKS + 2);
	watched.processes[0] =
		job_process(RANKS); /* the newest tells the size; its rank 9 is not there */
	struct watch_look found = watched_look();
	assert_int_equal(found.nr_absences, 1);
	const struct watch_absence *absence = &found.absences[0];
	assert_non_null(strstr(absence->finding.name, "ranks of "));
	assert_string_equal(absence->finding.text,
			    "rank 9 has not started, or used no CUDA yet: 9 of 10 are here");
	assert_int_equal(absence->finding.nr_ranks, 1);
	assert_int_equal(absence->finding.ranks[0], 9);
	nr_begun = nr_come = 0;
	for (uint64_t s = 0; s <= 61; s++)
		assert_int_equal(
			watch_waits_take(&waits, absence, 1, s * 1000 * MS, count_waits, NULL), 0);
	assert_int_equal(nr_begun, 1);
	assert_int_equal(watch_waits_take(&waits, NULL, 0, 62000 * MS, count_waits, NULL), 0);
	assert_int_equal(nr_come, 1);
	watch_look_fini(&found);
	watch_waits_fini(&waits);
	job_process(RANKS + 1);
	found = watched_look();
	assert_int_equal(found.nr_absences, 0);
	watch_look_fini(&found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, watched_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_rank_that_has_not_come_is_found),
		TEST(ranks_that_die_together_wait_for_nobody),
		TEST(a_rank_that_was_ended_has_not_died),
		cmocka_unit_test_setup_teardown(a_host_that_has_not_come_is_found_as_the_host,
						watched_set_up_hosts, job_tear_down),
		TEST(with_capture_windows_nobody_is_missing),
		TEST(ranks_that_never_started_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
