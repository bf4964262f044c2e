/* Tells whether values that follow one another rise or fall over all of them. Pure; any thread. */
#ifndef DRIFT_H
#define DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#define DRIFT_LEAST 8u /* of fewer values nothing can be told */
#define DRIFT_MOST  32u

struct drift { /* the line through the values, at the first and the last one */
	double begin, end;
};

/* The values are DRIFT_LEAST to DRIFT_MOST. Returns whether they rise or fall: by the test of Mann and Kendall that is
 * by chance in 1 of 1,000 cases, and Theil and Sen's line changes by a twentieth of its begin or more. *drift is then
 * set. */
bool drift_find(const double *values, uint32_t nr, struct drift *drift);

#endif
