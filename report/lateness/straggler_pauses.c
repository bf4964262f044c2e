#include "straggler_pauses.h"

#include <math.h>
#include <stdlib.h>

#include "aggregator/profile/collective_fold.h"

static int descending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Returns how late a rank was in all collectives of a stretch. */
static double late_in(const struct straggler_lateness *lateness, uint32_t member, uint32_t stretch)
{
	return (double)lateness->input->fold->members[member].buckets[stretch].late_twice_ns / 2;
}

/* Returns how late the earliest rank of a stretch was, beyond what is usual of it. */
static double find_earliest(const struct straggler_lateness *lateness, uint32_t stretch)
{
	const double collectives = collective_fold_in_bucket(lateness->input->fold, stretch);
	double least = INFINITY;

	for (uint32_t i = 0; i < lateness->nr_members; i++)
		least = fmin(least, late_in(lateness, i, stretch) -
					    lateness->member_usual[i] * collectives);
	return least;
}

/* Of each rank, values get how late it was in each stretch from the earliest rank on, the latest first. */
static void sort_latest(struct straggler_lateness *lateness)
{
	const uint32_t count = lateness->nr_stretches;

	for (uint32_t i = 0; i < count; i++)
		lateness->series[i] = find_earliest(lateness, i);
	for (uint32_t i = 0; i < lateness->nr_members; i++) {
		double *latest = lateness->values + (size_t)i * count;

		for (uint32_t j = 0; j < count; j++)
			latest[j] = late_in(lateness, i, j) - lateness->series[j];
		qsort(latest, count, sizeof(*latest), descending);
	}
}

/* The pauses of a subject. */
struct pauses {
	uint32_t stretches;
	double late; /* in all of them, the mean of its ranks */
	double most; /* of one of its ranks in one of them */
};

static struct pauses pauses_of(const struct straggler_lateness *lateness, uint32_t subject,
			       const struct straggler_subject *found)
{
	const uint32_t *of = lateness->input->division.of;
	double late[COLLECTIVE_FOLD_BUCKETS] = {0}, most[COLLECTIVE_FOLD_BUCKETS] = {0};
	double in_part = 0, nr_in_part = 0;
	struct pauses pauses = {0};

	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		for (uint32_t j = 0; j < lateness->nr_members; j++) {
			if (of[j] != subject)
				continue;
			const double own = late_in(lateness, j, i) - lateness->series[i];

			late[i] += own / found->size;
			most[i] = fmax(most[i], own);
		}
		in_part += found->in_part[i] ? late[i] : 0;
		nr_in_part += found->in_part[i];
	}
	for (uint32_t i = 0; i < lateness->nr_stretches && nr_in_part > 0; i++) {
		if (!found->in_part[i] && 2 * late[i] * nr_in_part < in_part)
			continue;
		pauses.stretches++;
		pauses.late += late[i];
		pauses.most = fmax(pauses.most, most[i]);
	}
	return pauses;
}

static bool is_more(const struct straggler_lateness *lateness, uint32_t subject,
		    const struct straggler_subject *subjects)
{
	const uint32_t count = lateness->nr_stretches, nr = lateness->nr_members;
	const uint32_t *of = lateness->input->division.of;
	const struct pauses pauses = pauses_of(lateness, subject, &subjects[subject]);
	double *others = lateness->values + (size_t)nr * count;
	uint32_t nr_others = 0;

	for (uint32_t i = 0; i < nr && pauses.stretches; i++) {
		const double *latest = lateness->values + (size_t)i * count;

		if (subjects[of[i]].ground)
			continue;
		others[nr_others] = 0;
		for (uint32_t j = 0; j < pauses.stretches; j++)
			others[nr_others] += fmin(latest[j], pauses.most);
		nr_others++;
	}
	if (!nr_others)
		return true;
	qsort(others, nr_others, sizeof(*others), descending);
	return pauses.late > STRAGGLER_PAUSES_OVER * others[nr_others / 4];
}

/* Returns whether pauses of equal ranks can have made a name: in a group several may come one after the other. */
static bool is_in_question(const struct straggler_subject *subject)
{
	uint32_t stretches = 0;

	for (uint32_t i = 0; i < COLLECTIVE_FOLD_BUCKETS; i++)
		stretches += subject->in_part[i];
	return subject->ground == STRAGGLER_LUMPS ||
	       (subject->ground == STRAGGLER_PHASE && stretches < STRAGGLER_SHORT);
}

void straggler_pauses_take_back(struct straggler_lateness *lateness,
				struct straggler_subject *subjects)
{
	bool any = false;

	for (uint32_t i = 0; i < lateness->nr_subjects; i++)
		any |= is_in_question(&subjects[i]);
	if (!any)
		return;
	sort_latest(lateness);
	for (uint32_t i = 0; i < lateness->nr_subjects; i++)
		if (is_in_question(&subjects[i]) && !is_more(lateness, i, subjects))
			subjects[i].ground = STRAGGLER_NOT_NAMED;
}
