#include "meter_fit.h"

#include <math.h>
#include <stddef.h>

#define MW_NS_PER_MJ 1e9
#define IDLE_SHARE   0.01 /* less work than that is none */
#define BUSY_RANGE   0.1  /* the shares of work have to differ by so much for a straight line */
#define PULL         1e-3 /* towards the power of all work, of a class's own weight */
#define PULL_ALL                                                                                   \
	1e-5 /* the same, of the weight of all: else work of hardly any time gets what others miss */
#define LEAST_PIVOT 1e-9 /* less of a class is left by rounding alone */
#define SWEEPS      400u

/* The normal equations of all intervals with work: each weighs as much as its time. */
struct equations {
	double of[METER_CLASSES][METER_CLASSES], above[METER_CLASSES];
};

static double work_ns(const struct meter_interval *interval)
{
	double ns = 0;

	for (uint32_t i = 0; i < METER_CLASSES; i++)
		ns += (double)interval->class_ns[i];
	return ns;
}

static int has_work(const struct meter_interval *interval)
{
	return work_ns(interval) > IDLE_SHARE * (double)interval->ns;
}

static uint32_t to_mw(double mw)
{
	return mw <= 0 ? 0 : mw >= UINT32_MAX ? UINT32_MAX : (uint32_t)llround(mw);
}

/* Power over the share of work, as a straight line: its begin is the power without work. */
static void fit_idle(const struct meter_interval *intervals, uint32_t nr, struct meter_fit *fit)
{
	double weight = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY, most = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const double ns = (double)intervals[i].ns, share = work_ns(&intervals[i]) / ns;
		const double energy = (double)intervals[i].mj * MW_NS_PER_MJ;

		weight += ns;
		x += share * ns;
		y += energy;
		xx += share * share * ns;
		xy += share * energy;
		least = share < least ? share : least;
		most = share > most ? share : most;
	}
	if (nr < 3 || most - least < BUSY_RANGE)
		return;
	const double slope = (weight * xy - x * y) / (weight * xx - x * x);
	const double begin = (y - slope * x) / weight;

	/* Else work would save energy, or the line is none. */
	if (slope <= 0 || begin <= 0)
		return;
	fit->idle = METER_IDLE_FITTED;
	fit->idle_mw = to_mw(begin);
}

static void find_idle(const struct meter_interval *intervals, uint32_t nr, struct meter_fit *fit)
{
	double ns = 0, mj = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (!has_work(&intervals[i])) {
			ns += (double)intervals[i].ns;
			mj += (double)intervals[i].mj;
			fit->nr_idle++;
		}
	if (ns > 0) {
		fit->idle = METER_IDLE_MEASURED;
		fit->idle_mw = to_mw(mj * MW_NS_PER_MJ / ns);
	} else {
		fit_idle(intervals, nr, fit);
	}
}

/* Returns the energy of an interval above what it takes without work, in mW times ns; it may be below 0. */
static double above_idle(const struct meter_interval *interval, const struct meter_fit *fit)
{
	return (double)interval->mj * MW_NS_PER_MJ - (double)fit->idle_mw * (double)interval->ns;
}

static void find_work(const struct meter_interval *intervals, uint32_t nr, struct meter_fit *fit)
{
	double ns = 0, above = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!has_work(&intervals[i]))
			continue;
		ns += work_ns(&intervals[i]);
		above += above_idle(&intervals[i], fit);
		fit->nr_intervals++;
	}
	fit->work_mw = ns > 0 ? to_mw(above / ns) : 0;
}

static void make_equations(const struct meter_interval *intervals, uint32_t nr,
			   const struct meter_fit *fit, struct equations *equations)
{
	*equations = (struct equations){0};
	for (uint32_t i = 0; i < nr; i++) {
		const struct meter_interval *interval = &intervals[i];
		const double ns = (double)interval->ns;

		if (!has_work(interval))
			continue;
		for (uint32_t j = 0; j < METER_CLASSES; j++) {
			const double share = (double)interval->class_ns[j] / ns;

			equations->above[j] += share * above_idle(interval, fit);
			for (uint32_t k = 0; k < METER_CLASSES; k++)
				equations->of[j][k] += share * (double)interval->class_ns[k];
		}
	}
}

/* Least squares without negative powers, one class after the other, until nothing moves. */
static void solve(const struct equations *equations, struct meter_fit *fit)
{
	const double common = fit->work_mw;
	double mw[METER_CLASSES], moved = 1, all = 0;

	for (uint32_t i = 0; i < METER_CLASSES; i++) {
		mw[i] = common;
		all += equations->of[i][i];
	}
	for (uint32_t sweep = 0; sweep < SWEEPS && moved > 0.01; sweep++) {
		moved = 0;
		for (uint32_t i = 0; i < METER_CLASSES; i++) {
			const double own = equations->of[i][i], pull = PULL * own + PULL_ALL * all;
			double rest = equations->above[i] + pull * common;

			for (uint32_t j = 0; j < METER_CLASSES; j++)
				rest -= j == i ? 0 : equations->of[i][j] * mw[j];
			const double next = own > 0 ? fmax(rest / (own + pull), 0) : common;

			moved = fmax(moved, fabs(next - mw[i]));
			mw[i] = next;
		}
	}
	for (uint32_t i = 0; i < METER_CLASSES; i++)
		fit->class_mw[i] = to_mw(mw[i]);
}

/* Returns what is left of a class's square when all others have told what they can, as a share of it: by
 * elimination. */
static double left_of(const struct equations *equations, uint32_t class)
{
	struct equations left = *equations;
	const double all = equations->of[class][class];

	for (uint32_t i = 0; i < METER_CLASSES; i++) {
		/* A class that follows from those before it tells no more. */
		if (i == class || left.of[i][i] <= LEAST_PIVOT * equations->of[i][i])
			continue;
		for (uint32_t j = 0; j < METER_CLASSES; j++) {
			const double factor = left.of[j][i] / left.of[i][i];

			for (uint32_t k = 0; k < METER_CLASSES && (j > i || j == class); k++)
				left.of[j][k] -= factor * left.of[i][k];
		}
	}
	return all > 0 ? fmin(fmax(left.of[class][class] / all, 0), 1) : 0;
}

/* The square of what is missed, by the intervals that are more than there are classes, is that of chance. */
static void find_errors(const struct equations *equations, double square, struct meter_fit *fit)
{
	for (uint32_t i = 0; i < METER_CLASSES; i++)
		fit->nr_classes += equations->of[i][i] > 0;
	for (uint32_t i = 0; i < METER_CLASSES; i++) {
		fit->apart[i] = left_of(equations, i);
		fit->error_mw[i] = UINT32_MAX;
		if (fit->nr_intervals > fit->nr_classes && fit->apart[i] > LEAST_PIVOT)
			fit->error_mw[i] =
				to_mw(sqrt(square / (fit->nr_intervals - fit->nr_classes) /
					   (equations->of[i][i] * fit->apart[i])));
	}
}

static void judge(const struct meter_interval *intervals, uint32_t nr,
		  const struct equations *equations, struct meter_fit *fit)
{
	double missed = 0, square = 0, energy = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct meter_interval *interval = &intervals[i];
		double miss = above_idle(interval, fit);

		if (!has_work(interval))
			continue;
		for (uint32_t j = 0; j < METER_CLASSES; j++)
			miss -= (double)interval->class_ns[j] * (double)fit->class_mw[j];
		missed += fabs(miss);
		square += miss * miss / (double)interval->ns;
		energy += (double)interval->mj * MW_NS_PER_MJ;
	}
	fit->residual = energy > 0 ? fmin(missed / energy, 1) : 0;
	find_errors(equations, square, fit);
}

void meter_fit_make(const struct meter_interval *intervals, uint32_t nr, struct meter_fit *fit)
{
	struct equations equations;

	*fit = (struct meter_fit){.idle = METER_IDLE_UNKNOWN};
	find_idle(intervals, nr, fit);
	find_work(intervals, nr, fit);
	make_equations(intervals, nr, fit, &equations);
	solve(&equations, fit);
	judge(intervals, nr, &equations, fit);
}
