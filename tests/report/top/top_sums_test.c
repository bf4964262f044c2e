#include "report/top/top_sums.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "tests/report/model/report_fixture.h"
#include "top_fixture.h"

#define NCCL "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"

static uint32_t first, second; /* processes: ranks 0 and 1 */

static void make_two_ranks(void)
{
	first = top_fixture_process("node02", 200, 0, 1);
	second = top_fixture_process("node03", 300, 1, 2);
	top_fixture_busy(first, 600 * MS, 2 * S, 100 * S);
	top_fixture_stream_busy(first, 7, 500 * MS);
	top_fixture_stream_busy(first, 8, 200 * MS);
	top_fixture_work(first, 7, RECORD_GPU_KERNEL, "_Z4gemmv", 10, 500 * MS);
	top_fixture_work(first, 8, RECORD_GPU_KERNEL, NCCL, 4, 150 * MS);
	top_fixture_work(first, 8, RECORD_GPU_MEMCPY, NULL, 2, 50 * MS);
	top_fixture_busy(second, 900 * MS, 2 * S, 100 * S);
	top_fixture_stream_busy(second, 7, 900 * MS);
	top_fixture_work(second, 7, RECORD_GPU_KERNEL, "_Z4gemmv", 20, 900 * MS);
}

/* The next reading: 2 s later, of which rank 0 worked 0.5 s. */
static void let_first_work(void)
{
	top_fixture_busy(first, 1100 * MS, 4 * S, 102 * S);
	top_fixture_stream_busy(first, 7, 1000 * MS);
	top_fixture_work(first, 7, RECORD_GPU_KERNEL, "_Z4gemmv", 5, 500 * MS);
}

static void outer_nodes_are_sums_of_inner_ones(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *sums = top_fixture_read();
	const struct top_node *all = &sums->nodes[0];
	const struct top_node *rank = top_fixture_child(sums, all, "rank 0");
	const struct top_node *gpu = top_fixture_child(sums, rank, "GPU 1");
	const struct top_node *stream = top_fixture_child(sums, gpu, "stream 8");

	assert_int_equal(sums->nr_ranks, 2);
	assert_int_equal(sums->nr_gpus, 2);
	assert_string_equal(rank->place, "node02");
	assert_string_equal(gpu->place, "NVIDIA H100");
	assert_int_equal(gpu->values[TOP_RECORDS], 16);
	/* not the sum of its streams, which overlap */
	assert_int_equal(gpu->values[TOP_BUSY], 600 * MS);
	assert_int_equal(gpu->values[TOP_COMPUTE], 500 * MS);
	assert_int_equal(gpu->values[TOP_NCCL], 150 * MS);
	assert_int_equal(gpu->values[TOP_COPIES], 50 * MS);
	assert_int_equal(gpu->window_ns, S);
	assert_int_equal(stream->values[TOP_BUSY], 200 * MS);
	assert_int_equal(stream->values[TOP_NCCL], 150 * MS);
	assert_int_equal(stream->window_ns, S);
	assert_memory_equal(rank->values, gpu->values, sizeof(gpu->values));
	assert_int_equal(all->values[TOP_BUSY], 1500 * MS);
	assert_int_equal(all->values[TOP_RECORDS], 36);
	assert_int_equal(all->window_ns, 2 * S);
	top_sums_destroy(sums);
}

static void kernels_are_those_of_a_stream_and_of_all(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *sums = top_fixture_read();
	const struct top_node *all = &sums->nodes[0];
	const struct top_node *gpu =
		top_fixture_child(sums, top_fixture_child(sums, all, "rank 0"), "GPU 1");
	const struct top_node *stream = top_fixture_child(sums, gpu, "stream 7");
	const struct top_node *copies =
		top_fixture_child(sums, top_fixture_child(sums, gpu, "stream 8"), "Memcpy Unknown");

	assert_int_equal(top_fixture_child(sums, stream, "gemm")->values[TOP_BUSY], 500 * MS);
	assert_int_equal(top_fixture_child(sums, all, "gemm")->values[TOP_BUSY], 1400 * MS);
	assert_int_equal(top_fixture_child(sums, all, "gemm")->values[TOP_RECORDS], 30);
	assert_non_null(copies);
	assert_int_equal(copies->values[TOP_COPIES], 50 * MS);
	assert_int_equal(sums->nr_kernels, 3 + 4);
	top_sums_destroy(sums);
}

static bool wants_none(const void *context, uint64_t key)
{
	(void)context;
	(void)key;
	return false;
}

static void streams_have_kernels_only_where_they_are_wanted(void **state)
{
	const struct top_wants none = {.wants = wants_none};
	struct top_sums *sums;

	(void)state;
	make_two_ranks();
	assert_int_equal(top_sums_create(&top_from, &none, &sums), 0);
	assert_int_equal(sums->nr_kernels, 3);
	assert_int_equal(sums->nodes[0].values[TOP_RECORDS], 36);
	top_sums_destroy(sums);
}

static void processes_of_a_rank_on_one_gpu_are_one_node(void **state)
{
	(void)state;
	make_two_ranks();
	const uint32_t third = top_fixture_process("node02", 201, 0, 1);

	top_fixture_busy(third, 100 * MS, 3 * S, 101 * S);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *gpu = top_fixture_child(
		sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"), "GPU 1");

	assert_int_equal(sums->nr_gpus, 2);
	assert_int_equal(gpu->values[TOP_BUSY], 700 * MS);
	assert_int_equal(gpu->window_ns, 2 * S);
	assert_int_equal(gpu->heard_ns, 101 * S);
	top_sums_destroy(sums);
}

static void time_between_capture_windows_is_apart(void **state)
{
	(void)state;
	make_two_ranks();
	const uint32_t third = top_fixture_process("node02", 201, 0, 1);

	top_fixture_busy(third, 100 * MS, 3 * S, 101 * S);
	top_fixture_uncaptured(third, 300 * MS);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *rank = top_fixture_child(sums, &sums->nodes[0], "rank 0");
	const struct top_node *gpu = top_fixture_child(sums, rank, "GPU 1");

	assert_int_equal(gpu->uncaptured_ns, 300 * MS);
	assert_int_equal(gpu->window_ns, 2 * S - 300 * MS);
	assert_int_equal(rank->window_ns, gpu->window_ns);
	assert_int_equal(sums->nodes[0].uncaptured_ns, 300 * MS);
	assert_int_equal(sums->nodes[0].window_ns, 3 * S - 300 * MS);
	top_sums_destroy(sums);
	/* of two processes together no more than what was not busy */
	top_fixture_uncaptured(third, 1900 * MS);
	sums = top_fixture_read();
	gpu = top_fixture_child(sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"), "GPU 1");
	assert_int_equal(gpu->uncaptured_ns, 1300 * MS);
	assert_int_equal(gpu->window_ns, gpu->values[TOP_BUSY]);
	top_sums_destroy(sums);
}

static void a_process_without_a_rank_stands_for_itself(void **state)
{
	(void)state;
	const uint32_t one = top_fixture_process("node02", 200, -1, 0);
	const uint32_t other = top_fixture_process("node02", 201, -1, 0);

	top_fixture_busy(one, MS, 2 * S, 100 * S);
	top_fixture_busy(other, MS, 2 * S, 100 * S);
	struct top_sums *sums = top_fixture_read();

	assert_int_equal(sums->nr_ranks, 2);
	assert_non_null(top_fixture_child(sums, &sums->nodes[0], "pid 200"));
	assert_non_null(top_fixture_child(sums, &sums->nodes[0], "pid 201"));
	top_sums_destroy(sums);
}

static void rates_are_what_came_between_two_readings(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	let_first_work();
	struct top_sums *sums = top_fixture_read();
	const struct top_node *all = &sums->nodes[0];
	const struct top_node *rank = top_fixture_child(sums, all, "rank 0");
	const struct top_node *gpu = top_fixture_child(sums, rank, "GPU 1");
	const struct top_node *stream = top_fixture_child(sums, gpu, "stream 7");

	top_sums_follow(sums, last);
	assert_int_equal(gpu->rate_ns, 2 * S);
	assert_int_equal(gpu->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(gpu->rates[TOP_COMPUTE], 500 * MS);
	assert_int_equal(gpu->rates[TOP_NCCL], 0);
	assert_int_equal(gpu->rates[TOP_RECORDS], 5);
	assert_int_equal(rank->rate_ns, 2 * S);
	assert_int_equal(rank->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(stream->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(stream->rate_ns, 2 * S);
	assert_int_equal(top_fixture_child(sums, stream, "gemm")->rates[TOP_BUSY], 500 * MS);
	/* rank 1 had no news, and no rates before */
	assert_int_equal(top_fixture_child(sums, all, "rank 1")->rate_ns, 0);
	assert_int_equal(all->rate_ns, 2 * S);
	assert_int_equal(top_fixture_child(sums, all, "gemm")->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(top_fixture_child(sums, all, "gemm")->rate_ns, 2 * S);
	assert_int_equal(gpu->nr_history, 1);
	assert_int_equal(gpu->history[0], 25);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void a_gpu_without_news_keeps_its_rates(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	let_first_work();
	struct top_sums *middle = top_fixture_read();
	top_sums_follow(middle, last);
	struct top_sums *sums = top_fixture_read();
	top_sums_follow(sums, middle);
	const struct top_node *gpu = top_fixture_child(
		sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"), "GPU 1");

	assert_int_equal(gpu->rate_ns, 2 * S);
	assert_int_equal(gpu->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(gpu->nr_history, 1);
	assert_int_equal(top_fixture_child(sums, gpu, "stream 7")->rates[TOP_BUSY], 500 * MS);
	assert_int_equal(top_fixture_child(sums, &sums->nodes[0], "gemm")->rates[TOP_BUSY],
			 500 * MS);
	top_sums_destroy(last);
	top_sums_destroy(middle);
	top_sums_destroy(sums);
}

/* Messages that were heard of soon after one another may bring the work of a longer time. */
static void rates_stand_for_the_time_of_the_work_if_it_is_longer(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	top_fixture_busy(first, 1600 * MS, 3 * S, 100 * S + 500 * MS);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *gpu = top_fixture_child(
		sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"), "GPU 1");

	top_sums_follow(sums, last);
	assert_int_equal(gpu->rate_ns, S);
	assert_int_equal(gpu->rates[TOP_BUSY], S);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

/* Of its last second of work nothing may have been delivered yet. */
static void rates_do_not_stand_for_time_that_is_not_delivered(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	top_fixture_busy(first, 1600 * MS, 3 * S, 102 * S);
	top_fixture_busy(second, 1000 * MS, 2 * S + 100 * MS, 105 * S);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *all = &sums->nodes[0];

	top_sums_follow(sums, last);
	assert_int_equal(top_fixture_child(sums, all, "rank 0")->rate_ns, S);
	assert_int_equal(top_fixture_child(sums, all, "rank 0")->rates[TOP_BUSY], S);
	/* it was idle for most of five seconds */
	assert_int_equal(top_fixture_child(sums, all, "rank 1")->rate_ns, 4 * S);
	assert_int_equal(top_fixture_child(sums, all, "rank 1")->rates[TOP_BUSY], 100 * MS);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

/* A message without work is no news at once: work may be on its way. */
static void a_gpu_is_idle_once_messages_have_told_of_no_work_for_long(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	let_first_work();
	for (uint32_t i = 0; i < 4; i++) {
		struct top_sums *sums = top_fixture_read();
		const struct top_node *rank = top_fixture_child(sums, &sums->nodes[0], "rank 0");

		top_sums_follow(sums, last);
		assert_int_equal(rank->rates[TOP_BUSY], i < 3 ? 500 * MS : 0);
		assert_int_equal(rank->rate_ns, i < 3 ? 2 * S : S);
		assert_int_equal(rank->nr_history, i < 3 ? 1 : 2);
		top_sums_destroy(last);
		last = sums;
		top_from.heard_ns[first - 1] += S;
	}
	top_sums_destroy(last);
}

static void a_new_gpu_has_all_of_its_time(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	const uint32_t third = top_fixture_process("node04", 400, 2, 3);
	top_fixture_busy(third, 250 * MS, 2 * S, 102 * S);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *gpu = top_fixture_child(
		sums, top_fixture_child(sums, &sums->nodes[0], "rank 2"), "GPU 3");

	top_sums_follow(sums, last);
	assert_int_equal(gpu->rate_ns, S);
	assert_int_equal(gpu->rates[TOP_BUSY], 250 * MS);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void kernels_that_nobody_had_looked_at_have_no_rates_yet(void **state)
{
	const struct top_wants none = {.wants = wants_none};
	struct top_sums *last;

	(void)state;
	make_two_ranks();
	assert_int_equal(top_sums_create(&top_from, &none, &last), 0);
	let_first_work();
	struct top_sums *sums = top_fixture_read();
	const struct top_node *stream = top_fixture_child(
		sums,
		top_fixture_child(sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"),
				  "GPU 1"),
		"stream 7");

	top_sums_follow(sums, last);
	assert_int_equal(top_fixture_child(sums, stream, "gemm")->rate_ns, 0);
	assert_int_equal(stream->rates[TOP_BUSY], 500 * MS);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void a_sum_that_shrinks_is_no_rate(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	top_fixture_busy(first, 100 * MS, 2 * S, 103 * S);
	struct top_sums *sums = top_fixture_read();
	const struct top_node *gpu = top_fixture_child(
		sums, top_fixture_child(sums, &sums->nodes[0], "rank 0"), "GPU 1");

	top_sums_follow(sums, last);
	assert_int_equal(gpu->rates[TOP_BUSY], 0);
	assert_int_equal(gpu->rate_ns, 3 * S);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void what_has_ended_is_no_part_of_its_ranks_rates(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	let_first_work();
	roster_process(report_fixture.collection->roster, first)->state = PROCESS_ENDED;
	struct top_sums *sums = top_fixture_read();

	top_sums_follow(sums, last);
	assert_int_equal(top_fixture_child(sums, &sums->nodes[0], "rank 0")->rate_ns, 0);
	assert_int_equal(sums->nr_running, 1);
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void a_sparkline_has_the_newest_values(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();

	for (uint32_t i = 1; i <= TOP_SUMS_HISTORY + 3; i++) {
		/* each second i percent more */
		top_fixture_busy(first, 600 * MS + i * (i + 1) / 2 * 10 * MS, (2 + i) * S,
				 (100 + i) * S);
		struct top_sums *sums = top_fixture_read();

		top_sums_follow(sums, last);
		top_sums_destroy(last);
		last = sums;
	}
	const struct top_node *rank = top_fixture_child(last, &last->nodes[0], "rank 0");
	assert_int_equal(rank->nr_history, TOP_SUMS_HISTORY);
	for (uint32_t i = 0; i < TOP_SUMS_HISTORY; i++)
		assert_int_equal(rank->history[i], i + 4);
	top_sums_destroy(last);
}

static void another_profile_is_told_by_its_writer(void **state)
{
	(void)state;
	make_two_ranks();
	struct top_sums *last = top_fixture_read();
	struct top_sums *sums = top_fixture_read();

	assert_true(top_sums_is_same(sums, last));
	top_from.writer[0] = 8;
	top_sums_destroy(sums);
	sums = top_fixture_read();
	assert_false(top_sums_is_same(sums, last));
	top_sums_destroy(last);
	top_sums_destroy(sums);
}

static void a_name_that_the_profile_lacks_is_refused(void **state)
{
	const struct top_wants all = {.wants = NULL};
	struct fold_key key = report_fixture_key(0, "gemm");
	struct top_sums *sums;

	(void)state;
	key.name_id = 1000000;
	report_fixture_add_row(key, 1, 1, 0);
	assert_int_equal(top_sums_create(&top_from, &all, &sums), -EPROTO);
	assert_null(sums);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, top_fixture_set_up, top_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outer_nodes_are_sums_of_inner_ones),
		TEST(kernels_are_those_of_a_stream_and_of_all),
		TEST(streams_have_kernels_only_where_they_are_wanted),
		TEST(processes_of_a_rank_on_one_gpu_are_one_node),
		TEST(time_between_capture_windows_is_apart),
		TEST(a_process_without_a_rank_stands_for_itself),
		TEST(rates_are_what_came_between_two_readings),
		TEST(a_gpu_without_news_keeps_its_rates),
		TEST(rates_stand_for_the_time_of_the_work_if_it_is_longer),
		TEST(rates_do_not_stand_for_time_that_is_not_delivered),
		TEST(a_gpu_is_idle_once_messages_have_told_of_no_work_for_long),
		TEST(a_new_gpu_has_all_of_its_time),
		TEST(kernels_that_nobody_had_looked_at_have_no_rates_yet),
		TEST(a_sum_that_shrinks_is_no_rate),
		TEST(what_has_ended_is_no_part_of_its_ranks_rates),
		TEST(a_sparkline_has_the_newest_values),
		TEST(another_profile_is_told_by_its_writer),
		TEST(a_name_that_the_profile_lacks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
