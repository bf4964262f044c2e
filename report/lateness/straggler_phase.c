#include "straggler_phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/statistics/binomial.h"
#include "report/statistics/level_shift.h"
#include "report/statistics/robust.h"

#define FEWEST 4u  /* stretches of a phase */
#define LEAST  16u /* part of the run */
#define ALONE  5u  /* of fewer subjects only one may have a phase */

struct span {
	uint32_t first, count;
};

/* Returns the usual lateness of a subject within a span, or outside of it. */
static double usual_of(struct straggler_lateness *lateness, uint32_t subject, struct span span,
		       bool within)
{
	const double *late = lateness->late + (size_t)subject * lateness->nr_stretches;
	uint32_t count = 0;

	for (uint32_t i = 0; i < lateness->nr_stretches; i++)
		if ((i - span.first < span.count) == within)
			lateness->values[count++] = late[i];
	return robust_mean(lateness->values, count);
}

static uint32_t count_worst(const struct straggler_lateness *lateness, uint32_t subject,
			    struct span span)
{
	uint32_t count = 0;

	for (uint32_t i = span.first; i < span.first + span.count; i++)
		count += lateness->worst[i] == subject;
	return count;
}

/* Finds the span whose lateness above a level is the largest in all: where the phase begins and ends. Returns that
 * lateness. */
static double find_extent(const struct straggler_lateness *lateness, uint32_t subject, double level,
			  struct span *best)
{
	const double *late = lateness->late + (size_t)subject * lateness->nr_stretches;
	double most = 0, sum = 0;
	uint32_t first = 0;

	*best = (struct span){0};
	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		if (sum <= 0) {
			sum = 0;
			first = i;
		}
		/* One stretch counts for no more than two usual ones: a stall is no phase. */
		sum += fmin(late[i] - level, 3 * level);
		if (sum > most) {
			most = sum;
			*best = (struct span){first, i + 1 - first};
		}
	}
	return most;
}

/* What is known of the others in a phase. */
struct others {
	double median, between; /* of their usual lateness in the phase */
	double spread;          /* of their stretches around what is usual */
	double independent;     /* share of the stretches */
};

static void look_at_others(struct straggler_lateness *lateness, uint32_t subject, struct span phase,
			   struct others *others)
{
	const uint32_t nr_stretches = lateness->nr_stretches, nr_subjects = lateness->nr_subjects;
	const double most = STRAGGLER_LATENESS_HICCUP * lateness->spread;
	struct lasting_noise pairs = {0};
	double squares = 0;
	uint32_t count = 0;

	for (uint32_t j = 0; j < nr_subjects; j++) {
		const double *late = lateness->late + (size_t)j * nr_stretches;

		if (j == subject)
			continue;
		const double inside = usual_of(lateness, j, phase, true);
		const double outside = usual_of(lateness, j, phase, false);
		for (uint32_t i = 0; i < nr_stretches; i++) {
			const bool within = i - phase.first < phase.count;
			const double residual = late[i] - (within ? inside : outside);
			const double cut = most > 0 ? fmin(fabs(residual), most) : residual;

			squares += cut * cut;
			lateness->series[i] = residual;
		}
		lasting_noise_add(&pairs, lateness->series, nr_stretches, most);
		lateness->usual_inside[count++] = inside;
	}
	others->median = robust_median(lateness->usual_inside, count);
	others->between = robust_spread(lateness->usual_inside, count);
	others->spread = sqrt(squares / ((double)count * nr_stretches));
	others->independent = lasting_noise_part(&pairs, 2, nr_stretches);
}

static uint64_t kept_in(const struct straggler_lateness *lateness, uint32_t subject,
			struct span span)
{
	uint64_t kept_ns = 0;

	for (uint32_t i = span.first; i < span.first + span.count; i++)
		kept_ns += lateness->kept_ns[(size_t)subject * lateness->nr_stretches + i];
	return kept_ns;
}

static bool is_sure(const struct straggler_lateness *lateness, const struct straggler_phase *phase,
		    const struct straggler_phase_question *question)
{
	const bool is_short = phase->nr_stretches < STRAGGLER_SHORT;
	const bool often = phase->p < question->p_max && !is_short && lateness->nr_subjects > 2 &&
			   phase->shift > STRAGGLER_SHIFT_OFTEN;
	const bool lasts = phase->shift > question->shift &&
			   phase->worst >= STRAGGLER_PHASE_WORST &&
			   phase->times > STRAGGLER_PHASE_TIMES &&
			   (double)phase->kept_ns >= question->least_lasting_ns &&
			   (!is_short || (double)phase->kept_ns >= question->least_short_ns);

	return phase->z > STRAGGLER_Z_MIN && (often || lasts);
}

/* Judges one span of the run, which may lie in a phase. */
static void judge(struct straggler_lateness *lateness, uint32_t subject, struct span span,
		  const struct straggler_phase_question *question, uint32_t tests,
		  struct straggler_phase *phase)
{
	const double *late = lateness->late + (size_t)subject * lateness->nr_stretches;
	const double usual = usual_of(lateness, subject, span, true);
	struct span extent;
	struct others others;

	find_extent(lateness, subject, usual / 2, &extent);
	if (extent.count < FEWEST)
		return;
	look_at_others(lateness, subject, extent, &others);
	const double inside = usual_of(lateness, subject, extent, true);
	const double outside = fabs(usual_of(lateness, subject, extent, false));
	const double excess = inside - others.median;
	if (excess > STRAGGLER_APART * others.spread && excess > STRAGGLER_APART * others.between)
		others.independent = 1;
	const uint32_t worst = count_worst(lateness, subject, span);
	const double noise =
		fmax(others.between, others.spread / sqrt(extent.count * others.independent));
	struct straggler_phase found = {
		.first = extent.first,
		.nr_stretches = extent.count,
		.kept_ns = kept_in(lateness, subject, extent),
		.p = tests * binomial_tail((uint64_t)(worst * others.independent),
					   (uint64_t)(span.count * others.independent),
					   question->equal),
		.z = noise > 0    ? excess / noise
		     : excess > 0 ? INFINITY
				  : 0,
		.shift = level_shift_z(late, lateness->nr_stretches, extent.first, extent.count,
				       lateness->series),
		.worst = (double)count_worst(lateness, subject, extent) / extent.count,
		.times = outside > 0 ? inside / outside : INFINITY,
	};

	found.is_sure = is_sure(lateness, &found, question);
	if (found.is_sure == phase->is_sure ? found.kept_ns > phase->kept_ns : found.is_sure)
		*phase = found;
}

/* Returns whether a phase may lie in a span. */
static bool is_suspect(const struct straggler_lateness *lateness, uint32_t subject,
		       struct span span, const struct straggler_phase_question *question,
		       uint32_t tests)
{
	const uint32_t worst = count_worst(lateness, subject, span);

	return tests * binomial_tail(worst, span.count, question->equal) < question->p_max ||
	       (worst >= STRAGGLER_PHASE_WORST * span.count &&
		(double)kept_in(lateness, subject, span) >= question->least_ns);
}

void straggler_phase_find(struct straggler_lateness *lateness, uint32_t subject,
			  const struct straggler_phase_question *question,
			  struct straggler_phase *phase)
{
	const uint32_t nr_stretches = lateness->nr_stretches;
	uint32_t tests = 0;

	*phase = (struct straggler_phase){.p = 1};
	for (uint32_t part = 2; part <= LEAST && nr_stretches / part >= FEWEST; part *= 2)
		tests += 2 * part - 1;
	for (uint32_t part = 2; part <= LEAST && nr_stretches / part >= FEWEST; part *= 2)
		for (uint32_t i = 0; i < 2 * part - 1; i++) {
			const struct span span = {i * nr_stretches / (2 * part),
						  nr_stretches / part};

			if (is_suspect(lateness, subject, span, question, tests))
				judge(lateness, subject, span, question, tests, phase);
		}
}

/* ---- others that have such phases */

static int descending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Returns whether no other subject has such a phase, or one alone has. */
static bool is_apart(struct straggler_lateness *lateness, uint32_t subject,
		     const struct straggler_subject *subjects)
{
	const uint32_t shift = lateness->input->fold->shift;
	const struct straggler_subject *found = &subjects[subject];
	const struct span phase = {
		(uint32_t)(found->lump_from >> shift),
		(uint32_t)((found->lump_to + (1ull << shift) - 1) >> shift) -
			(uint32_t)(found->lump_from >> shift),
	};
	const double level = usual_of(lateness, subject, phase, true) / 2;
	double *sums = lateness->usual_inside;
	uint32_t count = 0, place = 0;
	struct span extent;
	const double own = find_extent(lateness, subject, level, &extent);

	for (uint32_t i = 0; i < lateness->nr_subjects; i++) {
		const bool all_along = subjects[i].ground == STRAGGLER_FREQUENCY ||
				       subjects[i].ground == STRAGGLER_COST;

		if (!all_along || i == subject)
			sums[count++] = find_extent(lateness, i, level, &extent);
	}
	qsort(sums, count, sizeof(*sums), descending);
	while (place + 1 < count && sums[place + 1] >= own)
		place++;
	for (const uint32_t most = count < ALONE ? 1 : 2; place < most; place++)
		if (place + 1 >= count || sums[place] > STRAGGLER_PHASE_OVER * sums[place + 1])
			return true;
	return false;
}

void straggler_phase_take_back(struct straggler_lateness *lateness,
			       struct straggler_subject *subjects)
{
	for (uint32_t i = 0; i < lateness->nr_subjects; i++) {
		if (subjects[i].ground != STRAGGLER_PHASE || is_apart(lateness, i, subjects))
			continue;
		subjects[i].ground = STRAGGLER_NOT_NAMED;
		subjects[i].doubt = STRAGGLER_UNEVEN;
	}
}
