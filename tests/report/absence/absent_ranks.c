#include "absent_ranks.h"

#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/writers/straggler/straggler_text.h"

struct absent_job absent_job;
struct report_straggler *absent_report;

uint64_t absent_own_clock(uint32_t rank, uint64_t ns)
{
	return 3600 * S + ns + (rank < 4 ? 0 : AHEAD);
}

static void define(uint32_t rank)
{
	job_communicator(absent_job.processes[rank], WORLD, 0xfeed, rank, RANKS);
	job_communicator(absent_job.processes[rank], TENSOR, 0x1000 + rank / 4, rank % 4, 4);
	job_communicator(absent_job.processes[rank], DATA, 0x2000 + rank % 4, rank / 4, 2);
}

void absent_start(uint32_t rank)
{
	if (rank == 4)
		job_node("node02");
	absent_job.processes[rank] = job_process((int32_t)rank);
	define(rank);
}

void absent_start_all(void)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		absent_start(rank);
	for (uint32_t rank = 0; rank < RANKS; rank += 4)
		job_clock(absent_job.processes[rank],
			  (int64_t)absent_own_clock(rank, 0) - (int64_t)EPOCH);
}

int absent_set_up(void **state)
{
	int result = job_set_up(state);

	memset(&absent_job, 0, sizeof(absent_job));
	job_world(RANKS);
	absent_report = NULL;
	return result;
}

int absent_tear_down(void **state)
{
	report_straggler_destroy(absent_report);
	return job_tear_down(state);
}

void absent_call(uint32_t rank, uint32_t communicator, bool ends, uint64_t ns)
{
	const uint32_t id = ++absent_job.correlation_ids[rank];
	const struct collective all_reduce =
		job_all_reduce(communicator, ++absent_job.calls[rank][communicator], id,
			       absent_own_clock(rank, absent_job.now_ns), 20000);
	const struct job_kernel kernel = {
		.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		.stack = "train.py:step",
		.correlation_id = id,
		.tid = 9,
		.start_ns = absent_own_clock(rank, absent_job.now_ns) + 30000,
		.ns = ns,
	};

	job_call(absent_job.processes[rank], &all_reduce);
	if (ends)
		job_kernel(absent_job.processes[rank], &kernel);
}

void absent_meet(uint32_t communicator, uint32_t ranks, bool ends)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		if (ranks & 1u << rank)
			absent_call(rank, communicator, ends, MS);
}

void absent_train(uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		absent_job.now_ns += 100 * MS;
		absent_meet(TENSOR, ALL, true);
		absent_meet(DATA, ALL, true);
		absent_meet(WORLD, ALL, true);
	}
}

void absent_end(uint32_t ranks, enum job_ending ending, uint64_t after_s)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		if (ranks & 1u << rank)
			job_end_at(absent_job.processes[rank], ending,
				   EPOCH + absent_job.now_ns + after_s * S);
}

const struct report_straggler *absent_find(void)
{
	job_commit();
	absent_report = job_straggler();
	return absent_report;
}

const char *absent_line_of(void)
{
	static char line[STRAGGLER_TEXT_SIZE];

	return straggler_text_line(absent_find(), line, sizeof(line));
}

void absent_assert_nobody(void)
{
	assert_int_equal(absent_find()->nr_missing, 0);
}
