#include "report/straggler/report_straggler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"

#define RANKS 4u
#define STEPS 80u
#define MS    1000000.0

/* Ranks 0 and 1 are a tensor-parallel pair, 2 and 3 another one; 0 and 2 are data-parallel, 1 and 3, too. */
enum { TENSOR = 1, DATA = 2 };

static void begin(uint32_t *processes)
{
	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], TENSOR, 0x10 + i / 2, i % 2, 2);
		job_communicator(processes[i], DATA, 0x20 + i % 2, i / 2, 2);
	}
}

/* Both ranks of each pair leave the collective a millisecond after the last of them has come. */
static void communicate(const uint32_t *processes, uint32_t communicator, uint32_t step,
			double *now_ms)
{
	const uint32_t apart = communicator == TENSOR ? 1 : 2;

	for (uint32_t i = 0; i < RANKS; i++) {
		uint32_t other = i ^ apart;

		if (other < i)
			continue;
		double end_ms = fmax(now_ms[i], now_ms[other]) + 1;
		for (uint32_t j = i; j <= other; j += apart) {
			const struct collective call = job_all_reduce(
				communicator, step + 1, 0, (uint64_t)(now_ms[j] * MS),
				(uint64_t)((end_ms - now_ms[j]) * MS));

			job_call(processes[j], &call);
			now_ms[j] = end_ms;
		}
	}
}

/* The even rank of each pair sends its data to the other one, which waits for it; the even one does not wait. */
static void broadcast(const uint32_t *processes, uint32_t step, double *now_ms)
{
	for (uint32_t i = 0; i < RANKS; i += 2) {
		const double end_ms[] = {now_ms[i] + 1, fmax(now_ms[i], now_ms[i + 1]) + 1};

		for (uint32_t j = 0; j < 2; j++) {
			struct collective call =
				job_all_reduce(TENSOR, step + 1, 0, (uint64_t)(now_ms[i + j] * MS),
					       (uint64_t)((end_ms[j] - now_ms[i + j]) * MS));

			call.function = COLLECTIVE_BROADCAST;
			call.peer = 0;
			job_call(processes[i + j], &call);
			now_ms[i + j] = end_ms[j];
		}
	}
}

enum tensor { ALL_REDUCE, BROADCAST };

static void train_with(int32_t late_rank, enum tensor tensor)
{
	double now_ms[RANKS] = {1, 1, 1, 1};
	uint32_t processes[RANKS];
	uint64_t seed = 7;

	begin(processes);
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint32_t i = 0; i < RANKS; i++)
			now_ms[i] +=
				20 + 0.2 * job_uniform(&seed) + ((int32_t)i == late_rank ? 10 : 0);
		if (tensor == BROADCAST)
			broadcast(processes, step, now_ms);
		else
			communicate(processes, TENSOR, step, now_ms);
		for (uint32_t i = 0; i < RANKS; i++)
			now_ms[i] += 2 + 0.2 * job_uniform(&seed);
		communicate(processes, DATA, step, now_ms);
	}
	job_commit();
}

static void train(int32_t late_rank)
{
	train_with(late_rank, ALL_REDUCE);
}

static void a_rank_that_was_kept_waiting_is_said_to_be(void **state)
{
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	train(3);
	struct report_straggler *found = job_straggler();

	straggler_text_line(found, line, sizeof(line));
	assert_int_equal(found->nr_named, 2);
	assert_int_equal(found->ranks[0].rank, 3);
	assert_int_equal(found->ranks[0].kept_by, 0);
	assert_int_equal(found->ranks[1].rank, 2);
	assert_int_equal(found->ranks[1].kept_by, found->ranks[0].id);
	assert_ptr_equal(strstr(line, "late: rank 3 on "), line);
	assert_non_null(strstr(line, "; rank 2 on node01 (kept waiting by rank 3 on node01 in "
				     "collectives of ranks 2-3)"));
	assert_true(strlen(line) <= 200);
	report_straggler_destroy(found);
}

static void in_tables_a_rank_that_was_kept_waiting_is_no_cause(void **state)
{
	char *text = NULL;
	size_t size;

	(void)state;
	train(3);
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nrank 3 on node01 is late in collectives of ranks 2-3\n"));
	assert_non_null(strstr(text, "\nrank 2 on node01: kept waiting by rank 3 on node01 in "
				     "collectives of ranks 2-3; so it comes late to those of "));
	assert_null(strstr(text, "rank 2 on node01 is late"));
	assert_non_null(strstr(text, "; kept waiting by rank 3 on node01 in collectives of ranks "
				     "2-3\n"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

static void a_rank_that_waited_for_a_late_root_was_kept_waiting(void **state)
{
	(void)state;
	train_with(2, BROADCAST);
	struct report_straggler *found = job_straggler();
	char line[STRAGGLER_TEXT_SIZE];

	straggler_text_line(found, line, sizeof(line));
	assert_int_equal(found->nr_named, 2);
	assert_int_equal(found->ranks[0].rank, 2);
	assert_int_equal(found->ranks[0].kept_by, 0);
	assert_int_equal(found->ranks[1].rank, 3);
	assert_int_equal(found->ranks[1].kept_by, found->ranks[0].id);
	assert_non_null(strstr(line, "; rank 3 on node01 (kept waiting by rank 2 on node01 in "
				     "collectives of ranks 2-3)"));
	report_straggler_destroy(found);
}

/* It keeps the root waiting for nothing. */
static void a_rank_that_comes_late_to_its_root_is_late_itself(void **state)
{
	(void)state;
	train_with(3, BROADCAST);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 3);
	assert_int_equal(found->ranks[0].kept_by, 0);
	report_straggler_destroy(found);
}

/* The ranks whose numbers are alike meet: in pairs, or those that are even or odd. They leave 1 ms after the last. */
static void meet(const uint32_t *processes, uint32_t communicator, uint32_t step, double *now_ms)
{
	double last_ms[2 * RANKS] = {0};

	for (uint32_t i = 0; i < 2 * RANKS; i++) {
		double *last = &last_ms[communicator == TENSOR ? i / 2 : i % 2];

		*last = fmax(*last, now_ms[i]);
	}
	for (uint32_t i = 0; i < 2 * RANKS; i++) {
		double end_ms = last_ms[communicator == TENSOR ? i / 2 : i % 2] + 1;
		const struct collective call =
			job_all_reduce(communicator, step + 1, 0, (uint64_t)(now_ms[i] * MS),
				       (uint64_t)((end_ms - now_ms[i]) * MS));

		job_call(processes[i], &call);
		now_ms[i] = end_ms;
	}
}

/* Twelve collectives of two ranks are too few to name one of them. Of four, they are enough. */
static void a_rank_is_kept_waiting_by_one_that_is_named_on_another_communicator(void **state)
{
	double now_ms[2 * RANKS];
	uint32_t processes[2 * RANKS];
	uint64_t seed = 7;

	(void)state;
	for (uint32_t i = 0; i < 2 * RANKS; i++) {
		now_ms[i] = 1;
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], TENSOR, 0x10 + i / 2, i % 2, 2);
		job_communicator(processes[i], DATA, 0x20 + i % 2, i / 2, RANKS);
	}
	for (uint32_t step = 0; step < 12; step++) {
		for (uint32_t i = 0; i < 2 * RANKS; i++)
			now_ms[i] += 20 + 0.2 * job_uniform(&seed) + (i == 5 ? 10 : 0);
		meet(processes, TENSOR, step, now_ms);
		for (uint32_t i = 0; i < 2 * RANKS; i++)
			now_ms[i] += 2 + 0.2 * job_uniform(&seed);
		meet(processes, DATA, step, now_ms);
	}
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 2);
	assert_int_equal(found->ranks[0].rank, 5);
	assert_int_equal(found->ranks[0].named, 1);
	assert_int_equal(found->ranks[0].kept_by, 0);
	assert_int_equal(found->ranks[1].rank, 4);
	assert_int_equal(found->ranks[1].kept_by, found->ranks[0].id);
	report_straggler_destroy(found);
}

/* Two communicators have all ranks. Rank 0 is late to the first, rank 1 to the second: each waits for the other, but so
 * do all that are not late. */
static void train_on_two(uint32_t ranks)
{
	double now_ms[RANKS] = {1, 1, 1, 1};
	uint32_t processes[RANKS];
	uint64_t seed = 7;

	for (uint32_t i = 0; i < ranks; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 0x10, i, ranks);
		job_communicator(processes[i], 2, 0x20, i, ranks);
	}
	for (uint32_t step = 0; step < STEPS; step++)
		for (uint32_t communicator = 1; communicator <= 2; communicator++) {
			double last_ms = 0;

			for (uint32_t i = 0; i < ranks; i++) {
				now_ms[i] += 20 + 0.2 * job_uniform(&seed) +
					     (i + 1 == communicator ? 10 : 0);
				last_ms = fmax(last_ms, now_ms[i]);
			}
			for (uint32_t i = 0; i < ranks; i++) {
				const struct collective call = job_all_reduce(
					communicator, step + 1, 0, (uint64_t)(now_ms[i] * MS),
					(uint64_t)((last_ms + 1 - now_ms[i]) * MS));

				job_call(processes[i], &call);
				now_ms[i] = last_ms + 1;
			}
		}
	job_commit();
}

static void assert_nobody_is_excused(uint32_t ranks)
{
	train_on_two(ranks);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(found->ranks[i].rank == 0 || found->ranks[i].rank == 1);
		assert_int_equal(found->ranks[i].kept_by, 0);
	}
	report_straggler_destroy(found);
}

static void what_all_ranks_waited_for_excuses_nobody(void **state)
{
	(void)state;
	assert_nobody_is_excused(RANKS);
}

static void what_a_few_ranks_all_waited_for_excuses_none_of_them(void **state)
{
	(void)state;
	assert_nobody_is_excused(3);
}

static void one_of_two_ranks_is_not_excused_by_the_other_that_it_meets(void **state)
{
	(void)state;
	assert_nobody_is_excused(2);
}

/* The second of each four sends its data to the others. Of the later four it is late, and the first comes after it. */
static void the_root_is_not_the_rank_that_comes_after_it(void **state)
{
	double now_ms[2 * RANKS];
	uint32_t processes[2 * RANKS];
	uint64_t seed = 7;

	(void)state;
	for (uint32_t i = 0; i < 2 * RANKS; i++) {
		now_ms[i] = 1;
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], TENSOR, 0x10 + i / RANKS, i % RANKS, RANKS);
		job_communicator(processes[i], DATA, 0x20 + i % RANKS, i / RANKS, 2);
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint32_t i = 0; i < 2 * RANKS; i++)
			now_ms[i] += 20 + 0.2 * job_uniform(&seed) +
				     (i == RANKS + 1 ? 10
				      : i == RANKS   ? 12
						     : 0);
		const double sent_ms[] = {now_ms[1], now_ms[RANKS + 1]};
		for (uint32_t i = 0; i < 2 * RANKS; i++) {
			const double end_ms = fmax(now_ms[i], sent_ms[i / RANKS]) + 1;
			struct collective call =
				job_all_reduce(TENSOR, step + 1, 0, (uint64_t)(now_ms[i] * MS),
					       (uint64_t)((end_ms - now_ms[i]) * MS));

			call.function = COLLECTIVE_BROADCAST;
			call.peer = 1;
			job_call(processes[i], &call);
			now_ms[i] = end_ms;
		}
		for (uint32_t i = 0; i < 2 * RANKS; i++)
			now_ms[i] += 2 + 0.2 * job_uniform(&seed);
		for (uint32_t i = 0; i < RANKS; i++) {
			const double end_ms = fmax(now_ms[i], now_ms[i + RANKS]) + 1;

			for (uint32_t j = i; j < 2 * RANKS; j += RANKS) {
				const struct collective call = job_all_reduce(
					DATA, step + 1, 0, (uint64_t)(now_ms[j] * MS),
					(uint64_t)((end_ms - now_ms[j]) * MS));

				job_call(processes[j], &call);
				now_ms[j] = end_ms;
			}
		}
	}
	job_commit();
	struct report_straggler *found = job_straggler();
	uint32_t root = 0, kept = 0;

	assert_int_equal(found->nr_named, RANKS);
	for (uint32_t i = 0; i < RANKS; i++)
		root = found->ranks[i].rank == (int32_t)RANKS + 1 ? found->ranks[i].id : root;
	for (uint32_t i = 0; i < RANKS; i++) {
		const bool waited = found->ranks[i].rank > (int32_t)RANKS + 1;

		assert_int_equal(found->ranks[i].kept_by, waited ? root : 0);
		kept += waited;
	}
	assert_int_equal(kept, 2);
	report_straggler_destroy(found);
}

static void without_a_late_rank_nobody_is_named(void **state)
{
	(void)state;
	train(-1);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 0);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_rank_that_was_kept_waiting_is_said_to_be),
		TEST(in_tables_a_rank_that_was_kept_waiting_is_no_cause),
		TEST(a_rank_that_waited_for_a_late_root_was_kept_waiting),
		TEST(a_rank_that_comes_late_to_its_root_is_late_itself),
		TEST(a_rank_is_kept_waiting_by_one_that_is_named_on_another_communicator),
		TEST(the_root_is_not_the_rank_that_comes_after_it),
		TEST(what_all_ranks_waited_for_excuses_nobody),
		TEST(what_a_few_ranks_all_waited_for_excuses_none_of_them),
		TEST(one_of_two_ranks_is_not_excused_by_the_other_that_it_meets),
		TEST(without_a_late_rank_nobody_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
