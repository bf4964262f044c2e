#include "outlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define Z_MAX_EQUAL 3.5 /* where more than half of the values are equal */

/* Of sets of so many normal values or more, 1 in 50,000 at most has one beyond, and of fewer than eight values 1 in
 * 5,000: 4,000,000 sets were drawn for each of 4 to 13 and 15 to 17, and 1,500,000 for each of 23 to 25, 31 to 33, 47
 * to 49 and 63. */
static const struct outlier_bound bounds[] = {{64, 7.0},  {48, 7.6},  {32, 9.3}, {24, 11.0},
					      {16, 15.0}, {12, 21.4}, {10, 28},  {8, 43},
					      {6, 42},    {0, 132}};

const struct outlier_bound *outlier_bounds(uint32_t *nr)
{
	*nr = sizeof(bounds) / sizeof(*bounds);
	return bounds;
}

static double z_max_of(uint32_t count)
{
	uint32_t i = 0;

	while (count < bounds[i].count)
		i++;
	return bounds[i].z_max;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t outlier_median(uint64_t *values, uint32_t count)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_size);
	uint64_t low = values[(count - 1) / 2], high = values[count / 2];

	return low + (high - low) / 2;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Returns the distance from the median beyond which a value stands out; 0: all values are equal. It sorts the
 * distances. */
static double bound_of(uint64_t *distances, uint32_t count)
{
	uint64_t mad = outlier_median(distances, count);
	double sum = 0;

	if (mad)
		return z_max_of(count) * (double)mad / 0.6745;
	for (uint32_t i = 0; i < count; i++)
		sum += (double)distances[i];
	return Z_MAX_EQUAL * 1.253314 * sum / (double)count;
}

int outlier_find(const uint64_t *values, uint32_t count, uint64_t scale, bool *out,
		 uint64_t *median)
{
	uint64_t *sorted = malloc((count + 1u) * sizeof(*sorted));

	*median = 0;
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, values, count * sizeof(*sorted));
	*median = outlier_median(sorted, count);
	if (!scale)
		scale = *median;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = distance(values[i], *median);

	double bound = bound_of(sorted, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = distance(values[i], *median);

		out[i] = count >= OUTLIER_VALUES_MIN && bound > 0 && from > 0 &&
			 from >= scale / OUTLIER_SCALE_PART && (double)from > bound;
	}
	free(sorted);
	return 0;
}
