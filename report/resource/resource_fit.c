#include "resource_fit.h"

#include <math.h>
#include <stddef.h>

#define NS_PER_S    1e9
#define IDLE_SHARE  0.01 /* less work than that is none, */
#define IDLE_ENOUGH 3u   /* unless so many intervals have none at all */
#define BUSY_RANGE  0.1  /* the shares of work have to differ by so much for a straight line */
#define PULL        1e-3 /* towards the rate of all work, of a class's own weight */
/* The same, of the weight of all: else work of hardly any time gets what others miss. A class of less weight takes that
 * rate, and nothing from classes that it always runs beside. */
#define PULL_ALL    1e-5
#define LEAST_PIVOT 1e-9 /* less of a class is left by rounding alone */
#define SWEEPS      400u
#define STILL       1e-7 /* of the largest rate */
#define RATE_MAX    1e18

/* The normal equations of all intervals with work: each weighs as much as its time. */
struct equations {
	double of[RESOURCE_CLASSES][RESOURCE_CLASSES], above[RESOURCE_CLASSES];
};

static double work_ns(const struct resource_interval *interval)
{
	double ns = 0;

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		ns += (double)interval->class_ns[i];
	return ns;
}

static bool has_work(const struct resource_interval *interval, const struct resource_fit *fit)
{
	return work_ns(interval) > fit->idle_share * (double)interval->ns;
}

static double idle_share_of(const struct resource_interval *intervals, uint32_t nr)
{
	uint32_t nr_idle = 0;

	for (uint32_t i = 0; i < nr; i++)
		nr_idle += work_ns(&intervals[i]) == 0;
	return nr_idle >= IDLE_ENOUGH ? 0 : IDLE_SHARE;
}

static uint64_t to_rate(double rate)
{
	return rate <= 0 ? 0 : rate >= RATE_MAX ? (uint64_t)RATE_MAX : (uint64_t)llround(rate);
}

/* Amounts over the share of work, as a straight line: its begin is the rate without work. */
static void fit_idle(const struct resource_interval *intervals, uint32_t nr,
		     struct resource_fit *fit)
{
	double weight = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY, most = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const double ns = (double)intervals[i].ns, share = work_ns(&intervals[i]) / ns;
		const double amount = (double)intervals[i].amount * NS_PER_S;

		weight += ns;
		x += share * ns;
		y += amount;
		xx += share * share * ns;
		xy += share * amount;
		least = share < least ? share : least;
		most = share > most ? share : most;
	}
	if (nr < 3 || most - least < BUSY_RANGE)
		return;
	const double slope = (weight * xy - x * y) / (weight * xx - x * x);
	const double begin = (y - slope * x) / weight;

	/* Else there would be less with work, or the line is none. */
	if (slope <= 0 || begin <= 0)
		return;
	fit->idle = RESOURCE_IDLE_FITTED;
	fit->idle_rate = to_rate(begin);
}

static void find_idle(const struct resource_interval *intervals, uint32_t nr,
		      const struct resource_scale *scale, struct resource_fit *fit)
{
	double ns = 0, amount = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (!has_work(&intervals[i], fit)) {
			ns += (double)intervals[i].ns;
			amount += (double)intervals[i].amount;
			fit->nr_idle += work_ns(&intervals[i]) == 0;
		}
	if (ns > 0) {
		fit->idle = RESOURCE_IDLE_MEASURED;
		fit->idle_rate = to_rate(amount * NS_PER_S / ns);
	} else if (!scale->has_base) {
		fit->idle = RESOURCE_IDLE_NONE;
	} else {
		fit_idle(intervals, nr, fit);
	}
}

/* Returns the amount of an interval above that without work, in rate times ns; it may be below 0. */
static double above_idle(const struct resource_interval *interval, const struct resource_fit *fit)
{
	return (double)interval->amount * NS_PER_S - (double)fit->idle_rate * (double)interval->ns;
}

static void find_work(const struct resource_interval *intervals, uint32_t nr,
		      struct resource_fit *fit)
{
	double ns = 0, above = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!has_work(&intervals[i], fit))
			continue;
		ns += work_ns(&intervals[i]);
		above += above_idle(&intervals[i], fit);
		fit->nr_intervals++;
	}
	fit->work_rate = ns > 0 ? to_rate(above / ns) : 0;
}

static void make_equations(const struct resource_interval *intervals, uint32_t nr,
			   const struct resource_fit *fit, struct equations *equations)
{
	*equations = (struct equations){0};
	for (uint32_t i = 0; i < nr; i++) {
		const struct resource_interval *interval = &intervals[i];
		const double ns = (double)interval->ns;

		if (!has_work(interval, fit))
			continue;
		for (uint32_t j = 0; j < RESOURCE_CLASSES; j++) {
			const double share = (double)interval->class_ns[j] / ns;

			equations->above[j] += share * above_idle(interval, fit);
			for (uint32_t k = 0; k < RESOURCE_CLASSES; k++)
				equations->of[j][k] += share * (double)interval->class_ns[k];
		}
	}
}

static double weight_of_all(const struct equations *equations)
{
	double all = 0;

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		all += equations->of[i][i];
	return all;
}

/* Least squares without negative rates, one class after the other, until nothing moves. */
static void solve(const struct equations *equations, struct resource_fit *fit)
{
	const double common = (double)fit->work_rate, all = weight_of_all(equations);
	double rates[RESOURCE_CLASSES], moved = 1, most = 0;

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		rates[i] = common;
	for (uint32_t sweep = 0; sweep < SWEEPS && moved > STILL * most; sweep++) {
		moved = 0;
		for (uint32_t i = 0; i < RESOURCE_CLASSES; i++) {
			const double own = equations->of[i][i], pull = PULL * own + PULL_ALL * all;
			double rest = equations->above[i] + pull * common;

			for (uint32_t j = 0; j < RESOURCE_CLASSES; j++)
				rest -= j == i ? 0 : equations->of[i][j] * rates[j];
			const double next = own > 0 ? fmax(rest / (own + pull), 0) : common;

			moved = fmax(moved, fabs(next - rates[i]));
			most = fmax(most, next);
			rates[i] = next;
		}
	}
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		fit->class_rate[i] = to_rate(rates[i]);
}

/* Returns what is left of a class's square when all others have told what they can, as a share of it: by
 * elimination. */
static double left_of(const struct equations *equations, uint32_t class)
{
	struct equations left = *equations;
	const double all = equations->of[class][class], least = PULL_ALL * weight_of_all(equations);

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++) {
		/* A class that follows from those before it tells no more. */
		if (i == class || equations->of[i][i] < least ||
		    left.of[i][i] <= LEAST_PIVOT * equations->of[i][i])
			continue;
		for (uint32_t j = 0; j < RESOURCE_CLASSES; j++) {
			const double factor = left.of[j][i] / left.of[i][i];

			for (uint32_t k = 0; k < RESOURCE_CLASSES && (j > i || j == class); k++)
				left.of[j][k] -= factor * left.of[i][k];
		}
	}
	return all > 0 ? fmin(fmax(left.of[class][class] / all, 0), 1) : 0;
}

/* The square of what is missed, by the intervals that are more than there are classes, is that of chance. */
static void find_errors(const struct equations *equations, double square, struct resource_fit *fit)
{
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		fit->nr_classes += equations->of[i][i] > 0;
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++) {
		fit->apart[i] = left_of(equations, i);
		fit->error_rate[i] = RESOURCE_RATE_UNKNOWN;
		if (fit->nr_intervals > fit->nr_classes && fit->apart[i] > LEAST_PIVOT)
			fit->error_rate[i] =
				to_rate(sqrt(square / (fit->nr_intervals - fit->nr_classes) /
					     (equations->of[i][i] * fit->apart[i])));
	}
}

static void judge(const struct resource_interval *intervals, uint32_t nr,
		  const struct equations *equations, const struct resource_scale *scale,
		  struct resource_fit *fit)
{
	double missed = 0, square = 0, all = 0, ns = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct resource_interval *interval = &intervals[i];
		double miss = above_idle(interval, fit);

		if (!has_work(interval, fit))
			continue;
		for (uint32_t j = 0; j < RESOURCE_CLASSES; j++)
			miss -= (double)interval->class_ns[j] * (double)fit->class_rate[j];
		missed += fabs(miss);
		square += miss * miss / (double)interval->ns;
		all += (double)interval->amount * NS_PER_S;
		ns += (double)interval->ns;
	}
	all = fmax(all, (double)scale->little * ns);
	fit->residual = all > 0 ? fmin(missed / all, 1) : 0;
	find_errors(equations, square, fit);
}

void resource_fit_make(const struct resource_interval *intervals, uint32_t nr,
		       const struct resource_scale *scale, struct resource_fit *fit)
{
	struct equations equations;

	*fit = (struct resource_fit){.idle = RESOURCE_IDLE_UNKNOWN,
				     .idle_share = idle_share_of(intervals, nr)};
	find_idle(intervals, nr, scale, fit);
	find_work(intervals, nr, fit);
	make_equations(intervals, nr, fit, &equations);
	solve(&equations, fit);
	judge(intervals, nr, &equations, scale, fit);
}
