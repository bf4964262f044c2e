#include "report/watch/watch_replay.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RANKS    4u
#define MEETINGS 256u
#define MS       1000000ull
#define WORLD    0u
#define NEAR     1e-3 /* ns */

/* A job whose ranks work, and meet. Each has a clock of its own. */
static struct {
	struct watch_meeting meetings[MEETINGS];
	struct watch_visit visits[MEETINGS * RANKS];
	uint32_t nr_meetings, nr_visits;
	uint64_t now_ns[RANKS]; /* true time */
	bool late[RANKS];
	uint32_t period;
} job;

static int set_up(void **state)
{
	(void)state;
	memset(&job, 0, sizeof(job));
	job.period = 1;
	return 0;
}

static uint64_t own_clock(uint32_t rank, uint64_t true_ns)
{
	return true_ns + 1000000 * MS * (rank + 1);
}

/* The ranks work so long, from their last collective on, and meet in the next one, which then moves data for 1 ms. */
static void meet(uint32_t communicator, uint32_t kind, uint32_t first, uint32_t count,
		 const uint64_t *work_ms)
{
	uint64_t come_ns[RANKS], last_ns = 0;

	job.meetings[job.nr_meetings++] =
		(struct watch_meeting){communicator, kind, job.nr_visits, count};
	for (uint32_t i = 0; i < count; i++) {
		come_ns[i] = job.now_ns[first + i] + work_ms[i] * MS;
		last_ns = come_ns[i] > last_ns ? come_ns[i] : last_ns;
	}
	for (uint32_t i = 0; i < count; i++) {
		job.now_ns[first + i] = last_ns + MS;
		job.visits[job.nr_visits++] =
			(struct watch_visit){first + i, own_clock(first + i, come_ns[i]),
					     own_clock(first + i, last_ns + MS)};
	}
}

static int replay(struct watch_replay_result *result)
{
	const struct watch_replay_input input = {
		.meetings = job.meetings,
		.nr_meetings = job.nr_meetings,
		.visits = job.visits,
		.nr_visits = job.nr_visits,
		.late = job.late,
		.nr_ranks = RANKS,
		.communicator = WORLD,
		.period = job.period,
	};

	return watch_replay(&input, result);
}

static void expect(uint32_t steps, double now_ms, double without_ms)
{
	struct watch_replay_result result;

	assert_int_equal(replay(&result), 0);
	assert_int_equal(result.steps, steps);
	assert_true(fabs(result.now_ns - now_ms * MS) < NEAR);
	assert_true(fabs(result.without_ns - without_ms * MS) < NEAR);
}

static void a_rank_that_is_late_by_the_same_each_time(void **state)
{
	static const uint64_t work_ms[RANKS] = {10, 9, 10, 14};

	(void)state;
	job.late[3] = true;
	for (int i = 0; i < 10; i++)
		meet(WORLD, 0, 0, RANKS, work_ms);
	expect(9, 15, 11);
}

static void the_others_hold_up_the_step_then(void **state)
{
	static const uint64_t work_ms[RANKS] = {10, 10, 13, 14};

	(void)state;
	job.late[3] = true;
	for (int i = 0; i < 10; i++)
		meet(WORLD, 0, 0, RANKS, work_ms);
	expect(9, 15, 14);
}

/* The median excess is 4 ms, and each time it is 1 ms more or less: that stays. */
static void a_rank_keeps_its_noise(void **state)
{
	static const uint64_t work_ms[2][RANKS] = {{10, 10, 10, 13}, {10, 10, 10, 15}};

	(void)state;
	job.late[3] = true;
	for (int i = 0; i < 21; i++)
		meet(WORLD, 0, 0, RANKS, work_ms[i % 2]);
	expect(20, 15, 11.5);
}

static void what_is_late_now_and_then_goes(void **state)
{
	static const uint64_t usual_ms[RANKS] = {10, 10, 10, 10}, late_ms[RANKS] = {10, 10, 10, 50};

	(void)state;
	job.late[3] = true;
	for (int i = 0; i < 21; i++)
		meet(WORLD, 0, 0, RANKS, i % 10 == 5 ? late_ms : usual_ms);
	expect(20, 15, 11);
}

static void a_late_group_is_compared_with_the_rest(void **state)
{
	static const uint64_t work_ms[RANKS] = {10, 10, 14, 15};

	(void)state;
	job.late[2] = job.late[3] = true;
	for (int i = 0; i < 10; i++)
		meet(WORLD, 0, 0, RANKS, work_ms);
	expect(9, 16, 11);
}

/* Pairs meet first. One is late, its partner waits for it there, and all wait for both. */
static void who_keeps_a_partner_waiting_keeps_all_waiting(void **state)
{
	static const uint64_t first_ms[2] = {10, 10}, second_ms[2] = {10, 14};
	static const uint64_t work_ms[RANKS] = {5, 5, 5, 5};

	(void)state;
	job.late[3] = true;
	for (int i = 0; i < 10; i++) {
		meet(1, 1, 0, 2, first_ms);
		meet(2, 1, 2, 2, second_ms);
		meet(WORLD, 0, 0, RANKS, work_ms);
	}
	expect(9, 21, 17);
}

/* The pair of the late ranks has nobody else: the other pair's collectives of the kind say what is usual. */
static void a_communicator_of_late_ranks_alone_is_compared_with_its_kind(void **state)
{
	static const uint64_t first_ms[2] = {10, 10}, second_ms[2] = {14, 14};
	static const uint64_t work_ms[RANKS] = {5, 5, 5, 5};

	(void)state;
	job.late[2] = job.late[3] = true;
	for (int i = 0; i < 10; i++) {
		meet(1, 1, 0, 2, first_ms);
		meet(2, 1, 2, 2, second_ms);
		meet(WORLD, 0, 0, RANKS, work_ms);
	}
	expect(9, 21, 17);
}

/* The second collective begins 2 ms after the first on each rank, while that still waits for the late one. When ranks
 * came to the very first one is left as it was: without that the step would be 1/9 ms longer. */
static void collectives_may_overlap(void **state)
{
	(void)state;
	job.late[3] = true;
	for (uint64_t i = 0, begin_ns = 0; i < 10; i++, begin_ns += 20 * MS)
		for (uint32_t kind = 0; kind < 2; kind++) {
			job.meetings[job.nr_meetings++] =
				(struct watch_meeting){kind, kind, job.nr_visits, RANKS};
			for (uint32_t rank = 0; rank < RANKS; rank++) {
				uint64_t come_ns =
					begin_ns + (rank == 3 ? 14 : 10) * MS + kind * 2 * MS;

				job.visits[job.nr_visits++] = (struct watch_visit){
					rank, own_clock(rank, come_ns),
					own_clock(rank, begin_ns + (15 + kind * 5) * MS)};
			}
		}
	expect(9, 20, 16 - 1.0 / 9);
}

/* Two collectives are a step: of ten the last nine make four steps. */
static void a_step_may_have_several_collectives(void **state)
{
	static const uint64_t first_ms[RANKS] = {10, 10, 10, 14}, second_ms[RANKS] = {3, 3, 3, 3};

	(void)state;
	job.late[3] = true;
	job.period = 2;
	for (int i = 0; i < 5; i++) {
		meet(WORLD, 0, 0, RANKS, first_ms);
		meet(WORLD, 1, 0, RANKS, second_ms);
	}
	expect(4, 19, 15);
	job.period = 10;
	assert_int_equal(replay(&(struct watch_replay_result){0}), -ENODATA);
}

static void a_rank_that_is_not_always_there(void **state)
{
	static const uint64_t work_ms[RANKS] = {10, 10, 10, 14};

	(void)state;
	job.late[3] = true;
	meet(1, 0, 0, 2, work_ms);
	for (int i = 0; i < 5; i++)
		meet(WORLD, 0, 0, RANKS, work_ms);
	meet(1, 0, 0, 2, work_ms);
	expect(4, 15, 11);
}

static void without_others_it_is_not_known(void **state)
{
	static const uint64_t work_ms[RANKS] = {10, 10, 10, 14};
	struct watch_replay_result result;

	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		job.late[i] = true;
	for (int i = 0; i < 5; i++)
		meet(WORLD, 0, 0, RANKS, work_ms);
	assert_int_equal(replay(&result), -ENODATA);
	job.nr_meetings = 1;
	job.late[0] = false;
	assert_int_equal(replay(&result), -ENODATA);
	job.nr_meetings = 0;
	assert_int_equal(replay(&result), -ENODATA);
}

/* Rank 0 has the second pair's collective before the first one's, and rank 1 the other way round. */
static void ranks_with_different_orders_cannot_be_played(void **state)
{
	struct watch_replay_result result;

	(void)state;
	job.late[1] = true;
	for (uint32_t i = 0; i < 4; i++) {
		job.meetings[job.nr_meetings++] =
			(struct watch_meeting){i % 2, 0, job.nr_visits, 2};
		for (uint32_t rank = 0; rank < 2; rank++) {
			uint64_t start_ns = (i ^ rank) * 10 * MS;

			job.visits[job.nr_visits++] =
				(struct watch_visit){rank, start_ns, start_ns + MS};
		}
	}
	assert_int_equal(replay(&result), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_rank_that_is_late_by_the_same_each_time, set_up),
		cmocka_unit_test_setup(the_others_hold_up_the_step_then, set_up),
		cmocka_unit_test_setup(a_rank_keeps_its_noise, set_up),
		cmocka_unit_test_setup(what_is_late_now_and_then_goes, set_up),
		cmocka_unit_test_setup(a_late_group_is_compared_with_the_rest, set_up),
		cmocka_unit_test_setup(who_keeps_a_partner_waiting_keeps_all_waiting, set_up),
		cmocka_unit_test_setup(a_communicator_of_late_ranks_alone_is_compared_with_its_kind,
				       set_up),
		cmocka_unit_test_setup(collectives_may_overlap, set_up),
		cmocka_unit_test_setup(a_step_may_have_several_collectives, set_up),
		cmocka_unit_test_setup(a_rank_that_is_not_always_there, set_up),
		cmocka_unit_test_setup(without_others_it_is_not_known, set_up),
		cmocka_unit_test_setup(ranks_with_different_orders_cannot_be_played, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
