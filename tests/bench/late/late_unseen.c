#include "late_unseen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "late_judge.h"
#include "late_verdict.h"
#include "tests/report/straggler/straggler_fixture.h"

#define EVENTS_MAX  12000.0 /* collectives of all ranks in a job, about */
#define SAMPLES_MAX 30000.0

enum shape {
	ONE,
	FROM_THE_MIDDLE,
	TWO,
	HOST,
	STALL,
	CHECKPOINTS,
	SOME_STEPS,
	LINK,
	RESTART,
	SHAPES
};

static const char *const shape_names[SHAPES] = {
	[ONE] = "one rank",
	[FROM_THE_MIDDLE] = "one rank, from the middle on",
	[TWO] = "two ranks",
	[HOST] = "a host",
	[STALL] = "one stall",
	[CHECKPOINTS] = "ten checkpoints",
	[SOME_STEPS] = "each 20th step of one rank",
	[LINK] = "a slow link of a pair",
	[RESTART] = "one rank, and a restart",
};

static const char *const noise_names[LATE_NOISES] = {
	[LATE_NORMAL] = "normal, 1 to 10 %",
	[LATE_LOGNORMAL] = "lognormal, 5 to 20 %",
	[LATE_PARETO] = "Pareto, 1 to 3 %",
	[LATE_BURSTS] = "bursts, on normal of 1 to 5 %",
};

struct row {
	uint32_t jobs, subject, cause, innocent, marked, marked_innocent;
};

static double between(uint64_t *seed, double low, double high)
{
	return low + (high - low) * job_uniform(seed);
}

static uint32_t below(uint64_t *seed, uint32_t limit)
{
	return (uint32_t)(job_uniform(seed) * limit);
}

static struct late_job make_job(uint64_t *seed, uint64_t job_seed)
{
	static const uint32_t ranks[] = {3, 6, 12, 24, 48};
	static const uint32_t per_host[] = {2, 3, 6};
	static const double least[] = {0.01, 0.05, 0.01, 0.01}, most[] = {0.1, 0.2, 0.03, 0.05};
	struct late_job job = {.seed = job_seed};

	job.ranks = ranks[below(seed, 5)];
	job.ranks_per_host = job.ranks == 3 ? 3 : per_host[below(seed, 3)];
	job.collectives = 1 + below(seed, 4);
	job.step_ms = 5 * pow(1000, job_uniform(seed));
	job.steps = (uint32_t)fmax(150, fmin(2000, EVENTS_MAX / job.ranks / job.collectives));
	job.noise = (enum late_noise)below(seed, LATE_NOISES);
	job.noise_part = between(seed, least[job.noise], most[job.noise]);
	job.noise_on_gpu = below(seed, 2);
	job.uneven_part = between(seed, 0, 0.3);
	job.drift_ppm = 50;
	job.start_ms = between(seed, 0, 20000);
	job.period_ms = fmax(1000.0 / 99, job.step_ms * job.steps * job.ranks * 0.5 / SAMPLES_MAX);
	return job;
}

/* ---- plants */

/* Whether a job can have a shape: three ranks have no majority that is not late. */
static bool has_shape(const struct late_job *job, enum shape shape)
{
	switch (shape) {
	case TWO:
	case CHECKPOINTS: /* of three ranks one has ten lumps by chance in 1 of 59,000 jobs: too often */
		return job->ranks >= 6;
	case HOST:
		return job->ranks > job->ranks_per_host;
	case LINK:
		return job->ranks >= 12; /* four pairs at least are compared */
	default:
		return true;
	}
}

static void set_times(struct late_job *job, struct late_plant *plant, enum shape shape,
		      uint64_t *seed)
{
	switch (shape) {
	case FROM_THE_MIDDLE:
		plant->from = job->steps / 2;
		break;
	case STALL:
		plant->from = job->steps / 10 + below(seed, job->steps * 8 / 10);
		plant->times = 1;
		break;
	case CHECKPOINTS:
		plant->from = job->steps / 20;
		plant->every = job->steps / 10;
		plant->times = 10;
		break;
	case SOME_STEPS:
		plant->from = below(seed, 20);
		plant->every = 20;
		break;
	case RESTART:
		job->restart_at = (uint32_t)between(seed, 0.2 * job->steps, 0.8 * job->steps);
		break;
	default:
		break;
	}
}

/* Lateness is at least a twentieth of a step beyond what the longest of the other ranks usually takes. Where few steps
 * are late, it is as long as docs/late-ranks.md says that they must be. */
static double size_of(const struct late_job *job, enum shape shape, uint64_t *seed)
{
	const double longest_ms = late_job_longest(job);

	switch (shape) {
	case STALL:
		return job->steps * (job->step_ms + longest_ms) * between(seed, 0.25, 0.8);
	case CHECKPOINTS:
		return job->step_ms * job->steps / 10 * between(seed, 0.05, 0.3) + longest_ms;
	case SOME_STEPS:
		return job->step_ms * between(seed, 1, 3) + longest_ms;
	case LINK:
		return job->step_ms * between(seed, 0.03, 0.15);
	default:
		return job->step_ms * between(seed, 0.05, 0.3) + longest_ms;
	}
}

/* Samples of a clock show an excess of three times their error; plants have twice that. */
static double least_for_samples(const struct late_job *job, const struct late_plant *plant)
{
	const double every = plant->every ? plant->every : 1;
	const double times = plant->times ? plant->times : (job->steps - plant->from) / every;

	if (plant->cause != LATE_FUNCTION && plant->cause != LATE_FAULTS)
		return 0;
	return 6 * sqrt(0.5 * job->step_ms * job->period_ms / times) + 36 * job->period_ms / times;
}

static void plant(struct late_job *job, enum shape shape, uint64_t *seed)
{
	uint32_t nr = shape == TWO ? 2 : 1, first = below(seed, job->ranks), width = 1;

	if (shape == HOST)
		width = job->ranks_per_host;
	if (shape == LINK) {
		width = 2;
		if (job->ranks_per_host % 2)
			job->ranks_per_host = 6; /* the ends of every pair are on one host */
	}
	first -= first % width;
	for (uint32_t i = 0; i < nr; i++) {
		struct late_plant *made = &job->plants[i];

		made->cause = shape == LINK
				      ? LATE_LINK
				      : (enum late_cause)(LATE_FUNCTION +
							  below(seed, LATE_LINK - LATE_FUNCTION));
		made->first = (first + i * (1 + below(seed, job->ranks - 1))) % job->ranks;
		made->last = made->first + width - 1;
		set_times(job, made, shape, seed);
		made->late_ms = fmax(size_of(job, shape, seed), least_for_samples(job, made));
	}
}

/* ---- tables */

static void say(const struct late_job *job, const char *what, const struct late_found *found)
{
	const struct late_plant *made = &job->plants[0];

	fprintf(stderr,
		"%s, seed %" PRIu64
		", %s%s%s: %u ranks by %u, %u steps of %.1f ms, %u collectives, "
		"noise %s of %.3f on the %s, uneven %.2f; %s, ranks %u-%u by %.2f ms, %u-%u: %s; "
		"%s\n",
		what, job->seed, found->subject ? "" : "subject ", found->cause ? "" : "cause ",
		found->marked_innocent ? "marked" : "", job->ranks, job->ranks_per_host, job->steps,
		job->step_ms, job->collectives, noise_names[job->noise], job->noise_part,
		job->noise_on_gpu ? "GPU" : "host", job->uneven_part, late_job_words(made->cause),
		made->first, made->last, made->late_ms, job->plants[1].first, job->plants[1].last,
		found->line, found->ranks_line);
}

static void judge(const struct late_job *job, const char *what, struct row *row)
{
	struct late_found found;

	late_judge(job, &found);
	row->jobs++;
	row->subject += found.subject;
	row->cause += found.cause;
	row->innocent += found.innocent;
	row->marked += found.marked;
	row->marked_innocent += found.marked_innocent;
	if (!found.cause || found.innocent || found.marked_innocent)
		say(job, what, &found);
}

static void print_rows(const char *title, const char *const *names, const struct row *rows,
		       uint32_t count)
{
	struct row all = {0};

	printf("\n| %s | jobs | just that is named | with its cause | somebody else is | `--ranks` "
	       "marks it | somebody else |"
	       "\n| --- | --- | --- | --- | --- | --- | --- |\n",
	       title);
	for (uint32_t i = 0; i <= count; i++) {
		const struct row *row = i < count ? &rows[i] : &all;

		printf("| %s | %u | %u | %u | %u | %u | %u |\n", i < count ? names[i] : "all",
		       row->jobs, row->subject, row->cause, row->innocent, row->marked,
		       row->marked_innocent);
		if (i < count)
			late_verdict_add(row->jobs, row->cause,
					 row->innocent + row->marked_innocent);
		all.jobs += row->jobs;
		all.subject += row->subject;
		all.cause += row->cause;
		all.innocent += row->innocent;
		all.marked += row->marked;
		all.marked_innocent += row->marked_innocent;
	}
	fflush(stdout);
}

void late_unseen_planted(uint32_t jobs, uint64_t first_seed)
{
	struct row planted[SHAPES] = {0};

	for (uint32_t i = 0; i < jobs; i++) {
		uint64_t seed = (first_seed + i) * 0x9e3779b97f4a7c15u;
		struct late_job job = make_job(&seed, first_seed + i);
		enum shape shape;

		do
			shape = (enum shape)below(&seed, SHAPES);
		while (!has_shape(&job, shape));
		plant(&job, shape, &seed);
		judge(&job, shape_names[shape], &planted[shape]);
	}
	print_rows("planted", shape_names, planted, SHAPES);
}

void late_unseen_clean(uint32_t jobs, uint64_t first_seed)
{
	struct row clean[LATE_NOISES] = {0};

	for (uint32_t i = 0; i < jobs; i++) {
		uint64_t seed = ~(first_seed + i) * 0x9e3779b97f4a7c15u;
		struct late_job job = make_job(&seed, ~(first_seed + i));

		job.pairs = job.ranks >= 12 && below(&seed, 2);
		if (below(&seed, 4) == 0)
			set_times(&job, &job.plants[0], RESTART, &seed);
		judge(&job, noise_names[job.noise], &clean[job.noise]);
	}
	print_rows("nothing; noise", noise_names, clean, LATE_NOISES);
}
