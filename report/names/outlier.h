/* Finds the values that stand out from the others by the modified z score of Iglewicz and Hoaglin (How to Detect and
 * Handle Outliers, 1993): 0.6745 (x - median) / MAD, where MAD is the median distance from the median. A value
 * beyond 3.5 stands out.
 *   - If more than half of the values are equal, MAD is 0. The score is then (x - median) / (1.253314 MeanAD), where
 *     MeanAD is the mean distance from the median. If that is 0, too, no value stands out. (One of four values does
 *     not stand out if the other three are equal.)
 *   - No value stands out of fewer than OUTLIER_VALUES_MIN.
 *   - A value that lies less than a twentieth of a scale from the median does not stand out, however close the
 *     others are.
 * Pure; any thread. */
#ifndef OUTLIER_H
#define OUTLIER_H

#include <stdbool.h>
#include <stdint.h>

#define OUTLIER_VALUES_MIN 4u
#define OUTLIER_SCALE_PART 20u

/* Returns the median, and brings the values into order. It is the mean of the two values in the middle, rounded
 * down, if count is even, and 0 without values. */
uint64_t outlier_median(uint64_t *values, uint32_t count);

/* Sets out[i] for each value that stands out, and *median. scale 0: the median is the scale. 0 or -ENOMEM. */
int outlier_find(const uint64_t *values, uint32_t count, uint64_t scale, bool *out,
		 uint64_t *median);

#endif
