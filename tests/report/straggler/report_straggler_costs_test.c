/* Ranks on several communicators: what one costs, and whom it keeps waiting. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/cmocka_test.h"

#include "report/straggler/report_straggler.h"
#include "straggler_fixture.h"

#define RANKS 8u
#define LATE  5u
#define STEPS 100u /* of each part of the run */
#define MS    1000000.0

enum { WORLD = 1, TENSOR, DATA, NR_COMMUNICATORS };

struct job {
	uint32_t processes[RANKS], calls[NR_COMMUNICATORS];
	double now_ms[RANKS];
	uint64_t seed;
};

/* Pairs of neighbours are tensor-parallel, even and odd ranks are data-parallel. */
static uint32_t part_of(uint32_t communicator, uint32_t rank)
{
	return communicator == WORLD ? 0 : communicator == TENSOR ? rank / 2 : rank % 2;
}

static uint32_t place_of(uint32_t communicator, uint32_t rank)
{
	return communicator == WORLD ? rank : communicator == TENSOR ? rank % 2 : rank / 2;
}

static void begin(struct job *job)
{
	static const uint32_t sizes[NR_COMMUNICATORS] = {0, RANKS, 2, RANKS / 2};

	*job = (struct job){.seed = 7};
	for (uint32_t i = 0; i < RANKS; i++) {
		job->processes[i] = job_process((int32_t)i);
		job->now_ms[i] = 1;
		for (uint32_t j = WORLD; j < NR_COMMUNICATORS; j++)
			job_communicator(job->processes[i], j, 0x10 * j + part_of(j, i),
					 place_of(j, i), sizes[j]);
	}
}

static void work(struct job *job, double late_ms)
{
	for (uint32_t i = 0; i < RANKS; i++)
		job->now_ms[i] += 10 + 0.05 * job_uniform(&job->seed) + (i == LATE ? late_ms : 0);
}

/* All leave 0.1 ms after the last of their communicator has come. */
static void meet(struct job *job, uint32_t communicator)
{
	double last_ms[RANKS] = {0};

	job->calls[communicator]++;
	for (uint32_t i = 0; i < RANKS; i++) {
		double *last = &last_ms[part_of(communicator, i)];

		*last = fmax(*last, job->now_ms[i]);
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		const double end_ms = last_ms[part_of(communicator, i)] + 0.1;
		const struct collective call = job_all_reduce(
			communicator, job->calls[communicator], 0, (uint64_t)(job->now_ms[i] * MS),
			(uint64_t)((end_ms - job->now_ms[i]) * MS));

		job_call(job->processes[i], &call);
		job->now_ms[i] = end_ms;
	}
}

static uint32_t count_named(void)
{
	job_commit();
	struct report_straggler *found = job_straggler();
	const uint32_t named = found->nr_named;

	for (uint32_t i = 0; i < found->nr_named; i++)
		assert_true(found->ranks[i].rank == LATE || found->ranks[i].kept_by);
	report_straggler_destroy(found);
	return named;
}

static void play_both(double late_ms)
{
	struct job job;

	begin(&job);
	for (uint32_t step = 0; step < STEPS; step++) {
		work(&job, 0);
		meet(&job, WORLD);
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		work(&job, late_ms);
		meet(&job, TENSOR);
		meet(&job, DATA);
	}
}

/* Three percent of half of the run, for which the rank's pair waits, and then those that wait for the pair. */
static void one_delay_on_two_communicators_costs_once(void **state)
{
	(void)state;
	play_both(0.3);
	assert_int_equal(count_named(), 0);
}

static void a_delay_that_costs_enough_is_named_on_both(void **state)
{
	(void)state;
	play_both(0.6);
	assert_int_equal(count_named(), 2);
}

/* The same three percent, of one half of the run and then of the other one. */
static void what_communicators_cost_one_after_the_other_adds_up(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	for (uint32_t step = 0; step < 2 * STEPS; step++) {
		work(&job, 0.3);
		meet(&job, step < STEPS ? WORLD : DATA);
	}
	assert_int_equal(count_named(), 1);
}

/* Ranks with an odd number wait for one of them, and come late to the collectives of all. */
static void a_group_that_one_of_its_ranks_kept_waiting_is_not_named(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	for (uint32_t step = 0; step < STEPS; step++) {
		work(&job, 2);
		meet(&job, DATA);
		work(&job, 0);
		meet(&job, WORLD);
	}
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_groups, 0);
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, LATE);
	report_straggler_destroy(found);
}

/* The same ranks are late by themselves: none waits for another one. */
static void a_group_whose_ranks_are_all_late_is_named(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	for (uint32_t step = 0; step < STEPS; step++) {
		work(&job, 0);
		meet(&job, DATA);
		work(&job, 0);
		for (uint32_t i = 1; i < RANKS; i += 2)
			job.now_ms[i] += 2;
		meet(&job, WORLD);
	}
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_groups, 1);
	assert_int_equal(found->groups[0].group->nr_members, RANKS / 2);
	assert_int_equal(found->nr_named, 0);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_group_that_one_of_its_ranks_kept_waiting_is_not_named),
		TEST(a_group_whose_ranks_are_all_late_is_named),
		TEST(one_delay_on_two_communicators_costs_once),
		TEST(a_delay_that_costs_enough_is_named_on_both),
		TEST(what_communicators_cost_one_after_the_other_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
