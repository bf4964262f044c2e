/* How long a run is: of a job whose ranks start again as other processes, on another communicator, and of one whose
 * hosts are done long before the GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/straggler/report_straggler.h"
#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"

#define RANKS   4u
#define MS      1000000ull
#define STEP_MS 10u
#define STALLED 2u  /* a rank, which is late, too */
#define STALL   20u /* a collective */

struct attempt {
	uint32_t collectives, stall_ms, late_ms;
};

/* Each rank is up to a millisecond late by chance. Returns the time of the last collective's end. */
static uint64_t play_attempt(const struct attempt *attempt, uint32_t number, uint64_t start_ns,
			     uint64_t *seed)
{
	uint32_t processes[RANKS];
	uint64_t now_ns = start_ns;

	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 100 + number, i, RANKS);
	}
	for (uint32_t step = 0; step < attempt->collectives; step++) {
		uint64_t ready_ns[RANKS], last_ns = 0;

		for (uint32_t i = 0; i < RANKS; i++) {
			const bool stalls = i == STALLED && step == STALL;
			const uint32_t late_ms = i == STALLED ? attempt->late_ms : 0;

			ready_ns[i] = now_ns + (STEP_MS + late_ms) * MS +
				      (uint64_t)(job_uniform(seed) * MS) +
				      (stalls ? attempt->stall_ms * MS : 0);
			last_ns = ready_ns[i] > last_ns ? ready_ns[i] : last_ns;
		}
		for (uint32_t i = 0; i < RANKS; i++) {
			const struct collective call = job_all_reduce(
				1, step + 1, 0, ready_ns[i], last_ns + MS / 10 - ready_ns[i]);

			job_call(processes[i], &call);
		}
		now_ns = last_ns + MS / 10;
	}
	for (uint32_t i = 0; i < RANKS; i++)
		job_end(processes[i]);
	return now_ns;
}

static struct report_straggler *play(const struct attempt *attempts, uint32_t count)
{
	uint64_t now_ns = 1000 * MS, seed = 5;

	for (uint32_t i = 0; i < count; i++)
		now_ns = play_attempt(&attempts[i], i, now_ns + 500 * MS, &seed);
	job_commit();
	return job_straggler();
}

static void a_pause_of_a_fifth_of_the_run_is_a_stall(void **state)
{
	const struct attempt attempt = {.collectives = 40, .stall_ms = 100};
	struct report_straggler *found = play(&attempt, 1);

	(void)state;
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, STALLED);
	assert_int_equal(found->communicators[0].members[STALLED].found.ground, STRAGGLER_STALL);
	report_straggler_destroy(found);
}

/* The same pause, when the ranks have run for ten times as long before a restart. */
static void a_pause_counts_as_a_part_of_all_attempts(void **state)
{
	const struct attempt attempts[] = {{.collectives = 400},
					   {.collectives = 40, .stall_ms = 100}};
	struct report_straggler *found = play(attempts, 2);

	(void)state;
	assert_int_equal(found->nr_communicators, 2);
	assert_int_equal(found->nr_ranks, RANKS);
	assert_int_equal(found->nr_named, 0);
	report_straggler_destroy(found);
}

/* Returns in how many attempts the rank is named, and that nobody else is. */
static uint32_t count_named(const struct report_straggler *found)
{
	for (uint32_t i = 0; i < found->nr_ranks; i++)
		assert_true(!found->ranks[i].named || found->ranks[i].rank == STALLED);
	return found->nr_named ? found->ranks[0].named : 0;
}

/* Forty steps that are late by 2 ms are a seventh of their own time, and 1.6 % of 440 steps. */
static void lateness_of_a_short_attempt_is_named_by_its_part_of_the_run(void **state)
{
	const struct attempt alone = {.collectives = 40, .late_ms = 2};
	const struct attempt attempts[] = {{.collectives = 400}, alone};
	struct report_straggler *found = play(&alone, 1);

	assert_int_equal(count_named(found), 1);
	report_straggler_destroy(found);
	job_tear_down(state);
	job_set_up(state);
	found = play(attempts, 2);
	assert_int_equal(count_named(found), 0);
	report_straggler_destroy(found);
}

/* Each attempt costs a fiftieth of the run, or less; all together they cost a seventh. */
static void lateness_of_several_attempts_adds_up(void **state)
{
	struct attempt attempts[8];

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		attempts[i] = (struct attempt){.collectives = 40, .late_ms = 2};
	struct report_straggler *found = play(attempts, 8);

	assert_int_equal(count_named(found), 8);
	report_straggler_destroy(found);
}

/* Of 5 ms in each of 99 and 199 steps, and about 0.25 ms that the median of the others is behind the least. */
static void what_a_rank_costs_before_and_after_a_restart_adds_up(void **state)
{
	const struct attempt attempts[] = {{.collectives = 100, .late_ms = 5},
					   {.collectives = 200, .late_ms = 5}};
	struct report_straggler *found = play(attempts, 2);
	char line[STRAGGLER_TEXT_SIZE];
	double s_less = 0, percent = 0;

	(void)state;
	assert_int_equal(count_named(found), 2);
	straggler_text_line(found, line, sizeof(line));
	assert_int_equal(sscanf(line, "late: rank 2 on node01 (without it up to %lf s less, %lf",
				&s_less, &percent),
			 2);
	assert_true(s_less > 1.47 && s_less < 1.52);
	assert_true(percent > 32 && percent < 32.5);
	report_straggler_destroy(found);
}

/* 400 and 40 steps of about 11 ms, without the half second between both. */
static void a_ranks_run_is_the_sum_of_its_processes(void **state)
{
	const struct attempt attempts[] = {{.collectives = 400}, {.collectives = 40}};
	struct report_straggler *found = play(attempts, 2);

	(void)state;
	for (uint32_t i = 0; i < RANKS; i++) {
		uint64_t spans_ns = 0, run_ns = 0;

		for (uint32_t j = 0; j < found->nr_communicators; j++) {
			const struct report_straggler_member *member =
				&found->communicators[j].members[i];

			spans_ns += member->span_ns;
			run_ns = found->ranks[member->of_rank].run_ns;
		}
		assert_true(spans_ns > 430ull * STEP_MS * MS);
		assert_int_equal(run_ns, spans_ns);
	}
	report_straggler_destroy(found);
}

struct ahead {
	uint32_t processes[RANKS], correlation_id;
	uint64_t now_ns; /* of the GPUs */
};

/* Calls that take hosts 1 us each. Of each kernel another rank is the last, by 1 ms, or `late` is. */
static void play_ahead(struct ahead *ahead, uint32_t communicator, uint32_t steps, uint32_t late)
{
	for (uint32_t step = 0; step < steps; step++) {
		const uint32_t last = late < RANKS ? late : step % RANKS;

		ahead->correlation_id++;
		ahead->now_ns += STEP_MS * MS;
		for (uint32_t i = 0; i < RANKS; i++) {
			const uint64_t wait_ns = i == last ? 0 : MS;
			const struct collective call =
				job_all_reduce(communicator, step + 1, ahead->correlation_id,
					       ahead->correlation_id * 1000, 1000);
			const struct job_kernel kernel = {.name = "ncclDevKernel_A",
							  .correlation_id = ahead->correlation_id,
							  .start_ns = ahead->now_ns - wait_ns,
							  .ns = wait_ns + MS / 10};

			job_call(ahead->processes[i], &call);
			job_kernel(ahead->processes[i], &kernel);
		}
	}
}

static void begin_ahead(struct ahead *ahead)
{
	*ahead = (struct ahead){.now_ns = 1000 * MS};
	for (uint32_t i = 0; i < RANKS; i++) {
		ahead->processes[i] = job_process((int32_t)i);
		job_communicator(ahead->processes[i], 1, 100, i, RANKS);
		job_communicator(ahead->processes[i], 2, 200, i, RANKS);
	}
}

/* Each waits in three of four of the 40 that are compared, for 1 ms. The run is 39 steps, and the last kernel; for
 * ranks that waited in the first one, by 1 ms more. */
static void waits_are_a_part_of_the_time_that_kernels_took(void **state)
{
	struct ahead ahead;
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	begin_ahead(&ahead);
	play_ahead(&ahead, 1, 41, RANKS);
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 0);
	for (uint32_t i = 0; i < RANKS; i++)
		assert_int_equal(found->ranks[i].run_ns,
				 39 * STEP_MS * MS + MS / 10 +
					 (found->ranks[i].rank == 1 ? 0 : MS));
	straggler_text_line(found, line, sizeof(line));
	assert_non_null(
		strstr(line, "; each rank waited 30.000 ms on average, 7.68 % of the time;"));
	report_straggler_destroy(found);
}

/* A tenth of the second communicator's time is 1 % of the run. */
static void a_short_time_is_a_small_part_of_what_kernels_took(void **state)
{
	struct ahead ahead;

	(void)state;
	begin_ahead(&ahead);
	play_ahead(&ahead, 1, 400, RANKS);
	play_ahead(&ahead, 2, 40, STALLED);
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 0);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_pause_of_a_fifth_of_the_run_is_a_stall),
		TEST(a_pause_counts_as_a_part_of_all_attempts),
		TEST(lateness_of_a_short_attempt_is_named_by_its_part_of_the_run),
		TEST(lateness_of_several_attempts_adds_up),
		TEST(what_a_rank_costs_before_and_after_a_restart_adds_up),
		TEST(a_ranks_run_is_the_sum_of_its_processes),
		TEST(waits_are_a_part_of_the_time_that_kernels_took),
		TEST(a_short_time_is_a_small_part_of_what_kernels_took),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
