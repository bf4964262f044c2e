#include "late_experts.h"

#include <stdbool.h>
#include <stdio.h>

#include "late_verdict.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_mixture.h"

struct kind {
	const char *name;
	struct mixture job; /* without a seed; noise 0: 4 % */
};

#define JOB(n, rank, ...)                                                                          \
	{                                                                                          \
		.ranks = n, .late_rank = rank, .steps = 60, .attention_ms = 6, .expert_ms = 5,     \
		__VA_ARGS__                                                                        \
	}

static const struct kind kinds[] = {
	{"experts on 8 ranks: one gets 40 % more tokens", JOB(8, 5, .late = 0.4)},
	{"by 20 %", JOB(8, 0, .late = 0.2)},
	{"on 16 ranks, by 40 %", JOB(16, 9, .late = 0.4)},
	{"on 4 ranks, by 40 %", JOB(4, 3, .late = 0.4)},
	{"on 8 ranks: one GPU is slower by 40 %, `ncclAlltoAll`",
	 JOB(8, 2, .late = 0.4, .same_tokens = true, .one_call = true)},
	{"on 8 ranks: another one gets 40 % more each time",
	 JOB(8, -1, .late = 0.4, .wanders = true)},
	{"on 8 ranks: another one gets twice as many each time",
	 JOB(8, -1, .late = 1, .wanders = true)},
	{"on 16 ranks: another one gets twice as many each time",
	 JOB(16, -1, .late = 1, .wanders = true)},
	{"clean, experts on 8 ranks", JOB(8, -1, )},
	{"clean, experts on 8 ranks, noise of 20 %", JOB(8, -1, .noise = 0.2)},
};

static void judge(const struct mixture *job, uint32_t *right, uint32_t *innocent)
{
	struct report_straggler *found = job_straggler();
	bool named = false, beside = found->nr_groups > 0, imbalance = false;

	for (uint32_t i = 0; i < found->nr_named; i++) {
		named |= found->ranks[i].rank == job->late_rank;
		beside |= found->ranks[i].rank != job->late_rank;
	}
	for (uint32_t i = 0; i < found->nr_experts; i++)
		imbalance |= found->experts[i].member == REPORT_STRAGGLER_NONE;
	*right += named == (job->late_rank >= 0) && !beside && (imbalance || !job->wanders);
	*innocent += beside;
	report_straggler_destroy(found);
}

void late_experts_run(uint32_t jobs, uint64_t first_seed)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint32_t right = 0, innocent = 0;

		for (uint32_t j = 0; j < jobs; j++) {
			struct mixture job = kinds[i].job;
			void *state = NULL;

			job.seed = first_seed + j;
			job.noise = job.noise > 0 ? job.noise : 0.04;
			job_set_up(&state);
			mixture_play(&job);
			judge(&job, &right, &innocent);
			job_tear_down(&state);
		}
		late_verdict_add(jobs, right, innocent);
		printf("| %s | %u | %u | %u |\n", kinds[i].name, jobs, right, innocent);
		fflush(stdout);
	}
}
