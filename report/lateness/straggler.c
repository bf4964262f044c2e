#include "straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "straggler_lateness.h"
#include "straggler_lumps.h"
#include "straggler_pauses.h"
#include "straggler_phase.h"

#include "aggregator/profile/collective_fold.h"
#include "report/statistics/binomial.h"

/* Of more subjects, only those that may be late are compared with all others, because each comparison costs a pass. */
#define Z_SUBJECTS 64u
#define PHASE_MOST 0.75 /* of the waits at least, and of the run at most */
/* Of two ranks without a name each is the later one in half of the stretches, and the median is the other one. */
#define HIDDEN_RANKS 3u

/* What is known of all subjects of a division. */
struct work {
	const struct straggler_input *input;
	struct straggler_lateness lateness;
	struct straggler_lump *lumps; /* owns */
	uint32_t nr_lumps, nr_apart;
	double p_max;
};

/* Returns the probability that one of equal subjects of this size is last. */
static double equal_chance(const struct work *work, uint32_t subject)
{
	return (double)work->lateness.sizes[subject] / work->lateness.nr_members;
}

static void count_stretches(const struct work *work, struct straggler_subject *subjects)
{
	for (uint32_t i = 0; i < work->nr_lumps; i++) {
		const struct straggler_lump *lump = &work->lumps[i];
		struct straggler_subject *subject = &subjects[lump->subject];
		const uint32_t shift = work->input->fold->shift;

		subject->stretches += lump->nr_stretches;
		if (subject->lump_ns)
			continue; /* a costlier one came before */
		subject->lump_ns = lump->kept_ns;
		subject->lump_from = (uint64_t)lump->first << shift;
		subject->lump_to = (uint64_t)(lump->first + lump->nr_stretches) << shift;
		if (subject->lump_to > work->input->fold->used)
			subject->lump_to = work->input->fold->used;
	}
}

/* The share of the span that the mean of the ranks outside waited. */
static double share_of(const struct work *work, const struct straggler_subject *subject,
		       uint64_t waited_ns)
{
	const double others = straggler_subject_waiters(subject, work->lateness.nr_members);

	return work->input->span_ns ? (double)waited_ns / others / (double)work->input->span_ns : 0;
}

/* Returns whether the ranks outside of a subject waited so long that it is a fact about the run, whatever chance says.
 * A communicator that was there for a small part of the run has a large part of its time in one pause. */
static bool is_fact(const struct work *work, uint32_t subject, uint64_t waited_ns)
{
	const double others = (double)work->lateness.nr_members - work->lateness.sizes[subject];

	return (double)waited_ns > STRAGGLER_STALL_MIN * others * (double)work->input->run_ns;
}

/* Returns whether the subject's costliest lump is a stall. */
static bool is_stall(const struct work *work, uint32_t subject)
{
	uint32_t i = 0;

	while (i < work->nr_lumps && work->lumps[i].subject != subject)
		i++;
	return i < work->nr_lumps &&
	       straggler_lumps_is_stall(&work->lateness, work->lumps, work->nr_lumps, i);
}

/* Returns whether the subject's stops cost as much as a stall, and hardly by chance: as of a stall, that is a fact
 * about the run. */
static bool are_stops(const struct work *work, uint32_t subject)
{
	uint64_t kept_ns;
	const double p = straggler_lumps_stops_p(work->lumps, work->nr_apart, subject,
						 equal_chance(work, subject), &kept_ns);

	return p < STRAGGLER_STOPS_P_MAX && is_fact(work, subject, kept_ns);
}

static enum straggler_ground ground_of(const struct work *work, uint32_t index,
				       const struct straggler_subject *subject)
{
	bool all_along = subject->p_stretches < work->p_max && subject->z > STRAGGLER_Z_MIN &&
			 subject->steady > STRAGGLER_STEADY_MIN;

	if (subject->share <= STRAGGLER_SHARE_MIN)
		return STRAGGLER_NOT_NAMED;
	if (all_along)
		return subject->p < work->p_max ? STRAGGLER_FREQUENCY : STRAGGLER_COST;
	if (subject->p_lumps < work->p_max || are_stops(work, index))
		return STRAGGLER_LUMPS;
	return is_fact(work, index, subject->lump_ns) && is_stall(work, index)
		       ? STRAGGLER_STALL
		       : STRAGGLER_NOT_NAMED;
}

/* Marks stretches as those for which a subject is named. */
static void add_part(uint32_t first, uint32_t nr_stretches, struct straggler_subject *subject)
{
	for (uint32_t i = first; i < first + nr_stretches; i++)
		subject->in_part[i] = true;
}

/* Adds up what is known of the marked stretches. */
static void sum_part(const struct work *work, uint32_t index, struct straggler_subject *subject)
{
	const size_t row = (size_t)index * work->lateness.nr_stretches;
	double late = 0, collectives = 0;

	for (uint32_t i = 0; i < work->lateness.nr_stretches; i++) {
		const double count = collective_fold_in_bucket(work->input->fold, i);

		if (!subject->in_part[i])
			continue;
		subject->part_ns += work->lateness.kept_ns[row + i];
		late += work->lateness.late[row + i] * count;
		collectives += count;
	}
	subject->part_late_ns = collectives > 0 ? (int64_t)llround(late / collectives) : 0;
}

/* Marks the subject's lumps that cost a good part of its costliest one: others are noise. */
static void mark_lumps(const struct work *work, uint32_t index, struct straggler_subject *subject)
{
	for (uint32_t i = 0; i < work->nr_lumps; i++) {
		const struct straggler_lump *lump = &work->lumps[i];

		if (lump->subject == index &&
		    STRAGGLER_LUMPS_COSTLY * lump->kept_ns >= subject->lump_ns)
			add_part(lump->first, lump->nr_stretches, subject);
	}
	sum_part(work, index, subject);
}

/* Returns whether a phase says more of a subject than that it is late all along: nearly all of the waits are in it, and
 * there is enough outside of it, where the others mostly wait for other ones. The newest part of a run is too short for
 * that. */
static bool is_better(const struct work *work, const struct straggler_subject *subject,
		      const struct straggler_phase *phase)
{
	if (subject->ground != STRAGGLER_FREQUENCY && subject->ground != STRAGGLER_COST)
		return true;
	const double inside = phase->worst * phase->nr_stretches;
	const double outside = work->lateness.nr_stretches - phase->nr_stretches;
	return !work->input->is_window && 2 * (subject->stretches - inside) < outside &&
	       (double)phase->kept_ns >= PHASE_MOST * (double)subject->others_ns &&
	       phase->nr_stretches <= PHASE_MOST * work->lateness.nr_stretches;
}

/* Names a subject that was late for a part of the run. */
static void find_phase(struct work *work, uint32_t index, struct straggler_subject *subject)
{
	const uint64_t used = work->input->fold->used;
	const uint32_t shift = work->input->fold->shift;
	const double span_ns = (double)work->input->span_ns *
			       straggler_subject_waiters(subject, work->lateness.nr_members);
	/* Of a phase that costs enough, at least one part that is looked at holds a quarter. */
	const struct straggler_phase_question question = {
		.equal = equal_chance(work, index),
		.p_max = work->p_max,
		.shift = STRAGGLER_SHIFT_Z + log(fmax(work->input->nr_tests, 1)),
		.least_ns = STRAGGLER_SHARE_MIN / 4 * span_ns,
		.least_short_ns = work->input->is_window ? INFINITY : STRAGGLER_SHORT_MIN * span_ns,
		.least_lasting_ns = work->input->is_window ? STRAGGLER_STALL_MIN * span_ns : 0};
	struct straggler_phase phase;

	straggler_phase_find(&work->lateness, index, &question, &phase);
	if (phase.z <= STRAGGLER_Z_MIN ||
	    share_of(work, subject, phase.kept_ns) <= STRAGGLER_SHARE_MIN)
		return;
	if (!phase.is_sure && !subject->ground)
		subject->doubt = STRAGGLER_UNEVEN;
	if (!phase.is_sure || !is_better(work, subject, &phase))
		return;
	subject->ground = STRAGGLER_PHASE;
	subject->p_phase = phase.p;
	subject->z = phase.z;
	subject->lump_ns = phase.kept_ns;
	subject->lump_from = (uint64_t)phase.first << shift;
	subject->lump_to = (uint64_t)(phase.first + phase.nr_stretches) << shift;
	if (subject->lump_to > used)
		subject->lump_to = used;
	add_part(phase.first, phase.nr_stretches, subject);
	sum_part(work, index, subject);
}

static double steady_of(const struct work *work, uint32_t index, double median)
{
	double ns = (work->lateness.usual[index] - median) * (double)work->input->fold->used;

	return work->input->span_ns ? ns / (double)work->input->span_ns : 0;
}

static enum straggler_doubt doubt_of(const struct work *work, double equal,
				     const struct straggler_subject *subject)
{
	if (pow(equal, (double)work->input->trials) >= work->p_max)
		return STRAGGLER_TOO_FEW;
	if (subject->p >= work->p_max)
		return subject->doubt;
	if (subject->p_stretches >= work->p_max)
		return STRAGGLER_LASTS;
	return subject->z <= STRAGGLER_Z_MIN ? STRAGGLER_SPREAD : STRAGGLER_SMALL;
}

static void judge(struct work *work, uint32_t index, struct straggler_subject *subject)
{
	struct straggler_lateness *lateness = &work->lateness;
	const double equal = equal_chance(work, index);

	subject->size = lateness->sizes[index];
	subject->late_ns = (int64_t)llround(lateness->means[index]);
	subject->p = binomial_tail(subject->last, work->input->trials, equal);
	subject->share = fmin(1, share_of(work, subject, subject->others_ns));
	if (subject->share <= STRAGGLER_SHARE_MIN && lateness->nr_subjects > Z_SUBJECTS)
		return;

	const struct straggler_independence independent =
		straggler_lateness_independence(lateness, index);
	double median = straggler_lateness_median(lateness, index);
	subject->p_stretches =
		binomial_tail((uint64_t)(subject->stretches * independent.stretches),
			      (uint64_t)(lateness->nr_stretches * independent.stretches), equal);
	subject->z = straggler_lateness_z(lateness, index, independent.in_mean);
	subject->steady = steady_of(work, index, median);
	subject->late_size = straggler_lateness_count(lateness, index, median);
	subject->p_lumps = straggler_lumps_p(work->lumps, work->nr_lumps, index, equal,
					     independent.lumps, work->nr_apart);
	subject->ground = ground_of(work, index, subject);
	/* What looks like a long stall may be late again and again: its causes are in each collective, not in one. What
	 * is last often may be so in a part of the run alone: its causes are there. */
	if (subject->ground != STRAGGLER_LUMPS && subject->share > STRAGGLER_SHARE_MIN)
		find_phase(work, index, subject);
	if (subject->ground == STRAGGLER_LUMPS)
		mark_lumps(work, index, subject);
	if (!subject->ground && subject->share > STRAGGLER_SHARE_MIN)
		subject->doubt = doubt_of(work, equal, subject);
}

/* The ranks of subjects without a name. */
static uint32_t count_unnamed(const struct straggler_lateness *lateness,
			      const struct straggler_subject *subjects)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lateness->nr_subjects; i++)
		count += subjects[i].ground ? 0 : lateness->sizes[i];
	return count;
}

/* Names a subject if it is late all along among those without a name. */
static void judge_hidden(struct work *work, uint32_t index, struct straggler_subject *subjects)
{
	struct straggler_lateness *lateness = &work->lateness;
	struct straggler_subject *subject = &subjects[index];
	const uint32_t ranks = count_unnamed(lateness, subjects);
	const double steady = steady_of(work, index, straggler_lateness_median(lateness, index));

	/* Each z score costs a pass over all. */
	if (subject->ground || ranks < HIDDEN_RANKS || steady <= STRAGGLER_HIDDEN_MIN)
		return;
	const struct straggler_independence independent =
		straggler_lateness_independence(lateness, index);
	const double z = straggler_lateness_z(lateness, index, independent.in_mean);
	const double latest = straggler_lateness_latest(lateness, index, subjects);
	const double all = lateness->nr_stretches;

	if (z <= STRAGGLER_Z_MIN ||
	    binomial_tail((uint64_t)(latest * independent.stretches),
			  (uint64_t)(all * independent.stretches),
			  (double)lateness->sizes[index] / ranks) >= work->p_max)
		return;
	subject->ground = STRAGGLER_HIDDEN;
	subject->steady = steady;
	subject->z = z;
}

static int by_usual(const void *a, const void *b, void *context)
{
	const double *usual = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (usual[x] > usual[y] || usual[x] < usual[y])
		return usual[x] > usual[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* Names those that another one hides: it is last whenever both are late. The latest one comes first, because it hides
 * the next one in turn. 0 or -ENOMEM. */
static int find_hidden(struct work *work, struct straggler_subject *subjects)
{
	const uint32_t count = work->lateness.nr_subjects;
	uint32_t *order = calloc(count, sizeof(*order));
	bool any = false;

	for (uint32_t i = 0; i < count && order; i++) {
		any |= subjects[i].ground == STRAGGLER_FREQUENCY;
		order[i] = i;
	}
	if (any && order)
		qsort_r(order, count, sizeof(*order), by_usual, work->lateness.usual);
	for (uint32_t i = 0; i < count && any; i++)
		judge_hidden(work, order[i], subjects);
	free(order);
	return order ? 0 : -ENOMEM;
}

int straggler_find(const struct straggler_input *input, struct straggler_subject *subjects)
{
	struct work work = {.input = input,
			    .p_max = STRAGGLER_P_MAX / (input->nr_tests ? input->nr_tests : 1)};
	int error = straggler_lateness_init(&work.lateness, input);

	for (uint32_t i = 0; i < input->division.nr_subjects; i++)
		subjects[i].p = subjects[i].p_stretches = subjects[i].p_lumps = 1;
	if (!error && input->fold->used)
		error = straggler_lumps_find(&work.lateness, &work.lumps, &work.nr_lumps);
	if (!error && input->fold->used) {
		work.nr_apart = straggler_lumps_apart(&work.lateness, work.lumps, work.nr_lumps);
		count_stretches(&work, subjects);
		for (uint32_t i = 0; i < input->division.nr_subjects; i++)
			judge(&work, i, &subjects[i]);
		straggler_phase_take_back(&work.lateness, subjects);
		straggler_pauses_take_back(&work.lateness, subjects);
		error = find_hidden(&work, subjects);
	}
	straggler_lateness_fini(&work.lateness);
	free(work.lumps);
	return error;
}
