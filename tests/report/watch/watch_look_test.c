#include "report/watch/watch_causes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/watch/watch_look.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_training.h"
#include "watched_job.h"

static void equal_ranks_are_not_late(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		watched_train(10, 0, 4);
		struct watch_look found = watched_look();

		assert_int_equal(found.nr_findings, 0);
		assert_int_equal(found.newest, watched.steps);
		watch_look_fini(&found);
	}
}

/* Of 100 ms steps the window has those of six seconds, and the one before them. */
static void the_window_has_the_newest_collectives(void **state)
{
	(void)state;
	watched_train(100, 0, 0);
	struct watch_look found = watched_look();

	assert_int_equal(found.compared, 61);
	watch_look_fini(&found);
}

static void of_long_steps_it_has_as_many_as_a_verdict_needs(void **state)
{
	(void)state;
	watched_train(10, 0, 0);
	for (int i = 0; i < 40; i++) {
		watched.now_ns += 2000 * MS;
		watched_train(1, 0, 0);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.compared, WATCH_LOOK_LEAST);
	watch_look_fini(&found);
}

static void a_late_rank_is_named_with_what_it_costs(void **state)
{
	(void)state;
	watched_train(100, 0, 0.1);
	watched_train(30, 10, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	const struct watch_finding *rank = &found.findings[0];
	assert_string_equal(rank->name, "rank 5 on node01");
	assert_string_equal(rank->communicator, "all ranks");
	assert_false(rank->is_group);
	assert_int_equal(rank->nr_ranks, 1);
	assert_int_equal(rank->ranks[0], 5);
	assert_int_equal(rank->used, found.compared);
	/* 29 steps of 111 ms, from the first late call to the newest one: they are those of the first rank */
	assert_true(rank->age_ns / MS >= 3200 && rank->age_ns / MS <= 3240);
	assert_int_equal(rank->step.collectives, 1);
	assert_true(rank->step.now_ns > 110900000 && rank->step.now_ns < 111200000);
	assert_true(rank->step.without_ns > 101000000 && rank->step.without_ns < 101300000);
	watch_look_fini(&found);
}

/* Of 48 collectives it is the last in 14: a part of the window. These have no numbers of the run. */
static void a_part_of_the_window_is_told_by_its_length(void **state)
{
	(void)state;
	watched_train(100, 0, 0.1);
	watched_train(14, 100, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_int_equal(found.findings[0].ground, STRAGGLER_PHASE);
	assert_string_equal(found.findings[0].text,
			    "late in 14 of the newest 48 collectives of all ranks; each other rank "
			    "waited 1.400 s for it, 22.75 % of the newest 6.153 s");
	watch_look_fini(&found);
}

/* 45 late steps of 111 ms are left in the window, and 15 others of 101 ms follow. The first rank calls 10 ms before the late one. */
static void a_look_tells_when_a_lateness_ended(void **state)
{
	(void)state;
	watched_train(100, 10, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_int_equal(found.findings[0].over_ns, 0);
	watch_look_fini(&found);
	watched_train(15, 0, 0.1);
	found = watched_look();
	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 5 on node01");
	assert_in_range(found.findings[0].over_ns, 1510 * MS, 1530 * MS);
	watch_look_fini(&found);
}

/* The window of steps of a second has 32 of them, of which 11 are not enough; the last 12 are. */
static void of_long_steps_the_last_ones_suffice(void **state)
{
	(void)state;
	for (int i = 0; i < 51; i++) {
		watched.now_ns += 900 * MS;
		watched_train(1, i < 40 ? 0 : 200, 1);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 5 on node01");
	assert_int_equal(found.findings[0].used, WATCH_LOOK_FEW);
	assert_int_equal(found.compared, WATCH_LOOK_LEAST);
	watch_look_fini(&found);
}

static void what_was_late_before_the_window_is_over(void **state)
{
	(void)state;
	watched_train(100, 10, 0.1);
	watched_train(70, 0, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 0);
	watch_look_fini(&found);
}

/* A step has three collectives, of which two are alike; rank 5 is late before the first. */
static void train_parts(uint32_t steps, uint32_t nr_parts, uint64_t late_ms)
{
	for (uint32_t i = 0; i < 3 * steps + nr_parts; i++) {
		const uint32_t part = i % 3;
		const uint64_t begin_ns = watched.now_ns;

		watched.steps++;
		watched.now_ns += part ? 11 * MS : (101 + late_ms) * MS;
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			uint64_t work_ms = part ? 10 : rank == 5 ? 100 + late_ms : 100;
			struct collective call = job_all_reduce(
				1, watched.steps, 0, watched_clock(rank, begin_ns + work_ms * MS),
				watched.now_ns - begin_ns - work_ms * MS);

			call.bytes = part == 2 ? 1000 : 4000;
			job_call(watched.processes[rank], &call);
		}
	}
}

static void a_step_may_have_several_collectives(void **state)
{
	(void)state;
	train_parts(40, 0, 20);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_int_equal(found.findings[0].step.collectives, 3);
	assert_int_equal(found.findings[0].step.now_ns / MS, 143);
	assert_int_equal(found.findings[0].step.without_ns / MS, 123);
	watch_look_fini(&found);
}

/* The onset lies before the window, and the newest collective is the one to which the rank is late: that is no onset. */
static void a_collective_of_a_step_is_no_onset(void **state)
{
	(void)state;
	for (uint32_t nr_parts = 1; nr_parts < 3; nr_parts++) {
		job_tear_down(state);
		watched_set_up(state);
		train_parts(40, nr_parts, 120);
		struct watch_look found = watched_look();

		assert_int_equal(found.nr_findings, 1);
		assert_int_equal(found.findings[0].step.collectives, 3);
		assert_int_equal(found.findings[0].step.now_ns / MS, 243);
		assert_int_equal(found.findings[0].step.without_ns / MS, 123);
		assert_true(found.findings[0].age_ns > 5000 * MS);
		watch_look_fini(&found);
	}
}

/* The newest kernels have not come yet: the host's time of the call is not that of the collective. */
static void collectives_whose_kernels_are_missing_wait(void **state)
{
	struct collective call;

	(void)state;
	watched_train(40, 0, 0);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		call = job_all_reduce(1, watched.steps + 1, 77, watched_clock(rank, watched.now_ns),
				      MS);
		job_call(watched.processes[rank], &call);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.compared, 39);
	assert_int_equal(found.newest, 40);
	watch_look_fini(&found);
}

static void collectives_that_a_rank_lacks_wait(void **state)
{
	struct collective call;

	(void)state;
	watched_train(40, 0, 0);
	for (uint32_t rank = 1; rank < RANKS; rank++) {
		call = job_all_reduce(1, watched.steps + 1, 0, watched_clock(rank, watched.now_ns),
				      MS);
		job_call(watched.processes[rank], &call);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.compared, 39);
	watch_look_fini(&found);
}

/* Calls are folded at a commit, and most of their rows are gone. */
static void folded_calls_are_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < 14; i++) {
		watched_train(100, 0, 0.1);
		job_commit();
	}
	watched_train(30, 10, 0.1);
	struct watch_look found = watched_look();

	assert_true(found.compared >= 50);
	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 5 on node01");
	watch_look_fini(&found);
}

/* Ranks also wait in receives, which the replay does not know. */
static void with_messages_a_step_is_not_computed(void **state)
{
	struct collective call;

	(void)state;
	watched_train(60, 10, 0.1);
	for (uint32_t rank = 0; rank < 2; rank++) {
		call = job_all_reduce(1, watched.steps + 1, 0, watched_clock(rank, watched.now_ns),
				      MS);
		call.function = rank ? COLLECTIVE_RECV : COLLECTIVE_SEND;
		call.peer = !rank;
		call.function_sequence = 1;
		job_call(watched.processes[rank], &call);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_in_range(found.findings[0].step.now_ns, 110 * MS, 112 * MS);
	assert_int_equal(found.findings[0].step.without_ns, 0);
	watch_look_fini(&found);
}

/* Each rank sends to the next one: stages of a pipeline, whose schedule makes one of them the last. */
static void stages_of_a_pipeline_are_not_compared(void **state)
{
	(void)state;
	watched_train(60, 10, 0.1);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t back = 0; back < 2; back++) {
			struct collective call =
				job_all_reduce(1, watched.steps + 1 + back, 0,
					       watched_clock(rank, watched.now_ns), MS);

			if (back ? rank == 0 : rank == RANKS - 1)
				continue;
			call.function = back ? COLLECTIVE_RECV : COLLECTIVE_SEND;
			call.peer = back ? rank - 1 : rank + 1;
			call.function_sequence = 1;
			job_call(watched.processes[rank], &call);
		}
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 0);
	assert_true(found.compared > 50);
	watch_look_fini(&found);
}

/* Four pairs exchange 4 MiB; the third one takes twice as long. */
static void a_slow_link_is_found(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		job_communicator(watched.processes[rank], 2, WORLD + 1 + rank / 2, rank % 2, 2);
	for (uint32_t i = 1; i <= 40; i++) {
		watched.now_ns += 100 * MS;
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			const uint64_t start_ns = watched_clock(rank, watched.now_ns);
			struct collective call = job_all_reduce(2, i, i, start_ns, 1000);
			const struct job_kernel kernel = {
				.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
				.stack = "train.py:step",
				.correlation_id = i,
				.tid = 9,
				.start_ns = start_ns + 2000,
				.ns = (rank / 2 == 2 ? 2 : 1) * MS +
				      (uint64_t)(1000 * job_normal(&watched.seed) + 5000),
			};

			call.bytes = 4 << 20;
			job_call(watched.processes[rank], &call);
			job_kernel(watched.processes[rank], &kernel);
		}
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_true(found.findings[0].is_link);
	assert_string_equal(found.findings[0].name, "link of ranks 4-5");
	assert_non_null(strstr(found.findings[0].text, ", 3 similar communicators at "));
	assert_int_equal(found.findings[0].nr_ranks, 2);
	assert_int_equal(found.findings[0].ranks[0], 4);
	watch_look_fini(&found);
}

/* A communicator that is used no more has no part in what is now. */
static void an_old_communicator_is_left_out(void **state)
{
	(void)state;
	watched_train(60, 10, 0.1);
	watched.now_ns += 25000 * MS;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		job_communicator(watched.processes[rank], 2, WORLD + 1, rank, RANKS);
		const struct collective call =
			job_all_reduce(2, 2, 0, watched_clock(rank, watched.now_ns), MS);
		job_call(watched.processes[rank], &call);
	}
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 0);
	assert_int_equal(found.compared, 1);
	watch_look_fini(&found);
}

/* The job starts its ranks anew, of which none is late. */
static void ranks_that_have_ended_are_late_no_longer(void **state)
{
	(void)state;
	watched_train(60, 20, 0.1);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		job_end(watched.processes[rank]);
		watched.processes[rank] = job_process((int32_t)rank);
		job_communicator(watched.processes[rank], 1, WORLD + 1, rank, RANKS);
	}
	watched.steps = 0;
	watched_train(20, 0, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 0);
	assert_int_equal(found.compared, 19);
	watch_look_fini(&found);
}

static void a_stall_is_told_when_it_lies_behind(void **state)
{
	struct watch_look found;

	(void)state;
	watched_train(40, 0, 1);
	watched_train(1, 1500, 1);
	found = watched_look();
	assert_int_equal(found.nr_findings, 1);
	assert_false(found.findings[0].is_over);
	watch_look_fini(&found);
	watched_train(30, 0, 1);
	found = watched_look();
	assert_int_equal(found.nr_findings, 1);
	assert_int_equal(found.findings[0].ground, STRAGGLER_STALL);
	assert_true(found.findings[0].is_over);
	assert_int_equal(found.findings[0].step.now_ns, 0);
	assert_string_equal(found.findings[0].text,
			    "once; each other rank waited 1.501 s for it, 24.98 % of the newest "
			    "6.010 s and 96 % of all waiting");
	watch_look_fini(&found);
}

/* The first one is of the whole run, the second one follows from others, and the third one explains 4 %. */
static void a_cause_that_explains_little_is_left_out(void **state)
{
	const struct straggler_cause causes[] = {
		{.share = 0.9, .extent = STRAGGLER_RUN},
		{.share = 0.8, .extent = STRAGGLER_LATE, .effect = STRAGGLER_HOST_EFFECT},
		{.share = 0.04, .extent = STRAGGLER_LATE},
		{.share = 0.1, .extent = STRAGGLER_COLLECTIVES},
	};

	(void)state;
	assert_ptr_equal(watch_look_cause(causes, 4), &causes[3]);
	assert_null(watch_look_cause(causes, 3));
}

/* Before the first step the late rank imports for 20 s more: no cause of what it is late for now. */
static void an_event_has_the_cause_of_the_window(void **state)
{
	const struct training training = {.ranks = 4,
					  .steps = 120,
					  .plant = TRAINING_SHARD,
					  .late_rank = 2,
					  .noise_ms = 0.3,
					  .start_ms = 20000,
					  .seed = 3};

	(void)state;
	training_play(&training);
	struct watch_look found = watched_look();
	assert_int_equal(found.nr_findings, 1);
	assert_null(found.findings[0].cause);
	struct watch_event events[] = {
		{.kind = WATCH_EVENT_LATE},
		{.kind = WATCH_EVENT_RECOVERED},
		{.kind = WATCH_EVENT_LATE},
	};
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(watch_finding_copy(&found.findings[0], &events[i].finding), 0);
	events[2].finding.name[0] = 'R'; /* is not found */
	watch_causes_add(job_path(), events, 3);
	assert_string_equal(events[0].finding.cause, "waits (sleep, train.py:load_shard)");
	assert_true(events[0].finding.cause_share > 0.9);
	assert_null(events[1].finding.cause);
	assert_null(events[2].finding.cause);
	for (uint32_t i = 0; i < 3; i++)
		watch_finding_fini(&events[i].finding);
	watch_look_fini(&found);
}

/* All wait for rank 5 once, longer than the window. */
static void a_stall_may_be_longer_than_the_window(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	watched_train(1, 14000, 1);
	watched_train(20, 0, 1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 5 on node01");
	assert_int_equal(found.findings[0].ground, STRAGGLER_STALL);
	watch_look_fini(&found);
}

/* Eight ranks that pause at random, now and then, in 10 ms steps: 300 ms in the first second, which is a third of it. */
static void a_pause_of_a_young_job_is_no_stall(void **state)
{
	(void)state;
	watched.work_ms = 10;
	watched_train(30, 0, 0.1);
	watched_train_late(1, 2, 2, 300, 0.1);
	watched_train(30, 0, 0.1);
	struct watch_look found = watched_look();

	assert_int_equal(found.compared, 60);
	assert_int_equal(found.nr_findings, 0);
	watch_look_fini(&found);
	/* A tenth of the time that looks have is a stall, however young the job is. */
	watched_train_late(1, 2, 2, 650, 0.1);
	watched_train(30, 0, 0.1);
	found = watched_look();
	assert_int_equal(found.nr_findings, 1);
	assert_int_equal(found.findings[0].ground, STRAGGLER_STALL);
	assert_string_equal(found.findings[0].name, "rank 2 on node01");
	watch_look_fini(&found);
}

/* A node was frozen for 14 s. */
static void a_stall_of_a_host_is_named_as_the_host(void **state)
{
	(void)state;
	watched_train(40, 0, 1);
	watched_train_late(1, 4, 7, 14000, 1);
	watched_train(20, 0, 1);
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "node02 (4 ranks: 4-7)");
	assert_int_equal(found.findings[0].ground, STRAGGLER_STALL);
	watch_look_fini(&found);
}

static void a_profile_without_calls_has_nobody_late(void **state)
{
	(void)state;
	struct watch_look found = watched_look();

	assert_int_equal(found.nr_findings, 0);
	assert_int_equal(found.compared, 0);
	watch_look_fini(&found);
}

static void a_store_that_is_none_is_an_error(void **state)
{
	struct watch_look found;
	char *error = NULL;

	(void)state;
	assert_true(watch_look_read("/nowhere/profile.db", &found, &error) < 0);
	assert_non_null(strstr(error, "/nowhere/profile.db"));
	free(error);
	watch_look_fini(&found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, watched_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(equal_ranks_are_not_late),
		TEST(the_window_has_the_newest_collectives),
		TEST(of_long_steps_it_has_as_many_as_a_verdict_needs),
		TEST(a_late_rank_is_named_with_what_it_costs),
		TEST(of_long_steps_the_last_ones_suffice),
		TEST(a_part_of_the_window_is_told_by_its_length),
		TEST(a_look_tells_when_a_lateness_ended),
		TEST(what_was_late_before_the_window_is_over),
		TEST(a_step_may_have_several_collectives),
		TEST(a_collective_of_a_step_is_no_onset),
		TEST(collectives_whose_kernels_are_missing_wait),
		TEST(collectives_that_a_rank_lacks_wait),
		TEST(folded_calls_are_looked_at),
		TEST(with_messages_a_step_is_not_computed),
		TEST(stages_of_a_pipeline_are_not_compared),
		TEST(a_slow_link_is_found),
		TEST(an_old_communicator_is_left_out),
		TEST(ranks_that_have_ended_are_late_no_longer),
		TEST(a_stall_is_told_when_it_lies_behind),
		TEST(a_stall_may_be_longer_than_the_window),
		TEST(a_pause_of_a_young_job_is_no_stall),
		cmocka_unit_test(a_cause_that_explains_little_is_left_out),
		TEST(an_event_has_the_cause_of_the_window),
		TEST(a_profile_without_calls_has_nobody_late),
		TEST(a_store_that_is_none_is_an_error),
		cmocka_unit_test_setup_teardown(a_stall_of_a_host_is_named_as_the_host,
						watched_set_up_hosts, job_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
