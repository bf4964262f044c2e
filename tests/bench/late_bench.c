/* How often late ranks and groups are named rightly, and why they are late. Prints Markdown tables:
 *   - planted, clean: modelled jobs (tests/report/lateness/straggler_model.h) with a planted fault, and without one:
 *     jobs in which just what was planted was named, and those in which another rank or group was; the same by --ranks;
 *   - pauses: the same of modelled jobs whose ranks all pause now and then, each at steps of its own;
 *   - trainings (straggler_training.h) with a planted cause: jobs whose late rank was named, those whose first cause
 *     was the planted one, and those in which another cause counts that is no effect;
 *   - plants: jobs with further causes (late/late_plants.h);
 *   - unseen, unseen-clean: jobs with random parameters (late/late_unseen.h), six times as many as of each kind.
 *
 *   late_bench [JOBS-OF-EACH-KIND [FIRST-SEED [TABLE [FOLDER]]]]     (20, 1, all)
 *
 * Stores of trainings, plants and unseen jobs that are not right are kept in FOLDER, which is to be in /tmp. It exits
 * with 1 if a rank is named or marked that is not late, or if fewer than 95 % of all jobs are right. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "late/late_judge.h"
#include "late/late_plants.h"
#include "late/late_ranks.h"
#include "late/late_unseen.h"
#include "late/late_verdict.h"
#include "report/writers/straggler/straggler_text.h"
#include "tests/bench/late/late_experts.h"
#include "tests/bench/late/late_pipeline.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/lateness/straggler_model.h"
#include "tests/report/straggler/straggler_training.h"

static uint64_t first_seed = 1;

struct kind {
	const char *name;
	struct model model; /* without a seed */
	int group; /* enum straggler_group_kind that is to be named; -1: the ranks of the plants */
};

#define NODES(n, late)                                                                             \
	{                                                                                          \
		.ranks = 8 * (n), .ranks_per_host = 8, .collectives = 300, .work_ms = 100,         \
		.noise_ms = 4, .plants = {                                                         \
			{8, 15, late, 0, 0, 0}                                                     \
		}                                                                                  \
	}
#define STOPS(n)                                                                                   \
	{                                                                                          \
		.ranks = 8 * (n), .ranks_per_host = 8, .collectives = 300, .work_ms = 100,         \
		.noise_ms = 3, .plants = {                                                         \
			{8, 15, 500, 15, 30, 10}                                                   \
		}                                                                                  \
	}
#define RANKS(...)                                                                                 \
	{                                                                                          \
		.ranks = 8, .ranks_per_host = 8, .collectives = 300, .work_ms = 100,               \
		.noise_ms = 1, .plants = {                                                         \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static const struct kind planted[] = {
	{"one of 8 ranks, by 20 %", RANKS({3, 3, 20, 0, 0, 0}), -1},
	{"by 3 %", RANKS({3, 3, 3, 0, 0, 0}), -1},
	{"from the middle on, by 10 %", RANKS({6, 6, 10, 150, 0, 0}), -1},
	{"for a third of the run, by 20 %", RANKS({6, 6, 20, 90, 1, 100}), -1},
	{"one of 4, for a fifth of the run, by 40 %",
	 {.ranks = 4,
	  .ranks_per_host = 4,
	  .collectives = 300,
	  .work_ms = 100,
	  .noise_ms = 2,
	  .plants = {{2, 2, 40, 190, 1, 60}}},
	 -1},
	{"for a tenth of 520 collectives, twice as long",
	 {.ranks = 8,
	  .ranks_per_host = 8,
	  .collectives = 520,
	  .work_ms = 100,
	  .noise_ms = 5,
	  .plants = {{3, 3, 100, 200, 1, 52}}},
	 -1},
	{"one of 2, for half of the run, by 20 %; noise of 3 % keeps 0.5",
	 {.ranks = 2,
	  .ranks_per_host = 2,
	  .collectives = 2000,
	  .work_ms = 100,
	  .noise_ms = 3,
	  .drift = 0.5,
	  .plants = {{1, 1, 20, 500, 1, 1000}}},
	 -1},
	{"two, by 20 and 20 %", RANKS({3, 3, 20, 0, 0, 0}, {5, 5, 20, 0, 0, 0}), -1},
	{"two, by 20 and 10 %", RANKS({3, 3, 20, 0, 0, 0}, {5, 5, 10, 0, 0, 0}), -1},
	{"half of a host, by 20 %", RANKS({4, 7, 20, 0, 0, 0}), STRAGGLER_GROUP_PART},
	{"each 20th step, twice as long", RANKS({3, 3, 100, 5, 20, 0}), -1},
	{"each 20th step, five times as long", RANKS({3, 3, 400, 5, 20, 0}), -1},
	{"ten checkpoints of three steps each", RANKS({0, 0, 300, 15, 29, 10}), -1},
	{"one of 2, each 150th step, 90 times as long",
	 {.ranks = 2,
	  .ranks_per_host = 2,
	  .collectives = 3000,
	  .work_ms = 3,
	  .noise_ms = 0.3,
	  .plants = {{1, 1, 270, 149, 150, 20}}},
	 -1},
	{"one stall of 100 steps", RANKS({0, 0, 10000, 150, 0, 1}), -1},
	{"one stall of 100 steps of a host",
	 {.ranks = 32,
	  .ranks_per_host = 8,
	  .collectives = 300,
	  .work_ms = 100,
	  .noise_ms = 4,
	  .plants = {{8, 15, 10000, 150, 0, 1}}},
	 STRAGGLER_GROUP_HOST},
	{"ten stops of five steps of one of 2 hosts", STOPS(2), STRAGGLER_GROUP_HOST},
	{"the same of one of 4 hosts", STOPS(4), STRAGGLER_GROUP_HOST},
	{"one of 64 ranks, by 10 %",
	 {.ranks = 64,
	  .ranks_per_host = 8,
	  .collectives = 300,
	  .work_ms = 100,
	  .noise_ms = 2,
	  .plants = {{11, 11, 10, 0, 0, 0}}},
	 -1},
	{"one of 2 hosts of 8 ranks, by 10 %", NODES(2, 10), STRAGGLER_GROUP_HOST},
	{"one of 8 hosts, by 10 %", NODES(8, 10), STRAGGLER_GROUP_HOST},
	{"one of 64 hosts, by 10 %", NODES(64, 10), STRAGGLER_GROUP_HOST},
	{"one of 8 hosts, by 20 %", NODES(8, 20), STRAGGLER_GROUP_HOST},
	{"four hosts of one switch of 16, by 10 %",
	 {.ranks = 64,
	  .ranks_per_host = 4,
	  .hosts_per_switch = 4,
	  .collectives = 300,
	  .work_ms = 100,
	  .noise_ms = 3,
	  .plants = {{16, 31, 10, 0, 0, 0}}},
	 STRAGGLER_GROUP_HOSTS},
	{"one switch of 4 by topology, with 4 hosts of 8 ranks, by 10 %",
	 {.ranks = 128,
	  .ranks_per_host = 8,
	  .hosts_per_switch = 4,
	  .by_topology = true,
	  .collectives = 300,
	  .work_ms = 100,
	  .noise_ms = 3,
	  .plants = {{64, 95, 10, 0, 0, 0}}},
	 STRAGGLER_GROUP_SWITCH},
};

#define LASTING(n, noise_of, kind_of)                                                              \
	{                                                                                          \
		.ranks = (n), .ranks_per_host = 4, .collectives = 300, .work_ms = 100,             \
		.noise_ms = (noise_of), .drift = 0.98, .noise = (kind_of)                          \
	}

static const struct kind clean[] = {
	{"clean, noise of 1 %", {.noise_ms = 1}, -1},
	{"clean, noise of 20 %", {.noise_ms = 20}, -1},
	{"clean, drifting noise of 20 %", {.noise_ms = 20, .drift = 0.95}, -1},
	{"clean, lognormal noise of 40 %", {.noise_ms = 40, .noise = MODEL_LOGNORMAL}, -1},
	{"clean, with stalls of all ranks", {.noise_ms = 1, .noise = MODEL_STALLS}, -1},
	{"clean, drifting, with stalls", {.noise_ms = 5, .drift = 0.95, .noise = MODEL_STALLS}, -1},
	{"clean, noise of 20 % that keeps 0.98", {.noise_ms = 20, .drift = 0.98}, -1},
	{"the same of 2 ranks", LASTING(2, 20, MODEL_NORMAL), -1},
	{"30 % of 2 ranks", LASTING(2, 30, MODEL_NORMAL), -1},
	{"20 % of 4 ranks", LASTING(4, 20, MODEL_NORMAL), -1},
	{"5 % of 2 ranks, with stalls", LASTING(2, 5, MODEL_STALLS), -1},
};

#define PAUSES(n, steps, every, ms)                                                                \
	{                                                                                          \
		.ranks = (n), .ranks_per_host = 4, .collectives = (steps), .work_ms = 100,         \
		.noise_ms = 2, .pause_every = (every), .pause_ms = (ms)                            \
	}

/* All ranks pause alike, so that nobody is late. */
static const struct kind pausing[] = {
	{"2 ranks, a step each 8 steps", PAUSES(2, 300, 8, 100), -1},
	{"3 ranks, a step each 8 steps", PAUSES(3, 1000, 8, 100), -1},
	{"4 ranks, half a step each 8 steps", PAUSES(4, 1000, 8, 50), -1},
	{"8 ranks, a step each 8 steps", PAUSES(8, 300, 8, 100), -1},
	{"8 ranks, three steps each 8 steps, 2,000 steps", PAUSES(8, 2000, 8, 300), -1},
	{"16 ranks, a step each 8 steps", PAUSES(16, 2000, 8, 100), -1},
	{"32 ranks, a step each 8 steps", PAUSES(32, 300, 8, 100), -1},
	{"4 ranks, a step each 20 steps", PAUSES(4, 1000, 20, 100), -1},
	{"8 ranks, five steps each 20 steps", PAUSES(8, 300, 20, 500), -1},
	{"16 ranks, five steps each 20 steps", PAUSES(16, 2000, 20, 500), -1},
	{"4 ranks, five steps each 50 steps", PAUSES(4, 2000, 50, 500), -1},
	{"8 ranks, five steps each 50 steps", PAUSES(8, 300, 50, 500), -1},
	{"32 ranks, five steps each 50 steps", PAUSES(32, 1000, 50, 500), -1},
	{"3 ranks, ten steps each 200 steps", PAUSES(3, 2000, 200, 1000), -1},
	{"8 ranks, ten steps each 200 steps", PAUSES(8, 1000, 200, 1000), -1},
	{"32 ranks, ten steps each 200 steps", PAUSES(32, 2000, 200, 1000), -1},
	{"4 ranks, one or two pauses of ten steps", PAUSES(4, 300, 200, 1000), -1},
	{"8 ranks, one or two pauses of ten steps", PAUSES(8, 300, 200, 1000), -1},
	{"32 ranks, one or two pauses of ten steps", PAUSES(32, 300, 200, 1000), -1},
};

static bool is_planted(const struct model *model, uint32_t rank)
{
	for (uint32_t i = 0; i < 2; i++)
		if (model->plants[i].late_ms > 0 && rank >= model->plants[i].first &&
		    rank <= model->plants[i].last)
			return true;
	return false;
}

struct found {
	uint32_t right, innocent;
	uint32_t marked, marked_innocent; /* by --ranks: the plants, and others */
};

/* Judges the same job as --ranks does. */
static void judge_ranks(const struct model *model, const double *work, struct found *found)
{
	bool *marked = calloc(model->ranks, sizeof(*marked)), all = true, beside = false;

	late_ranks_mark(model, work, (enum late_where)(model->seed % LATE_WHERE), marked);
	for (uint32_t i = 0; i < model->ranks; i++) {
		all &= marked[i] || !is_planted(model, i);
		beside |= marked[i] && !is_planted(model, i);
	}
	found->marked += all;
	found->marked_innocent += beside;
	free(marked);
}

/* Counts what of the result is right, and what is named beside it. */
static void judge(const struct kind *kind, const struct model *model, struct found *all)
{
	double *work = model_work(model);
	struct model_result result = model_play_work(model, work);
	bool found = true, beside = false;

	for (uint32_t i = 0; i < result.nr_ranks; i++) {
		bool named = result.ranks[i].ground != STRAGGLER_NOT_NAMED;

		beside |= named && !is_planted(model, i);
		found &= kind->group >= 0 || named == is_planted(model, i);
	}
	for (uint32_t i = 0; i < result.nr_groups; i++)
		for (uint32_t j = 0; j < result.groups[i].nr_members; j++)
			beside |= !is_planted(model, result.groups[i].members[j]);
	if (kind->group >= 0)
		found = result.nr_groups == 1 && (int)result.groups[0].kind == kind->group &&
			result.groups[0].nr_members ==
				model->plants[0].last - model->plants[0].first + 1;
	all->right += found && !beside;
	all->innocent += beside;
	model_free(&result);
	judge_ranks(model, work, all);
	free(work);
}

static void run(const struct kind *kind, uint32_t jobs)
{
	struct found found = {0};

	for (uint32_t i = 0; i < jobs; i++) {
		struct model model = kind->model;

		if (!model.ranks) {
			model.ranks = 8u << i % 4;
			model.ranks_per_host = 4;
			model.collectives = 300;
			model.work_ms = 100;
		}
		model.seed = first_seed + i;
		judge(kind, &model, &found);
	}
	late_verdict_add(jobs, found.right, found.innocent + found.marked_innocent);
	printf("| %s | %u | %u | %u | %u | %u |\n", kind->name, jobs, found.right, found.innocent,
	       found.marked, found.marked_innocent);
	fflush(stdout);
}

/* ---- causes */

#define LATE_RANK 3u

struct cause {
	const char *name;
	enum training_plant plant;
	double host_ms;
	bool waits_for_gpu;
	const char *text; /* in words */
};

static const struct cause causes[] = {
	{"a function, by a tenth of 100 ms", TRAINING_HOST, 100, false,
	 "host code (numpy.py:resize)"},
	{"a function of its own, 12 ms", TRAINING_EXTRA, 100, false, "host code (train.py:spin)"},
	{"`tokenize_batch`, 4 ms in each second step", TRAINING_TOKENS, 20, false,
	 "host code (train.py:tokenize_batch)"},
	{"`load_shard`, a sleep of 5 ms", TRAINING_SHARD, 20, false,
	 "waits (sleep, train.py:load_shard)"},
	{"the same, the host waits for its GPU, too", TRAINING_SHARD, 20, true,
	 "waits (sleep, train.py:load_shard)"},
	{"the loader, 12 ms", TRAINING_LOADER, 100, false, "waits (poll, loader.py:next)"},
	{"no CPU for 6 ms", TRAINING_QUEUE, 20, false, "no free CPU (run queue)"},
	{"kernels, 9 ms", TRAINING_KERNELS, 100, false,
	 "slower GPU kernels (gemm, train.py:forward)"},
	{"the same, the host waits for its GPU, too", TRAINING_KERNELS, 20, true,
	 "slower GPU kernels (gemm, train.py:forward)"},
};

struct causes_found {
	uint32_t named, right, beside;
};

static void judge_causes(const struct cause *cause, uint64_t seed, struct causes_found *found)
{
	struct report_straggler *report = job_straggler();
	const struct report_straggler_rank *rank = &report->ranks[0];
	const uint32_t right = found->right;
	char text[STRAGGLER_TEXT_SIZE];
	bool beside = false;

	if (report->nr_named == 1 && rank->rank == (int32_t)LATE_RANK) {
		found->named++;
		found->right += rank->nr_causes &&
				!strcmp(straggler_text_cause(&rank->causes[0], text, sizeof(text)),
					cause->text);
		for (uint32_t i = 0; i < rank->nr_causes; i++)
			beside |= !rank->causes[i].effect &&
				  rank->causes[i].share >= STRAGGLER_CAUSES_ENOUGH &&
				  strcmp(straggler_text_cause(&rank->causes[i], text, sizeof(text)),
					 cause->text) != 0;
		found->beside += beside;
	}
	if (found->right == right) {
		straggler_text_line(report, text, sizeof(text));
		fprintf(stderr, "%s, seed %" PRIu64 ": %s\n", cause->name, seed, text);
		late_judge_keep_job(seed);
	}
	report_straggler_destroy(report);
}

/* Imports and kernels before the first step take 20 s longer on the late rank. */
static void run_causes(const struct cause *cause, double noise_ms, uint32_t jobs)
{
	struct causes_found found = {0};

	for (uint32_t i = 0; i < jobs; i++) {
		const struct training training = {
			.ranks = i % 2 ? 4 : 8,
			.steps = 300,
			.plant = cause->plant,
			.late_rank = LATE_RANK,
			.noise_ms = noise_ms,
			.host_ms = cause->host_ms,
			.period_ms = 1000.0 / 99,
			.start_ms = 20000,
			.waits_for_gpu = cause->waits_for_gpu,
			.seed = first_seed + i,
		};
		void *state = NULL;

		job_set_up(&state);
		training_play(&training);
		judge_causes(cause, training.seed, &found);
		job_tear_down(&state);
	}
	late_verdict_add(jobs, found.right, 0);
	printf("| %s; noise of %.1f ms | %u | %u | %u | %u |\n", cause->name, noise_ms, jobs,
	       found.named, found.right, found.beside);
	fflush(stdout);
}

static void print_models(const struct kind *kinds, size_t count, uint32_t jobs)
{
	printf("\n| planted | jobs | just that is named | somebody else is | `--ranks` marks it | "
	       "somebody else |\n| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < count; i++)
		run(&kinds[i], jobs);
}

static void print_causes(uint32_t jobs)
{
	printf("\n| cause | jobs | the rank is named | that cause comes first | another one counts "
	       "|"
	       "\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		run_causes(&causes[i], 0.3, jobs);
		run_causes(&causes[i], 1.5, jobs);
	}
}

int main(int argc, char **argv)
{
	const uint32_t jobs = argc > 1 ? (uint32_t)atoi(argv[1]) : 20;
	const char *table = argc > 3 ? argv[3] : NULL;

	late_judge_keep(argc > 4 ? argv[4] : NULL);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	if (!table || strcmp(table, "planted") == 0)
		print_models(planted, sizeof(planted) / sizeof(*planted), jobs);
	if (!table || strcmp(table, "clean") == 0)
		print_models(clean, sizeof(clean) / sizeof(*clean), jobs);
	if (!table || strcmp(table, "pauses") == 0)
		print_models(pausing, sizeof(pausing) / sizeof(*pausing), jobs);
	if (!table || strcmp(table, "trainings") == 0)
		print_causes(jobs);
	if (!table || strcmp(table, "plants") == 0)
		late_plants_print(jobs, first_seed);
	if (!table || strcmp(table, "pipelines") == 0)
		late_pipeline_run(jobs, first_seed);
	if (!table || strcmp(table, "experts") == 0)
		late_experts_run(jobs, first_seed);
	if (!table || strcmp(table, "unseen") == 0)
		late_unseen_planted(6 * jobs, first_seed);
	if (!table || strcmp(table, "unseen-clean") == 0)
		late_unseen_clean(6 * jobs, first_seed);
	return late_verdict_status();
}
