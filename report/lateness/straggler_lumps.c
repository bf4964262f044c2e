#include "straggler_lumps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregator/profile/collective_fold.h"
#include "report/statistics/binomial.h"

#define VALLEY 10 /* times as much on both sides */

static int by_cost(const void *a, const void *b)
{
	const struct straggler_lump *x = a, *y = b;

	if (x->kept_ns != y->kept_ns)
		return x->kept_ns > y->kept_ns ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Returns whether the stretch after one of the same lump begins another: the one before is a valley between both. */
static bool is_after_valley(const struct straggler_lump *lump, uint64_t before_ns, uint64_t kept_ns)
{
	return kept_ns / VALLEY > before_ns && lump->most_ns / VALLEY > before_ns;
}

int straggler_lumps_find(const struct straggler_lateness *lateness, struct straggler_lump **lumps,
			 uint32_t *count)
{
	struct straggler_lump *found = calloc(lateness->nr_stretches + 1ul, sizeof(*found));
	uint32_t nr = 0, before = UINT32_MAX;
	uint64_t before_ns = 0;

	*count = 0;
	*lumps = found;
	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		uint32_t worst = lateness->worst[i];

		if (worst == UINT32_MAX) {
			before = worst;
			continue;
		}
		const uint64_t kept_ns =
			lateness->kept_ns[(size_t)worst * lateness->nr_stretches + i];
		if (worst != before || is_after_valley(&found[nr - 1], before_ns, kept_ns))
			found[nr++] = (struct straggler_lump){.subject = worst, .first = i};
		struct straggler_lump *lump = &found[nr - 1];
		lump->nr_stretches++;
		lump->kept_ns += kept_ns;
		lump->most_ns = kept_ns > lump->most_ns ? kept_ns : lump->most_ns;
		before = worst;
		before_ns = kept_ns;
	}
	qsort(found, nr, sizeof(*found), by_cost);
	*count = nr;
	return 0;
}

static int descending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Returns whether one of the first `count` lumps has a stretch. */
static bool is_inside(const struct straggler_lump *lumps, uint32_t count, uint32_t stretch)
{
	for (uint32_t i = 0; i < count; i++)
		if (stretch - lumps[i].first < lumps[i].nr_stretches)
			return true;
	return false;
}

/* Returns how many times as much a lump costs a stretch as all that is outside of the first `count` lumps. 0: fewer
 * than STRAGGLER_FEWEST stretches are outside. */
static double times_outside(const struct straggler_lateness *lateness,
			    const struct straggler_lump *lumps, uint32_t count,
			    const struct straggler_lump *lump)
{
	const uint32_t nr_stretches = lateness->nr_stretches;
	double outside = 0;
	uint32_t rest = 0;

	for (uint32_t j = 0; j < nr_stretches; j++) {
		if (is_inside(lumps, count, j))
			continue;
		rest++;
		for (uint32_t i = 0; i < lateness->nr_subjects; i++)
			outside += (double)lateness->kept_ns[(size_t)i * nr_stretches + j];
	}
	if (rest < STRAGGLER_FEWEST)
		return 0;
	return outside > 0 ? (double)lump->kept_ns / lump->nr_stretches / (outside / rest)
			   : INFINITY;
}

/* Returns the probability that `count` pauses are as long as the last of the first `count` lumps, by the tail of what
 * the costliest quarter of all other stretches cost. It is taken for that of a power law, of which the exponent is
 * known by these. The costliest one counts as the next one: it may be a stall, too. */
static double tail_p(const struct straggler_lateness *lateness, const struct straggler_lump *lumps,
		     uint32_t count)
{
	double *costs = lateness->values, sum = 0, choices = 1;
	uint32_t rest = 0;

	for (uint32_t i = 0; i < lateness->nr_stretches; i++) {
		const uint32_t worst = lateness->worst[i];

		if (worst != UINT32_MAX && !is_inside(lumps, count, i))
			costs[rest++] =
				(double)lateness
					->kept_ns[(size_t)worst * lateness->nr_stretches + i];
	}
	const uint32_t tail = rest / 4;
	if (tail < 2)
		return 0;
	qsort(costs, rest, sizeof(*costs), descending);
	for (uint32_t i = 0; i < tail; i++)
		sum += log(costs[i ? i : 1] / costs[tail]);
	for (uint32_t i = 1; i <= count; i++)
		choices *= (double)(tail + i) / i;
	const double above = count * log((double)lumps[count - 1].kept_ns / costs[tail]);
	return sum > 0 ? choices * pow(1 + above / sum, -(double)tail) : 0;
}

bool straggler_lumps_is_stall(const struct straggler_lateness *lateness,
			      const struct straggler_lump *lumps, uint32_t count, uint32_t index)
{
	for (uint32_t i = index + 1; i <= count && i <= STRAGGLER_STALLS; i++)
		if (times_outside(lateness, lumps, i, &lumps[index]) > STRAGGLER_STALL_TIMES &&
		    tail_p(lateness, lumps, i) < STRAGGLER_STALL_P_MAX / i)
			return true;
	return false;
}

uint32_t straggler_lumps_apart(const struct straggler_lateness *lateness,
			       const struct straggler_lump *lumps, uint32_t count)
{
	const struct collective_fold *fold = lateness->input->fold;
	/* All ranks outside of the subject wait, and each stretch has as many collectives but for the last. */
	const double in_stretch = (double)collective_fold_in_bucket(fold, 0);
	uint32_t i = 0;

	for (; i < count; i++) {
		const double others =
			(double)lateness->nr_members - lateness->sizes[lumps[i].subject];
		const double late = (double)lumps[i].most_ns / in_stretch / others;

		if (others < 1 || late <= STRAGGLER_APART * lateness->spread)
			break;
	}
	return i;
}

/* Bounds the probability that one of equal subjects has lumps of that cost or more, if each lump is its own with the
 * probability equal: for each s, the mean of exp(s cost) by exp(s own cost) (Chernoff, 1952). Costs are parts of the
 * costliest. Neighbouring stretches of one subject are one lump, so that a subject of more than half of the ranks has
 * long lumps by chance. Of these nothing is told. */
static double cost_p(const struct straggler_lump *lumps, uint32_t count, uint32_t subject,
		     double equal, double independent)
{
	double least = 0;

	if (equal > 0.5)
		return 1;
	for (double s = 0.25; count && s < 100; s *= 1.5) {
		double log_p = 0;

		for (uint32_t i = 0; i < count; i++) {
			double cost = s * (double)lumps[i].kept_ns / (double)lumps[0].kept_ns;

			log_p += log1p(equal * expm1(cost));
			log_p -= lumps[i].subject == subject ? cost : 0;
		}
		least = log_p < least ? log_p : least;
	}
	return exp(least * independent);
}

/* Returns how many lumps come before the costs drop most, of those that cost a quarter of the costliest; 0: too few. It
 * looks at no subject, so it is one test. */
static uint32_t before_drop(const struct straggler_lump *lumps, uint32_t count)
{
	uint32_t at = 0;
	double most = 1;

	for (uint32_t i = STRAGGLER_FEWEST;
	     i < count && STRAGGLER_LUMPS_COSTLY * lumps[i - 1].kept_ns >= lumps[0].kept_ns; i++) {
		const double drop = (double)lumps[i - 1].kept_ns / (double)(lumps[i].kept_ns + 1);

		if (drop > most) {
			most = drop;
			at = i;
		}
	}
	return at;
}

double straggler_lumps_p(const struct straggler_lump *lumps, uint32_t count, uint32_t subject,
			 double equal, double independent, uint32_t apart)
{
	const uint32_t drop = before_drop(lumps, count);
	uint32_t own = 0, tests = 0;
	double least = 1;

	for (uint32_t i = 0, next = STRAGGLER_FEWEST; i < count; i++) {
		const uint32_t of = i + 1;

		own += lumps[i].subject == subject;
		if (of != next && of != drop && (of != apart || of < STRAGGLER_FEWEST))
			continue;
		const double alone = of <= apart ? 1 : independent;
		double p = binomial_tail((uint64_t)(own * alone), (uint64_t)(of * alone), equal);

		least = p < least ? p : least;
		next *= of == next ? 2 : 1;
		tests++;
	}
	/* One of two tests. */
	least = fmin(2 * least * tests, 2 * cost_p(lumps, count, subject, equal, independent));
	return least < 1 && tests ? least : 1;
}

double straggler_lumps_stops_p(const struct straggler_lump *lumps, uint32_t apart, uint32_t subject,
			       double equal, uint64_t *kept_ns)
{
	uint32_t own = 0, all = 0;

	*kept_ns = 0;
	for (uint32_t i = 0;
	     i < apart && STRAGGLER_LUMPS_COSTLY * lumps[i].kept_ns >= lumps[0].kept_ns; i++) {
		if (2 * lumps[i].most_ns < lumps[i].kept_ns)
			continue;
		all++;
		own += lumps[i].subject == subject;
		*kept_ns += lumps[i].subject == subject ? lumps[i].kept_ns : 0;
	}
	return binomial_tail(own, all, equal);
}
