/* Computes the middle and the spread of a few values, on which outliers have little influence. All functions sort the
 * values. Pure; any thread. */
#ifndef ROBUST_H
#define ROBUST_H

#include <stdint.h>

/* Returns the mean of the two values in the middle if count is even, and 0 without values. */
double robust_median(double *values, uint32_t count);

/* Returns the median distance from the median, divided by 0.6745: the standard deviation if the values are normal
 * (Iglewicz and Hoaglin, 1993). It overwrites the values. */
double robust_spread(double *values, uint32_t count);

/* Returns the mean without the lowest and the highest eighth of the values, each rounded down: below 8 values the
 * plain mean. It lies between the mean and the median, and a few values far off move it little. 0 without values. */
double robust_mean(double *values, uint32_t count);

#endif
