#include "report/straggler/straggler_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"

#define PAIRS 8u
#define CALLS 40u
#define MIB   (1u << 20)

/* Pairs of ranks with a communicator each. */
struct job {
	uint32_t pairs, slow; /* slow: the pair whose transfers take twice as long; pairs: none */
	uint64_t bytes;
	uint32_t late;      /* the pair whose second rank is late; pairs: none */
	uint32_t nr_silent; /* calls of the first pair without a kernel */
	double noise;       /* of each transfer, as a part of it; 0: 0.002 */
	bool all_meet;      /* after each call, in a communicator of their own */
};

static struct collective_folds *folds;
static struct straggler_link *links;
static uint32_t nr_links;

static int tear_down(void **state)
{
	free(links);
	links = NULL;
	collective_folds_destroy(folds);
	folds = NULL;
	return job_tear_down(state);
}

static void call(const struct job *job, uint32_t pair, uint32_t process, uint32_t number,
		 uint64_t start_ns, uint64_t ns)
{
	struct collective all_reduce = job_all_reduce(1, number + 1, number + 1, start_ns - 50, 40);
	const struct job_kernel kernel = {
		.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		.stack = "train.py:step",
		.correlation_id = number + 1,
		.tid = 9,
		.start_ns = start_ns,
		.ns = ns,
	};

	all_reduce.bytes = job->bytes;
	job_call(process, &all_reduce);
	if (pair > 0 || number >= job->nr_silent)
		job_kernel(process, &kernel);
}

/* All ranks meet when each one's last transfer has ended. */
static void meet(const uint32_t *processes, const uint64_t *ready_ns, uint32_t count,
		 uint32_t number)
{
	uint64_t end_ns = 0;

	for (uint32_t i = 0; i < count; i++)
		end_ns = ready_ns[i] > end_ns ? ready_ns[i] : end_ns;
	for (uint32_t i = 0; i < count; i++) {
		const struct collective all_reduce =
			job_all_reduce(2, number + 1, CALLS + number + 1, ready_ns[i] - 50, 40);
		const struct job_kernel kernel = {
			.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
			.stack = "train.py:step",
			.correlation_id = CALLS + number + 1,
			.tid = 9,
			.start_ns = ready_ns[i],
			.ns = end_ns + 100000 - ready_ns[i],
		};

		job_call(processes[i], &all_reduce);
		job_kernel(processes[i], &kernel);
	}
}

static void find(const struct job *job)
{
	uint64_t seed = 5, meet_seed = 6, ready_ns[CALLS][2 * PAIRS];
	uint32_t all[2 * PAIRS];

	for (uint32_t pair = 0; pair < job->pairs; pair++) {
		uint32_t processes[2];

		for (uint32_t i = 0; i < 2; i++) {
			processes[i] = job_process((int32_t)(2 * pair + i));
			job_communicator(processes[i], 1, 0x100 + pair, i, 2);
			all[2 * pair + i] = processes[i];
			if (job->all_meet)
				job_communicator(processes[i], 2, 0x200, 2 * pair + i,
						 2 * job->pairs);
		}
		for (uint32_t number = 0; number < CALLS; number++) {
			uint64_t at_ns = 10000000ull * (number + 1);
			uint64_t ns = (uint64_t)(2e6 * (1 + (job->noise > 0 ? job->noise : 0.002) *
								    job_normal(&seed)));
			uint64_t late_ns = pair == job->late ? 3000000 : 0;

			if (pair == job->slow)
				ns *= 2;
			call(job, pair, processes[0], number, at_ns, ns + late_ns);
			call(job, pair, processes[1], number, at_ns + late_ns, ns);
			for (uint32_t i = 0; i < 2; i++)
				ready_ns[number][2 * pair + i] =
					at_ns + late_ns + ns +
					(uint64_t)(20000 * (1 + job_uniform(&meet_seed)));
		}
	}
	for (uint32_t number = 0; number < CALLS && job->all_meet; number++)
		meet(all, ready_ns[number], 2 * job->pairs, number);
	job_commit();
	folds = job_collectives();
	assert_int_equal(straggler_links_find(folds, &links, &nr_links), 0);
}

static void the_pair_that_moves_slowly_is_found(void **state)
{
	(void)state;
	find(&(struct job){.pairs = PAIRS, .slow = 3, .bytes = 16 * MIB, .late = PAIRS});
	assert_int_equal(nr_links, 1);
	assert_int_equal(links->fold->key, 0x103);
	assert_int_equal(links->function, COLLECTIVE_ALL_REDUCE);
	assert_int_equal(links->nr_similar, PAIRS - 1);
	assert_int_equal(links->calls, 2 * CALLS);
	/* Two ranks move each byte once. */
	assert_int_equal(links->bus_bytes, 2ull * CALLS * 16 * MIB);
	assert_in_range(links->moves_ns, 2ull * CALLS * 3960000, 2ull * CALLS * 4040000);
	assert_in_range(links->usual_ns, 2ull * CALLS * 1980000, 2ull * CALLS * 2020000);
}

static void a_report_says_so(void **state)
{
	struct report_tree *tree;
	char *text = NULL;
	size_t size;

	(void)state;
	find(&(struct job){.pairs = PAIRS, .slow = 3, .bytes = 16 * MIB, .late = PAIRS});
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nslow link: ranks 6-7 move data at 4.20 GB/s, 7 similar "
				     "communicators at 8.39 (median): all_reduce of 16.0 MiB to "
				     "32.0 MiB; 79.937 ms more in all\n"
				     "late: no rank stands out, but a slow link: ranks 6-7\n"));
	assert_non_null(strstr(text, "\"slow_links\":[\n{\"communicator\":\"0000000000000103\","
				     "\"name\":\"ranks 6-7\",\"function\":\"all_reduce\","
				     "\"bytes_below\":33554432,\"calls\":80,\"similar\":7,"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

static void ranks_that_are_late_by_a_slow_link_are_said_to_be(void **state)
{
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	find(&(struct job){
		.pairs = PAIRS, .slow = 3, .bytes = 16 * MIB, .late = PAIRS, .all_meet = true});
	struct report_straggler *found = job_straggler();

	straggler_text_line(found, line, sizeof(line));
	assert_int_equal(found->nr_links, 1);
	assert_true(found->nr_named >= 1);
	for (uint32_t i = 0; i < found->nr_named; i++) {
		assert_true(found->ranks[i].rank == 6 || found->ranks[i].rank == 7);
		assert_ptr_equal(found->ranks[i].link, &found->links[0]);
	}
	if (!strstr(line, " (by the slow link of ranks 6-7; "))
		fail_msg("%s", line);
	report_straggler_destroy(found);
}

static void a_late_rank_is_no_slow_link(void **state)
{
	(void)state;
	find(&(struct job){.pairs = PAIRS, .slow = PAIRS, .bytes = 16 * MIB, .late = 3});
	assert_int_equal(nr_links, 0);
}

static void noise_is_none(void **state)
{
	(void)state;
	find(&(struct job){
		.pairs = PAIRS, .slow = PAIRS, .bytes = 16 * MIB, .late = PAIRS, .noise = 0.2});
	assert_int_equal(nr_links, 0);
}

static void small_calls_say_nothing(void **state)
{
	(void)state;
	find(&(struct job){.pairs = PAIRS, .slow = 3, .bytes = MIB - 1, .late = PAIRS});
	assert_int_equal(nr_links, 0);
}

static void three_communicators_are_not_compared(void **state)
{
	(void)state;
	find(&(struct job){.pairs = 3, .slow = 1, .bytes = 16 * MIB, .late = PAIRS});
	assert_int_equal(nr_links, 0);
}

static void calls_without_kernels_leave_a_communicator_out(void **state)
{
	(void)state;
	find(&(struct job){
		.pairs = PAIRS, .slow = 0, .bytes = 16 * MIB, .late = PAIRS, .nr_silent = 1});
	assert_int_equal(nr_links, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_pair_that_moves_slowly_is_found),
		TEST(a_report_says_so),
		TEST(ranks_that_are_late_by_a_slow_link_are_said_to_be),
		TEST(a_late_rank_is_no_slow_link),
		TEST(noise_is_none),
		TEST(small_calls_say_nothing),
		TEST(three_communicators_are_not_compared),
		TEST(calls_without_kernels_leave_a_communicator_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
