#include "drift.h"

#include <math.h>
#include <stdlib.h>

#include "robust.h"

#define Z_LEAST    3.29 /* 1 of 1,000, both ways */
#define LEAST_PART 0.05 /* of the line's begin */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

bool drift_find(const double *values, uint32_t nr, struct drift *drift)
{
	double slopes[DRIFT_MOST * (DRIFT_MOST - 1) / 2], rests[DRIFT_MOST];
	uint32_t nr_slopes = 0;
	int score = 0;

	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t k = i + 1; k < nr; k++) {
			score -= COMPARE(values[i], values[k]);
			slopes[nr_slopes++] = (values[k] - values[i]) / (k - i);
		}
	const double sigma = sqrt(nr * (nr - 1.0) * (2.0 * nr + 5) / 18);
	const double slope = robust_median(slopes, nr_slopes);
	for (uint32_t i = 0; i < nr; i++)
		rests[i] = values[i] - slope * i;
	const double begin = robust_median(rests, nr), change = slope * (nr - 1);
	if ((abs(score) - 1) / sigma < Z_LEAST || begin <= 0 || begin + change <= 0 ||
	    fabs(change) < LEAST_PART * begin)
		return false;
	*drift = (struct drift){begin, begin + change};
	return true;
}
