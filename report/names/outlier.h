/* Which of a few like values stand out from the others: by the modified z score of Iglewicz and Hoaglin (How to Detect
 * and Handle Outliers, 1993), 0.6745 (x - median) / MAD, MAD being the median distance from the median: beyond 3.5 a
 * value stands out.
 *   - MAD 0, more than half of them are equal: (x - median) / (1.253314 MeanAD), MeanAD being the mean distance from
 *     the median. If that is 0, too, none stands out. (Nor does one of four of which the others are equal.)
 *   - Of fewer than OUTLIER_VALUES_MIN values none does.
 *   - However close the others are, what lies less than a twentieth of a scale from the median does not.
 * Pure; any thread. */
#ifndef OUTLIER_H
#define OUTLIER_H

#include <stdbool.h>
#include <stdint.h>

#define OUTLIER_VALUES_MIN 4u
#define OUTLIER_SCALE_PART 20u

/* The mean of the two in the middle, rounded down, where count is even; 0 of none. Brings values into order. */
uint64_t outlier_median(uint64_t *values, uint32_t count);

/* Whether each of the values stands out: out[0..count). scale: 0: the median. *median is set. 0; -ENOMEM. */
int outlier_find(const uint64_t *values, uint32_t count, uint64_t scale, bool *out,
		 uint64_t *median);

#endif
