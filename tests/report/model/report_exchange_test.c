/* Waiting and moving of kernels with sends and receives, against what was planted. */
#include "report/model/report_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/collective_folding.h"
#include "aggregator/store/database.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS     5u
#define CALLS_MAX (2 * RANKS)
#define SEVERAL   RANKS
#define MOVES     (RANKS + 1)
#define NOT       (RANKS + 2)
#define PARTS     (RANKS + 3)

static uint64_t seed;
static uint32_t processes[RANKS], correlation[RANKS];
static uint64_t sequence[RANKS], numbers[2][RANKS][RANKS], truth[RANKS][PARTS];

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(job_uniform(&seed) * limit);
}

/* The kernel of a rank in one step, and its calls. */
struct kernel {
	struct collective calls[CALLS_MAX];
	uint32_t nr_calls;
	struct job_kernel kernel;
	bool kernel_first;
};

struct step {
	struct kernel ranks[RANKS];
};

static void begin(void)
{
	memset(truth, 0, sizeof(truth));
	memset(numbers, 0, sizeof(numbers));
	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, RANKS);
		correlation[i] = 0;
		sequence[i] = 0;
	}
}

static void start(struct step *step)
{
	memset(step, 0, sizeof(*step));
	for (uint32_t i = 0; i < RANKS; i++) {
		step->ranks[i].kernel_first = below(2);
		step->ranks[i].kernel = (struct job_kernel){.name = "ncclDevKernel_SendRecv",
							    .correlation_id = ++correlation[i],
							    .stack = "train.py:main",
							    .tid = 9,
							    .start_ns = 1000000ull * correlation[i],
							    .ns = 1000 + below(1000)};
	}
}

static void call(struct step *step, uint32_t rank, uint8_t function, uint32_t peer)
{
	struct kernel *kernel = &step->ranks[rank];
	struct collective *added = &kernel->calls[kernel->nr_calls++];

	sequence[rank]++;
	*added = job_all_reduce(1, sequence[rank], correlation[rank], 1000 * sequence[rank], 10);
	added->function = function;
	added->function_sequence = ++numbers[function == COLLECTIVE_SEND][rank][peer];
	added->peer = peer;
	added->bytes = 100;
}

static void move(struct step *step, uint32_t from, uint32_t to)
{
	call(step, from, COLLECTIVE_SEND, to);
	call(step, to, COLLECTIVE_RECV, from);
}

/* The kernels of these ranks meet all together. split false: what they waited for is not known. */
static void expect(const struct step *step, const uint32_t *ranks, uint32_t count, bool split)
{
	uint64_t least = UINT64_MAX;
	uint32_t last = SEVERAL;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t ns = step->ranks[ranks[i]].kernel.ns;

		if (ns <= least)
			last = ns < least ? ranks[i] : SEVERAL;
		if (ns < least)
			least = ns;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t ns = step->ranks[ranks[i]].kernel.ns;

		truth[ranks[i]][split ? MOVES : NOT] += split ? least : ns;
		if (split && ns > least)
			truth[ranks[i]][last] += ns - least;
	}
}

static const uint32_t all[RANKS] = {0, 1, 2, 3, 4};

static void plan_pairs(struct step *step)
{
	const uint32_t a = below(RANKS), b = (a + 1 + below(RANKS - 1)) % RANKS;
	const uint32_t ranks[] = {a, b};

	move(step, a, b);
	if (below(2))
		move(step, b, a);
	if (below(2))
		move(step, a, b); /* twice in one kernel */
	expect(step, ranks, 2, true);
}

static void plan_all_to_all(struct step *step)
{
	for (uint32_t i = 0; i < RANKS; i++)
		for (uint32_t j = 0; j < RANKS; j++)
			if (i != j)
				call(step, i, COLLECTIVE_SEND, j);
	for (uint32_t i = 0; i < RANKS; i++)
		for (uint32_t j = 0; j < RANKS; j++)
			if (i != j)
				call(step, i, COLLECTIVE_RECV, j);
	expect(step, all, RANKS, true);
}

/* A rank of a ring waits for its neighbours alone, by when they began. */
static void expect_in_ring(const struct step *step, uint32_t rank)
{
	const uint32_t before = (rank + RANKS - 1) % RANKS, after = (rank + 1) % RANKS;
	const uint32_t near[] = {before < after ? before : after, before < after ? after : before};
	const struct job_kernel *own = &step->ranks[rank].kernel;
	uint64_t last_ns = 0, wait_ns;
	uint32_t last = rank;

	for (uint32_t i = 0; i < 2; i++) {
		const struct job_kernel *other = &step->ranks[near[i]].kernel;

		if (own->clock_unknown || other->clock_unknown) {
			truth[rank][NOT] += own->ns;
			return;
		}
		if (other->start_ns > last_ns) {
			last = near[i];
			last_ns = other->start_ns;
		}
	}
	wait_ns = last_ns > own->start_ns + COLLECTIVE_FOLDS_CLOCK_NS ? last_ns - own->start_ns : 0;
	if (wait_ns > own->ns + COLLECTIVE_FOLDS_CLOCK_NS) {
		truth[rank][NOT] += own->ns;
		return;
	}
	if (wait_ns > own->ns)
		wait_ns = own->ns;
	truth[rank][last] += wait_ns;
	truth[rank][MOVES] += own->ns - wait_ns;
}

/* Sometimes a clock is not known, or wrong: a kernel cannot end before its neighbours have begun. */
static void plan_ring(struct step *step)
{
	const uint32_t odd = below(4 * RANKS);

	for (uint32_t i = 0; i < RANKS; i++) {
		struct job_kernel *kernel = &step->ranks[i].kernel;

		move(step, i, (i + 1) % RANKS);
		kernel->start_ns += below(100) * 997;
		kernel->ns += 100000;
		kernel->clock_unknown = odd == i;
		if (odd == RANKS + i)
			kernel->ns = 500;
	}
	for (uint32_t i = 0; i < RANKS; i++)
		expect_in_ring(step, i);
}

/* With a copy to itself, which waits for nobody. */
static void plan_three(struct step *step)
{
	const uint32_t ranks[] = {1, 2, 4};

	for (uint32_t i = 0; i < 3; i++)
		move(step, ranks[i], ranks[(i + 1) % 3]);
	move(step, 2, 2);
	expect(step, ranks, 3, true);
}

static void plan_lost(struct step *step)
{
	const uint32_t ranks[] = {0, 3};

	move(step, 0, 3);
	if (below(2))
		step->ranks[3].nr_calls = 0;
	else
		step->ranks[below(2) ? 0 : 3].kernel.ns = 0; /* no kernel */
	expect(step, ranks, 2, false);
}

static void send_kernel(uint32_t rank, const struct kernel *kernel)
{
	if (kernel->kernel.ns)
		job_kernel(processes[rank], &kernel->kernel);
}

/* Ranks tell in an order that looks random, each its own calls one by one. */
static void play(struct step *steps, uint32_t count)
{
	uint32_t next[RANKS] = {0}, at[RANKS] = {0}, left = RANKS * count;

	while (left) {
		uint32_t rank = below(RANKS);

		if (next[rank] == count)
			continue;
		const struct kernel *kernel = &steps[next[rank]].ranks[rank];
		bool used = kernel->nr_calls || kernel->kernel.stack;
		if (used && at[rank] == 0 && kernel->kernel_first)
			send_kernel(rank, kernel);
		if (at[rank] < kernel->nr_calls)
			job_call(processes[rank], &kernel->calls[at[rank]++]);
		if (at[rank] < kernel->nr_calls)
			continue;
		if (used && !kernel->kernel_first)
			send_kernel(rank, kernel);
		at[rank] = 0;
		next[rank]++;
		left--;
		if (below(3000) == 0)
			job_commit();
		if (below(30000) == 0) {
			job_commit();
			job_restart();
		}
	}
	job_commit();
}

/* Ranks without a part in a step have no kernel in it. */
static void plan(struct step *step)
{
	static void (*const patterns[])(struct step *) = {plan_pairs, plan_all_to_all, plan_ring,
							  plan_three, plan_lost};
	bool used[RANKS];

	start(step);
	uint32_t pattern = below(5);
	patterns[pattern](step);
	for (uint32_t i = 0; i < RANKS; i++) {
		used[i] = step->ranks[i].nr_calls > 0;
		if (pattern == 4 && i == 3)
			used[i] = true;
		if (!used[i]) {
			step->ranks[i].kernel.ns = 0;
			step->ranks[i].kernel.stack = NULL;
		}
	}
}

static int take_part(void *context, const struct fold_row *part, enum report_split_part which,
		     const char *text)
{
	uint64_t(*found)[PARTS] = context;
	uint32_t rank = part->key.process_id - 1, at = NOT;

	assert_int_not_equal(which, REPORT_SPLIT_WHOLE);
	if (which == REPORT_SPLIT_MOVES)
		at = MOVES;
	else if (which == REPORT_SPLIT_WAITS)
		at = strstr(text, "several") ? SEVERAL : (uint32_t)strtoul(text + 16, NULL, 10);
	found[rank][at] += part->ns;
	return 0;
}

struct taking {
	struct report_split *split;
	uint64_t found[RANKS][PARTS];
};

static int take_total(void *context, const struct fold_row *row)
{
	struct taking *taking = context;

	return report_split_each(taking->split, row, take_part, taking->found);
}

static void compare(void)
{
	struct profile *profile = job_profile();
	struct taking taking = {.split = report_split_create(profile)};

	assert_int_equal(profile_each_total(profile, take_total, &taking), 0);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t part = 0; part < PARTS; part++)
			if (taking.found[rank][part] != truth[rank][part])
				fail_msg("rank %u, part %u: %lu, expected %lu", rank, part,
					 (unsigned long)taking.found[rank][part],
					 (unsigned long)truth[rank][part]);
	report_split_destroy(taking.split);
	profile_destroy(profile);
}

static void play_job(uint32_t count)
{
	struct step *steps = calloc(count, sizeof(*steps));

	assert_non_null(steps);
	begin();
	for (uint32_t i = 0; i < count; i++)
		plan(&steps[i]);
	play(steps, count);
	free(steps);
}

static void parts_are_what_was_planted(void **state)
{
	for (uint32_t round = 1; round <= 12; round++) {
		seed = round * 104729;
		play_job(100);
		compare();
		assert_int_equal(job_tear_down(state), 0);
		assert_int_equal(job_set_up(state), 0);
	}
}

/* Most calls are no rows any more when the report is made. */
static void parts_of_a_long_job_are_exact(void **state)
{
	(void)state;
	seed = 11;
	play_job(4000);
	compare();
}

/* A call that is lost shifts none after it, because the guest counts by peer. */
static void a_receive_that_is_lost_shifts_none(void **state)
{
	struct step steps[3];

	(void)state;
	seed = 1;
	begin();
	for (uint32_t i = 0; i < 3; i++) {
		start(&steps[i]);
		for (uint32_t rank = 2; rank < RANKS; rank++)
			steps[i].ranks[rank].kernel = (struct job_kernel){.ns = 0};
		move(&steps[i], 0, 1);
		expect(&steps[i], all, 2, i != 1);
	}
	steps[1].ranks[1].nr_calls = 0;
	play(steps, 3);
	compare();
}

/* The other side of these never comes. Their kernels are not split, and their rows do not grow with the run. */
static void sends_without_receives_are_given_up(void **state)
{
	const uint32_t count = 4 * COLLECTIVE_FOLDS_WAITING;
	struct step step;
	struct database *database;
	int64_t rows;
	char *error;

	(void)state;
	seed = 3;
	begin();
	for (uint32_t i = 0; i < count; i++) {
		start(&step);
		call(&step, 0, COLLECTIVE_SEND, 1);
		truth[0][NOT] += step.ranks[0].kernel.ns;
		send_kernel(0, &step.ranks[0]);
		job_call(processes[0], &step.ranks[0].calls[0]);
		if (i % 1000 == 0)
			job_commit();
	}
	job_commit();
	compare();
	if (database_open(job_path(), true, &database, &error))
		fail_msg("%s", error);
	assert_int_equal(database_query_number(database, "SELECT count(*) FROM collectives", &rows),
			 0);
	assert_in_range(rows, COLLECTIVE_FOLDS_WAITING, 3 * COLLECTIVE_FOLDS_WAITING);
	database_close(database);
}

/* Four ranks of a ring, of which nr_hosts have a host each, in turn. Returns how many kernels are split. */
static uint32_t split_ring(uint32_t nr_hosts)
{
	struct collective_folds *folds = collective_folds_create();
	struct collective_gpu gpu = {.start_ns = 1000,
				     .ns = 50,
				     .known = true,
				     .clock_known = true,
				     .total_known = true};

	for (uint32_t i = 0; i < 4; i++) {
		const struct communicator end = {
			.communicator_id = 1, .key = 50, .rank = i, .nr_ranks = 4};

		assert_int_equal(collective_folds_process(folds, i + 1, 1, 1 + i % nr_hosts), 0);
		assert_int_equal(collective_log_put(folds->log, i + 1, &end), 0);
		for (uint32_t j = 0; j < 2; j++) {
			struct collective_log_call call = {
				.process = i + 1,
				.call = job_all_reduce(1, j + 1, 1, 1000, 10),
				.gpu = gpu,
			};

			call.call.function = j ? COLLECTIVE_RECV : COLLECTIVE_SEND;
			call.call.function_sequence = 1;
			call.call.peer = (i + (j ? 3 : 1)) % 4;
			assert_int_equal(collective_log_load_call(folds->log, &call), 0);
		}
	}
	assert_int_equal(collective_folds_take(folds, true), 0);
	uint32_t count = folds->splits.count;
	collective_folds_destroy(folds);
	return count;
}

static void begins_are_compared_on_one_host_alone(void **state)
{
	(void)state;
	assert_int_equal(split_ring(1), 4);
	assert_int_equal(split_ring(2), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_are_what_was_planted),
		TEST(parts_of_a_long_job_are_exact),
		TEST(a_receive_that_is_lost_shifts_none),
		TEST(sends_without_receives_are_given_up),
		cmocka_unit_test(begins_are_compared_on_one_host_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
