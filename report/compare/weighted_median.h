/* Computes the weighted median of some values. Pure; any thread. */
#ifndef WEIGHTED_MEDIAN_H
#define WEIGHTED_MEDIAN_H

#include <stdint.h>

struct weighted_value {
	double value, weight; /* weight: 0 or more */
};

/* Returns the least value that, with all values up to it, has half of the weight. It brings the values into order. 0
 * without values. */
double weighted_median(struct weighted_value *values, uint32_t count);

#endif
