#include "straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collective_fold.h"
#include "report/names/robust.h"

/* With more ranks, only those that may be late are compared with all others, because each comparison costs a pass. */
#define Z_RANKS 64u
#define NO_SPREADS 20 /* from the mean */

double straggler_tail(uint64_t count, uint64_t total, double p)
{
	double sum = 0;
	int sign;

	if (count == 0)
		return 1;
	double all = lgamma_r((double)total + 1, &sign), mean = (double)total * p;
	/* Terms far below the mean add nothing that a double can hold. */
	double least = mean - NO_SPREADS * sqrt(mean * (1 - p));
	uint64_t from = least > (double)count ? (uint64_t)least : count;
	for (uint64_t i = from; i <= total; i++) {
		double log_term = all - lgamma_r((double)i + 1, &sign) -
				  lgamma_r((double)(total - i) + 1, &sign) + (double)i * log(p) +
				  (double)(total - i) * log1p(-p);
		double term = exp(log_term);

		sum += term;
		/* Beyond the mean the terms only fall. */
		if ((double)i > mean && term <= sum * 1e-16)
			break;
	}
	return sum < 1 ? sum : 1;
}

struct work {
	const struct straggler_input *input;
	uint32_t nr_ranks, nr_stretches;
	double *late;   /* owns; rank j's mean lateness in stretch i: [j * nr_stretches + i] */
	double *values; /* owns */
};

static int work_init(struct work *work, const struct straggler_input *input)
{
	const struct collective_fold *fold = input->fold;

	work->input = input;
	work->nr_ranks = fold->nr_members;
	work->nr_stretches = collective_fold_buckets(fold);
	size_t values = (size_t)work->nr_ranks * (work->nr_stretches + 1ul) + 1;
	work->late = calloc(values, sizeof(*work->late));
	work->values = calloc(values, sizeof(*work->values));
	if (!work->late || !work->values)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->nr_ranks; i++)
		for (uint32_t j = 0; j < work->nr_stretches; j++)
			work->late[(size_t)i * work->nr_stretches + j] =
				(double)fold->members[i].buckets[j].late_twice_ns / 2 /
				collective_fold_in_bucket(fold, j);
	return 0;
}

static void work_fini(struct work *work)
{
	free(work->late);
	free(work->values);
}

/* Finds the rank for which the others waited longest in a stretch, if it is one alone. */
static void count_stretch(const struct work *work, uint32_t stretch, struct straggler_rank *ranks)
{
	const struct collective_fold_member *members = work->input->fold->members;
	uint64_t most = 0;
	uint32_t first = 0;
	bool alone = false;

	for (uint32_t i = 0; i < work->nr_ranks; i++) {
		uint64_t kept = members[i].buckets[stretch].kept_ns;

		if (kept > most) {
			first = i;
			most = kept;
			alone = true;
		} else if (kept == most) {
			alone = false;
		}
	}
	ranks[first].stretches += alone;
}

static double mean_late(const struct work *work, uint32_t rank)
{
	const struct collective_fold *fold = work->input->fold;
	double sum = 0;

	for (uint32_t i = 0; i < work->nr_stretches; i++)
		sum += (double)fold->members[rank].buckets[i].late_twice_ns / 2;
	return sum / (double)fold->used;
}

/* Returns how many independent stretches the stretches are worth: n (1 - r) / (1 + r). r is the correlation of
 * neighbours in the lateness of the other ranks, as in an autoregressive process of first order. The rank's own
 * lateness is in question, so it is left out. */
static double independent_stretches(const struct work *work, const double *means, uint32_t rank)
{
	const uint32_t nr_stretches = work->nr_stretches;
	double products = 0, squares = 0;

	for (uint32_t j = 0; j < work->nr_ranks; j++) {
		const double *late = work->late + (size_t)j * nr_stretches;

		for (uint32_t i = 0; i < nr_stretches && j != rank; i++) {
			squares += (late[i] - means[j]) * (late[i] - means[j]);
			if (i > 0)
				products += (late[i] - means[j]) * (late[i - 1] - means[j]);
		}
	}
	if (products <= 0)
		return nr_stretches;
	double alike = products / squares;
	return nr_stretches * (1 - alike) / (1 + alike);
}

/* Finds each rank's usual lateness. On a busy machine a few stretches of every rank differ from it as much as all
 * others together. */
static void find_usual(struct work *work, double *usual)
{
	const uint32_t nr_stretches = work->nr_stretches;

	for (uint32_t j = 0; j < work->nr_ranks; j++) {
		memcpy(work->values, work->late + (size_t)j * nr_stretches,
		       nr_stretches * sizeof(*work->values));
		usual[j] = robust_mean(work->values, nr_stretches);
	}
}

/* The noise is the difference of the other ranks, and the error of a mean of independent stretches. */
static double z_of(struct work *work, const double *usual, uint32_t rank, double independent)
{
	const uint32_t nr_ranks = work->nr_ranks, nr_stretches = work->nr_stretches;
	uint32_t count = 0, others = 0;

	for (uint32_t j = 0; j < nr_ranks; j++)
		for (uint32_t i = 0; i < nr_stretches && j != rank; i++)
			work->values[count++] = work->late[(size_t)j * nr_stretches + i] - usual[j];
	double noise = robust_spread(work->values, count) / sqrt(independent);
	for (uint32_t j = 0; j < nr_ranks; j++)
		if (j != rank)
			work->values[others++] = usual[j];
	double median = robust_median(work->values, others);
	double between = robust_spread(work->values, others);

	if (between > noise)
		noise = between;
	if (noise > 0)
		return (usual[rank] - median) / noise;
	return usual[rank] > median ? INFINITY : 0;
}

static void judge(struct work *work, const double *means, const double *usual, uint32_t index,
		  struct straggler_rank *rank)
{
	const struct straggler_input *input = work->input;
	double p_max = STRAGGLER_P_MAX / (input->nr_tests ? input->nr_tests : 1);
	double equal = 1.0 / work->nr_ranks;

	rank->late_ns = (int64_t)llround(means[index]);
	rank->p = straggler_tail(rank->last, input->fold->used, equal);
	if (input->span_ns)
		rank->share =
			(double)rank->others_ns / (work->nr_ranks - 1) / (double)input->span_ns;
	bool suspect = rank->p < p_max && rank->share > STRAGGLER_SHARE_MIN;
	if (!suspect && work->nr_ranks > Z_RANKS)
		return;

	double independent = independent_stretches(work, means, index);
	double part = independent / work->nr_stretches;
	rank->p_stretches = straggler_tail((uint64_t)(rank->stretches * part),
					   (uint64_t)(work->nr_stretches * part), equal);
	rank->z = z_of(work, usual, index, independent);
	rank->named = suspect && rank->p_stretches < p_max && rank->z > STRAGGLER_Z_MIN;
}

int straggler_find(const struct straggler_input *input, struct straggler_rank *ranks)
{
	struct work work = {0};
	double *means = calloc(2ul * input->fold->nr_members + 1, sizeof(*means));
	int error = work_init(&work, input);

	if (!means)
		error = -ENOMEM;
	for (uint32_t i = 0; i < work.nr_ranks; i++)
		ranks[i].p = ranks[i].p_stretches = 1;
	if (!error && input->fold->used) {
		for (uint32_t i = 0; i < work.nr_stretches; i++)
			count_stretch(&work, i, ranks);
		for (uint32_t i = 0; i < work.nr_ranks; i++)
			means[i] = mean_late(&work, i);
		find_usual(&work, means + work.nr_ranks);
		for (uint32_t i = 0; i < work.nr_ranks; i++)
			judge(&work, means, means + work.nr_ranks, i, &ranks[i]);
	}
	work_fini(&work);
	free(means);
	return error;
}
