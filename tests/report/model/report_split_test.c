/* Waiting and moving, as reports have them, against what was planted: to the nanosecond, for every total. */
#include "report/model/report_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/profile/collective_folding.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_folds.h"
#include "report/model/report_build.h"
#include "report/model/report_ranks.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS_MAX 24u
#define STACKS    3u
#define ROUNDS    12u
#define PARTS_MAX (RANKS_MAX + 3) /* waits for each rank; then these */
#define SEVERAL   RANKS_MAX
#define MOVES     (RANKS_MAX + 1)
#define NOT       (RANKS_MAX + 2)

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(job_uniform(&seed) * limit);
}

/* Of a rank's kernels under one stack. */
struct truth {
	uint64_t ns[PARTS_MAX], count, moved;
};

static struct truth truth[RANKS_MAX][STACKS], found[RANKS_MAX][STACKS];
static uint32_t processes[RANKS_MAX], nr_ranks, correlation[RANKS_MAX];

/* What happens to a collective on one rank. */
struct part {
	struct collective call;
	struct job_kernel kernel;
	bool with_call, with_kernel, kernel_first, twice;
	uint32_t stack;
};

static const char *stack_text(uint32_t rank, uint32_t stack)
{
	static char text[64];

	snprintf(text, sizeof(text), "train.py:main;train.py:step%u_%u", rank, stack);
	return text;
}

static void begin(uint32_t ranks)
{
	memset(truth, 0, sizeof(truth));
	nr_ranks = ranks;
	for (uint32_t i = 0; i < ranks; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, ranks);
		correlation[i] = 0;
	}
}

static void plan(struct part *part, uint32_t rank, uint64_t number, uint8_t function)
{
	part->stack = below(STACKS);
	part->call = job_all_reduce(1, number, ++correlation[rank], 1000 * number, 10);
	part->call.function = function;
	part->call.bytes = 1000;
	part->call.stack_id = 0; /* the launch decides */
	part->with_call = part->with_kernel = true;
	part->kernel_first = below(2);
	part->twice = below(10) == 0;
	part->kernel = (struct job_kernel){.name = "ncclDevKernel_A",
					   .correlation_id = correlation[rank],
					   .tid = 9,
					   .start_ns = 1000000 * number + below(1000),
					   .ns = 1000 + below(100000)};
}

/* Adds what the report must say of a collective. */
static void expect(const struct part *parts, bool split)
{
	uint64_t least = UINT64_MAX;
	uint32_t last = SEVERAL;

	for (uint32_t i = 0; i < nr_ranks; i++)
		split = split && parts[i].with_call && parts[i].with_kernel;
	for (uint32_t i = 0; i < nr_ranks; i++) {
		if (parts[i].kernel.ns <= least)
			last = parts[i].kernel.ns < least ? i : SEVERAL;
		if (parts[i].kernel.ns < least)
			least = parts[i].kernel.ns;
	}
	for (uint32_t i = 0; i < nr_ranks; i++) {
		struct truth *to = &truth[i][parts[i].stack];

		if (!parts[i].with_kernel)
			continue;
		to->count++;
		if (!split) {
			to->ns[NOT] += parts[i].kernel.ns;
			continue;
		}
		to->ns[MOVES] += least;
		to->moved++;
		if (parts[i].kernel.ns > least)
			to->ns[last] += parts[i].kernel.ns - least;
	}
}

static void send_kernel(uint32_t rank, struct part *part)
{
	part->kernel.stack = stack_text(rank, part->stack);
	if (part->with_kernel)
		job_kernel(processes[rank], &part->kernel);
}

static void send(uint32_t rank, struct part *part)
{
	if (part->kernel_first)
		send_kernel(rank, part);
	if (part->with_call)
		job_call(processes[rank], &part->call);
	if (part->with_call && part->twice)
		job_call(processes[rank], &part->call);
	if (!part->kernel_first)
		send_kernel(rank, part);
}

/* Ranks tell in an order that looks random, each its own calls one by one. */
static void play(struct part (*parts)[RANKS_MAX], uint32_t count)
{
	uint32_t next[RANKS_MAX] = {0}, left = nr_ranks * count;

	while (left) {
		uint32_t rank = below(nr_ranks);

		if (next[rank] == count)
			continue;
		send(rank, &parts[next[rank]++][rank]);
		left--;
		if (below(500) == 0)
			job_commit();
		if (below(5000) == 0) {
			job_commit();
			job_restart();
		}
	}
	job_commit();
}

static uint32_t find_stack(const struct report_tree *tree, const struct report_leaf *leaf,
			   uint32_t *part)
{
	uint32_t node = leaf->node, rank, stack, other;
	const char *text = tree->strings[tree->nodes[node].name];

	*part = PARTS_MAX;
	if (sscanf(text, "[waits for rank %u]", &other) == 1)
		*part = other;
	else if (strcmp(text, "[waits for several ranks]") == 0)
		*part = SEVERAL;
	else if (strcmp(text, "[moves data]") == 0)
		*part = MOVES;
	else if (strcmp(text, "[not split]") == 0)
		*part = NOT;
	assert_true(*part < PARTS_MAX);
	text = tree->strings[tree->nodes[tree->nodes[node].parent].name];
	assert_int_equal(sscanf(text, "train.py:step%u_%u", &rank, &stack), 2);
	assert_int_equal(rank, (uint32_t)leaf->rank);
	return stack;
}

static void read_report(const struct profile *profile)
{
	struct report_tree *tree, *whole;
	uint64_t ns = 0, count = 0;

	memset(found, 0, sizeof(found));
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(report_tree_build(profile,
					   &(struct report_options){.nccl = REPORT_NCCL_WHOLE},
					   &whole),
			 0);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		uint32_t part, stack = find_stack(tree, leaf, &part);
		struct truth *to = &found[leaf->rank][stack];

		to->ns[part] += leaf->ns;
		to->count += leaf->count;
		to->moved += part == MOVES ? leaf->count : 0;
		if (part <= SEVERAL)
			assert_int_equal(leaf->count, 0);
		ns += leaf->ns;
		count += leaf->count;
	}
	assert_int_equal(ns, tree->kernel_ns);
	assert_int_equal(count, tree->kernels);
	for (uint32_t i = 0; i < whole->nr_leaves; i++) {
		ns -= whole->leaves[i].ns;
		count -= whole->leaves[i].count;
	}
	assert_int_equal(ns, 0);
	assert_int_equal(count, 0);
	report_tree_destroy(tree);
	report_tree_destroy(whole);
}

static void assert_truth(const struct truth *have, const struct truth *want, uint32_t rank)
{
	for (uint32_t part = 0; part < PARTS_MAX; part++)
		if (have->ns[part] != want->ns[part])
			fail_msg("rank %u, part %u: %lu, expected %lu", rank, part,
				 (unsigned long)have->ns[part], (unsigned long)want->ns[part]);
	assert_int_equal(have->count, want->count);
	assert_int_equal(have->moved, want->moved);
}

static void compare_with(struct profile *profile)
{
	read_report(profile);
	for (uint32_t i = 0; i < nr_ranks; i++)
		for (uint32_t j = 0; j < STACKS; j++)
			assert_truth(&found[i][j], &truth[i][j], i);
	profile_destroy(profile);
}

/* Also after a merge with a copy. */
static void compare(void)
{
	const struct merge_source sources[] = {{.path = job_path()}, {.path = job_path()}};
	struct profile *merged;
	char path[128], *error;

	compare_with(job_profile());
	snprintf(path, sizeof(path), "%s.merged", job_path());
	if (profile_merge(sources, 2, false, path, &error) || profile_load(path, &merged, &error))
		fail_msg("%s", error);
	compare_with(merged);
	unlink(path);
}

static void play_job(uint32_t count, uint32_t lost)
{
	struct part(*parts)[RANKS_MAX] = calloc(count, sizeof(*parts));

	assert_non_null(parts);
	for (uint32_t i = 0; i < count; i++) {
		static const uint8_t functions[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER,
						    COLLECTIVE_REDUCE_SCATTER,
						    COLLECTIVE_BROADCAST};
		const uint8_t function = functions[below(4)];
		uint32_t late = below(nr_ranks);

		for (uint32_t j = 0; j < nr_ranks; j++)
			plan(&parts[i][j], j, i + 1, function);
		if (below(2))
			parts[i][late].kernel.ns = 900;
		if (lost && below(lost) == 0)
			parts[i][below(nr_ranks)].with_call = false;
		if (lost && below(lost) == 0)
			parts[i][below(nr_ranks)].with_kernel = false;
		expect(parts[i], function != COLLECTIVE_BROADCAST);
	}
	play(parts, count);
	free(parts);
}

static void parts_are_what_was_planted(void **state)
{
	for (seed = 1; seed <= ROUNDS;) {
		uint64_t next = seed + 1;

		seed *= 7919;
		begin(2 + below(5));
		play_job(200, 20);
		compare();
		seed = next;
		assert_int_equal(job_tear_down(state), 0);
		assert_int_equal(job_set_up(state), 0);
	}
}

/* Most calls are no rows any more when the report is made. */
static void parts_of_a_long_job_are_exact(void **state)
{
	(void)state;
	seed = 5;
	begin(4);
	play_job(9000, 0);
	compare();
}

/* Beyond the ranks that are kept, waits are for several; nothing is lost. */
static void waits_for_many_ranks_add_up(void **state)
{
	(void)state;
	seed = 9;
	begin(RANKS_MAX);
	play_job(1500, 0);
	struct profile *profile = job_profile();

	read_report(profile);
	for (uint32_t i = 0; i < nr_ranks; i++)
		for (uint32_t j = 0; j < STACKS; j++) {
			struct truth *have = &found[i][j], *want = &truth[i][j];
			uint64_t waits = 0, kept = 0;

			for (uint32_t part = 0; part <= SEVERAL; part++) {
				waits += want->ns[part];
				waits -= have->ns[part];
				kept += part < SEVERAL && have->ns[part];
				assert_true(part == SEVERAL || have->ns[part] <= want->ns[part]);
			}
			assert_int_equal(waits, 0);
			assert_int_equal(kept, COLLECTIVE_SPLIT_RANKS);
			assert_int_equal(have->ns[MOVES], want->ns[MOVES]);
			assert_int_equal(have->ns[NOT], want->ns[NOT]);
		}
	profile_destroy(profile);
}

/* One kernel carries two collectives: it is split once, and moves the bytes of both. */
static void a_kernel_of_several_calls_is_split_once(void **state)
{
	(void)state;
	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		struct part part = {0};

		plan(&part, i, 1, COLLECTIVE_ALL_REDUCE);
		part.twice = false;
		part.stack = 0;
		part.kernel.ns = i ? 100 : 140;
		send(i, &part);
		part.call.sequence = part.call.function_sequence = 2;
		job_call(processes[i], &part.call);
	}
	truth[0][0] = (struct truth){.ns = {[1] = 40, [MOVES] = 100}, .count = 1, .moved = 1};
	truth[1][0] = (struct truth){.ns = {[MOVES] = 100}, .count = 1, .moved = 1};
	job_commit();
	compare();
	struct profile *profile = job_profile();
	assert_int_equal(profile->splits.count, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(profile->splits.splits[i].bus_bytes, 2 * 1000);
	profile_destroy(profile);
}

/* A rank that is known to be missing may have been the last. */
static void a_collective_without_all_ranks_is_not_split(void **state)
{
	(void)state;
	begin(2);
	for (uint32_t i = 0; i < 2; i++)
		job_communicator(processes[i], 2, 60, i, 3);
	for (uint32_t i = 0; i < 2; i++) {
		struct part part = {0};

		plan(&part, i, 1, COLLECTIVE_ALL_REDUCE);
		part.call.communicator_id = 2;
		part.stack = 0;
		part.kernel.ns = 100 + i;
		truth[i][0] = (struct truth){.ns = {[NOT] = 100 + i}, .count = 1};
		send(i, &part);
	}
	job_commit();
	compare();
}

/* Kernels of graphs share their launch's id with all others of it; those without a launch are under none. */
static void kernels_of_graphs_are_not_split(void **state)
{
	(void)state;
	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		struct part part = {0};

		plan(&part, i, 1, COLLECTIVE_ALL_REDUCE);
		part.kernel.of_graph = true;
		part.stack = 0;
		part.kernel.ns = 100 + i;
		truth[i][0] = (struct truth){.ns = {[NOT] = 100 + i}, .count = 1};
		send(i, &part);
	}
	job_commit();
	compare();
}

/* Nobody can say what such kernels are. */
static void kernels_of_processes_without_calls_are_shown_whole(void **state)
{
	struct report_tree *tree;

	(void)state;
	const struct job_kernel kernel = {.name = "ncclDevKernel_A",
					  .correlation_id = 1,
					  .stack = "train.py:main",
					  .start_ns = 1000,
					  .ns = 77};
	job_kernel(job_process(0), &kernel);
	job_commit();
	struct profile *profile = job_profile();
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(tree->nr_leaves, 1);
	assert_string_equal(tree->strings[tree->nodes[tree->leaves[0].node].name], "train.py:main");
	report_tree_destroy(tree);
	profile_destroy(profile);
}

static void ranks_have_the_sums(void **state)
{
	struct report_ranks *ranks;

	(void)state;
	seed = 3;
	begin(4);
	play_job(300, 30);
	struct profile *profile = job_profile();
	assert_int_equal(report_ranks_create(profile, &ranks), 0);
	assert_int_equal(ranks->nr_rows, 4);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t waits = 0, moves = 0, not = 0;

		for (uint32_t j = 0; j < STACKS; j++) {
			for (uint32_t part = 0; part <= SEVERAL; part++)
				waits += truth[i][j].ns[part];
			moves += truth[i][j].ns[MOVES];
			not += truth[i][j].ns[NOT];
		}
		assert_int_equal(ranks->rows[i].nccl_waits_ns, waits);
		assert_int_equal(ranks->rows[i].nccl_moves_ns, moves);
		assert_int_equal(ranks->rows[i].nccl.ns, waits + moves + not );
		assert_int_equal(ranks->rows[i].nccl_bus_bytes, ranks->rows[0].nccl_bus_bytes);
		assert_true(ranks->rows[i].nccl_bus_bytes > 0);
	}
	report_ranks_destroy(ranks);
	profile_destroy(profile);
}

/* Of very many calls that wait for each other, the newest of each rank are read. */
static void a_report_reads_the_newest_of_very_many_calls(void **state)
{
	struct collective_folds *folds = collective_folds_create();
	struct database *database;
	char *error;

	(void)state;
	seed = 2;
	begin(2);
	play_job(100, 0);
	if (database_open(job_path(), true, &database, &error))
		fail_msg("%s", error);
	assert_int_equal(store_folds_read(database, folds, 50), 0);
	assert_int_equal(collective_folds_take(folds, true), 0);
	uint32_t nr_calls;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &nr_calls);
	assert_in_range(nr_calls, 50, 100); /* some came twice */
	for (uint32_t i = 0; i < nr_calls; i++)
		assert_in_range(calls[i].call.sequence, 76, 100);
	collective_folds_destroy(folds);
	database_close(database);
}

/* As nccl-tests define bus bandwidth (PERFORMANCE.md), of bytes as proto/collective.h has them. */
static void bus_bytes_are_those_of_nccl_tests(void **state)
{
	(void)state;
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_REDUCE, 1000, 2), 1000);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_REDUCE, 1000, 4), 1500);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_REDUCE, 1001, 3), 1334);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_GATHER, 1000, 4), 3000);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_REDUCE_SCATTER, 1000, 4), 3000);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_TO_ALL, 1000, 4), 3000);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_SEND, 1000, 4), 1000);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_BROADCAST, 1000, 4), 0);
	assert_int_equal(collective_split_bus_bytes(COLLECTIVE_ALL_REDUCE, UINT64_MAX / 2, 2),
			 UINT64_MAX / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_are_what_was_planted),
		TEST(parts_of_a_long_job_are_exact),
		TEST(waits_for_many_ranks_add_up),
		TEST(a_kernel_of_several_calls_is_split_once),
		TEST(a_collective_without_all_ranks_is_not_split),
		TEST(kernels_of_graphs_are_not_split),
		TEST(kernels_of_processes_without_calls_are_shown_whole),
		TEST(ranks_have_the_sums),
		TEST(a_report_reads_the_newest_of_very_many_calls),
		cmocka_unit_test(bus_bytes_are_those_of_nccl_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
