#include "late_pipeline.h"

#include <stdbool.h>
#include <stdio.h>

#include "late_verdict.h"
#include "tests/bench/late/late_judge.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_parallel.h"

struct kind {
	const char *name;
	struct parallel job; /* without a seed */
};

/* steps 0: 60; noise 0: 4 %. stage and rank: those that are late; -1: none. */
#define JOB(t, d, s, stage, rank, ...)                                                             \
	{                                                                                          \
		.tensor = t, .data = d, .stages = s, .late_stage = stage, .late_rank = rank,       \
		.micro_batches = 8, .forward_ms = 4, __VA_ARGS__                                   \
	}
#define LOGNORMAL .noise = 0.4, .noise_kind = PARALLEL_LOGNORMAL
#define DRIFTING  .noise = 0.2, .noise_kind = PARALLEL_DRIFT

static const struct kind kinds[] = {
	{"pipeline of 4: stage 2, by 10 %", JOB(1, 1, 4, 2, -1, .late = 0.1)},
	{"the same, all ranks end each step together",
	 JOB(1, 1, 4, 2, -1, .late = 0.1, .all_ranks = true)},
	{"pipeline of 8: the last stage, by 10 %", JOB(1, 1, 8, 7, -1, .late = 0.1)},
	{"pipeline of 2: stage 0, by 10 %", JOB(1, 1, 2, 0, -1, .late = 0.1)},
	{"pipeline of 4: the first stage loads for 10 ms", JOB(1, 1, 4, 0, -1, .load_ms = 10)},
	{"2 pipelines of 4: stage 1, by 10 %", JOB(1, 2, 4, 1, -1, .late = 0.1)},
	{"2 pipelines of 4: a rank, by 10 %", JOB(1, 2, 4, -1, 3, .late = 0.1, .all_ranks = true)},
	{"TP 2 × DP 2 × PP 4: stage 1, by 10 %",
	 JOB(2, 2, 4, 1, -1, .late = 0.1, .all_ranks = true)},
	{"TP 2 × DP 2 × PP 4: a rank, by 20 %",
	 JOB(2, 2, 4, -1, 5, .late = 0.2, .all_ranks = true)},
	{"TP 4 × DP 2 × PP 2: a rank, by 20 %",
	 JOB(4, 2, 2, -1, 9, .late = 0.2, .all_ranks = true)},
	{"TP 2 × DP 8 × PP 4: a rank, by 20 %", JOB(2, 8, 4, -1, 21, .late = 0.2, .steps = 30)},
	{"clean, pipeline of 4", JOB(1, 1, 4, -1, -1, )},
	{"clean, pipeline of 4, all ranks end each step together",
	 JOB(1, 1, 4, -1, -1, .all_ranks = true)},
	{"clean, pipeline of 4, lognormal noise of 40 %",
	 JOB(1, 1, 4, -1, -1, LOGNORMAL, .all_ranks = true)},
	{"clean, pipeline of 4, drifting noise of 20 %",
	 JOB(1, 1, 4, -1, -1, DRIFTING, .all_ranks = true)},
	{"clean, pipeline of 4, slow sends", JOB(1, 1, 4, -1, -1, .move_ms = 1)},
	{"clean, pipeline of 2", JOB(1, 1, 2, -1, -1, .all_ranks = true)},
	{"clean, TP 2 × DP 2 × PP 4", JOB(2, 2, 4, -1, -1, .all_ranks = true)},
	{"clean, TP 2 × DP 2 × PP 4, lognormal noise of 40 %",
	 JOB(2, 2, 4, -1, -1, LOGNORMAL, .all_ranks = true)},
	{"clean, TP 2 × DP 2 × PP 4, drifting noise of 20 %",
	 JOB(2, 2, 4, -1, -1, DRIFTING, .all_ranks = true)},
};

static bool is_planted(const struct parallel *job, int32_t rank)
{
	const int32_t in_stage = (int32_t)(job->tensor * job->data);

	return rank == job->late_rank || rank / in_stage == job->late_stage;
}

/* Returns whether the result is right, and counts what is named beside it. A stage with several ranks is named as one. */
static bool judge(const struct parallel *job, uint32_t *innocent)
{
	struct report_straggler *found = job_straggler();
	const bool one = job->tensor * job->data == 1;
	const bool group = job->late_stage >= 0 && !one;
	const bool rank = job->late_rank >= 0 || (job->late_stage >= 0 && one);
	bool beside = false;
	uint32_t named = 0;

	for (uint32_t i = 0; i < found->nr_named; i++)
		if (!found->ranks[i].kept_by) {
			beside |= !is_planted(job, found->ranks[i].rank);
			named++;
		}
	for (uint32_t i = 0; i < found->nr_groups; i++)
		beside |= found->groups[i].group->kind != STRAGGLER_GROUP_STAGE ||
			  (int32_t)found->groups[i].group->number != job->late_stage;
	const bool is_right = named == rank && found->nr_groups == group && !beside;
	*innocent += beside;
	report_straggler_destroy(found);
	return is_right;
}

void late_pipeline_run(uint32_t jobs, uint64_t first_seed)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint32_t right = 0, innocent = 0;

		for (uint32_t j = 0; j < jobs; j++) {
			struct parallel job = kinds[i].job;
			void *state = NULL;

			job.seed = first_seed + j;
			job.steps = job.steps ? job.steps : 60;
			job.noise = job.noise > 0 ? job.noise : 0.04;
			job_set_up(&state);
			parallel_play(&job);
			const bool is_right = judge(&job, &innocent);
			right += is_right;
			if (!is_right)
				late_judge_keep_job(job.seed);
			job_tear_down(&state);
		}
		late_verdict_add(jobs, right, innocent);
		printf("| %s | %u | %u | %u |\n", kinds[i].name, jobs, right, innocent);
		fflush(stdout);
	}
}
