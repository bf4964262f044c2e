/* Finds since when a rank is late, in a row of numbers that say how late it was. Pure; any thread. */
#ifndef WATCH_ONSET_H
#define WATCH_ONSET_H

#include <stdint.h>

#define WATCH_ONSET_PART 8u

/* Returns the index at which the values rise: they are split there into two parts whose means differ most (least
 * squares). The second one has an eighth (WATCH_ONSET_PART) of them at least, because the newest of some single peaks
 * is no onset. 0: no split has a first mean below half of the second. */
uint32_t watch_onset_find(const double *values, uint32_t count);

/* Returns the index after the last value from onset on that is half as large as the largest eighth of these (its
 * median). count: so few follow that a rank which is late now and then may still be late. sorted: room for as many. */
uint32_t watch_onset_over(const double *values, uint32_t count, uint32_t onset, double *sorted);

#endif
