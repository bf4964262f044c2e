/* A job as a model: each rank works, then waits in a collective for the last one. From it come the times that ranks spend
 * in collectives, and what is found of them. Numbers that look random come from a seed. */
#ifndef STRAGGLER_MODEL_H
#define STRAGGLER_MODEL_H

#include <stdbool.h>

#include "report/lateness/straggler_groups.h"

#define MODEL_COLLECTIVE_MS 2 /* a collective's own time */

enum model_noise { MODEL_NORMAL, MODEL_LOGNORMAL, MODEL_STALLS };

/* Ranks first to last are late by so much: from a collective on, in each `every`-th. */
struct model_plant {
	uint32_t first, last;
	double late_ms;
	uint32_t from, every, times; /* every 0: always; times 0: to the end */
};

struct model {
	uint32_t ranks, ranks_per_host, hosts_per_switch; /* per switch 0: names tell nothing */
	bool by_topology; /* switches are known, and names tell nothing */
	uint32_t collectives;
	double work_ms, noise_ms;
	double drift; /* so much of the noise stays until the next collective */
	enum model_noise noise;
	/* 0: none. All ranks pause in each `pause_every`-th step, each from a step of its own on. */
	uint32_t pause_every;
	double pause_ms;
	struct model_plant plants[2];
	uint64_t seed;
};

struct model_result {
	struct straggler_subject *ranks; /* own, all three */
	struct straggler_place *places;
	struct straggler_group *groups;
	uint32_t nr_ranks, nr_groups;
};

/* Returns what each rank works before each collective, in ms: [i * ranks + j]. The caller owns it: free(). */
double *model_work(const struct model *model);

/* Returns what each rank spends in each collective of that work, in ns: [i * ranks + j]. *span_ms: what all of it takes.
 * The caller owns the times: free(). */
uint64_t *model_times(const struct model *model, const double *work, double *span_ms);

/* Plays the job of that work, and judges ranks and groups. Asserts that it works. */
struct model_result model_play_work(const struct model *model, const double *work);

/* Plays the job, and judges ranks and groups. Asserts that it works. */
struct model_result model_play(const struct model *model);

/* Judges ranks and groups by the times that each spent in each collective: times[i * ranks + j]. */
struct model_result model_judge(const uint64_t *times, const struct model *model, double span_ms);
void model_free(struct model_result *result);

/* Returns the ranks that are named by themselves. */
uint32_t model_count_named(const struct model_result *result);

#endif
