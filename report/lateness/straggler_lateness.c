#include "straggler_lateness.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collective_fold.h"
#include "report/statistics/robust.h"

#define LASTING_TIMES 5 /* the noise that lasts: more is no noise */

static int make_room(struct straggler_lateness *lateness)
{
	const size_t cells = (size_t)lateness->nr_subjects * lateness->nr_stretches + 1;
	const size_t member_cells = (size_t)lateness->nr_members * (lateness->nr_stretches + 1) + 1;

	lateness->sizes = calloc(lateness->nr_subjects, sizeof(*lateness->sizes));
	lateness->late = calloc(cells, sizeof(*lateness->late));
	lateness->kept_ns = calloc(cells, sizeof(*lateness->kept_ns));
	lateness->worst = calloc(lateness->nr_stretches + 1ul, sizeof(*lateness->worst));
	lateness->usual_inside = calloc(lateness->nr_subjects, sizeof(*lateness->usual_inside));
	lateness->series = calloc(3ul * lateness->nr_stretches + 1, sizeof(*lateness->series));
	lateness->means = calloc(lateness->nr_subjects, sizeof(*lateness->means));
	lateness->usual = calloc(lateness->nr_subjects, sizeof(*lateness->usual));
	lateness->sorted_usual = calloc(lateness->nr_subjects, sizeof(*lateness->sorted_usual));
	lateness->member_usual = calloc(lateness->nr_members, sizeof(*lateness->member_usual));
	lateness->values = calloc(member_cells, sizeof(*lateness->values));
	return lateness->sizes && lateness->late && lateness->kept_ns && lateness->means &&
			       lateness->usual && lateness->sorted_usual &&
			       lateness->member_usual && lateness->values && lateness->worst &&
			       lateness->usual_inside && lateness->series
		       ? 0
		       : -ENOMEM;
}

static void add_up(struct straggler_lateness *lateness)
{
	const struct collective_fold *fold = lateness->input->fold;
	const uint32_t *of = lateness->input->division.of, count = lateness->nr_stretches;

	for (uint32_t i = 0; i < lateness->nr_members; i++)
		lateness->sizes[of[i]]++;
	for (uint32_t i = 0; i < lateness->nr_members; i++)
		for (uint32_t j = 0; j < count; j++) {
			const struct collective_fold_bucket *bucket = &fold->members[i].buckets[j];
			const size_t cell = (size_t)of[i] * count + j;
			const double late =
				(double)bucket->late_twice_ns / 2 / lateness->sizes[of[i]];

			lateness->late[cell] += late / collective_fold_in_bucket(fold, j);
			lateness->means[of[i]] += late / (double)fold->used;
			lateness->kept_ns[cell] += bucket->kept_ns;
		}
}

/* Finds for which subject the others waited longest in each stretch, if it is one alone. */
static void find_worst(struct straggler_lateness *lateness)
{
	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		uint64_t most = 0;

		lateness->worst[i] = UINT32_MAX;
		for (uint32_t j = 0; j < lateness->nr_subjects; j++) {
			uint64_t kept = lateness->kept_ns[(size_t)j * lateness->nr_stretches + i];

			if (kept > most) {
				lateness->worst[i] = j;
				most = kept;
			} else if (kept == most) {
				lateness->worst[i] = UINT32_MAX;
			}
		}
	}
}

/* Finds what is usual. On a busy machine a few stretches of every rank differ from it as much as all others do
 * together. */
static void find_usual(struct straggler_lateness *lateness)
{
	const struct collective_fold *fold = lateness->input->fold;
	const uint32_t *of = lateness->input->division.of, count = lateness->nr_stretches;

	for (uint32_t i = 0; i < lateness->nr_subjects; i++) {
		memcpy(lateness->values, lateness->late + (size_t)i * count,
		       count * sizeof(*lateness->values));
		lateness->usual[i] = robust_mean(lateness->values, count);
		lateness->sorted_usual[i] = lateness->usual[i];
	}
	/* robust_median() sorts */
	robust_median(lateness->sorted_usual, lateness->nr_subjects);
	for (uint32_t i = 0; i < lateness->nr_members; i++) {
		for (uint32_t j = 0; j < count; j++)
			lateness->values[j] = (double)fold->members[i].buckets[j].late_twice_ns /
					      2 / collective_fold_in_bucket(fold, j);
		lateness->member_usual[i] = robust_mean(lateness->values, count);
	}
	for (uint32_t i = 0; i < lateness->nr_members; i++)
		lateness->values[i] = lateness->member_usual[i] - lateness->usual[of[i]];
	lateness->within = robust_spread(lateness->values, lateness->nr_members);
	/* Around the median: with two ranks, a rank's lumps move what is usual for both. */
	for (uint32_t i = 0; i < lateness->nr_subjects; i++) {
		double *values = lateness->values + (size_t)i * count;

		memcpy(values, lateness->late + (size_t)i * count, count * sizeof(*values));
		const double median = robust_median(values, count);
		for (uint32_t j = 0; j < count; j++)
			values[j] -= median;
	}
	lateness->spread = robust_spread(lateness->values, lateness->nr_subjects * count);
}

int straggler_lateness_init(struct straggler_lateness *lateness,
			    const struct straggler_input *input)
{
	*lateness = (struct straggler_lateness){
		.input = input,
		.nr_members = input->fold->nr_members,
		.nr_subjects = input->division.nr_subjects,
		.nr_stretches = collective_fold_buckets(input->fold),
	};
	if (make_room(lateness))
		return -ENOMEM;
	if (input->fold->used) {
		add_up(lateness);
		find_worst(lateness);
		find_usual(lateness);
	}
	return 0;
}

void straggler_lateness_fini(struct straggler_lateness *lateness)
{
	free(lateness->sizes);
	free(lateness->late);
	free(lateness->kept_ns);
	free(lateness->means);
	free(lateness->usual);
	free(lateness->sorted_usual);
	free(lateness->member_usual);
	free(lateness->values);
	free(lateness->worst);
	free(lateness->usual_inside);
	free(lateness->series);
}

/* Returns how far another subject is from what is usual in a stretch. Of three subjects the other two have the one that
 * is looked at in their medians, so that its lateness moves both by the same: only what they differ by is their own. */
static double residual_of(const struct straggler_lateness *lateness, uint32_t subject,
			  uint32_t other, uint32_t stretch)
{
	const size_t count = lateness->nr_stretches;
	double residual = lateness->late[other * count + stretch] - lateness->usual[other];

	if (lateness->nr_subjects != 3)
		return residual;
	const uint32_t third = 3 - subject - other;
	return (residual - lateness->late[third * count + stretch] + lateness->usual[third]) / 2;
}

double straggler_lateness_median(const struct straggler_lateness *lateness, uint32_t subject)
{
	const double *sorted = lateness->sorted_usual;
	const uint32_t others = lateness->nr_subjects - 1;
	uint32_t place = 0, room = lateness->nr_subjects;

	if (!others)
		return 0;
	while (room) { /* of the first one that is as large */
		const bool above = sorted[place + room / 2] < lateness->usual[subject];

		place += above ? room / 2 + 1 : 0;
		room = above ? room - room / 2 - 1 : room / 2;
	}
	const uint32_t low = (others - 1) / 2, high = others / 2;
	return (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

static double spread_of_others(struct straggler_lateness *lateness, uint32_t subject)
{
	uint32_t others = 0;

	for (uint32_t j = 0; j < lateness->nr_subjects; j++)
		if (j != subject)
			lateness->values[others++] = lateness->usual[j];
	return robust_spread(lateness->values, others);
}

/* Returns the noise of a subject's lateness against the median of the others, by the spread of the others' residuals.
 * Of two subjects the lateness is twice the difference of both, and the residual is that difference. Of three it is
 * half of the difference of the other two, and the lateness is that to the mean of these. */
static double noise_of(const struct straggler_lateness *lateness, double spread)
{
	switch (lateness->nr_subjects) {
	case 2:
		return 2 * spread;
	case 3:
		return sqrt(3) * spread;
	default:
		return spread;
	}
}

/* Returns by how much another subject is off for parts of the run: the root of what neighbours have in common. Unlike a
 * median distance, that sees what is so for less than half of the run, and hiccups follow no neighbour. */
static double lasting_of(struct straggler_lateness *lateness, uint32_t subject, uint32_t other)
{
	const uint32_t count = lateness->nr_stretches;
	double *series = lateness->series, mean = 0, products = 0;

	for (uint32_t i = 0; i < count; i++) {
		series[i] = residual_of(lateness, subject, other, i);
		mean += series[i] / count;
	}
	for (uint32_t i = 1; i < count; i++)
		products += (series[i] - mean) * (series[i - 1] - mean) / (count - 1);
	return sqrt(fmax(products, 0));
}

/* Returns by how much others are off for parts of the run. A quarter of them may be off by more: they may be late. */
static double lasting_of_others(struct straggler_lateness *lateness, uint32_t subject)
{
	uint32_t others = 0;

	for (uint32_t j = 0; j < lateness->nr_subjects; j++)
		if (j != subject)
			lateness->usual_inside[others++] = lasting_of(lateness, subject, j);
	robust_median(lateness->usual_inside, others); /* sorts */
	return lateness->usual_inside[others - 1 - others / 4];
}

/* Returns whether a subject is later than any noise could make it. */
static bool is_apart(struct straggler_lateness *lateness, uint32_t subject)
{
	const double apart =
		lateness->usual[subject] - straggler_lateness_median(lateness, subject);

	return apart > STRAGGLER_APART * lateness->spread &&
	       apart > STRAGGLER_APART * spread_of_others(lateness, subject) &&
	       apart > LASTING_TIMES * noise_of(lateness, lasting_of_others(lateness, subject));
}

/* Returns which other subject is the latest in a stretch. */
static uint32_t latest_other(const struct straggler_lateness *lateness, uint32_t subject,
			     uint32_t stretch)
{
	uint32_t latest = subject == 0;

	for (uint32_t j = latest + 1; j < lateness->nr_subjects; j++)
		if (j != subject &&
		    lateness->late[(size_t)j * lateness->nr_stretches + stretch] >
			    lateness->late[(size_t)latest * lateness->nr_stretches + stretch])
			latest = j;
	return latest;
}

/* Returns how often the latest one of the others is the same in neighbouring stretches, beyond how often it would be in
 * any order: 1 for always. away: of stretches in which the others waited longest for another than the subject. Where it
 * is late itself, nothing tells how long others would be so. Fewer than that tell little, which is taken off. */
static double alike_of(struct straggler_lateness *lateness, uint32_t subject, bool away)
{
	double *times = lateness->usual_inside, same = 0, pairs = 0, stretches = 0, chance = 0;
	uint32_t before = UINT32_MAX;

	for (uint32_t j = 0; j < lateness->nr_subjects; j++)
		times[j] = 0;
	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		const bool counts = !away || lateness->worst[i] != subject;
		const uint32_t latest = counts ? latest_other(lateness, subject, i) : UINT32_MAX;

		if (counts) {
			times[latest]++;
			stretches++;
			pairs += before != UINT32_MAX;
			same += latest == before;
		}
		before = latest;
	}
	for (uint32_t j = 0; j < lateness->nr_subjects && stretches > 0; j++)
		chance += times[j] / stretches * times[j] / stretches;
	if (pairs < 1 || chance >= 1)
		return 0;
	return (same / pairs - chance) / (1 - chance) - (away ? 1 / sqrt(pairs) : 0);
}

/* Returns the share of the stretches that is independent by which of the others is the latest. */
static double alternating_part(struct straggler_lateness *lateness, uint32_t subject)
{
	const double alike =
		fmax(alike_of(lateness, subject, false), alike_of(lateness, subject, true));

	return alike > 0 ? (1 - alike) / (1 + alike) : 1;
}

struct straggler_independence straggler_lateness_independence(struct straggler_lateness *lateness,
							      uint32_t subject)
{
	const double most = STRAGGLER_LATENESS_HICCUP * lateness->spread;
	const uint32_t nr_stretches = lateness->nr_stretches;
	struct lasting_noise pairs = {0}, with_hiccups = {0};
	double *series = lateness->series;

	if (is_apart(lateness, subject))
		return (struct straggler_independence){1, 1, 1};
	for (uint32_t j = 0; j < lateness->nr_subjects; j++) {
		if (j == subject)
			continue;
		for (uint32_t i = 0; i < nr_stretches; i++)
			series[i] = residual_of(lateness, subject, j, i);
		lasting_noise_add(&pairs, series, nr_stretches, most);
		for (uint32_t i = 0; i < nr_stretches && most > 0; i++)
			series[i] = fmax(-most, fmin(series[i], most));
		lasting_noise_add(&with_hiccups, series, nr_stretches, 0);
	}
	const double lumps = lasting_noise_part(&with_hiccups, 1, nr_stretches);
	return (struct straggler_independence){
		.stretches = fmin(fmin(lasting_noise_part(&pairs, 1, nr_stretches), lumps),
				  alternating_part(lateness, subject)),
		.in_mean = fmin(lasting_noise_least(&pairs, 1, nr_stretches),
				lasting_noise_least(&with_hiccups, 1, nr_stretches)),
		.lumps = lumps,
	};
}

double straggler_lateness_z(struct straggler_lateness *lateness, uint32_t subject, double in_mean)
{
	const uint32_t nr_subjects = lateness->nr_subjects, nr_stretches = lateness->nr_stretches;
	uint32_t count = 0;

	for (uint32_t j = 0; j < nr_subjects; j++)
		for (uint32_t i = 0; i < nr_stretches && j != subject; i++)
			lateness->values[count++] = residual_of(lateness, subject, j, i);
	double noise = noise_of(lateness, robust_spread(lateness->values, count)) /
		       sqrt(in_mean * nr_stretches);
	double between = spread_of_others(lateness, subject);
	double median = straggler_lateness_median(lateness, subject);
	double size = lateness->sizes[subject], rest = lateness->nr_members - size;
	double within = lateness->within * sqrt(1 / size + 1 / (rest / (nr_subjects - 1)));

	noise = fmax(noise, fmax(between, within));
	if (noise > 0)
		return (lateness->usual[subject] - median) / noise;
	return lateness->usual[subject] > median ? INFINITY : 0;
}

uint32_t straggler_lateness_count(const struct straggler_lateness *lateness, uint32_t subject,
				  double median)
{
	const double least = (lateness->usual[subject] + median) / 2;
	uint32_t count = 0;

	for (uint32_t i = 0; i < lateness->nr_members; i++)
		count += lateness->input->division.of[i] == subject &&
			 lateness->member_usual[i] >= least;
	return count;
}

uint32_t straggler_lateness_latest(const struct straggler_lateness *lateness, uint32_t subject,
				   const struct straggler_subject *subjects)
{
	const uint32_t nr_stretches = lateness->nr_stretches;
	uint32_t count = 0;

	for (uint32_t i = 0; i < nr_stretches; i++) {
		double own = lateness->late[(size_t)subject * nr_stretches + i];
		bool latest = true;

		for (uint32_t j = 0; j < lateness->nr_subjects && latest; j++)
			latest = j == subject || subjects[j].ground ||
				 lateness->late[(size_t)j * nr_stretches + i] < own;
		count += latest;
	}
	return count;
}
