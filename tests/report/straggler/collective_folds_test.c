/* Jobs that are longer than what a store keeps of them: their calls come late, twice, or not at all, in many commits.
 * Counts and waits must be those of all calls, to the nanosecond. */
#include "aggregator/profile/collective_folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_folds.h"
#include "straggler_fixture.h"

#define RANKS       4u
#define COLLECTIVES 18000u
#define CALLS_MAX   (2u * COLLECTIVES)
#define LATE_RANK   2u
#define LAG_MAX     300u /* calls that a rank may be behind another */
#define NO_KERNEL   50u  /* collective without the kernel of rank 1 */
#define LOST        100u /* collective without the call of rank 3 */

static uint64_t seed;

static uint64_t below(uint64_t limit)
{
	return (uint64_t)(job_uniform(&seed) * (double)limit);
}

/* A call as it comes: its kernel comes before it, or after it, or not at all. */
struct coming {
	struct collective call;
	struct job_kernel kernel;
	bool lost, twice, with_kernel, kernel_first;
};

struct truth {
	uint64_t collectives, used, by_gpu, joint, others, twice, calls, total_ns;
	uint64_t last[RANKS], others_ns[RANKS], waited_ns[RANKS], missing[RANKS];
	uint64_t *behind; /* owns; of LATE_RANK */
};

static struct coming *coming[RANKS];
static uint32_t nr_coming[RANKS], processes[RANKS];
static uint64_t sequence[RANKS], function_sequence[RANKS][COLLECTIVE_FUNCTIONS];
static uint32_t correlation[RANKS];
static struct truth truth;

static struct coming *add_call(uint32_t rank, uint8_t function, uint64_t bytes, uint64_t host_ns)
{
	struct coming *added = &coming[rank][nr_coming[rank]++];

	sequence[rank]++;
	*added = (struct coming){0};
	added->call = job_all_reduce(1, sequence[rank], 0, 10000 * sequence[rank], host_ns);
	added->call.function = function;
	added->call.function_sequence = ++function_sequence[rank][function];
	added->call.bytes = bytes;
	truth.calls++;
	truth.total_ns += host_ns;
	return added;
}

static void add_kernel(struct coming *to, uint32_t rank, uint64_t ns)
{
	to->call.correlation_id = ++correlation[rank];
	to->with_kernel = true;
	to->kernel_first = below(4) == 0;
	to->kernel = (struct job_kernel){.name = "ncclDevKernel_A",
					 .correlation_id = to->call.correlation_id,
					 .start_ns = 10000 * sequence[rank],
					 .ns = ns};
}

/* is_first: the first of its function, in which nobody is late. */
static void count_waits(const uint64_t *times, bool is_first)
{
	uint64_t least = UINT64_MAX, second = UINT64_MAX, waited = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < RANKS; i++) {
		if (times[i] < least) {
			second = least;
			least = times[i];
			last = i;
		} else if (times[i] < second) {
			second = times[i];
		}
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		truth.waited_ns[i] += times[i] - least;
		waited += times[i] - least;
	}
	truth.used += !is_first;
	if (is_first || second == least)
		return;
	if (last == LATE_RANK)
		truth.behind[truth.last[last]] = second - least;
	truth.last[last]++;
	truth.others_ns[last] += waited;
}

/* One collective of all ranks; some are the first of a group of two, which one kernel carries. */
static void add_collective(uint32_t number)
{
	const uint8_t function = number % 7 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_ALL_GATHER;
	const bool is_group = number % 50 == 49;
	uint64_t kernels[RANKS], hosts[RANKS];

	for (uint32_t i = 0; i < RANKS; i++) {
		kernels[i] = 1000 + below(5000) / (i == LATE_RANK ? 20 : 1);
		hosts[i] = 100 + below(50);
		struct coming *added = add_call(i, function, 1ull << number % 3 * 8, hosts[i]);

		add_kernel(added, i, kernels[i]);
		added->with_kernel = number != NO_KERNEL || i != 1;
		added->lost = number == LOST && i == 3;
		added->twice = below(1000) == 0 && !added->lost;
		truth.twice += added->twice;
		truth.calls += added->twice;
		truth.total_ns += added->twice ? hosts[i] : 0;
		truth.calls -= added->lost;
		truth.total_ns -= added->lost ? hosts[i] : 0;
		if (is_group) {
			uint32_t correlation_id = added->call.correlation_id;

			added = add_call(i, COLLECTIVE_ALL_REDUCE, 64, 10);
			added->call.correlation_id = correlation_id;
		}
		if (i % 2 && below(10) == 0) {
			add_call(i, COLLECTIVE_SEND, 64, 10);
			truth.others++;
		}
	}
	truth.collectives += 1 + is_group;
	truth.joint += is_group;
	if (number == LOST) {
		truth.missing[3]++;
		return;
	}
	const bool is_first = function_sequence[0][function] == 1;
	truth.by_gpu += number != NO_KERNEL && !is_first;
	count_waits(number == NO_KERNEL ? hosts : kernels, is_first);
}

static void send(uint32_t rank, const struct coming *sent)
{
	if (sent->with_kernel && sent->kernel_first)
		job_kernel(processes[rank], &sent->kernel);
	if (!sent->lost)
		job_call(processes[rank], &sent->call);
	if (sent->twice)
		job_call(processes[rank], &sent->call);
	if (sent->with_kernel && !sent->kernel_first)
		job_kernel(processes[rank], &sent->kernel);
}

static void begin(uint32_t present, uint32_t nr_ranks)
{
	for (uint32_t i = 0; i < present; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, nr_ranks);
	}
}

/* Ranks tell of their calls in turn, at random; some commits are followed by a restart. */
static void send_all(void)
{
	uint32_t sent[RANKS] = {0}, left = 0, until_commit = 1000;

	for (uint32_t i = 0; i < RANKS; i++)
		left += nr_coming[i];
	while (left > 0) {
		uint32_t rank = (uint32_t)below(RANKS), least = UINT32_MAX;

		for (uint32_t i = 0; i < RANKS; i++)
			if (sent[i] < nr_coming[i] && sent[i] < least)
				least = sent[i];
		if (sent[rank] == nr_coming[rank] || sent[rank] > least + LAG_MAX)
			continue;
		send(rank, &coming[rank][sent[rank]++]);
		left--;
		if (--until_commit)
			continue;
		until_commit = 1 + (uint32_t)below(4000);
		job_commit();
		if (below(3) == 0)
			job_restart();
	}
	job_commit();
}

static uint64_t count_rows(const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(job_path(), true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return (uint64_t)number;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void expect_truth(const struct report_straggler *found)
{
	const struct report_straggler_communicator *of = &found->communicators[0];
	const uint64_t nr_behind = truth.last[LATE_RANK];

	assert_int_equal(found->nr_communicators, 1);
	assert_int_equal(of->fold->nr_members, RANKS);
	assert_int_equal(of->fold->collectives, truth.collectives);
	assert_int_equal(of->fold->complete, truth.collectives - 1);
	assert_int_equal(of->fold->used, truth.used);
	assert_int_equal(of->fold->by_gpu, truth.by_gpu);
	assert_int_equal(of->fold->joint, truth.joint);
	assert_int_equal(of->fold->others, truth.others);
	assert_int_equal(of->fold->duplicates + of->fold->unmatched, truth.twice);
	for (uint32_t i = 0; i < RANKS; i++) {
		assert_int_equal(of->members[i].found.last, truth.last[i]);
		assert_int_equal(of->members[i].found.others_ns, truth.others_ns[i]);
		assert_int_equal(of->members[i].found.waited_ns, truth.waited_ns[i]);
		assert_int_equal(of->fold->members[i].missing, truth.missing[i]);
		assert_int_equal(of->members[i].found.ground, i == LATE_RANK);
	}
	qsort(truth.behind, nr_behind, sizeof(*truth.behind), by_number);
	const uint64_t median = truth.behind[nr_behind / 2];
	const uint64_t told = of->members[LATE_RANK].found.behind_ns;
	assert_true(told >= median - median / 8 && told <= median + median / 8);
}

static void play(uint64_t first_seed)
{
	uint64_t calls = 0, total_ns = 0;

	seed = first_seed;
	memset(sequence, 0, sizeof(sequence));
	memset(function_sequence, 0, sizeof(function_sequence));
	memset(correlation, 0, sizeof(correlation));
	memset(nr_coming, 0, sizeof(nr_coming));
	truth = (struct truth){.behind = calloc(COLLECTIVES, sizeof(*truth.behind))};
	for (uint32_t i = 0; i < RANKS; i++)
		coming[i] = calloc(CALLS_MAX, sizeof(*coming[i]));
	for (uint32_t i = 1; i <= COLLECTIVES; i++)
		add_collective(i);
	begin(RANKS, RANKS);
	send_all();
	struct report_straggler *found = job_straggler();

	expect_truth(found);
	for (uint32_t i = 0; i < found->folds->nr_sums; i++) {
		calls += found->folds->sums[i].calls;
		total_ns += found->folds->sums[i].total_ns;
	}
	assert_int_equal(calls, truth.calls);
	assert_int_equal(total_ns, truth.total_ns);
	assert_true(count_rows("SELECT count(*) FROM collectives") < 3 * STORE_FOLDS_ROUND);
	assert_true(count_rows("SELECT count(*) FROM collectives WHERE waited_ns > 0") > 0);
	report_straggler_destroy(found);
	for (uint32_t i = 0; i < RANKS; i++)
		free(coming[i]);
	free(truth.behind);
}

static void a_long_job_has_the_counts_and_waits_of_all_its_calls(void **state)
{
	const uint64_t rounds = getenv("FLAMEGRID_NIGHTLY") ? 50 : 1;

	(void)state;
	for (uint64_t i = 1; i <= rounds; i++) {
		if (i > 1) {
			job_tear_down(NULL);
			assert_int_equal(job_set_up(NULL), 0);
		}
		play(i * 7919);
	}
}

static void send_pair(uint32_t number)
{
	for (uint32_t rank = 0; rank < 2; rank++) {
		const struct collective call = job_all_reduce(1, number, number, 1000 * number, 10);
		const struct job_kernel kernel = {.name = "ncclDevKernel_A",
						  .correlation_id = number,
						  .start_ns = 1000 * number + rank,
						  .ns = 100 - rank};

		job_call(processes[rank], &call);
		job_kernel(processes[rank], &kernel);
	}
}

/* All in one commit, which also has calls that wait. */
static void calls_that_come_whole_need_no_row(void **state)
{
	const uint32_t all = STORE_FOLDS_ROUND;

	(void)state;
	begin(2, 2);
	for (uint32_t i = 1; i <= all; i++)
		send_pair(i);
	const struct collective alone = job_all_reduce(1, all + 1, 0, 1000 * all, 10);
	job_call(processes[0], &alone);
	job_commit_fails();
	job_commit();
	assert_in_range(count_rows("SELECT count(*) FROM collectives"), COLLECTIVE_FOLDS_LAST,
			COLLECTIVE_FOLDS_LAST + 2 * COLLECTIVE_FOLDS_WORST +
				COLLECTIVE_FOLDS_SPREAD + 1);
	assert_int_equal(count_rows("SELECT count(*) FROM collectives WHERE folded = 0"), 1);
	assert_int_equal(count_rows("SELECT max(id) FROM collectives"), 2 * all + 1);
	assert_int_equal(count_rows("SELECT sum(gpu_calls) FROM collective_sums"), 2 * all);
	assert_int_equal(count_rows("SELECT sum(waited_ns) FROM collective_sums"), all);
	assert_int_equal(count_rows("SELECT sum(waited_ns) FROM collectives"),
			 count_rows("SELECT count(*) FROM collectives WHERE folded"));
}

/* The third rank is never there; then it tells of its first calls, when nothing can be compared with them. */
static void a_rank_that_comes_too_late_is_counted(void **state)
{
	const uint32_t all = COLLECTIVE_FOLDS_WAITING + 3000;

	(void)state;
	begin(2, 3);
	for (uint32_t i = 1; i <= all; i++) {
		for (uint32_t j = 0; j < 2; j++) {
			const struct collective call = job_all_reduce(1, i, 0, 1000ull * i, 10 + j);

			job_call(processes[j], &call);
		}
		if (i % 1000 == 0)
			job_commit();
	}
	job_commit();
	assert_true(count_rows("SELECT count(*) FROM collectives WHERE folded") > 0);
	uint32_t late = job_process(2);
	job_communicator(late, 1, 50, 2, 3);
	for (uint32_t i = 1; i <= 10; i++) {
		const struct collective call = job_all_reduce(1, i, 0, 1000ull * i, 10);

		job_call(late, &call);
	}
	job_commit();
	struct report_straggler *found = job_straggler();
	const struct collective_fold *fold = found->communicators[0].fold;

	assert_int_equal(fold->collectives, all);
	assert_int_equal(fold->complete, 0);
	assert_int_equal(fold->unmatched, 10);
	assert_int_equal(fold->members[2].missing, all);
	report_straggler_destroy(found);
}

/* As in a merged profile: no fold of one writer has both ranks, but their calls have rows. */
static void ranks_of_two_writers_are_compared_by_their_rows(void **state)
{
	struct collective_folds *folds = collective_folds_create();

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		const struct communicator end = {
			.communicator_id = 1, .key = 50, .rank = i - 1, .nr_ranks = 2};
		struct collective call = job_all_reduce(1, 2, 0, 1000, 10 * i);

		assert_int_equal(collective_folds_process(folds, i, i, 1), 0);
		assert_int_equal(collective_log_put(folds->log, i, &end), 0);
		assert_int_equal(collective_log_add(folds->log, i, &call), 0);
		struct collective_fold *own = collective_folds_fold(folds, i, 50);
		assert_int_equal(collective_fold_add(own, i, &end), 0);
		own->collectives = 7;
	}
	assert_int_equal(collective_folds_take(folds, true), 0);
	assert_int_equal(folds->nr_folds, 3);
	assert_int_equal(folds->folds[0].collectives, 7);
	assert_int_equal(folds->folds[2].writer, 0);
	assert_int_equal(folds->folds[2].nr_members, 2);
	assert_int_equal(folds->folds[2].used, 1);
	assert_int_equal(folds->nr_sums, 2);
	assert_int_equal(folds->sums[0].others_ns, 10);
	assert_int_equal(folds->sums[1].waited_ns, 10);
	assert_true(folds->sums[0].key.is_across);
	collective_folds_destroy(folds);
}

/* Half a round of 64 ranks is more than COLLECTIVE_FOLDS_LAST rows. */
static void a_wide_communicator_keeps_its_newest_collectives(void **state)
{
	const uint32_t width = 64, count = 2 * STORE_FOLDS_ROUND / width;
	char sql[128];

	(void)state;
	for (uint32_t rank = 0; rank < width; rank++)
		job_communicator(job_process((int32_t)rank), 1, 0xfeed, rank, width);
	for (uint32_t i = 1; i <= count; i++)
		for (uint32_t rank = 0; rank < width; rank++) {
			const struct collective call =
				job_all_reduce(1, i, 0, 1000 * i, 100 + rank % 3);

			job_call(rank + 1, &call);
		}
	job_commit();
	assert_true(count_rows("SELECT count(*) FROM collectives") < STORE_FOLDS_ROUND);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM collectives WHERE folded AND sequence > %u",
		 count - COLLECTIVE_FOLDS_NEWEST);
	assert_int_equal(count_rows(sql), COLLECTIVE_FOLDS_NEWEST * width);
}

/* What a rank sends and receives in an exchange of all ranks, and its all_reduce. Returns the number of its last call. */
static uint32_t put_step(uint32_t rank, uint32_t width, uint32_t step)
{
	const uint32_t calls = 1 + 2 * width;

	for (uint32_t i = 0; i < calls; i++) {
		const uint32_t at = step * calls + i + 1;
		struct collective call = job_all_reduce(1, at, 0, 1000 * at, 100 + rank % 3);

		call.function_sequence = step + 1;
		if (i < 2 * width) {
			call.function = i < width ? COLLECTIVE_SEND : COLLECTIVE_RECV;
			call.peer = i % width;
		}
		job_call(rank + 1, &call);
	}
	return (step + 1) * calls;
}

/* Some ranks also send to themselves. */
static void collectives_between_messages_have_rows(void **state)
{
	const uint32_t width = 8, steps = 2 * COLLECTIVE_FOLDS_NEWEST,
		       calls = COLLECTIVE_FOLDS_NEWEST * (1 + 2 * width);
	uint32_t all = 0;
	char sql[128];

	(void)state;
	assert_true(steps * (1 + 2 * width) * width > STORE_FOLDS_ROUND);
	for (uint32_t rank = 0; rank < width; rank++)
		job_communicator(job_process((int32_t)rank), 1, 0xfeed, rank, width);
	for (uint32_t step = 0; step < steps; step++)
		for (uint32_t rank = 0; rank < width; rank++)
			all = put_step(rank, width, step);
	job_commit();
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM collectives WHERE folded AND sequence > %u", all - calls);
	assert_int_equal(count_rows(sql), calls * width);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM collectives WHERE sequence <= %u AND function IN (%d, %d)",
		 all - calls, COLLECTIVE_SEND, COLLECTIVE_RECV);
	assert_int_equal(count_rows(sql), 0);
}

/* One rank is late in each 40th collective: what it did before is known in rounds that follow, too. */
static void the_costliest_collectives_keep_the_calls_before_them(void **state)
{
	const uint32_t width = 64, every = 40, lumps = COLLECTIVE_FOLDS_COSTLIEST;
	char sql[128];

	(void)state;
	for (uint32_t rank = 0; rank < width; rank++)
		job_communicator(job_process((int32_t)rank), 1, 0xfeed, rank, width);
	for (uint32_t i = 1; i <= (lumps + 1) * every; i++) {
		const bool is_long = i % every == 0 && i <= lumps * every;

		for (uint32_t rank = 0; rank < width; rank++) {
			const struct collective call = job_all_reduce(
				1, i, 0, 1000000ull * i, is_long && rank ? 900000 : 100 + rank % 3);

			job_call(rank + 1, &call);
		}
		if (i % every == 0)
			job_commit();
	}
	job_commit();
	for (uint32_t before = 0; before < 2; before++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM collectives WHERE (sequence + %u) %% %u = 0 "
			 "AND sequence <= %u",
			 before, every, lumps * every);
		assert_int_equal(count_rows(sql), lumps * width);
	}
	assert_in_range(count_rows("SELECT count(*) FROM collectives WHERE folded"),
			(COLLECTIVE_FOLDS_NEWEST + lumps) * width,
			(COLLECTIVE_FOLDS_NEWEST + 2 * lumps) * width + COLLECTIVE_FOLDS_SPREAD);
}

/* The kernels of a collective or of an exchange with each other rank, on three ranks. late: its last one is not known. */
static void load_meeting(struct collective_folds *folds, uint32_t number, bool exchange, bool late)
{
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < (exchange ? 4 : 1); j++) {
			struct collective_log_call call = {
				.process = i + 1,
				.call = job_all_reduce(1, 4 * number + j, number, 1000 * number, 9),
				.gpu = {.start_ns = 1000 * number,
					.ns = 100 + i,
					.known = !late || i < 2,
					.total_known = true},
			};

			call.call.function_sequence = number;
			call.call.peer = (i + 1 + j % 2) % 3;
			if (exchange)
				call.call.function = j < 2 ? COLLECTIVE_SEND : COLLECTIVE_RECV;
			assert_int_equal(collective_log_load_call(folds->log, &call), 0);
		}
}

/* All_reduces and exchanges by turns, of which the one of this number waits for a kernel. Returns how many are
 * folded. */
static uint64_t fold_five(uint32_t late, bool all)
{
	struct collective_folds *folds = collective_folds_create();

	for (uint32_t i = 0; i < 3; i++) {
		const struct communicator end = {
			.communicator_id = 1, .key = 50, .rank = i, .nr_ranks = 3};

		assert_int_equal(collective_folds_process(folds, i + 1, 1, 1), 0);
		assert_int_equal(collective_log_put(folds->log, i + 1, &end), 0);
	}
	for (uint32_t i = 1; i <= 5; i++)
		load_meeting(folds, i, i % 2 == 0, i == late);
	assert_int_equal(collective_folds_take(folds, all), 0);
	uint64_t collectives = folds->folds[0].collectives;
	collective_folds_destroy(folds);
	return collectives;
}

static void collectives_and_exchanges_hold_up_one_another(void **state)
{
	(void)state;
	for (uint32_t late = 1; late <= 5; late++)
		assert_int_equal(fold_five(late, false), late - 1);
	assert_int_equal(fold_five(6, false), 5);
	assert_int_equal(fold_five(3, true), 5);
}

static void a_histogram_has_the_median_to_an_eighth(void **state)
{
	struct collective_bin *bins = NULL;
	uint32_t nr_bins = 0;

	(void)state;
	assert_int_equal(collective_bins_median(bins, nr_bins), 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct collective_bin bin = {9 - i, 2, 100 * (3 - i)};

		assert_int_equal(collective_bins_add(&bins, &nr_bins, &bin), 0);
		assert_int_equal(collective_bins_add(&bins, &nr_bins, &bin), 0);
	}
	assert_int_equal(nr_bins, 3);
	assert_int_equal(bins[0].bin, 7);
	assert_int_equal(bins[0].count, 4);
	assert_int_equal(collective_bins_median(bins, nr_bins), 100);
	free(bins);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_long_job_has_the_counts_and_waits_of_all_its_calls),
		TEST(calls_that_come_whole_need_no_row),
		TEST(a_rank_that_comes_too_late_is_counted),
		TEST(ranks_of_two_writers_are_compared_by_their_rows),
		TEST(a_wide_communicator_keeps_its_newest_collectives),
		TEST(collectives_between_messages_have_rows),
		TEST(the_costliest_collectives_keep_the_calls_before_them),
		TEST(collectives_and_exchanges_hold_up_one_another),
		TEST(a_histogram_has_the_median_to_an_eighth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
