/* How often `flamegrid check` cries wolf, and how often it finds what was planted. Runs are played into stores as their
 * agents would tell of them, and each pair is judged as with --max-regress 1% --min-share 4%.
 *
 *   check_bench [--seed N] [--pairs N] [--baselines N] [--without-nccl]
 *
 * For each kind of noise there are N pairs (40) of equal runs, and as many in which the kernel `planted`, which has 5 %
 * of the GPU time, takes 1 % longer. Prints a table. */
#include <getopt.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/compare/run_check.h"
#include "report/model/report_build.h"
#include "tests/report/straggler/straggler_fixture.h"

#define BASELINES_MAX 16u
#define RANKS_MAX     8u
#define MS            1000000.0

/* Two of the last three are too much for 1 %, or for one baseline. Runs of other sizes are never judged. */
enum kind { JITTER, TAILS, CLOCK, DRIFT, LENGTHS, BETWEEN, LONG_TAILS, OTHER_GPUS, KINDS };

static const char *const kind_words[KINDS] = {
	[JITTER] = "launches vary by 3 % (normal)",
	[TAILS] = "0.2 % of launches are longer (Pareto, exponent 3)",
	[CLOCK] = "each GPU's clock wanders by 0.5 % within seconds",
	[DRIFT] = "GPUs warm up: 0.3 to 0.9 % faster at first",
	[LENGTHS] = "2, 4 or 8 ranks; runs of 300 to 900 steps",
	[BETWEEN] = "whole runs differ by 0.1 % (normal)",
	[LONG_TAILS] = "2 % of launches are longer (Pareto, exponent 2.5)",
	[OTHER_GPUS] = "4 ranks before, 8 after",
};

/* A step's kernels: launches, and the time of one of them. Together 40 ms. */
static const struct {
	const char *name, *stack;
	uint32_t launches;
	double ms;
} kernels[] = {
	{"planted", "train.py:main;train.py:norm", 4, 0.5},
	{"sm90_gemm", "train.py:main;train.py:linear", 4, 4.5},
	{"flash_fwd", "train.py:main;train.py:attention", 2, 5},
	{"elementwise", "train.py:main;train.py:relu", 4, 1.5},
	{"adam", "train.py:main;train.py:optimizer", 2, 2},
};
#define KERNELS (sizeof(kernels) / sizeof(*kernels))

static bool without_nccl; /* --without-nccl */

struct run {
	uint64_t seed;
	enum kind kind;
	uint32_t pair, ranks, steps;
	bool is_baseline;
	double planted; /* how much longer the kernel takes */
	double whole;   /* this run's factor */
	/* of a rank: its clock's state, and how much faster it is at first */
	double clock[RANKS_MAX], cold[RANKS_MAX];
};

static void draw(struct run *run)
{
	run->ranks = 4;
	run->steps = 600;
	run->whole = 1;
	if (run->kind == LENGTHS) {
		run->ranks = 2u << run->pair % 3;
		run->steps = 300 + (uint32_t)(600 * job_uniform(&run->seed));
	}
	if (run->kind == OTHER_GPUS && !run->is_baseline)
		run->ranks = 8;
	if (run->kind == BETWEEN)
		run->whole = 1 + 0.001 * job_normal(&run->seed);
	for (uint32_t i = 0; i < run->ranks; i++) {
		run->clock[i] = 0.005 * job_normal(&run->seed);
		run->cold[i] = 0.003 + 0.006 * job_uniform(&run->seed);
	}
}

/* Moves the clock on by one step of 50 ms; it forgets within a second. */
static void wander(struct run *run, uint32_t rank)
{
	const double kept = exp(-0.05);

	run->clock[rank] =
		kept * run->clock[rank] + sqrt(1 - kept * kept) * 0.005 * job_normal(&run->seed);
}

static double factor(struct run *run, uint32_t rank, double now_ms)
{
	double value = run->whole * (1 + 0.03 * job_normal(&run->seed));

	if (run->kind == TAILS && job_uniform(&run->seed) < 0.002)
		value *= pow(1 - job_uniform(&run->seed), -1 / 3.0);
	if (run->kind == LONG_TAILS && job_uniform(&run->seed) < 0.02)
		value *= pow(1 - job_uniform(&run->seed), -1 / 2.5);
	if (run->kind == CLOCK)
		value *= 1 + run->clock[rank];
	if (run->kind == DRIFT)
		value *= 1 - run->cold[rank] * exp(-now_ms / 5000);
	return value;
}

static void play_step(struct run *run, uint32_t rank, uint32_t process, uint32_t step,
		      uint32_t *correlation_id)
{
	double now_ms = 1000 + 50.0 * step;
	struct collective call = job_all_reduce(1, step + 1, 0, (uint64_t)(now_ms * MS), 20000);

	if (!without_nccl)
		job_call(process, &call);
	wander(run, rank);
	for (uint32_t k = 0; k < KERNELS; k++)
		for (uint32_t i = 0; i < kernels[k].launches; i++) {
			double ms = kernels[k].ms * factor(run, rank, now_ms);
			const struct job_kernel kernel = {
				.name = kernels[k].name,
				.stack = kernels[k].stack,
				.correlation_id = ++*correlation_id,
				.tid = 1,
				.start_ns = (uint64_t)(now_ms * MS),
				.ns = (uint64_t)(ms * (k == 0 ? 1 + run->planted : 1) * MS)};

			job_kernel(process, &kernel);
			now_ms += ms;
		}
}

static struct run_work *play(struct run *run)
{
	uint32_t processes[RANKS_MAX], correlation_ids[RANKS_MAX] = {0};
	struct report_tree *tree;
	struct run_work *work;
	char *error;
	void *state = NULL;

	draw(run);
	assert_int_equal(job_set_up(&state), 0);
	job_world((int32_t)run->ranks);
	for (uint32_t i = 0; i < run->ranks; i++) {
		processes[i] = job_process((int32_t)i);
		if (!without_nccl)
			job_communicator(processes[i], 1, 0xfeed, i, run->ranks);
	}
	for (uint32_t step = 0; step < run->steps; step++)
		for (uint32_t i = 0; i < run->ranks; i++)
			play_step(run, i, processes[i], step, &correlation_ids[i]);
	job_commit();
	struct profile *profile = job_profile();
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(run_work_create(profile, tree, job_path(), &work, &error), 0);
	report_tree_destroy(tree);
	profile_destroy(profile);
	job_tear_down(&state);
	work->lossy = false; /* these agents say no goodbye */
	return work;
}

/* The outcome of some pairs. */
struct tally {
	uint32_t states[CHECK_STATES];
	uint32_t others; /* regressed, but not the planted kernel */
	uint32_t above; /* pairs in which some interval is above 0: alarms if any change were one */
	double resolves; /* the sum of the planted kernel's */
	enum check_source source;
};

static void judge(const struct check_question *question, struct tally *tally)
{
	struct check_result *result;
	char *error;

	assert_int_equal(run_check_create(question, &result, &error), 0);
	tally->states[result->verdict]++;
	bool is_above = false;
	for (uint32_t i = 0; i < result->nr_rows; i++) {
		const struct check_row *row = &result->rows[i];

		is_above |= row->low > 0;
		if (strcmp(row->name, "planted") == 0) {
			tally->resolves += row->resolves;
			tally->source = row->source;
		} else {
			tally->others += row->state == CHECK_REGRESSED;
		}
	}
	tally->above += is_above;
	run_check_destroy(result);
}

static void play_pair(struct tally *tally, enum kind kind, double planted, uint64_t seed,
		      uint32_t nr_baselines)
{
	const struct run_work *runs[BASELINES_MAX + 1];
	const struct check_question question = {runs, nr_baselines, 1, 0.01, 0.04};

	for (uint32_t i = 0; i <= nr_baselines; i++) {
		struct run run = {.seed = seed * 131 + i,
				  .kind = kind,
				  .pair = (uint32_t)(seed / 2),
				  .is_baseline = i < nr_baselines,
				  .planted = i == nr_baselines ? planted : 0};

		job_uniform(&run.seed);
		runs[i] = play(&run);
	}
	judge(&question, tally);
	for (uint32_t i = 0; i <= nr_baselines; i++)
		run_work_destroy((struct run_work *)runs[i]);
}

static void add_up(struct tally *sum, const struct tally *tally)
{
	for (uint32_t i = 0; i < CHECK_STATES; i++)
		sum->states[i] += tally->states[i];
	sum->others += tally->others;
	sum->above += tally->above;
	sum->resolves += tally->resolves;
	sum->source = tally->source;
}

static void print_row(const char *words, const struct tally *equal, const struct tally *planted,
		      uint32_t nr_pairs)
{
	printf("| %s | %s | %u | %u | %u | %u | %u | %u | %u | %u | %u | %.2f %% |\n", words,
	       check_source_name(planted->source), equal->states[CHECK_SAME],
	       equal->states[CHECK_FASTER], equal->states[CHECK_REGRESSED],
	       equal->states[CHECK_NOISY], equal->above, planted->states[CHECK_REGRESSED],
	       planted->states[CHECK_SAME], planted->states[CHECK_NOISY], planted->others,
	       100 * planted->resolves / nr_pairs);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seed", required_argument, NULL, 's'},
						{"pairs", required_argument, NULL, 'p'},
						{"baselines", required_argument, NULL, 'b'},
						{"without-nccl", no_argument, NULL, 'n'},
						{0}};
	uint64_t seed = 1;
	uint32_t nr_pairs = 40, nr_baselines = 1;
	struct tally all_equal = {0}, all_planted = {0};

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'p')
			nr_pairs = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			nr_baselines = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'n')
			without_nccl = true;
		else
			return 2;
	}
	if (nr_baselines < 1 || nr_baselines > BASELINES_MAX)
		return 2;
	printf("| noise | noise of | equal: same | faster | alarms | too noisy | above 0 | "
	       "planted: found | "
	       "missed | "
	       "too noisy | others named | resolves |\n"
	       "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: "
	       "|\n");
	for (enum kind kind = JITTER; kind < KINDS; kind++) {
		struct tally equal = {0}, planted = {0};

		for (uint32_t i = 0; i < nr_pairs; i++) {
			uint64_t of = (seed * KINDS + kind) * 100003 + i;

			play_pair(&equal, kind, 0, 2 * of, nr_baselines);
			play_pair(&planted, kind, 0.01, 2 * of + 1, nr_baselines);
		}
		print_row(kind_words[kind], &equal, &planted, nr_pairs);
		if (kind > LENGTHS)
			continue;
		add_up(&all_equal, &equal);
		add_up(&all_planted, &planted);
		if (kind == LENGTHS)
			print_row("all of these", &all_equal, &all_planted,
				  nr_pairs * (LENGTHS + 1));
	}
	return 0;
}
