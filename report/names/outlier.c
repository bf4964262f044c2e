#include "outlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define Z_MAX 3.5

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

/* Returns the divisor of distances from the median; 0: all values are equal. It sorts the distances. */
static double unit_of(uint64_t *distances, uint32_t count)
{
	uint64_t mad = outlier_median(distances, count);
	double sum = 0;

	if (mad)
		return (double)mad / 0.6745;
	for (uint32_t i = 0; i < count; i++)
		sum += (double)distances[i];
	return 1.253314 * sum / (double)count;
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

	double unit = unit_of(sorted, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = distance(values[i], *median);

		out[i] = count >= OUTLIER_VALUES_MIN && unit > 0 && from > 0 &&
			 from >= scale / OUTLIER_SCALE_PART && (double)from / unit > Z_MAX;
	}
	free(sorted);
	return 0;
}
