#include "straggler_mixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "straggler_fixture.h"

#define MS        1000000.0
#define HOUR_NS   3600000000000ull
#define RANKS_MAX 64u
#define LAYERS    2u
#define TOKENS    4096.0 /* from a rank to another one */
#define MOVE_MS   0.2

enum { EXPERTS = 1, ALL };

struct rank {
	uint32_t process, correlation_id;
	uint64_t sequences[ALL + 1], functions[3],
		groups; /* functions: all_to_all, and all_reduce of each */
	int64_t gpu_skew_ns;
	double now_ms, tokens; /* as a part of the usual ones */
};

struct job {
	const struct mixture *mixture;
	struct rank ranks[RANKS_MAX];
	uint64_t seed;
};

static uint64_t gpu_clock(const struct rank *rank, double ms)
{
	return (uint64_t)((int64_t)(100 * HOUR_NS) + rank->gpu_skew_ns + (int64_t)(ms * MS));
}

static void put_kernel(struct rank *rank, const char *name, const char *stack, double from_ms,
		       double to_ms)
{
	const struct job_kernel kernel = {
		.name = name,
		.stack = stack,
		.correlation_id = ++rank->correlation_id,
		.tid = 9,
		.start_ns = gpu_clock(rank, from_ms),
		.ns = (uint64_t)((to_ms - from_ms) * MS),
	};

	job_kernel(rank->process, &kernel);
}

static struct collective call_of(struct rank *rank, uint32_t communicator, uint8_t function)
{
	struct collective call =
		job_all_reduce(communicator, ++rank->sequences[communicator],
			       rank->correlation_id + 1, gpu_clock(rank, rank->now_ms), 10000);

	call.function = function;
	return call;
}

static void compute(struct job *job, struct rank *rank, const char *stack, double ms)
{
	ms *= fmax(0.1, 1 + job->mixture->noise * job_normal(&job->seed));
	put_kernel(rank, "gemm", stack, rank->now_ms, rank->now_ms + ms);
	rank->now_ms += ms;
}

/* All ranks leave when the last has come. */
static double end_of(const struct job *job)
{
	double end_ms = 0;

	for (uint32_t i = 0; i < job->mixture->ranks; i++)
		end_ms = fmax(end_ms, job->ranks[i].now_ms);
	return end_ms + MOVE_MS;
}

/* tokens: those that a rank gets from each other one, or sends back to it. */
static void put_calls(struct job *job, uint32_t index, bool back)
{
	struct rank *rank = &job->ranks[index];

	rank->groups++;
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < job->mixture->ranks; i++) {
			const struct rank *getter = (side == 0) == back ? rank : &job->ranks[i];

			if (i == index)
				continue;
			struct collective call = call_of(
				rank, EXPERTS, side == 0 ? COLLECTIVE_SEND : COLLECTIVE_RECV);
			call.peer = i;
			call.group = rank->groups;
			call.function_sequence = rank->functions[0] + 1;
			call.bytes = (uint64_t)(TOKENS * getter->tokens);
			job_call(rank->process, &call);
		}
	rank->functions[0]++;
}

static void exchange(struct job *job, bool back)
{
	const double end_ms = end_of(job);

	for (uint32_t i = 0; i < job->mixture->ranks; i++) {
		struct rank *rank = &job->ranks[i];

		if (job->mixture->one_call) {
			struct collective call = call_of(rank, EXPERTS, COLLECTIVE_ALL_TO_ALL);
			call.function_sequence = ++rank->functions[0];
			job_call(rank->process, &call);
		} else {
			put_calls(job, i, back);
		}
		put_kernel(rank, "ncclDevKernel_SendRecv",
			   back ? "train.py:main;experts.py:combine"
				: "train.py:main;experts.py:dispatch",
			   rank->now_ms, end_ms);
		rank->now_ms = end_ms;
	}
}

static void layer(struct job *job)
{
	const struct mixture *mixture = job->mixture;
	const uint32_t wandering = (uint32_t)(job_uniform(&job->seed) * mixture->ranks);

	for (uint32_t i = 0; i < mixture->ranks; i++) {
		const bool late =
			mixture->wanders ? i == wandering : (int32_t)i == mixture->late_rank;

		job->ranks[i].tokens = late && !mixture->same_tokens ? 1 + mixture->late : 1;
		compute(job, &job->ranks[i], "train.py:main;model.py:attention",
			mixture->attention_ms);
	}
	exchange(job, false);
	for (uint32_t i = 0; i < mixture->ranks; i++) {
		const bool late = mixture->same_tokens && (int32_t)i == mixture->late_rank;

		compute(job, &job->ranks[i], "train.py:main;experts.py:forward",
			mixture->expert_ms * (late ? 1 + mixture->late : job->ranks[i].tokens));
	}
	exchange(job, true);
}

static void reduce(struct job *job, uint32_t communicator)
{
	const double end_ms = end_of(job);

	for (uint32_t i = 0; i < job->mixture->ranks; i++) {
		struct rank *rank = &job->ranks[i];
		struct collective call = call_of(rank, communicator, COLLECTIVE_ALL_REDUCE);

		call.function_sequence = ++rank->functions[communicator == EXPERTS ? 2 : 1];
		job_call(rank->process, &call);
		put_kernel(rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
			   "train.py:main;train.py:reduce", rank->now_ms, end_ms);
		rank->now_ms = end_ms;
	}
}

void mixture_play(const struct mixture *mixture)
{
	struct job job = {.mixture = mixture, .seed = mixture->seed};

	assert_in_range(mixture->ranks, 3, RANKS_MAX);
	job_world((int32_t)mixture->ranks);
	for (uint32_t i = 0; i < mixture->ranks; i++) {
		struct rank *rank = &job.ranks[i];

		rank->process = job_process((int32_t)i);
		rank->gpu_skew_ns = (int64_t)((job_uniform(&job.seed) - 0.5) * 10e9);
		job_communicator(rank->process, EXPERTS, 0x5000, i, mixture->ranks);
		job_communicator(rank->process, ALL, 0x6000, i, mixture->ranks);
	}
	for (uint32_t i = 0; i < 2 && mixture->begins_together; i++)
		reduce(&job, EXPERTS);
	for (uint32_t i = 0; i < mixture->steps; i++) {
		for (uint32_t j = 0; j < LAYERS; j++)
			layer(&job);
		reduce(&job, mixture->one_communicator ? EXPERTS : ALL);
		if (i % 16 == 15)
			job_commit();
	}
	job_commit();
}
