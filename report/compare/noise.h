/* Estimates how far a mean lies from its true value by chance. All values are relative: 0.01 is 1 %. Pure; any
 * thread. */
#ifndef NOISE_H
#define NOISE_H

#include <stdbool.h>
#include <stdint.h>

struct run_window;

#define NOISE_BATCHES     64u /* of a run's time; fewer if there are fewer windows */
#define NOISE_BATCHES_MIN 8u
#define NOISE_RANKS_MIN   8u

/* Zeroed: nothing differs. */
struct noise {
	double deviation; /* standard deviation of the mean */
	double freedom;   /* degrees of freedom of that estimate; INFINITY: it is a bound */
	double bound;     /* what comes in addition and is not in the estimate, at most */
};

/* Of n values that do not depend on one another, such as means of runs or of ranks. n: 2 or more. It is 0 only if
 * all are equal. */
struct noise noise_of_values(const double *values, uint32_t n);

/* One side of a comparison: whole runs, which are alike but for the change. Zeroed: there is none. */
struct noise_side {
	double mean, squares; /* of the values; of their distances from the mean */
	uint32_t nr;
};

void noise_side_add(struct noise_side *side, double value);

/* Of the difference of the means of both sides, which are as noisy as one another. It is 0 only if the values of each
 * side are equal. false: there are fewer than four values. */
bool noise_of_sides(const struct noise_side *before, const struct noise_side *after,
		    struct noise *noise);

/* Of a run's time in n windows, in order (run_item.h). Windows make batches of about equal work. Batches that follow
 * one another may be alike: with first-order correlation r they count as (1 - r) / (1 + r) of their number. false:
 * there are too few windows. */
bool noise_of_windows(const struct run_window *windows, uint32_t n, struct noise *noise);

/* Of the difference of two means. The degrees of freedom are Welch's. */
struct noise noise_add(struct noise a, struct noise b);

/* Returns the distance that chance exceeds, on one side, with this probability. */
double noise_width(const struct noise *noise, double probability);

#endif
