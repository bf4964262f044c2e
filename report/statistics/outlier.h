/* Finds the values that stand out from the others by the modified z score of Iglewicz and Hoaglin (How to Detect and
 * Handle Outliers, 1993): 0.6745 (x - median) / MAD, where MAD is the median distance from the median.
 *   - A value stands out beyond a bound that depends on how many values there are. Of 50,000 sets of values that differ
 *     by chance alone (normal), at most one has such a value, and of fewer than eight values one of 5,000 sets. The
 *     bound is 132 for four values, 43 for eight, 15 for 16, 7 for 64. With 3.5, the bound of that book, 9 to 40 of 100
 *     sets have one.
 *   - If more than half of the values are equal, MAD is 0, and chance is not what makes the others differ. The score is
 *     then (x - median) / (1.253314 MeanAD), where MeanAD is the mean distance from the median, and the bound is 3.5.
 *     If MeanAD is 0, too, no value stands out. (One of four values does not stand out if the other three are equal.)
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

/* The bound for so many values or more, where not more than half of them are equal. */
struct outlier_bound {
	uint32_t count;
	double z_max;
};

/* Returns the bounds, those of most values first, in static storage. */
const struct outlier_bound *outlier_bounds(uint32_t *nr);

/* Sets out[i] for each value that stands out, and *median. scale 0: the median is the scale. 0 or -ENOMEM. */
int outlier_find(const uint64_t *values, uint32_t count, uint64_t scale, bool *out,
		 uint64_t *median);

#endif
