#include "late_plants.h"

#include <stdio.h>

#include "late_judge.h"
#include "late_verdict.h"

struct kind {
	const char *name;
	struct late_job job; /* what differs from the usual job */
};

/* A tenth of a step of 100 ms; of link: a pair's exchange takes twice as long. */
#define PLANT(kind) .plants = {{.cause = kind, .first = 2, .last = 2, .late_ms = 10}}
#define LINK        .plants = {{.cause = LATE_LINK, .first = 2, .last = 3, .late_ms = 10}}
#define STOPS(kind)                                                                                \
	.plants = {{.cause = kind,                                                                 \
		    .first = 4,                                                                    \
		    .last = 7,                                                                     \
		    .late_ms = 500,                                                                \
		    .from = 15,                                                                    \
		    .every = 29,                                                                   \
		    .times = 10}}
#define RESTART .restart_at = 150, .start_ms = 20000

static const struct kind kinds[] = {
	{"a busy CPU, 0 to 20 ms a step", {PLANT(LATE_BUSY_CPU)}},
	{"page faults", {PLANT(LATE_FAULTS)}},
	{"a slow loader", {PLANT(LATE_LOADER)}},
	{"a slow function", {PLANT(LATE_FUNCTION)}},
	{"a slow GPU: all kernels", {PLANT(LATE_GPU)}},
	{"a slow link of one of the pairs", {LINK}},
	{"a slow function, and a restart", {PLANT(LATE_FUNCTION), RESTART}},
	{"a slow GPU, and a restart", {PLANT(LATE_GPU), RESTART}},
	{"ten stops of 0.5 s of a host: a sleep", {STOPS(LATE_SLEEP)}},
	{"the same, on the GPU", {STOPS(LATE_GPU)}},
	{"nothing, but a restart", {RESTART}},
	{"nothing, pairs exchange data", {.pairs = true}},
};

static void run(const struct kind *kind, uint32_t jobs, uint64_t first_seed)
{
	uint32_t subject = 0, cause = 0, innocent = 0, marked = 0, marked_innocent = 0;

	for (uint32_t i = 0; i < jobs; i++) {
		struct late_job job = kind->job;
		struct late_found found;

		job.ranks = 8u << i % 3;
		job.ranks_per_host = 4;
		job.steps = 300;
		job.collectives = 1;
		job.step_ms = 100;
		job.noise_part = i % 2 ? 0.01 : 0.03;
		job.noise_on_gpu = i / 2 % 2;
		job.period_ms = 1000.0 / 99;
		job.seed = first_seed + i;
		late_judge(&job, &found);
		subject += found.subject;
		cause += found.cause;
		innocent += found.innocent;
		marked += found.marked;
		marked_innocent += found.marked_innocent;
		if (!found.cause)
			fprintf(stderr, "%s, seed %lu: %s\n", kind->name, (unsigned long)job.seed,
				found.line);
	}
	late_verdict_add(jobs, cause, innocent + marked_innocent);
	printf("| %s | %u | %u | %u | %u | %u | %u |\n", kind->name, jobs, subject, cause, innocent,
	       marked, marked_innocent);
	fflush(stdout);
}

void late_plants_print(uint32_t jobs, uint64_t first_seed)
{
	printf("\n| planted | jobs | just that is named | with its cause | somebody else is | "
	       "`--ranks` marks it | somebody else |"
	       "\n| --- | --- | --- | --- | --- | --- | --- |\n");
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		run(&kinds[i], jobs, first_seed);
}
