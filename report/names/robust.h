/* The middle and the spread of a few values, whatever some of them are. All bring the values into order. Pure; any
 * thread. */
#ifndef ROBUST_H
#define ROBUST_H

#include <stdint.h>

/* The mean of the two in the middle where count is even; 0 of none. */
double robust_median(double *values, uint32_t count);

/* The median distance from the median, by 0.6745: of normal values their standard deviation (Iglewicz and Hoaglin,
 * 1993). Overwrites the values. */
double robust_spread(double *values, uint32_t count);

/* The mean without the lowest and the highest eighth, rounded down: between the mean (of below 8 values it is that) and
 * the median; a few that are far off move it little. 0 of none. Brings the values into order. */
double robust_mean(double *values, uint32_t count);

#endif
