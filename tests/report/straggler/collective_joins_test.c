#include "aggregator/store/store_joins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/profile/collective_log.h"
#include "aggregator/store/database.h"
#include "straggler_fixture.h"

static uint32_t process;

static void begin(void)
{
	process = job_process(0);
	job_communicator(process, 1, 77, 0, 2);
}

static void send_call(uint64_t sequence, uint32_t correlation_id)
{
	const struct collective call =
		job_all_reduce(1, sequence, correlation_id, 1000 * sequence, 10);

	job_call(process, &call);
}

static void send_kernel(const char *name, uint32_t correlation_id, uint64_t start_ns, uint64_t ns)
{
	const struct job_kernel kernel = {.name = name,
					  .correlation_id = correlation_id,
					  .start_ns = start_ns,
					  .ns = ns,
					  .clock_offset_ns = -500};

	job_kernel(process, &kernel);
}

/* The call's kernel: its start, or 0. */
static uint64_t start_of(const struct collective_log *log, uint64_t sequence)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(log, &count);

	for (uint32_t i = 0; i < count; i++)
		if (calls[i].call.sequence == sequence)
			return calls[i].gpu.known ? calls[i].gpu.start_ns : 0;
	fail_msg("no call %lu", (unsigned long)sequence);
	return 0;
}

static void assert_start(uint64_t sequence, uint64_t start_ns)
{
	struct collective_folds *folds = job_collectives();

	assert_int_equal(start_of(folds->log, sequence), start_ns);
	collective_folds_destroy(folds);
}

static uint64_t number_of(const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(job_path(), true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return (uint64_t)number;
}

static void a_call_has_the_time_of_its_kernel(void **state)
{
	uint32_t count;

	(void)state;
	begin();
	send_call(1, 42);
	send_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 42, 9000, 700);
	job_commit();
	struct collective_folds *folds = job_collectives();
	const struct collective_gpu *gpu = &collective_log_calls(folds->log, &count)->gpu;

	assert_int_equal(count, 1);
	assert_true(gpu->known);
	assert_int_equal(gpu->start_ns, 9000);
	assert_int_equal(gpu->ns, 700);
	assert_int_equal(gpu->device_id, 0);
	assert_true(gpu->clock_known);
	assert_int_equal(gpu->clock_offset_ns, -500);
	collective_folds_destroy(folds);
}

static void either_may_come_first_in_whichever_commit(void **state)
{
	(void)state;
	begin();
	send_call(1, 1);
	job_commit();
	send_kernel("ncclDevKernel_A", 1, 1001, 5);
	send_kernel("ncclDevKernel_A", 2, 1002, 5);
	job_commit();
	send_call(2, 2);
	send_kernel("ncclDevKernel_A", 3, 1003, 5);
	send_call(3, 3);
	job_commit();
	for (uint64_t sequence = 1; sequence <= 3; sequence++)
		assert_start(sequence, 1000 + sequence);
}

static void the_calls_of_a_group_share_a_kernel(void **state)
{
	(void)state;
	begin();
	send_call(1, 5);
	job_commit();
	send_kernel("ncclDevKernel_A", 5, 1234, 5);
	send_call(2, 5);
	job_commit();
	send_call(3, 5);
	job_commit();
	for (uint64_t sequence = 1; sequence <= 3; sequence++)
		assert_start(sequence, 1234);
}

/* A launch with several kernels, as after the ids have begun anew. */
static void of_one_commit_the_first_kernel_ends_a_wait_and_the_last_one_is_kept(void **state)
{
	(void)state;
	begin();
	send_call(1, 5);
	send_call(2, 6);
	job_commit();
	for (uint32_t id = 5; id <= 6; id++)
		for (uint64_t start_ns = 1000; start_ns <= 3000; start_ns += 1000)
			send_kernel("ncclDevKernel_A", id, start_ns + id, 5);
	send_call(3, 6);
	job_commit();
	send_call(4, 6);
	job_commit();
	assert_start(1, 1005);
	assert_start(2, 1006);
	assert_start(3, 3006);
	assert_start(4, 3006);
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), 2);
	assert_int_equal(number_of("SELECT correlation_id FROM collective_kernels WHERE asked"), 6);
}

static void a_kernel_that_was_asked_for_in_any_commit_is_marked(void **state)
{
	(void)state;
	begin();
	send_call(1, 1);
	send_kernel("ncclDevKernel_A", 2, 1002, 5);
	send_kernel("ncclDevKernel_A", 3, 1003, 5);
	send_call(3, 3);
	send_kernel("ncclDevKernel_A", 4, 1004, 5);
	job_commit();
	send_kernel("ncclDevKernel_A", 1, 1001, 5);
	send_call(2, 2);
	job_commit();
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels WHERE asked"), 3);
	assert_int_equal(number_of("SELECT correlation_id FROM collective_kernels WHERE NOT asked"),
			 4);
}

static void a_commit_that_failed_comes_again_as_a_whole(void **state)
{
	(void)state;
	begin();
	send_call(1, 1);
	send_kernel("ncclDevKernel_A", 2, 1002, 5);
	job_commit();
	send_kernel("ncclDevKernel_A", 1, 1001, 5);
	send_call(2, 2);
	send_call(3, 3);
	send_kernel("ncclDevKernel_A", 3, 1003, 5);
	send_call(4, 4);
	job_commit_fails();
	assert_int_equal(number_of("SELECT count(*) FROM collectives"), 1);
	assert_start(1, 0);
	send_kernel("ncclDevKernel_A", 4, 1004, 5);
	job_commit_fails();
	job_commit();
	for (uint64_t sequence = 1; sequence <= 4; sequence++)
		assert_start(sequence, 1000 + sequence);
	assert_int_equal(number_of("SELECT count(*) FROM collectives"), 4);
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels WHERE asked"), 4);
	assert_int_equal(number_of("SELECT max(position) FROM collective_kernels"), 4);
}

static void what_is_not_known_is_null(void **state)
{
	(void)state;
	begin();
	send_call(1, 0);
	send_call(2, 6);
	send_kernel("ncclDevKernel_A", 7, 1000, 5);
	send_kernel("ncclDevKernel_A", 0, 1000, 5);
	job_commit();
	assert_start(1, 0);
	assert_start(2, 0);
	assert_int_equal(number_of("SELECT count(*) FROM collectives WHERE gpu_start_ns IS NULL"
				   " AND gpu_ns IS NULL AND device_id IS NULL"
				   " AND gpu_clock_offset_ns IS NULL"),
			 2);
}

static void a_kernel_of_another_name_counts_if_it_was_asked_for(void **state)
{
	(void)state;
	begin();
	send_kernel("gemm", 8, 800, 5);
	send_call(1, 8);
	send_call(2, 9);
	send_kernel("gemm", 9, 900, 5);
	send_kernel("gemm", 10, 1000, 5);
	job_commit();
	assert_start(1, 0);
	assert_start(2, 900);
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), 1);
}

static void kernels_of_a_graph_are_no_calls(void **state)
{
	const struct job_kernel kernel = {.name = "ncclDevKernel_A",
					  .correlation_id = 4,
					  .start_ns = 100,
					  .ns = 5,
					  .of_graph = true};

	(void)state;
	begin();
	send_call(1, 4);
	job_kernel(process, &kernel);
	job_commit();
	assert_start(1, 0);
}

static void a_kernel_before_the_first_communicator_waits_for_it(void **state)
{
	(void)state;
	process = job_process(0);
	for (uint32_t id = 1; id <= COLLECTIVE_LOG_EARLY + 3; id++)
		send_kernel("ncclDevKernel_A", id, 1000 + id, 5);
	job_commit();
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), 0);
	job_communicator(process, 1, 77, 0, 2);
	send_call(1, 3);
	send_call(2, 4);
	send_call(3, COLLECTIVE_LOG_EARLY + 3);
	job_commit();
	assert_start(1, 0);
	assert_start(2, 1004);
	assert_start(3, 1000 + COLLECTIVE_LOG_EARLY + 3);
}

static void a_killed_aggregator_goes_on_where_it_was(void **state)
{
	(void)state;
	begin();
	send_call(1, 1);
	send_kernel("ncclDevKernel_A", 2, 1002, 5);
	send_call(4, 4);
	job_commit();
	/* These come again. */
	send_kernel("ncclDevKernel_A", 1, 1, 1);
	send_call(2, 2);
	job_restart();
	send_kernel("ncclDevKernel_A", 1, 1001, 5);
	send_call(2, 2);
	send_kernel("gemm", 4, 1004, 5);
	job_commit();
	job_commit();
	assert_start(1, 1001);
	assert_start(2, 1002);
	assert_start(4, 1004);
	assert_int_equal(number_of("SELECT count(*) FROM collectives"), 3);
	assert_int_equal(number_of("SELECT max(position) FROM collective_kernels"), 3);
}

/* What a report's ledger says of the process. */
static uint64_t told_dropped(void)
{
	struct profile *profile = job_profile();
	const struct roster_process *told = roster_process(profile->collection->roster, process);
	uint64_t count = 0;

	for (uint32_t i = 0; i < told->nr_ledger; i++)
		if (told->ledger[i].reason == LEDGER_KERNEL_UNJOINED)
			count += told->ledger[i].count;
	profile_destroy(profile);
	return count;
}

static void the_oldest_kernels_are_dropped_and_counted(void **state)
{
	const uint32_t all = 2 * STORE_JOINS_ROOM;

	(void)state;
	begin();
	send_call(1, 1);
	for (uint32_t id = 1; id <= all; id++) {
		send_kernel("ncclDevKernel_A", id, 1000 + id, 5);
		if (id % 1000 == 0)
			job_commit();
	}
	job_commit();
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), STORE_JOINS_ROOM);
	assert_int_equal(told_dropped(), STORE_JOINS_ROOM - 1);
	send_call(2, 2);
	send_call(3, all);
	job_commit();
	assert_start(1, 1001);
	assert_start(2, 0);
	assert_start(3, 1000 + all);
}

static void nothing_is_left_waiting_of_a_process_that_has_ended(void **state)
{
	(void)state;
	begin();
	send_kernel("ncclDevKernel_A", 1, 1001, 5);
	job_commit();
	send_call(1, 1);
	send_kernel("ncclDevKernel_A", 2, 1002, 5); /* comes and goes in one commit */
	send_call(2, 2);
	job_end(process);
	job_commit();
	assert_start(1, 1001);
	assert_start(2, 1002);
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), 0);
}

static void the_oldest_kernels_are_counted_in_the_last_commit_too(void **state)
{
	(void)state;
	begin();
	for (uint32_t id = 1; id <= STORE_JOINS_ROOM + STORE_JOINS_CHUNK; id++)
		send_kernel("ncclDevKernel_A", id, 1000 + id, 5);
	job_end(process);
	job_commit();
	assert_int_equal(number_of("SELECT count(*) FROM collective_kernels"), 0);
	assert_int_equal(told_dropped(), STORE_JOINS_CHUNK);
}

static void processes_do_not_share_ids(void **state)
{
	(void)state;
	begin();
	send_call(1, 1);
	uint32_t other = job_process(1);
	job_communicator(other, 1, 77, 1, 2);
	const struct job_kernel kernel = {
		.name = "ncclDevKernel_A", .correlation_id = 1, .start_ns = 10, .ns = 5};
	job_kernel(other, &kernel);
	job_commit();
	assert_start(1, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_call_has_the_time_of_its_kernel),
		TEST(either_may_come_first_in_whichever_commit),
		TEST(the_calls_of_a_group_share_a_kernel),
		TEST(of_one_commit_the_first_kernel_ends_a_wait_and_the_last_one_is_kept),
		TEST(a_kernel_that_was_asked_for_in_any_commit_is_marked),
		TEST(a_commit_that_failed_comes_again_as_a_whole),
		TEST(what_is_not_known_is_null),
		TEST(a_kernel_of_another_name_counts_if_it_was_asked_for),
		TEST(kernels_of_a_graph_are_no_calls),
		TEST(a_kernel_before_the_first_communicator_waits_for_it),
		TEST(a_killed_aggregator_goes_on_where_it_was),
		TEST(the_oldest_kernels_are_dropped_and_counted),
		TEST(nothing_is_left_waiting_of_a_process_that_has_ended),
		TEST(the_oldest_kernels_are_counted_in_the_last_commit_too),
		TEST(processes_do_not_share_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
