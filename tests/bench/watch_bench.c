/* How well a watch computes the step without the cause (report/watch/watch_replay.h), on modelled jobs with a planted
 * fault. Each prediction is compared with a rerun without the plant: one with the same noise, and a long one with other
 * noise. Prints a Markdown table of errors in percent.
 *
 *   watch_bench [JOBS-OF-EACH-KIND]     (200) */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/watch/watch_replay.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS_MAX 64u
#define WINDOW    61u   /* collectives: six seconds of 100 ms */
#define RERUN     4000u /* of the long rerun */
#define MS        1e6
#define MOVES_MS  2.0

struct kind {
	const char *name;
	uint32_t ranks, first, last; /* those that are late */
	double noise_ms, drift;      /* of 100 ms of work; so much of it stays until the next */
	bool lognormal;
	double late_ms;
	uint32_t every; /* late in each such step */
	uint32_t pair;  /* ranks of a group that meets before all do; 0: none */
};

static const struct kind kinds[] = {
	{"one of 8 ranks, by 5 %", 8, 3, 3, 1, 0, false, 5, 1, 0},
	{"by 14 %", 8, 3, 3, 1, 0, false, 14, 1, 0},
	{"by 14 %, noise of 4 %", 8, 3, 3, 4, 0, false, 14, 1, 0},
	{"by 50 %, noise of 4 %", 8, 3, 3, 4, 0, false, 50, 1, 0},
	{"by 50 %, lognormal noise of 10 %", 8, 3, 3, 10, 0, true, 50, 1, 0},
	{"by 50 %, drifting noise of 4 %", 8, 3, 3, 4, 0.9, false, 50, 1, 0},
	{"one of 2 ranks, by 14 %, noise of 4 %", 2, 1, 1, 4, 0, false, 14, 1, 0},
	{"one of 64 ranks, by 14 %, noise of 2 %", 64, 11, 11, 2, 0, false, 14, 1, 0},
	{"each 10th step of one of 8, twice as long", 8, 3, 3, 2, 0, false, 100, 10, 0},
	{"a host of 8 of 64 ranks, by 14 %, noise of 2 %", 64, 8, 15, 2, 0, false, 14, 1, 0},
	{"one of 8 ranks, which meet in pairs before, by 14 %, noise of 2 %", 8, 3, 3, 2, 0, false,
	 14, 1, 2},
	{"one of 64, which meet by eight before, by 14 %, noise of 2 %", 64, 11, 11, 2, 0, false,
	 14, 1, 8},
};

struct job {
	const struct kind *kind;
	bool planted;
	uint64_t seed;
	double noise[RANKS_MAX], now_ms[RANKS_MAX];
	struct watch_meeting *meetings; /* NULL: only the step is wanted */
	struct watch_visit *visits;
	uint32_t nr_meetings, nr_visits;
};

static double work_ms(struct job *job, uint32_t rank, uint32_t step)
{
	const struct kind *kind = job->kind;
	const double part = kind->noise_ms / 100, fresh = job_normal(&job->seed);
	double *noise = &job->noise[rank];
	bool late = job->planted && rank >= kind->first && rank <= kind->last &&
		    step % kind->every == 0;

	*noise = kind->drift * *noise + sqrt(1 - kind->drift * kind->drift) * fresh;
	return 100 * (kind->lognormal ? exp(part * *noise) : 1 + part * *noise) +
	       (late ? kind->late_ms : 0);
}

/* The ranks from first on come at these times, and go at once. */
static void meet(struct job *job, uint32_t line, uint32_t first, uint32_t count,
		 const double *come_ms)
{
	double last_ms = 0;

	for (uint32_t i = first; i < first + count; i++)
		last_ms = fmax(last_ms, come_ms[i]);
	for (uint32_t i = first; i < first + count; i++)
		job->now_ms[i] = last_ms + MOVES_MS;
	if (!job->meetings)
		return;
	job->meetings[job->nr_meetings++] =
		(struct watch_meeting){line, line > 0, job->nr_visits, count};
	for (uint32_t i = first; i < first + count; i++)
		job->visits[job->nr_visits++] = (struct watch_visit){
			i, (uint64_t)(come_ms[i] * MS), (uint64_t)(job->now_ms[i] * MS)};
}

static void play_step(struct job *job, uint32_t step)
{
	const struct kind *kind = job->kind;
	double come_ms[RANKS_MAX];

	for (uint32_t i = 0; i < kind->ranks; i++)
		come_ms[i] = job->now_ms[i] + work_ms(job, i, step);
	for (uint32_t i = 0; kind->pair && i < kind->ranks; i += kind->pair)
		meet(job, 1 + i, i, kind->pair, come_ms);
	for (uint32_t i = 0; kind->pair && i < kind->ranks; i++)
		come_ms[i] = job->now_ms[i] + 5;
	meet(job, 0, 0, kind->ranks, come_ms);
}

/* Returns the mean time of a step, of all but the first. */
static double play(struct job *job, uint32_t steps)
{
	double first_ms = 0;

	for (uint32_t i = 0; i < steps; i++) {
		play_step(job, i);
		if (i == 0)
			first_ms = job->now_ms[0];
	}
	return (job->now_ms[0] - first_ms) / (steps - 1);
}

static double predict(const struct kind *kind, uint64_t seed, double *now_ms)
{
	struct job job = {.kind = kind, .planted = true, .seed = seed};
	const uint32_t most = kind->pair ? 1 + kind->ranks / kind->pair : 1;
	bool late[RANKS_MAX] = {false};
	struct watch_replay_result result;

	job.meetings = calloc((size_t)WINDOW * most, sizeof(*job.meetings));
	job.visits = calloc((size_t)WINDOW * kind->ranks * 2, sizeof(*job.visits));
	if (!job.meetings || !job.visits)
		exit(1);
	play(&job, WINDOW);
	for (uint32_t i = kind->first; i <= kind->last; i++)
		late[i] = true;
	const struct watch_replay_input input = {
		.meetings = job.meetings,
		.nr_meetings = job.nr_meetings,
		.visits = job.visits,
		.nr_visits = job.nr_visits,
		.late = late,
		.nr_ranks = kind->ranks,
		.period = 1,
	};
	if (watch_replay(&input, &result))
		exit(1);
	free(job.meetings);
	free(job.visits);
	*now_ms = result.now_ns / MS;
	return result.without_ns / MS;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void try_kind(const struct kind *kind, uint32_t jobs)
{
	double *same = calloc(jobs, sizeof(*same)), *other = calloc(jobs, sizeof(*other));
	struct job rerun = {.kind = kind, .seed = 99};
	const double other_ms = play(&rerun, RERUN);
	double now_sum = 0, without_sum = 0;

	for (uint32_t i = 0; i < jobs && same && other; i++) {
		struct job twin = {.kind = kind, .seed = 1000 + i};
		double now_ms, without_ms = predict(kind, 1000 + i, &now_ms);

		same[i] = 100 * fabs(without_ms / play(&twin, WINDOW) - 1);
		other[i] = 100 * fabs(without_ms / other_ms - 1);
		now_sum += now_ms;
		without_sum += without_ms;
	}
	if (!same || !other)
		exit(1);
	qsort(same, jobs, sizeof(*same), by_value);
	qsort(other, jobs, sizeof(*other), by_value);
	printf("| %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", kind->name,
	       now_sum / jobs, without_sum / jobs, other_ms, same[jobs / 2], same[jobs - 1],
	       other[jobs / 2], other[jobs - 1]);
	free(same);
	free(other);
}

int main(int argc, char **argv)
{
	const uint32_t jobs = argc > 1 ? (uint32_t)atoi(argv[1]) : 200;

	printf("| planted | ms a step | predicted without | rerun | error to the same noise, "
	       "median | "
	       "worst | to a long rerun, median | worst |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		try_kind(&kinds[i], jobs ? jobs : 1);
	return 0;
}
