/* Finds since when a rank is late, in a row of numbers that say how late it was. Pure; any thread. */
#ifndef WATCH_ONSET_H
#define WATCH_ONSET_H

#include <stdint.h>

/* Returns the index from which on the values are larger: that which divides them into two parts whose means differ most
 * clearly (least squares). 0: they are large from the start, which is if the first part has half of the second part's
 * mean. */
uint32_t watch_onset_find(const double *values, uint32_t count);

#endif
